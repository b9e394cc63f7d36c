/* Captures what Lisp writes and keeps it. Must stay right when user code throws out of a printing
 * method, or prints while it prints. */
#include "worker/answer.h"
#include "worker/guard.h"
#include "worker/sink.h"
#include "worker/text.h"
#include "worker/tidy.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    ARENA_KEPT_BYTES = 1 << 20, /* memory kept from one answer to the next */
    ADDED_BYTES = 512           /* the longest sentence of our own */
};

struct capture {
    struct sink sink; /* first: a sink is its capture */
    struct buffer buffer;
    cl_object stream;
};

/* One for each depth of guards: a text may be written while another one is. */
static struct capture captures[GUARD_DEPTH_MAX];

static bool grow(struct sink *sink, size_t size) {
    struct capture *capture = (struct capture *)(void *)sink;
    capture->buffer.length = sink->length;
    if (!buffer_reserve(&capture->buffer, size))
        return false;
    sink->bytes = capture->buffer.data;
    sink->capacity = capture->buffer.capacity;
    return true;
}

void answer_initialize(void) {
    for (size_t i = 0; i < GUARD_DEPTH_MAX; i++) {
        captures[i].buffer = buffer_make(FRAME_PAYLOAD_MAX);
        captures[i].sink = (struct sink){.make_place = grow};
        captures[i].stream = sink_stream_make(&captures[i].sink, "text");
    }
}

void answer_begin(struct answer *answer) {
    struct buffer arena = answer->arena;
    if (!arena.maximum)
        arena = buffer_make(FRAME_PAYLOAD_MAX);
    arena.length = 0;
    arena.failed = false;
    buffer_shrink(&arena, ARENA_KEPT_BYTES);
    *answer = (struct answer){.arena = arena};
}

struct writing {
    void (*write)(void *argument, cl_object stream);
    void *argument;
    cl_object stream;
};

static void run(void *argument) {
    const struct writing *writing = argument;
    writing->write(writing->argument, writing->stream);
}

static bool keep(struct answer *answer, struct answer_text *text, const void *bytes,
                 size_t length) {
    struct answer_text kept = {answer->arena.length, length};
    if (!buffer_append(&answer->arena, bytes, length))
        return false;
    *text = kept;
    return true;
}

static void begin_capture(struct capture *capture, size_t characters) {
    capture->buffer.length = 0;
    capture->buffer.failed = false;
    capture->sink.length = 0;
    capture->sink.room = characters;
    capture->sink.dropped = 0;
    capture->stream->stream.column = 0;
}

/* Ends it, so that a stream which user code held on to takes nothing more. */
static void end_capture(struct capture *capture) {
    capture->sink.room = 0;
    capture->sink.length = 0;
    capture->buffer.length = 0;
    buffer_shrink(&capture->buffer, ARENA_KEPT_BYTES);
    capture->sink.bytes = capture->buffer.data;
    capture->sink.capacity = capture->buffer.capacity;
}

static bool keep_captured(struct answer *answer, struct answer_text *text, struct capture *capture,
                          int style) {
    unsigned char *bytes = capture->sink.bytes;
    size_t length = capture->sink.length;
    if (style & ANSWER_TIDY)
        length = tidy_text(bytes, length);
    if (style & ANSWER_LINE)
        tidy_line(bytes, length);
    if (!keep(answer, text, bytes, length))
        return false;
    if (capture->sink.dropped && (style & ANSWER_LINE))
        answer_add(answer, text, "...");
    else if (capture->sink.dropped)
        answer_add(answer, text, "… [%zu more characters]", capture->sink.dropped);
    return true;
}

bool answer_write(struct answer *answer, struct answer_text *text, size_t characters, int style,
                  void (*write)(void *argument, cl_object stream), void *argument) {
    size_t depth = guard_depth();
    if (depth == GUARD_DEPTH_MAX)
        return false;
    struct capture *capture = &captures[depth];
    begin_capture(capture, characters);
    struct writing writing = {write, argument, capture->stream};
    bool kept = guard_run(run, &writing, NULL) == GUARD_RETURNED &&
                keep_captured(answer, text, capture, style);
    end_capture(capture);
    return kept;
}

bool answer_keep(struct answer *answer, struct answer_text *text, cl_object string) {
    size_t start = answer->arena.length;
    bool kept = text_append(&answer->arena, string);
    if (kept)
        *text = (struct answer_text){start, answer->arena.length - start};
    else
        answer->arena.length = start;
    return kept;
}

void answer_add(struct answer *answer, struct answer_text *text, const char *format, ...) {
    char line[ADDED_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (size <= 0)
        return;
    if (!text->length)
        text->offset = answer->arena.length;
    if (buffer_append(&answer->arena, line, (size_t)size))
        text->length += (size_t)size;
}

static struct span span_of(const struct answer *answer, struct answer_text text) {
    return (struct span){answer->arena.data + text.offset, text.length};
}

static void spans_of(const struct answer *answer, struct span *spans,
                     const struct answer_text *texts, size_t count) {
    for (size_t i = 0; i < count; i++)
        spans[i] = span_of(answer, texts[i]);
}

bool answer_encode(const struct answer *answer, struct buffer *payload) {
    struct result_message message = {.package = span_of(answer, answer->package),
                                     .warning_count = answer->warning_count};
    if (answer->failed) {
        message.condition = span_of(answer, answer->condition);
        message.text = span_of(answer, answer->message);
        message.frame_count = answer->frame_count;
    } else {
        message.value_count = answer->value_count;
        if (answer->json.length)
            message.json = span_of(answer, answer->json);
    }
    spans_of(answer, message.values, answer->values, message.value_count);
    spans_of(answer, message.frames, answer->frames, message.frame_count);
    spans_of(answer, message.warnings, answer->warnings, message.warning_count);
    return result_message_encode(payload, &message);
}
