/* tools/call: finding the tool, checking its arguments, and evaluate-lisp. */
#include "common/utf8.h"
#include "supervisor/base/clock.h"
#include "supervisor/json/json_number.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/server.h"
#include "supervisor/project/ask.h"
#include "supervisor/project/capabilities.h"
#include "supervisor/project/catalog.h"
#include "supervisor/project/methods.h"
#include "supervisor/server/tools.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ECHO_CHARS = 60 };

/* --- evaluate-lisp --- */

static const struct tool_argument arguments_of_evaluate[] = {
    {.name = "code", .type = "string", .required = true},
    {.name = "package", .type = "string"},
    {.name = "timeout",
     .type = "number",
     .maximum_setting = offsetof(struct settings, call_timeout_max_s)},
    {.name = "session", .type = "string"},
};

static bool timeout_argument(struct json_object *arguments, const struct settings *settings,
                             int64_t *timeout_ms) {
    struct json_object *value = tool_given(arguments, "timeout");
    *timeout_ms = settings->call_timeout_s * CLOCK_MS_PER_S;
    if (!value)
        return true;
    if (!json_is_number(value))
        return false;
    double seconds = json_object_get_double(value);
    if (!(seconds > 0 && seconds <= (double)settings->call_timeout_max_s))
        return false;
    *timeout_ms = (int64_t)ceil(seconds * CLOCK_MS_PER_S);
    return true;
}

bool tools_timeout(struct request *request, struct json_object *arguments,
                   const struct settings *settings, int64_t *timeout_ms) {
    if (timeout_argument(arguments, settings, timeout_ms))
        return true;
    tool_refuse_format(request, "TYPE-ERROR",
                       "The argument timeout must be a number of seconds above 0 and at most %lld.",
                       (long long)settings->call_timeout_max_s);
    return false;
}

static void evaluate(struct server *server, struct request *request,
                     struct json_object *arguments) {
    struct call_request wanted = {.kind = CALL_EVALUATE};
    if (!tool_string(arguments, "package", &wanted.package)) {
        tool_refuse(request, "TYPE-ERROR", "The argument package must be a string.");
    } else if (tools_timeout(request, arguments, server->settings, &wanted.timeout_ms)) {
        tool_string(arguments, "code", &wanted.code);
        struct session *session = tool_session(server, request, arguments, "session", true);
        if (session)
            tool_submit(server, request, session, &wanted, tool_answer);
    }
}

const struct tool tool_evaluate_lisp = {.name = "evaluate-lisp",
                                        .title = "Evaluate Common Lisp",
                                        .arguments = arguments_of_evaluate,
                                        .argument_count = sizeof arguments_of_evaluate /
                                                          sizeof *arguments_of_evaluate,
                                        .call = evaluate};

/* --- the call --- */

const struct tool *const tool_table[TOOL_COUNT] = {
    &tool_evaluate_lisp, &tool_open_session,  &tool_rollback_session, &tool_inspect_lisp,
    &tool_read_output,   &tool_list_sessions, &tool_reset_session,    &tool_close_session,
};

const char *const *tools_names(void) {
    static const char *names[TOOL_COUNT + 1];
    for (size_t i = 0; i < TOOL_COUNT; i++)
        names[i] = tool_table[i]->name;
    return names;
}

static const struct tool *find(const char *name) {
    for (size_t i = 0; i < TOOL_COUNT; i++)
        if (strcmp(tool_table[i]->name, name) == 0)
            return tool_table[i];
    return NULL;
}

/* A required string that is missing or ill-typed makes the request invalid. Anything else that is
 * wrong with the arguments is a tool error. */
static const char *bad_required(const struct tool *tool, struct json_object *arguments) {
    for (size_t i = 0; i < tool->argument_count; i++) {
        const struct tool_argument *argument = &tool->arguments[i];
        struct json_object *value = NULL;
        json_object_object_get_ex(arguments, argument->name, &value);
        if (argument->required && strcmp(argument->type, "string") == 0 &&
            !json_object_is_type(value, json_type_string))
            return argument->name;
    }
    return NULL;
}

/* Bytes of a client's string that a message repeats, as "%.*s" takes them. */
static int echo_bytes(const char *text) {
    return (int)utf8_offset((const unsigned char *)text, strlen(text), ECHO_CHARS);
}

static bool has_argument(const struct tool *tool, const char *name) {
    for (size_t i = 0; i < tool->argument_count; i++)
        if (strcmp(tool->arguments[i].name, name) == 0)
            return true;
    return false;
}

/* Refuses an argument that the tool does not have, and names those that it has. */
static bool refuse_unknown(struct request *request, const struct tool *tool,
                           struct json_object *arguments) {
    json_object_object_foreach(arguments, name, value) {
        (void)value;
        if (!name || has_argument(tool, name))
            continue;
        cleanup_buffer struct buffer message = buffer_make(1024);
        buffer_append_format(&message, "%s has no argument %.*s; it takes", tool->name,
                             echo_bytes(name), name);
        for (size_t i = 0; i < tool->argument_count; i++)
            buffer_append_format(&message, "%s %s", i ? "," : "", tool->arguments[i].name);
        buffer_append_text(&message, tool->argument_count ? "." : " none.");
        tool_refuse(request, "TYPE-ERROR", buffer_string(&message, "Unknown argument."));
        return true;
    }
    return false;
}

static void unknown_tool(struct request *request, struct json_object *name) {
    char message[4 * ECHO_CHARS + 20] = "A tool's name has no U+0000 in it.";
    const char *text = json_plain_string(name);
    if (text)
        snprintf(message, sizeof message, "Unknown tool: %.*s", echo_bytes(text), text);
    struct buffer *out = request_error_data(request, RPC_INVALID_PARAMS, message);
    buffer_append_text(out, "{\"name\":");
    json_write_tree(out, name);
    buffer_append_text(out, "}");
    request_end(request);
}

void tools_call(struct server *server, struct request *request, struct json_object *params) {
    struct json_object *name = NULL, *arguments = NULL;
    if (params) {
        json_object_object_get_ex(params, "name", &name);
        json_object_object_get_ex(params, "arguments", &arguments);
    }
    if (!json_object_is_type(name, json_type_string)) {
        request_error_invalid(request, "name", "The tool's name must be a string.");
        return;
    }
    request->takes_task =
        request->modern && !request->batch && task_is_declared(capabilities_of(request, params));
    const char *plain_name = json_plain_string(name);
    const struct tool *tool = plain_name ? find(plain_name) : NULL;
    const struct registry_entry *entry =
        plain_name && !tool ? project_find(server->project, REGISTRY_TOOL, plain_name) : NULL;
    if (arguments && !json_object_is_type(arguments, json_type_object) && (tool || entry)) {
        request_error_invalid(request, "arguments", "arguments must be an object.");
        return;
    }
    if (server->project && plain_name &&
        project_resume(request, "tools/call", plain_name, arguments, params))
        return;
    if (entry) {
        project_call_tool(server, request, entry, arguments, params);
        return;
    }
    if (!tool) {
        if (!project_refuse_unread(server->project, request, REGISTRY_TOOL))
            unknown_tool(request, name);
        return;
    }
    const char *bad = bad_required(tool, arguments);
    if (bad) {
        char message[120];
        snprintf(message, sizeof message, "The argument %s must be a string.", bad);
        request_error_invalid(request, bad, message);
    } else if (!arguments || !refuse_unknown(request, tool, arguments)) {
        tool->call(server, request, arguments);
    }
}
