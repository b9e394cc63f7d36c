/* Checks of arguments and forms of answers. Never evaluates anything itself. */
#include "supervisor/tool.h"
#include "supervisor/json_write.h"
#include "supervisor/server.h"
#include "supervisor/text.h"

#include <stdio.h>
#include <string.h>

void tool_append_text(struct buffer *out, const void *text, size_t size) {
    buffer_append_text(out, "{\"content\":[{\"type\":\"text\",\"text\":");
    json_write_bytes(out, text, size);
    buffer_append_text(out, "}]");
}

void tool_refuse(struct request *request, const char *type, const char *message) {
    cleanup_buffer struct buffer text = buffer_make(8192);
    text_append_error(&text, type, message);
    struct buffer *out = request_result(request);
    tool_append_text(out, text.data, text.length);
    buffer_append_text(out, ",\"isError\":true,\"_meta\":{\"exitCode\":1}}");
    request_end(request);
}

void tool_invalid_params(struct request *request, const char *name, const char *message) {
    struct buffer *out = request_error_data(request, RPC_INVALID_PARAMS, message);
    buffer_append_text(out, "{\"name\":");
    json_write_string(out, name);
    buffer_append_text(out, "}");
    request_end(request);
}

bool tool_string(struct json_object *arguments, const char *name, struct span *span) {
    struct json_object *value;
    if (!json_object_object_get_ex(arguments, name, &value))
        return true;
    if (!json_object_is_type(value, json_type_string))
        return false;
    *span = (struct span){(const unsigned char *)json_object_get_string(value),
                          (size_t)json_object_get_string_len(value)};
    return true;
}

bool tool_integer(struct json_object *arguments, const char *name, int64_t minimum, int64_t maximum,
                  int64_t *number) {
    struct json_object *value;
    if (!json_object_object_get_ex(arguments, name, &value))
        return true;
    if (!json_object_is_type(value, json_type_int))
        return false;
    *number = json_object_get_int64(value);
    return *number >= minimum && *number <= maximum;
}

struct session *tool_session(struct server *server, struct request *request,
                             struct json_object *arguments, const char *name) {
    struct span wanted = {0};
    struct session *session = NULL;
    if (!tool_string(arguments, name, &wanted)) {
        char message[160];
        snprintf(message, sizeof message, "The argument %s must be a string.", name);
        tool_refuse(request, "TYPE-ERROR", message);
        return NULL;
    }
    bool own = !wanted.bytes || (wanted.length == strlen(OWN_SESSION) &&
                                 memcmp(wanted.bytes, OWN_SESSION, wanted.length) == 0);
    if (own) {
        session = sessions_own(&server->sessions, OWN_SESSION);
        if (!session)
            request_error(request, RPC_INTERNAL_ERROR, "Out of memory.");
        return session;
    }
    session = sessions_find(&server->sessions, wanted);
    if (!session)
        tool_refuse(request, "UNKNOWN-SESSION",
                    "There is no session of that name: it was closed, or made room for another. "
                    "open-session makes a new one; without the argument the connection's own is "
                    "used.");
    return session;
}

static struct text_limits text_limits_of(const struct settings *settings) {
    return (struct text_limits){.shown_chars = (size_t)settings->output_shown_chars,
                                .value_max_chars = (size_t)settings->value_max_chars};
}

static void append_captured(struct buffer *out, struct span captured, size_t shown_chars) {
    cleanup_buffer struct buffer text = buffer_make(out->maximum);
    text_append_captured(&text, captured, shown_chars);
    json_write_bytes(out, text.data, text.length);
    out->failed |= text.failed;
}

static void append_meta(struct buffer *out, const struct evaluation *evaluation,
                        size_t shown_chars) {
    buffer_append_format(out, ",\"_meta\":{\"exitCode\":%d", evaluation->exit_code);
    if (evaluation->error_output.length) {
        buffer_append_text(out, ",\"stderr\":");
        append_captured(out, evaluation->error_output, shown_chars);
    }
    buffer_append_format(out,
                         ",\"elapsedMs\":%lld,\"session\":", (long long)evaluation->elapsed_ms);
    json_write_string(out, evaluation->session);
    buffer_append_text(out, "}");
}

static void answer_result(struct request *request, const struct evaluation *evaluation) {
    const struct settings *settings = request->server->settings;
    const struct text_limits limits = text_limits_of(settings);
    cleanup_buffer struct buffer text = buffer_make(2 * (size_t)settings->response_max_bytes);
    if (evaluation->outcome == OUTCOME_VALUE && evaluation->cause[0])
        buffer_append_text(&text, evaluation->cause); /* of a session tool */
    else
        text_append_evaluation(&text, evaluation, &limits);
    struct buffer *out = request_result(request);
    tool_append_text(out, text.data, text.length);
    out->failed |= text.failed;
    buffer_append_format(out, ",\"isError\":%s",
                         evaluation->outcome == OUTCOME_VALUE ? "false" : "true");
    append_meta(out, evaluation, limits.shown_chars);
    buffer_append_text(out, "}");
    request_end(request);
}

static void answer_timeout(struct request *request, const struct evaluation *evaluation) {
    size_t shown = (size_t)request->server->settings->output_shown_chars;
    char message[320];
    snprintf(message, sizeof message, "Tool timed out. %s", evaluation->cause);
    struct buffer *out = request_error_data(request, RPC_TIMED_OUT, message);
    buffer_append_format(out, "{\"timeoutSecs\":%g,\"elapsedMs\":%lld,\"stdout\":",
                         (double)evaluation->timeout_ms / CLOCK_MS_PER_S,
                         (long long)evaluation->elapsed_ms);
    append_captured(out, evaluation->output, shown);
    buffer_append_text(out, ",\"stderr\":");
    append_captured(out, evaluation->error_output, shown);
    buffer_append_text(out, ",\"session\":");
    json_write_string(out, evaluation->session);
    buffer_append_format(out, ",\"_meta\":{\"exitCode\":%d}}", evaluation->exit_code);
    request_end(request);
}

static void answer_cancelled(struct request *request, const struct evaluation *evaluation) {
    char message[320];
    snprintf(message, sizeof message, "Tool cancelled. %s", evaluation->cause);
    struct buffer *out = request_error_data(request, RPC_CANCELLED, message);
    buffer_append_text(out, "{\"session\":");
    json_write_string(out, evaluation->session);
    buffer_append_format(out, ",\"_meta\":{\"exitCode\":%d}}", evaluation->exit_code);
    request_end(request);
}

static void answer_internal(struct request *request, const struct evaluation *evaluation) {
    struct buffer *out = request_error_data(request, RPC_INTERNAL_ERROR, evaluation->cause);
    buffer_append_text(out, "{");
    if (evaluation->limit_stream)
        buffer_append_format(out, "\"limit\":%lld,\"stream\":\"%s\",\"name\":\"%s.max_bytes\",",
                             (long long)evaluation->limit_bytes, evaluation->limit_stream,
                             strcmp(evaluation->limit_stream, "stdout") == 0 ? "output" : "stderr");
    buffer_append_text(out, "\"session\":");
    json_write_string(out, evaluation->session);
    buffer_append_text(out, "}");
    request_end(request);
}

void tool_answer(void *context, const struct evaluation *evaluation) {
    struct request *request = context;
    struct server *server = request->server;
    if (request->silent) {
        request_drop(request);
    } else {
        switch (evaluation->outcome) {
        case OUTCOME_TIMEOUT:
            answer_timeout(request, evaluation);
            break;
        case OUTCOME_CANCELLED:
            answer_cancelled(request, evaluation);
            break;
        case OUTCOME_OUTPUT:
        case OUTCOME_NO_WORKER:
            answer_internal(request, evaluation);
            break;
        default:
            answer_result(request, evaluation);
        }
    }
    server_call_done(server);
}

void tool_submit(struct server *server, struct request *request, struct session *session,
                 const struct call_request *wanted, call_done done) {
    struct request *kept = request_keep(server, request);
    if (!kept) {
        request_error(request, RPC_INTERNAL_ERROR, "Out of memory.");
        return;
    }
    struct call_request with_context = *wanted;
    with_context.done = done;
    with_context.context = kept;
    kept->call = session_submit(session, &with_context);
    if (kept->call) {
        session_run(session);
        return;
    }
    struct buffer *out =
        request_error_data(kept, RPC_INTERNAL_ERROR, "Too many calls are waiting on this session.");
    buffer_append_format(out, "{\"limit\":%lld,\"name\":\"session.queue\"}",
                         (long long)server->settings->session_queue);
    request_end(kept);
}
