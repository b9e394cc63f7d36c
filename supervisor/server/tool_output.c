/* read-output: what the text of an answer left out. It reads what the supervisor keeps, and works
 * while calls run. */
#include "common/utf8.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/server.h"
#include "supervisor/server/tools.h"
#include "supervisor/session/kept_output.h"

#include <stdio.h>

enum {
    FRAME_CHARS = 400, /* of the lines before and after the part that is read */
    MESSAGE_BYTES = 1024
};

static const char *const streams[] = {"stdout", "stderr", "values", NULL};

static const struct tool_argument arguments_of_read[] = {
    {.name = "call", .type = "integer", .minimum = 1},        {.name = "session", .type = "string"},
    {.name = "stream", .type = "string", .choices = streams}, {.name = "from", .type = "integer"},
    {.name = "count", .type = "integer", .minimum = 1},
};

struct part {
    struct kept_output *kept;
    enum text_stream stream;
    int64_t from, count;
    const char *session; /* to be named in the next call; NULL: it is implicit */
};

/* "call 7: stdout 12345 characters, values 17 characters" */
static void append_kept(struct buffer *out, struct kept_output *kept) {
    const char *before = ": ";
    buffer_append_format(out, "call %lu", (unsigned long)kept_output_call(kept));
    for (enum text_stream i = 0; i < TEXT_STREAMS; i++) {
        if (!kept_output_chars(kept, i))
            continue;
        buffer_append_format(out, "%s%s %zu characters", before, text_stream_names[i],
                             kept_output_chars(kept, i));
        before = ", ";
    }
}

/* Answers with TYPE and MESSAGE, and with what is kept for SESSION. */
static void refuse_with_kept(struct request *request, const struct session *session,
                             const char *type, const char *message) {
    cleanup_buffer struct buffer text = buffer_make(8192);
    struct kept_output *kept = kept_output_before(session, NULL);
    buffer_append_format(&text, "%s For session %s ", message, session_name(session));
    if (!kept)
        buffer_append_text(&text, "nothing is kept: no answer left anything out.");
    else
        buffer_append_text(&text, "these are kept:");
    for (; kept; kept = kept_output_before(session, kept)) {
        buffer_append_text(&text, "\n");
        append_kept(&text, kept);
    }
    tool_refuse(request, type, buffer_string(&text, message));
}

static enum text_stream first_stream(struct kept_output *kept) {
    enum text_stream stream = 0;
    while (stream < TEXT_STREAMS - 1 && !kept_output_chars(kept, stream))
        stream++;
    return stream;
}

/* TEXT_STREAMS: there is none of that name. */
static enum text_stream stream_named(struct span name) {
    enum text_stream stream = 0;
    while (stream < TEXT_STREAMS && !span_equal(name, string_span(text_stream_names[stream])))
        stream++;
    return stream;
}

static void append_next(struct buffer *out, const struct part *part, size_t from) {
    const char *name = text_stream_names[part->stream];
    const unsigned long call = kept_output_call(part->kept);
    if (from == kept_output_chars(part->kept, part->stream)) {
        buffer_append_format(out, "\n[the end of %s of call %lu]", name, call);
        return;
    }
    buffer_append_format(out, "\n[to continue: read-output {\"call\":%lu,", call);
    if (part->session) {
        buffer_append_text(out, "\"session\":");
        json_write_string(out, part->session);
        buffer_append_text(out, ",");
    }
    buffer_append_format(out, "\"stream\":\"%s\",\"from\":%zu}]", name, from);
}

/* Appends at most CHARS characters from the character START on, repaired. Bytes that are not UTF-8
 * can belong to no character, and become more when they are repaired: what is too much of them is
 * not shown. */
static void append_part(struct buffer *out, const struct part *part, size_t start, size_t chars) {
    cleanup_buffer struct buffer repaired = buffer_make(out->maximum);
    struct span bytes = kept_output_bytes(part->kept, part->stream);
    const size_t offset = utf8_offset(bytes.bytes, bytes.length, start);
    bytes.bytes += offset;
    bytes.length = utf8_offset(bytes.bytes, bytes.length - offset, chars);
    if (bytes.length > chars * UTF8_MAX_BYTES)
        bytes.length = chars * UTF8_MAX_BYTES;
    utf8_append_repaired(&repaired, bytes.bytes, bytes.length);
    buffer_append(out, repaired.data, utf8_offset(repaired.data, repaired.length, chars));
    out->failed |= repaired.failed;
}

static void answer_part(struct request *request, const struct part *part) {
    const struct settings *settings = request->server->settings;
    const size_t total = kept_output_chars(part->kept, part->stream),
                 room = (size_t)settings->text_max_chars - FRAME_CHARS;
    const size_t start = part->from >= 0                         ? (size_t)part->from
                         : (uint64_t) - (part->from + 1) < total ? total - (size_t)-part->from
                                                                 : 0;
    size_t chars = total - start < room ? total - start : room;
    if ((uint64_t)part->count < chars)
        chars = (size_t)part->count;
    cleanup_buffer struct buffer text = buffer_make(UTF8_MAX_BYTES * (room + FRAME_CHARS));
    buffer_append_format(&text, "[%s of call %lu: from character %zu up to %zu, of %zu]\n",
                         text_stream_names[part->stream],
                         (unsigned long)kept_output_call(part->kept), start, start + chars, total);
    append_part(&text, part, start, chars);
    append_next(&text, part, start + chars);
    struct buffer *out = tool_result(request, text.data, text.length, false, 0);
    out->failed |= text.failed;
    request_end(request);
}

/* Finds the call, the stream and the range in what is kept for SESSION. */
static void read_kept(struct request *request, const struct session *session, struct part *part,
                      int64_t call, struct span stream) {
    char message[MESSAGE_BYTES];
    part->kept = kept_output_find(session, (uint32_t)call);
    if (!part->kept) {
        snprintf(message, sizeof message, "The output of call %lld is not kept.", (long long)call);
        refuse_with_kept(request, session, "OUTPUT-NOT-KEPT",
                         call ? message : "There is nothing to read.");
        return;
    }
    part->stream = stream.bytes ? stream_named(stream) : first_stream(part->kept);
    const size_t total = kept_output_chars(part->kept, part->stream);
    if (total == 0 || (part->from >= 0 && (uint64_t)part->from >= total)) {
        snprintf(message, sizeof message, "Call %lu has %zu characters in %s%s.",
                 (unsigned long)kept_output_call(part->kept), total,
                 text_stream_names[part->stream], total ? "; from must be less" : "");
        refuse_with_kept(request, session, "TYPE-ERROR", message);
        return;
    }
    answer_part(request, part);
}

static void read_output(struct server *server, struct request *request,
                        struct json_object *arguments) {
    struct part part = {.count = INT64_MAX};
    struct span stream = {0};
    int64_t call = 0;
    if (!tool_integer(arguments, "call", 1, UINT32_MAX, &call)) {
        tool_refuse(request, "TYPE-ERROR", "The argument call must be the number of a call.");
    } else if (!tool_string(arguments, "stream", &stream) ||
               (stream.bytes && stream_named(stream) == TEXT_STREAMS)) {
        tool_refuse(request, "TYPE-ERROR",
                    "The argument stream must be \"stdout\", \"stderr\" or \"values\".");
    } else if (!tool_integer(arguments, "from", INT64_MIN, INT64_MAX, &part.from)) {
        tool_refuse(request, "TYPE-ERROR", "The argument from must be an integer.");
    } else if (!tool_integer(arguments, "count", 1, INT64_MAX, &part.count)) {
        tool_refuse(request, "TYPE-ERROR", "The argument count must be an integer, at least 1.");
    } else {
        struct session *session = tool_session(server, request, arguments, "session", false);
        if (!session)
            return;
        if (tool_given(arguments, "session"))
            part.session = session_name(session);
        read_kept(request, session, &part, call, stream);
    }
}

const struct tool tool_read_output = {.name = "read-output",
                                      .title = "Read what was left out",
                                      .arguments = arguments_of_read,
                                      .argument_count =
                                          sizeof arguments_of_read / sizeof *arguments_of_read,
                                      .read_only = true,
                                      .idempotent = true,
                                      .call = read_output};
