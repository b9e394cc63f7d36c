/* What the commands for a shell have in common: evaluations without a protocol, each in a world of
 * its own that ends with it. */
#ifndef ECLAVE_SUPERVISOR_SESSION_ONE_SHOT_H
#define ECLAVE_SUPERVISOR_SESSION_ONE_SHOT_H

#include "supervisor/base/log.h"
#include "supervisor/base/loop.h"
#include "supervisor/process/pool.h"
#include "supervisor/session/session.h"
#include "supervisor/settings/settings.h"
#include <stdbool.h>

struct one_shot {
    struct loop loop;
    struct log log;
    struct pool pool;
    struct sessions sessions;
    struct loop_watch signal_watch;
    int signal_fd;
    void (*interrupted)(void *context); /* SIGINT or SIGTERM has come */
    void *context;
};

/* Opens all of it, where code can be confined here. False with *error and the exit status in
 * *status; then there is nothing to close. */
bool one_shot_open(struct one_shot *one_shot, const struct settings *settings,
                   void (*interrupted)(void *context), void *context, int *status,
                   struct error *error);
/* Ends every process. */
void one_shot_close(struct one_shot *one_shot);

#endif
