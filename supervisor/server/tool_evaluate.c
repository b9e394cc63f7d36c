/* The tool evaluate-lisp. */
#include "supervisor/mcp/server.h"
#include "supervisor/mcp/tool_call.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct tool_argument arguments_of_evaluate[] = {
    {.name = "code",
     .type = "string",
     .description = "Common Lisp source. Forms are read and evaluated one by one; the values of "
                    "the last one are the result.",
     .required = true},
    {.name = "package",
     .type = "string",
     .description = "Package to read and evaluate in, for this call only."},
    {.name = "timeout",
     .type = "number",
     .description = "Time limit of this call in seconds.",
     .maximum_setting = offsetof(struct settings, call_timeout_max_s)},
    {.name = "session",
     .type = "string",
     .description = "Session to evaluate in, by the name that open-session or an earlier answer "
                    "gave it. Without it: the connection's own; in a stateless revision a new one, "
                    "whose name ends the answer."},
};

/* The `timeout` argument in milliseconds, or the default. False when it is no lawful number. */
static bool timeout_argument(struct json_object *arguments, const struct settings *settings,
                             int64_t *timeout_ms) {
    struct json_object *value;
    *timeout_ms = settings->call_timeout_s * CLOCK_MS_PER_S;
    if (!json_object_object_get_ex(arguments, "timeout", &value))
        return true;
    if (!json_object_is_type(value, json_type_int) && !json_object_is_type(value, json_type_double))
        return false;
    double seconds = json_object_get_double(value);
    if (!(seconds > 0 && seconds <= (double)settings->call_timeout_max_s))
        return false;
    *timeout_ms = (int64_t)ceil(seconds * CLOCK_MS_PER_S);
    return true;
}

static void evaluate(struct server *server, struct request *request,
                     struct json_object *arguments) {
    struct call_request wanted = {.kind = CALL_EVALUATE};
    if (!tool_string(arguments, "package", &wanted.package)) {
        tool_refuse(request, "TYPE-ERROR", "The argument package must be a string.");
    } else if (!timeout_argument(arguments, server->settings, &wanted.timeout_ms)) {
        char message[160];
        snprintf(message, sizeof message,
                 "The argument timeout must be a number of seconds above 0 and at most %lld.",
                 (long long)server->settings->call_timeout_max_s);
        tool_refuse(request, "TYPE-ERROR", message);
    } else {
        tool_string(arguments, "code", &wanted.code);
        struct session *session = tool_session(server, request, arguments, "session", true);
        if (session)
            tool_submit(server, request, session, &wanted, tool_answer);
    }
}

const struct tool tool_evaluate_lisp = {
    .name = "evaluate-lisp",
    .title = "Evaluate Common Lisp",
    .description =
        "Evaluate Common Lisp (ECL) in a confined process and return printed values, standard "
        "output, warnings, and errors with a backtrace. Definitions and variables persist between "
        "the calls of a session. A call that hangs, crashes, exits or floods changes nothing: the "
        "session is then as it was before it. No files, no network, no programs, no threads.",
    .arguments = arguments_of_evaluate,
    .argument_count = sizeof arguments_of_evaluate / sizeof *arguments_of_evaluate,
    .call = evaluate};
