/* The built-in tools, tools/list and tools/call. */
#ifndef ECLAVE_SUPERVISOR_SERVER_TOOLS_H
#define ECLAVE_SUPERVISOR_SERVER_TOOLS_H

#include "supervisor/mcp/tool_call.h"
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

struct request;
struct server;

/* One argument of a tool. Its schema and its checks are made from this. */
struct tool_argument {
    const char *name;
    const char *type; /* JSON Schema: "string", "number", "integer" */
    bool required;
    const char *const *choices; /* strings: all values, up to NULL; NULL: any */
    double minimum;             /* numbers; exclusive for "number" */
    size_t maximum_setting;     /* numbers: offset in struct settings of the maximum, 0: none */
};

struct tool {
    const char *name, *title;
    const struct tool_argument *arguments;
    size_t argument_count;
    bool destructive, idempotent, read_only;
    /* ARGUMENTS is NULL, or an object with arguments of the tool only. */
    void (*call)(struct server *server, struct request *request, struct json_object *arguments);
};

extern const struct tool tool_close_session, tool_evaluate_lisp, tool_list_sessions,
    tool_open_session, tool_read_output, tool_reset_session, tool_rollback_session,
    tool_inspect_lisp;

/* The built-in tools in the order of tools/list, the most used one first. */
enum { TOOL_COUNT = 8 };
extern const struct tool *const tool_table[TOOL_COUNT];

/* The names of the built-in tools; NULL terminates the list. */
const char *const *tools_names(void);

/* Stores the argument `timeout` in milliseconds, or the default. False if the request was answered
 * because it is out of range or not a number. */
bool tools_timeout(struct request *request, struct json_object *arguments,
                   const struct settings *settings, int64_t *timeout_ms);

/* Serves `tools/list`: the built-in tools, then those of the project. */
void tools_list(struct server *server, struct request *request, struct json_object *params);

/* Serves `tools/call`. */
void tools_call(struct server *server, struct request *request, struct json_object *params);

#endif
