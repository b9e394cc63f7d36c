/* Captures what Lisp writes. User code may throw out of a printing method, or print while it is
 * being printed. */
#include "worker/result.h"
#include "worker/convert.h"
#include "worker/guard.h"
#include "worker/streams.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    ARENA_KEPT_BYTES = 1 << 20, /* memory kept from one result to the next */
    ADDED_BYTES = 512           /* at most, by one result_add */
};

struct capture {
    struct sink sink; /* first: sinks are cast to captures */
    struct buffer buffer;
    cl_object stream;
};

/* One for each depth of guards: a string may be written while another one is. */
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

void result_initialize(void) {
    for (size_t i = 0; i < GUARD_DEPTH_MAX; i++) {
        captures[i].buffer = buffer_make(FRAME_PAYLOAD_MAX);
        captures[i].sink = (struct sink){.make_room = grow};
        captures[i].stream = streams_make(&captures[i].sink, "text");
    }
}

void result_begin(struct result *result) {
    struct buffer arena = result->arena;
    if (!arena.maximum)
        arena = buffer_make(FRAME_PAYLOAD_MAX);
    arena.length = 0;
    arena.failed = false;
    buffer_shrink(&arena, ARENA_KEPT_BYTES);
    *result = (struct result){.arena = arena};
}

struct writing {
    void (*write)(void *argument, cl_object stream);
    void *argument;
    cl_object stream;
};

static void call_write(void *argument) {
    const struct writing *writing = argument;
    writing->write(writing->argument, writing->stream);
}

static bool keep(struct result *result, struct result_text *text, const void *bytes,
                 size_t length) {
    struct result_text kept = {result->arena.length, length};
    if (!buffer_append(&result->arena, bytes, length))
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

/* Afterwards a stream that user code has kept takes nothing more. */
static void end_capture(struct capture *capture) {
    capture->sink.room = 0;
    capture->sink.length = 0;
    capture->buffer.length = 0;
    buffer_shrink(&capture->buffer, ARENA_KEPT_BYTES);
    capture->sink.bytes = capture->buffer.data;
    capture->sink.capacity = capture->buffer.capacity;
}

static const char stream_word[] = " stream";
static const char stream_text[] = "a stream";

/* The length of an unreadable stream object, as in #<output stream "x">, at the start of TEXT, else
 * 0. It ends at the first ">" outside a string. */
static size_t stream_length(const unsigned char *text, size_t length) {
    if (length < 2 || text[0] != '#' || text[1] != '<')
        return 0;
    const size_t word = sizeof stream_word - 1;
    bool is_stream = false;
    bool quoted = false;
    for (size_t at = 2; at < length && text[at] != '\n'; at++) {
        if (text[at] == '"')
            quoted = !quoted;
        if (quoted)
            continue;
        if (text[at] == '>')
            return is_stream ? at + 1 : 0;
        if (text[at] == '<')
            return 0;
        if (length - at > word && memcmp(text + at, stream_word, word) == 0 &&
            (text[at + word] == ' ' || text[at + word] == '>'))
            is_stream = true;
    }
    return 0;
}

/* Replaces unreadable stream objects in TEXT by "a stream". Returns the new length, at most LENGTH.
 */
static size_t remove_streams(unsigned char *text, size_t length) {
    size_t kept = 0;
    for (size_t at = 0; at < length;) {
        size_t size = stream_length(text + at, length - at);
        if (size) {
            memcpy(text + kept, stream_text, sizeof stream_text - 1);
            kept += sizeof stream_text - 1;
            at += size;
        } else {
            text[kept++] = text[at++];
        }
    }
    return kept;
}

static void make_line(unsigned char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (text[i] < ' ')
            text[i] = ' ';
}

static bool keep_captured(struct result *result, struct result_text *text, struct capture *capture,
                          int style) {
    unsigned char *bytes = capture->sink.bytes;
    size_t length = capture->sink.length;
    if (style & RESULT_TIDY)
        length = remove_streams(bytes, length);
    if (style & RESULT_LINE)
        make_line(bytes, length);
    if (!keep(result, text, bytes, length))
        return false;
    if (capture->sink.dropped && (style & RESULT_LINE))
        result_add(result, text, "...");
    else if (capture->sink.dropped)
        result_add(result, text, "… [%zu more characters]", capture->sink.dropped);
    return true;
}

bool result_write(struct result *result, struct result_text *text, size_t characters, int style,
                  void (*write)(void *argument, cl_object stream), void *argument) {
    size_t depth = guard_depth();
    if (depth == GUARD_DEPTH_MAX)
        return false;
    struct capture *capture = &captures[depth];
    begin_capture(capture, characters);
    struct writing writing = {write, argument, capture->stream};
    bool kept = guard_run(call_write, &writing, NULL) == GUARD_RETURNED &&
                keep_captured(result, text, capture, style);
    end_capture(capture);
    return kept;
}

bool result_keep(struct result *result, struct result_text *text, cl_object string) {
    size_t start = result->arena.length;
    bool kept = convert_string_to_utf8(&result->arena, string);
    if (kept)
        *text = (struct result_text){start, result->arena.length - start};
    else
        result->arena.length = start;
    return kept;
}

void result_add(struct result *result, struct result_text *text, const char *format, ...) {
    char line[ADDED_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (size <= 0)
        return;
    if (!text->length)
        text->offset = result->arena.length;
    if (buffer_append(&result->arena, line, (size_t)size))
        text->length += (size_t)size;
}

static struct span span_of(const struct result *result, struct result_text text) {
    return (struct span){result->arena.data + text.offset, text.length};
}

static void spans_of(const struct result *result, struct span *spans,
                     const struct result_text *texts, size_t count) {
    for (size_t i = 0; i < count; i++)
        spans[i] = span_of(result, texts[i]);
}

bool result_encode(const struct result *result, struct buffer *payload) {
    struct result_message message = {.package = span_of(result, result->package),
                                     .warning_count = result->warning_count,
                                     .settles = result->settles,
                                     .refines = result->refines};
    if (result->failed) {
        message.condition = span_of(result, result->condition);
        message.text = span_of(result, result->message);
        message.frame_count = result->frame_count;
    } else {
        message.value_count = result->value_count;
        if (result->json.length)
            message.json = span_of(result, result->json);
    }
    spans_of(result, message.values, result->values, message.value_count);
    spans_of(result, message.frames, result->frames, message.frame_count);
    spans_of(result, message.warnings, result->warnings, message.warning_count);
    return result_message_encode(payload, &message);
}
