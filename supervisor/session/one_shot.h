/* Calls without a client, for the commands of a shell: each call runs in a process of its own. */
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
    struct call *call; /* of one_shot_run */
    /* Called on the signal NUMBER, SIGINT or SIGTERM. NULL: every call is cancelled. */
    void (*interrupted)(void *context, int number);
    void *interrupted_context;
};

/* Opens the loop, the log, the pool and the sessions. Fails also where code cannot be confined.
 * False with *error and an exit status in *status; then there is nothing to close. */
bool one_shot_open(struct one_shot *one_shot, const struct settings *settings, int *status,
                   struct error *error);
/* The same, and confines the supervisor: see pool_confine_supervisor. */
bool one_shot_open_confined(struct one_shot *one_shot, const struct settings *settings, int *status,
                            struct error *error);
/* Ends every process. */
void one_shot_close(struct one_shot *one_shot);

/* Runs one call and returns after its `done`. False with *error, and `done` is not called, if the
 * call cannot be queued or the loop fails. */
bool one_shot_run(struct one_shot *one_shot, const struct call_request *request,
                  struct error *error);

/* Opens, runs one call, and closes. Without --log-level it logs neither how the code ended, which
 * is in the evaluation, nor what it was refused. False with *error and an exit status in *status,
 * and `done` is not called. */
bool one_shot_run_alone(const struct settings *settings, const struct call_request *request,
                        int *status, struct error *error);

/* The exit status of a command whose call ended so. Code that ends its process with status 0
 * returns no value, and must not look as if it had. */
int one_shot_status(const struct evaluation *evaluation);

#endif
