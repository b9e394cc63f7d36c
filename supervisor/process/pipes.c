/* Reading and capturing output. Holds at most the limit and one read. */
#include "supervisor/process/pipes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    READ_BYTES = 65536,
    KEEP_BYTES = 4 * READ_BYTES,
    HELD_MAX = 1 << 20 /* what a pipe holds: 16 pages; a worker cannot enlarge it */
};

static void close_stream(struct captured_stream *stream) {
    loop_watch_remove(stream->pipes->loop, &stream->watch);
    if (stream->fd >= 0)
        close(stream->fd);
    stream->fd = -1;
}

static void note_flood(struct captured_stream *stream) {
    struct pipes *pipes = stream->pipes;
    if (pipes->flood_reported || !pipes->flooded || stream->bytes.length <= stream->limit)
        return;
    pipes->flood_reported = true;
    pipes->flooded(pipes->context, stream);
}

/* Reads once. Returns the number of bytes, 0 when there are none now. */
static size_t read_stream(struct captured_stream *stream) {
    static unsigned char dropped[READ_BYTES];
    unsigned char *room = NULL;
    bool keep = stream->pipes->capturing && stream->bytes.length <= stream->limit;
    if (keep)
        room = buffer_reserve(&stream->bytes, READ_BYTES);
    if (!room) {
        room = dropped;
        keep = false;
    }
    ssize_t got;
    do
        got = read(stream->fd, room, READ_BYTES);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN)
        return 0;
    if (got <= 0) {
        close_stream(stream);
        return 0;
    }
    if (keep) {
        stream->bytes.length += (size_t)got;
        note_flood(stream);
    }
    return (size_t)got;
}

/* Reads all that the pipe holds, in however many pieces, but not all that a process still writes.
 */
static void drain_stream(struct captured_stream *stream) {
    size_t total = 0, got = 1;
    for (; stream->fd >= 0 && got && total < HELD_MAX; total += got)
        got = read_stream(stream);
}

static void on_stream(void *context, uint32_t events) {
    (void)events;
    read_stream(context);
}

static struct captured_stream make_stream(struct pipes *pipes, const char *name,
                                          const char *setting, int64_t limit) {
    return (struct captured_stream){.pipes = pipes,
                                    .name = name,
                                    .setting = setting,
                                    .fd = -1,
                                    .limit = (size_t)limit,
                                    .bytes = buffer_make((size_t)limit + (size_t)2 * READ_BYTES)};
}

static bool open_stream(struct pipes *pipes, struct captured_stream *stream, int *write_end,
                        struct error *error) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_set(error, errno, "pipe for %s of a worker", stream->name);
    *write_end = ends[1];
    stream->fd = ends[0];
    if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0)
        return error_set(error, errno, "pipe for %s of a worker", stream->name);
    return loop_watch_add(pipes->loop, &stream->watch, ends[0], EPOLLIN, on_stream, stream, error);
}

struct pipes *pipes_open(struct loop *loop, const struct settings *settings, int write_ends[2],
                         struct error *error) {
    write_ends[0] = write_ends[1] = -1;
    struct pipes *pipes = calloc(1, sizeof *pipes);
    if (!pipes) {
        error_set(error, ENOMEM, "pipes of a worker");
        return NULL;
    }
    static uint64_t last_serial;
    pipes->loop = loop;
    pipes->serial = ++last_serial;
    pipes->output = make_stream(pipes, "stdout", "output.max_bytes", settings->output_max_bytes);
    pipes->error_output =
        make_stream(pipes, "stderr", "stderr.max_bytes", settings->stderr_max_bytes);
    if (open_stream(pipes, &pipes->output, &write_ends[0], error) &&
        open_stream(pipes, &pipes->error_output, &write_ends[1], error))
        return pipes;
    for (size_t i = 0; i < 2; i++)
        if (write_ends[i] >= 0)
            close(write_ends[i]);
    pipes_close(pipes);
    return NULL;
}

void pipes_close(struct pipes *pipes) {
    if (!pipes)
        return;
    close_stream(&pipes->output);
    close_stream(&pipes->error_output);
    buffer_free(&pipes->output.bytes);
    buffer_free(&pipes->error_output.bytes);
    free(pipes);
}

void pipes_drain(struct pipes *pipes) {
    drain_stream(&pipes->output);
    drain_stream(&pipes->error_output);
}

void pipes_begin(struct pipes *pipes,
                 void (*flooded)(void *context, const struct captured_stream *stream),
                 void *context) {
    pipes_drain(pipes);
    pipes->flooded = flooded;
    pipes->context = context;
    pipes->flood_reported = false;
    pipes->capturing = true;
}

static void drop_captured(struct captured_stream *stream) {
    stream->bytes.length = 0;
    stream->bytes.failed = false;
    buffer_shrink(&stream->bytes, KEEP_BYTES);
}

void pipes_end(struct pipes *pipes) {
    pipes->capturing = false;
    pipes->flooded = NULL;
    drop_captured(&pipes->output);
    drop_captured(&pipes->error_output);
}

struct span pipes_captured(const struct captured_stream *stream) {
    size_t length = stream->bytes.length < stream->limit ? stream->bytes.length : stream->limit;
    return (struct span){stream->bytes.data, length};
}

struct buffer pipes_take(struct captured_stream *stream) {
    struct buffer taken = stream->bytes;
    taken.length = pipes_captured(stream).length;
    stream->bytes = buffer_make(taken.maximum);
    buffer_trim(&taken);
    return taken;
}
