/* What goes to standard output: queued, written without blocking, and given up at the first write
 * that fails. */
#ifndef ECLAVE_SUPERVISOR_BATCH_OUTBOX_H
#define ECLAVE_SUPERVISOR_BATCH_OUTBOX_H

#include "common/buffer.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/stdio.h"
#include <stdbool.h>
#include <stddef.h>

struct outbox {
    struct loop *loop;
    struct stream stream;
    struct loop_watch watch;
    struct buffer queue;
    size_t sent; /* bytes of queue already written */
    int failure; /* errno of the write that failed; then nothing is kept or written any more */
};

bool outbox_open(struct outbox *outbox, struct loop *loop, struct error *error);
void outbox_close(struct outbox *outbox);

/* Where to append what is to be written. */
struct buffer *outbox_queue(struct outbox *outbox);
/* Writes what can be written now. */
void outbox_flush(struct outbox *outbox);
/* Bytes that nobody has taken yet. */
size_t outbox_backlog(const struct outbox *outbox);

#endif
