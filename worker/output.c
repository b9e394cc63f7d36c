/* Buffers before descriptors 1 and 2. Must stay usable from a signal handler: no allocation, no
 * lock, and a byte counts as written before the signal can come in again. */
#include "worker/output.h"
#include "common/descriptor.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

struct output {
    struct sink sink; /* first: a sink is its output */
    int descriptor;
    cl_object stream;
    unsigned char buffer[OUTPUT_BUFFER_BYTES];
};

static struct output outputs[2];

/* The signal that ends the process is held back meanwhile, so that its handler never sees bytes
 * that the kernel has taken already. */
static void empty(struct sink *sink) {
    const struct output *output = (const struct output *)(const void *)sink;
    if (sink->length == 0)
        return;
    sigset_t held;
    sigset_t before;
    sigemptyset(&held);
    sigaddset(&held, OUTPUT_LAST_WORDS);
    sigprocmask(SIG_BLOCK, &held, &before);
    write_all(output->descriptor, sink->bytes, sink->length);
    sink->length = 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static bool empty_for(struct sink *sink, size_t size) {
    empty(sink);
    return sink->capacity >= size;
}

static void open_one(struct output *output, int descriptor, const char *name) {
    output->descriptor = descriptor;
    output->sink = (struct sink){.bytes = output->buffer,
                                 .capacity = sizeof output->buffer,
                                 .room = SIZE_MAX,
                                 .takes_bytes = true,
                                 .make_place = empty_for,
                                 .flush = empty};
    output->stream = sink_stream_make(&output->sink, name);
}

void output_open(void) {
    open_one(&outputs[0], STDOUT_FILENO, "standard output");
    open_one(&outputs[1], STDERR_FILENO, "standard error");
}

cl_object output_standard(void) {
    return outputs[0].stream;
}

cl_object output_error(void) {
    return outputs[1].stream;
}

void output_flush(void) {
    empty(&outputs[0].sink);
    empty(&outputs[1].sink);
}

void output_discard(void) {
    outputs[0].sink.length = 0;
    outputs[1].sink.length = 0;
}

void output_last_words(void) {
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
        write_all(outputs[i].descriptor, outputs[i].sink.bytes, outputs[i].sink.length);
}
