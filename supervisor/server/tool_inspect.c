/* inspect-lisp. Its operations are in worker/lisp/inspect*.lisp. */
#include "supervisor/json/json_number.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/server.h"
#include "supervisor/server/tools.h"

#include <string.h>

static const char *const operations[] = {"describe",         "apropos",    "documentation",
                                         "arguments",        "source",     "callers",
                                         "callees",          "class",      "package",
                                         "generic-function", "symbols",    "definitions",
                                         "object",           "last-error", "macroexpand-1",
                                         "macroexpand-all",  "time",       "profile",
                                         "disassemble",      "changes",    NULL};

static const struct tool_argument arguments_of_inspect[] = {
    {.name = "operation", .type = "string", .required = true, .choices = operations},
    {.name = "name", .type = "string"},
    {.name = "form", .type = "string"},
    {.name = "object", .type = "string"},
    {.name = "path", .type = "string"},
    {.name = "kind", .type = "string"},
    {.name = "package", .type = "string"},
    {.name = "limit", .type = "integer", .minimum = 1},
    {.name = "state", .type = "integer"},
    {.name = "session", .type = "string"},
    {.name = "timeout",
     .type = "number",
     .maximum_setting = offsetof(struct settings, call_timeout_max_s)},
};

enum { ARGUMENT_COUNT = sizeof arguments_of_inspect / sizeof *arguments_of_inspect };

static bool is_named(struct span name, const char *wanted) {
    return name.length == strlen(wanted) && memcmp(name.bytes, wanted, name.length) == 0;
}

static bool is_operation(struct span name) {
    const char *const *operation = operations;
    while (*operation && !is_named(name, *operation))
        operation++;
    return *operation != NULL;
}

static void refuse_operation(struct request *request) {
    cleanup_buffer struct buffer message = buffer_make(1024);
    buffer_append_text(&message, "The argument operation must be one of");
    for (const char *const *operation = operations; *operation; operation++)
        buffer_append_format(&message, "%s %s", operation == operations ? "" : ",", *operation);
    buffer_append_text(&message, ".");
    tool_refuse(request, "TYPE-ERROR", buffer_string(&message, "Invalid argument operation."));
}

/* Checks the types that the schema gives. What an operation needs is for the worker to say. */
static bool has_types(struct request *request, struct json_object *arguments) {
    for (size_t i = 0; i < ARGUMENT_COUNT; i++) {
        const struct tool_argument *argument = &arguments_of_inspect[i];
        const bool is_string = strcmp(argument->type, "string") == 0;
        struct span string;
        int64_t number;
        if (is_string ? tool_string(arguments, argument->name, &string)
                      : strcmp(argument->type, "integer") != 0 ||
                            tool_integer(arguments, argument->name, (int64_t)argument->minimum,
                                         INT64_MAX, &number))
            continue;
        if (is_string)
            tool_refuse_format(request, "TYPE-ERROR", "The argument %s must be a string.",
                               argument->name);
        else
            tool_refuse_format(request, "TYPE-ERROR",
                               "The argument %s must be an integer, at least %.0f.", argument->name,
                               argument->minimum);
        return false;
    }
    return true;
}

/* The first part of `changes` is done: the earlier state has answered with the arguments of the
 * second part, which compares it with the present state. */
static void compare(void *context, const struct evaluation *evaluation) {
    struct request *request = context;
    struct call_request wanted = {.kind = CALL_EVALUATE,
                                  .code = {(const unsigned char *)"", 0},
                                  .inspection = evaluation->result.values[0],
                                  .at = -1,
                                  .timeout_ms = evaluation->timeout_ms,
                                  .done = tool_answer,
                                  .context = request};
    if (request->silent || evaluation->outcome != OUTCOME_VALUE ||
        !evaluation->result.value_count || !evaluation->inspects || evaluation->stays) {
        tool_answer(request, evaluation);
        return;
    }
    request->call = session_submit(call_session(request->call), &wanted);
    if (request->call)
        return; /* the session goes on by itself */
    tool_queue_full(request);
    server_call_done(request->server);
}

static void inspect(struct server *server, struct request *request, struct json_object *arguments) {
    struct call_request wanted = {
        .kind = CALL_EVALUATE, .code = {(const unsigned char *)"", 0}, .at = -1};
    struct span operation = {0};
    cleanup_buffer struct buffer json = buffer_make(FRAME_PAYLOAD_MAX);
    tool_string(arguments, "operation", &operation);
    if (!is_operation(operation)) {
        refuse_operation(request);
        return;
    }
    if (!has_types(request, arguments) ||
        !tools_timeout(request, arguments, server->settings, &wanted.timeout_ms))
        return;
    struct session *session = tool_session(server, request, arguments, "session", false);
    if (!session)
        return;
    json_write_tree(&json, arguments);
    if (json.failed) {
        request_error(request, RPC_INTERNAL_ERROR, "Out of memory.");
        return;
    }
    wanted.inspection = (struct span){json.data, json.length};
    tool_integer(arguments, "state", 0, INT64_MAX, &wanted.at);
    tool_submit(server, request, session, &wanted,
                is_named(operation, "changes") ? compare : tool_answer);
}

const struct tool tool_inspect_lisp = {.name = "inspect-lisp",
                                       .title = "Inspect a Lisp session",
                                       .arguments = arguments_of_inspect,
                                       .argument_count = ARGUMENT_COUNT,
                                       .read_only = true,
                                       .idempotent = true,
                                       .call = inspect};
