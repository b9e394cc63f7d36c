/* The queue before standard output, which is written without blocking. batch.c bounds it. */
#include "supervisor/batch/batch_internal.h"

#include <unistd.h>

enum { KEEP_BYTES = 1 << 20 };

static const size_t queue_max = (size_t)4 << 30;

static void on_writable(void *context, uint32_t events) {
    (void)events;
    outbox_flush(context);
}

bool outbox_open(struct outbox *outbox, struct loop *loop, struct error *error) {
    *outbox = (struct outbox){.loop = loop, .queue = buffer_make(queue_max)};
    if (!stream_open(&outbox->stream, STDOUT_FILENO, true, error))
        return false;
    if (!loop_watch_add(loop, &outbox->watch, outbox->stream.fd, EPOLLOUT, on_writable, outbox,
                        error))
        return false;
    loop_watch_change(loop, &outbox->watch, 0);
    return true;
}

void outbox_close(struct outbox *outbox) {
    loop_watch_remove(outbox->loop, &outbox->watch);
    stream_close(&outbox->stream);
    buffer_free(&outbox->queue);
}

size_t outbox_backlog(const struct outbox *outbox) {
    return outbox->queue.length - outbox->sent;
}

void outbox_flush(struct outbox *outbox) {
    struct buffer *queue = &outbox->queue;
    bool blocked = false;
    while (!blocked && !outbox->failure && outbox->sent < queue->length) {
        ssize_t written =
            stream_write(&outbox->stream, queue->data + outbox->sent, queue->length - outbox->sent);
        if (written >= 0)
            outbox->sent += (size_t)written;
        else if (errno == EAGAIN)
            blocked = true;
        else if (errno != EINTR)
            outbox->failure = errno;
    }
    if (outbox->failure || outbox->sent == queue->length) {
        queue->length = outbox->sent = 0;
        buffer_shrink(queue, KEEP_BYTES);
    }
    loop_watch_change(outbox->loop, &outbox->watch, queue->length ? EPOLLOUT : 0);
}
