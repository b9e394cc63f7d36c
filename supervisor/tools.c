/* Tools: their descriptions, the checks of their arguments, and how an evaluation becomes an
 * answer. Never evaluates anything itself. */
#include "supervisor/tools.h"
#include "supervisor/json_write.h"
#include "supervisor/request.h"
#include "supervisor/rpc.h"
#include "supervisor/server.h"
#include "supervisor/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The connection's own session. */
#define OWN_SESSION "main"

struct tool {
    const char *name, *title;
    const char *annotations; /* JSON object */
    void (*append_description)(struct buffer *out, const struct settings *settings);
    void (*append_schema)(struct buffer *out, const struct settings *settings);
    /* ARGUMENTS is an object or NULL. */
    void (*call)(struct server *server, struct request *request, struct json_object *arguments);
};

/* --- evaluate-lisp --- */

/* The arguments of evaluate-lisp; the schema and the checks are made from this. */
static const struct argument {
    const char *name;
    const char *type; /* JSON Schema */
    const char *description;
    bool required;
} evaluate_arguments[] = {
    {"code", "string",
     "Common Lisp source. Forms are read and evaluated one by one; the values of the last one are "
     "the result.",
     true},
    {"package", "string", "Package to read and evaluate in, for this call only.", false},
    {"timeout", "number", "Time limit of this call in seconds.", false},
    {"session", "string", "Session to evaluate in; without it the connection's own.", false},
};

enum { ARGUMENT_COUNT = sizeof evaluate_arguments / sizeof *evaluate_arguments };

static void append_evaluate_description(struct buffer *out, const struct settings *settings) {
    cleanup_buffer struct buffer text = buffer_make(2048);
    buffer_append_format(
        &text,
        "Evaluate Common Lisp (ECL) in a confined process and return printed values, standard "
        "output, warnings and errors with a backtrace. Definitions and variables persist between "
        "calls. No files, no network, no programs, no threads. Limits: %lld s per call unless "
        "`timeout` says otherwise (at most %lld s), %lld MiB of memory, %lld bytes of output. Code "
        "that hangs, crashes or exits ends only its own session's process.",
        (long long)settings->call_timeout_s, (long long)settings->call_timeout_max_s,
        (long long)settings->session_memory_mb, (long long)settings->output_max_bytes);
    json_write_bytes(out, text.data, text.length);
}

static void append_evaluate_schema(struct buffer *out, const struct settings *settings) {
    buffer_append_text(out, "{\"type\":\"object\",\"properties\":{");
    for (size_t i = 0; i < ARGUMENT_COUNT; i++) {
        const struct argument *argument = &evaluate_arguments[i];
        buffer_append_format(out, "%s\"%s\":{\"type\":\"%s\",\"description\":", i ? "," : "",
                             argument->name, argument->type);
        json_write_string(out, argument->description);
        if (strcmp(argument->name, "timeout") == 0)
            buffer_append_format(out, ",\"exclusiveMinimum\":0,\"maximum\":%lld",
                                 (long long)settings->call_timeout_max_s);
        buffer_append_text(out, "}");
    }
    buffer_append_text(out, "},\"required\":[\"code\"],\"additionalProperties\":false}");
}

static void append_text_content(struct buffer *out, const struct buffer *text) {
    buffer_append_text(out, "{\"content\":[{\"type\":\"text\",\"text\":");
    json_write_bytes(out, text->data, text->length);
    buffer_append_text(out, "}]");
}

/* A tool error about the arguments: no worker is asked. */
static void refuse_arguments(struct request *request, const char *type, const char *message) {
    cleanup_buffer struct buffer text = buffer_make(8192);
    text_append_error(&text, type, message);
    struct buffer *out = request_result(request);
    append_text_content(out, &text);
    buffer_append_text(out, ",\"isError\":true,\"_meta\":{\"exitCode\":1}}");
    request_end(request);
}

static struct text_limits text_limits_of(const struct settings *settings) {
    return (struct text_limits){.shown_chars = (size_t)settings->output_shown_chars,
                                .value_max_chars = (size_t)settings->value_max_chars};
}

static void append_captured_json(struct buffer *out, struct span captured, size_t shown_chars) {
    cleanup_buffer struct buffer text = buffer_make(out->maximum);
    text_append_captured(&text, captured, shown_chars);
    json_write_bytes(out, text.data, text.length);
    out->failed |= text.failed;
}

static void answer_result(struct server *server, struct request *request,
                          const struct evaluation *evaluation) {
    const struct text_limits limits = text_limits_of(server->settings);
    cleanup_buffer struct buffer text =
        buffer_make(2 * (size_t)server->settings->response_max_bytes);
    text_append_evaluation(&text, evaluation, &limits);
    struct buffer *out = request_result(request);
    append_text_content(out, &text);
    out->failed |= text.failed;
    buffer_append_format(out, ",\"isError\":%s,\"_meta\":{\"exitCode\":%d",
                         evaluation->outcome == OUTCOME_VALUE ? "false" : "true",
                         evaluation->exit_code);
    if (evaluation->error_output.length) {
        buffer_append_text(out, ",\"stderr\":");
        append_captured_json(out, evaluation->error_output, limits.shown_chars);
    }
    buffer_append_format(out,
                         ",\"elapsedMs\":%lld,\"session\":", (long long)evaluation->elapsed_ms);
    json_write_string(out, evaluation->session);
    buffer_append_text(out, "}}");
    request_end(request);
}

static void answer_timeout(struct server *server, struct request *request,
                           const struct evaluation *evaluation) {
    size_t shown = (size_t)server->settings->output_shown_chars;
    char message[320];
    snprintf(message, sizeof message, "Tool timed out. %s", evaluation->cause);
    struct buffer *out = request_error_data(request, RPC_TIMED_OUT, message);
    buffer_append_format(out, "{\"timeoutSecs\":%g,\"elapsedMs\":%lld,\"stdout\":",
                         (double)evaluation->timeout_ms / 1000, (long long)evaluation->elapsed_ms);
    append_captured_json(out, evaluation->output, shown);
    buffer_append_text(out, ",\"stderr\":");
    append_captured_json(out, evaluation->error_output, shown);
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
    if (evaluation->limit_stream)
        buffer_append_format(out, "{\"limit\":%lld,\"stream\":\"%s\",\"name\":\"%s.max_bytes\",",
                             (long long)evaluation->limit_bytes, evaluation->limit_stream,
                             strcmp(evaluation->limit_stream, "stdout") == 0 ? "output" : "stderr");
    else
        buffer_append_text(out, "{");
    buffer_append_text(out, "\"session\":");
    json_write_string(out, evaluation->session);
    buffer_append_text(out, "}");
    request_end(request);
}

static void evaluation_done(void *context, const struct evaluation *evaluation) {
    struct request *request = context;
    struct server *server = request->server;
    if (request->silent) {
        request_drop(request);
    } else {
        switch (evaluation->outcome) {
        case OUTCOME_TIMEOUT:
            answer_timeout(server, request, evaluation);
            break;
        case OUTCOME_CANCELLED:
            answer_cancelled(request, evaluation);
            break;
        case OUTCOME_OUTPUT:
        case OUTCOME_NO_WORKER:
            answer_internal(request, evaluation);
            break;
        default:
            answer_result(server, request, evaluation);
        }
    }
    server_call_done(server);
}

/* A string argument into *span; absent leaves it alone. False when it is there and no string. */
static bool string_argument(struct json_object *arguments, const char *name, struct span *span) {
    struct json_object *value;
    if (!json_object_object_get_ex(arguments, name, &value))
        return true;
    if (!json_object_is_type(value, json_type_string))
        return false;
    *span = (struct span){(const unsigned char *)json_object_get_string(value),
                          (size_t)json_object_get_string_len(value)};
    return true;
}

/* The `timeout` argument in milliseconds, or the default. False when it is no lawful number. */
static bool timeout_argument(struct json_object *arguments, const struct settings *settings,
                             int64_t *timeout_ms) {
    struct json_object *value;
    *timeout_ms = settings->call_timeout_s * 1000;
    if (!json_object_object_get_ex(arguments, "timeout", &value))
        return true;
    if (!json_object_is_type(value, json_type_int) && !json_object_is_type(value, json_type_double))
        return false;
    double seconds = json_object_get_double(value);
    if (!(seconds > 0 && seconds <= (double)settings->call_timeout_max_s))
        return false;
    *timeout_ms = (int64_t)ceil(seconds * 1000);
    return true;
}

/* An argument that evaluate-lisp does not have, or NULL. */
static const char *unknown_argument(struct json_object *arguments) {
    json_object_object_foreach(arguments, name, value) {
        (void)value;
        size_t i = 0;
        while (i < ARGUMENT_COUNT && strcmp(evaluate_arguments[i].name, name) != 0)
            i++;
        if (i == ARGUMENT_COUNT)
            return name;
    }
    return NULL;
}

static void submit(struct server *server, struct request *request, struct session *session,
                   const struct call_request *wanted) {
    struct request *kept = request_keep(server, request);
    if (!kept) {
        request_error(request, RPC_INTERNAL_ERROR, "Out of memory.");
        return;
    }
    struct call_request with_context = *wanted;
    with_context.done = evaluation_done;
    with_context.context = kept;
    kept->call = session_submit(session, &with_context);
    if (!kept->call) {
        struct buffer *out = request_error_data(kept, RPC_INTERNAL_ERROR,
                                                "Too many calls are waiting on this session.");
        buffer_append_format(out, "{\"limit\":%lld,\"name\":\"session.queue\"}",
                             (long long)server->settings->session_queue);
        request_end(kept);
        return;
    }
    session_run(session);
}

static void call_evaluate(struct server *server, struct request *request,
                          struct json_object *arguments) {
    struct call_request wanted = {0};
    struct span session_name = {(const unsigned char *)OWN_SESSION, strlen(OWN_SESSION)};
    char message[320];
    if (!string_argument(arguments, "code", &wanted.code) || !wanted.code.bytes) {
        struct buffer *out =
            request_error_data(request, RPC_INVALID_PARAMS, "The argument code must be a string.");
        buffer_append_text(out, "{\"name\":\"code\"}");
        request_end(request);
        return;
    }
    const char *unknown = unknown_argument(arguments);
    if (unknown) {
        snprintf(
            message, sizeof message,
            "evaluate-lisp has no argument %.60s; it takes code, package, timeout and session.",
            unknown);
        refuse_arguments(request, "TYPE-ERROR", message);
    } else if (!string_argument(arguments, "package", &wanted.package)) {
        refuse_arguments(request, "TYPE-ERROR", "The argument package must be a string.");
    } else if (!string_argument(arguments, "session", &session_name)) {
        refuse_arguments(request, "TYPE-ERROR", "The argument session must be a string.");
    } else if (!timeout_argument(arguments, server->settings, &wanted.timeout_ms)) {
        snprintf(message, sizeof message,
                 "The argument timeout must be a number of seconds above 0 and at most %lld.",
                 (long long)server->settings->call_timeout_max_s);
        refuse_arguments(request, "TYPE-ERROR", message);
    } else if (session_name.length != strlen(OWN_SESSION) ||
               memcmp(session_name.bytes, OWN_SESSION, session_name.length) != 0) {
        refuse_arguments(request, "UNKNOWN-SESSION",
                         "There is no session of that name. Leave the argument session out to use "
                         "the connection's own.");
    } else {
        struct session *session = sessions_find(&server->sessions, OWN_SESSION, true);
        if (session)
            submit(server, request, session, &wanted);
        else
            request_error(request, RPC_INTERNAL_ERROR, "Out of memory.");
    }
}

/* --- the table --- */

static const struct tool tools[] = {
    {.name = "evaluate-lisp",
     .title = "Evaluate Common Lisp",
     .annotations = "{\"title\":\"Evaluate Common Lisp\",\"readOnlyHint\":false,"
                    "\"destructiveHint\":false,\"idempotentHint\":false,\"openWorldHint\":false}",
     .append_description = append_evaluate_description,
     .append_schema = append_evaluate_schema,
     .call = call_evaluate},
};

void tools_append_list(struct buffer *out, const struct server *server) {
    buffer_append_text(out, "[");
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
        const struct tool *tool = &tools[i];
        buffer_append_format(out, "%s{\"name\":\"%s\"", i ? "," : "", tool->name);
        if (server->revision->titles)
            buffer_append_format(out, ",\"title\":\"%s\"", tool->title);
        buffer_append_text(out, ",\"description\":");
        tool->append_description(out, server->settings);
        buffer_append_text(out, ",\"inputSchema\":");
        tool->append_schema(out, server->settings);
        if (server->revision->annotations)
            buffer_append_format(out, ",\"annotations\":%s", tool->annotations);
        buffer_append_text(out, "}");
    }
    buffer_append_text(out, "]");
}

static const struct tool *tool_find(const char *name) {
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
        if (strcmp(tools[i].name, name) == 0)
            return &tools[i];
    return NULL;
}

void tools_call(struct server *server, struct request *request, struct json_object *params) {
    struct json_object *name = NULL, *arguments = NULL;
    if (params) {
        json_object_object_get_ex(params, "name", &name);
        json_object_object_get_ex(params, "arguments", &arguments);
    }
    if (!json_object_is_type(name, json_type_string)) {
        struct buffer *out =
            request_error_data(request, RPC_INVALID_PARAMS, "The tool's name must be a string.");
        buffer_append_text(out, "{\"name\":\"name\"}");
        request_end(request);
        return;
    }
    const char *plain_name = rpc_plain_string(name);
    const struct tool *tool = plain_name ? tool_find(plain_name) : NULL;
    if (!tool) {
        char message[160];
        snprintf(message, sizeof message, "Unknown tool: %.100s", json_object_get_string(name));
        struct buffer *out = request_error_data(request, RPC_INVALID_PARAMS, message);
        buffer_append_text(out, "{\"name\":");
        json_write_bytes(out, json_object_get_string(name),
                         (size_t)json_object_get_string_len(name));
        buffer_append_text(out, "}");
        request_end(request);
    } else if (arguments && !json_object_is_type(arguments, json_type_object)) {
        struct buffer *out =
            request_error_data(request, RPC_INVALID_PARAMS, "arguments must be an object.");
        buffer_append_text(out, "{\"name\":\"arguments\"}");
        request_end(request);
    } else {
        tool->call(server, request, arguments);
    }
}
