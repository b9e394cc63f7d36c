/* A bar on standard error while a batch runs, where that is a terminal; nothing where it is not. */
#ifndef ECLAVE_SUPERVISOR_BATCH_PROGRESS_H
#define ECLAVE_SUPERVISOR_BATCH_PROGRESS_H

#include "supervisor/base/log.h"
#include "supervisor/base/loop.h"
#include "supervisor/batch/tally.h"
#include <stdbool.h>
#include <stdint.h>

struct progress {
    struct loop *loop;
    struct log *log;
    const struct tally *tally;
    struct loop_timer timer;
    int input_fd; /* the description that is read: how far, when it is a file */
    int64_t size; /* of the input in bytes; 0: not known */
    int64_t started_ns;
    bool shown;
};

/* Begins to show how far TALLY is, if anybody can see it. Lines of LOG clear the bar. */
void progress_open(struct progress *progress, struct loop *loop, struct log *log,
                   const struct tally *tally, int input_fd);
/* Clears the bar for good. */
void progress_close(struct progress *progress);

#endif
