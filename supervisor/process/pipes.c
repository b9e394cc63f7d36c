/* Captured output. Never holds more than the limit and one read. */
#include "supervisor/process/pipes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { READ_BYTES = 65536, KEEP_BYTES = 4 * READ_BYTES, DRAIN_BYTES_MAX = 1 << 20 };

static void close_stream(struct captured_stream *stream) {
    loop_watch_remove(stream->outlet->loop, &stream->watch);
    if (stream->fd >= 0)
        close(stream->fd);
    stream->fd = -1;
}

static void note_flood(struct captured_stream *stream) {
    struct outlet *outlet = stream->outlet;
    if (outlet->flood_told || !outlet->flooded || stream->bytes.length <= stream->limit)
        return;
    outlet->flood_told = true;
    outlet->flooded(outlet->context, stream);
}

/* One read. Returns the bytes that came, 0 when nothing is there now or ever. */
static size_t read_stream(struct captured_stream *stream) {
    unsigned char dropped[4096], *room = NULL;
    size_t size = READ_BYTES;
    bool keep = stream->outlet->capturing && stream->bytes.length <= stream->limit;
    if (keep)
        room = buffer_reserve(&stream->bytes, size);
    if (!room) {
        room = dropped;
        size = sizeof dropped;
        keep = false;
    }
    ssize_t got = read(stream->fd, room, size);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
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

static void on_stream(void *context, uint32_t events) {
    (void)events;
    read_stream(context);
}

static struct captured_stream make_stream(struct outlet *outlet, const char *name,
                                          const char *setting, int64_t limit) {
    return (struct captured_stream){.outlet = outlet,
                                    .name = name,
                                    .setting = setting,
                                    .fd = -1,
                                    .limit = (size_t)limit,
                                    .bytes = buffer_make((size_t)limit + (size_t)2 * READ_BYTES)};
}

static bool open_stream(struct outlet *outlet, struct captured_stream *stream, int *write_end,
                        struct error *error) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_set(error, errno, "a pipe for %s", stream->name);
    *write_end = ends[1];
    stream->fd = ends[0];
    if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0)
        return error_set(error, errno, "a pipe for %s", stream->name);
    return loop_watch_add(outlet->loop, &stream->watch, ends[0], EPOLLIN, on_stream, stream, error);
}

struct outlet *outlet_open(struct loop *loop, const struct settings *settings, int write_ends[2],
                           struct error *error) {
    write_ends[0] = write_ends[1] = -1;
    struct outlet *outlet = calloc(1, sizeof *outlet);
    if (!outlet) {
        error_set(error, ENOMEM, "captured output");
        return NULL;
    }
    outlet->loop = loop;
    outlet->output = make_stream(outlet, "stdout", "output.max_bytes", settings->output_max_bytes);
    outlet->error_output =
        make_stream(outlet, "stderr", "stderr.max_bytes", settings->stderr_max_bytes);
    if (open_stream(outlet, &outlet->output, &write_ends[0], error) &&
        open_stream(outlet, &outlet->error_output, &write_ends[1], error))
        return outlet;
    for (size_t i = 0; i < 2; i++)
        if (write_ends[i] >= 0)
            close(write_ends[i]);
    outlet_close(outlet);
    return NULL;
}

void outlet_close(struct outlet *outlet) {
    if (!outlet)
        return;
    close_stream(&outlet->output);
    close_stream(&outlet->error_output);
    buffer_free(&outlet->output.bytes);
    buffer_free(&outlet->error_output.bytes);
    free(outlet);
}

static void drain_stream(struct captured_stream *stream) {
    size_t got, total = 0;
    while (stream->fd >= 0 && total < DRAIN_BYTES_MAX && (got = read_stream(stream)) > 0)
        total += got;
}

void outlet_drain(struct outlet *outlet) {
    drain_stream(&outlet->output);
    drain_stream(&outlet->error_output);
}

void outlet_begin(struct outlet *outlet,
                  void (*flooded)(void *context, const struct captured_stream *stream),
                  void *context) {
    outlet_drain(outlet);
    outlet->flooded = flooded;
    outlet->context = context;
    outlet->flood_told = false;
    outlet->capturing = true;
}

static void forget(struct captured_stream *stream) {
    stream->bytes.length = 0;
    stream->bytes.failed = false;
    buffer_shrink(&stream->bytes, KEEP_BYTES);
}

void outlet_end(struct outlet *outlet) {
    outlet->capturing = false;
    outlet->flooded = NULL;
    forget(&outlet->output);
    forget(&outlet->error_output);
}

struct span outlet_captured(const struct captured_stream *stream) {
    size_t length = stream->bytes.length < stream->limit ? stream->bytes.length : stream->limit;
    return (struct span){stream->bytes.data, length};
}
