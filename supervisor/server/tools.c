/* The table of tools, how it is listed, and which tool a call is for. */
#include "supervisor/server/tools.h"
#include "common/utf8.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/modern.h"
#include "supervisor/mcp/request.h"
#include "supervisor/mcp/server.h"
#include "supervisor/mcp/tool_call.h"
#include "supervisor/project/ask.h"
#include "supervisor/project/catalog.h"
#include "supervisor/project/methods.h"
#include "supervisor/project/project.h"
#include "supervisor/server/rpc.h"

#include <stdio.h>
#include <string.h>

static const struct tool *const tools[] = {
    &tool_close_session, &tool_evaluate_lisp, &tool_list_sessions,
    &tool_open_session,  &tool_reset_session, &tool_rollback_session,
};

enum { TOOL_COUNT = sizeof tools / sizeof(tools[0]), ECHO_CHARS = 60 };

/* No place in the list. */
#define INVALID SIZE_MAX

static int64_t setting_at(const struct settings *settings, size_t offset) {
    int64_t value;
    memcpy(&value, (const char *)settings + offset, sizeof value);
    return value;
}

static void append_argument(struct buffer *out, const struct tool_argument *argument,
                            const struct settings *settings) {
    bool number = strcmp(argument->type, "number") == 0;
    json_write_name(out, argument->name);
    buffer_append_format(out, "{\"type\":\"%s\",\"description\":", argument->type);
    json_write_string(out, argument->description);
    if (number || argument->minimum > 0)
        buffer_append_format(out, ",\"%s\":%g", number ? "exclusiveMinimum" : "minimum",
                             argument->minimum);
    if (argument->maximum_setting)
        buffer_append_format(out, ",\"maximum\":%lld",
                             (long long)setting_at(settings, argument->maximum_setting));
    buffer_append_text(out, "}");
}

static void append_schema(struct buffer *out, const struct tool *tool,
                          const struct settings *settings) {
    buffer_append_text(out, "{\"type\":\"object\",\"properties\":{");
    for (size_t i = 0; i < tool->argument_count; i++) {
        if (i)
            buffer_append_text(out, ",");
        append_argument(out, &tool->arguments[i], settings);
    }
    buffer_append_text(out, "}");
    size_t required = 0;
    for (size_t i = 0; i < tool->argument_count; i++)
        if (tool->arguments[i].required) {
            buffer_append_text(out, required++ ? "," : ",\"required\":[");
            json_write_string(out, tool->arguments[i].name);
        }
    buffer_append_text(out, required ? "],\"additionalProperties\":false}"
                                     : ",\"additionalProperties\":false}");
}

static void append_description(struct buffer *out, const struct tool *tool,
                               const struct settings *settings) {
    cleanup_buffer struct buffer text = buffer_make(4096);
    buffer_append_text(&text, tool->description);
    if (tool == &tool_evaluate_lisp)
        buffer_append_format(
            &text,
            " Limits: %lld s a call unless `timeout` says otherwise (at most %lld "
            "s), %lld MiB of memory, %lld bytes of output.",
            (long long)settings->call_timeout_s, (long long)settings->call_timeout_max_s,
            (long long)settings->session_memory_mb, (long long)settings->output_max_bytes);
    json_write_bytes(out, text.data, text.length);
}

static const char *boolean(bool value) {
    return value ? "true" : "false";
}

static void append_tool(struct buffer *out, const struct tool *tool,
                        const struct revision *revision, const struct settings *settings) {
    buffer_append_format(out, "{\"name\":\"%s\"", tool->name);
    if (revision->titles)
        buffer_append_format(out, ",\"title\":\"%s\"", tool->title);
    buffer_append_text(out, ",\"description\":");
    append_description(out, tool, settings);
    buffer_append_text(out, ",\"inputSchema\":");
    append_schema(out, tool, settings);
    if (revision->annotations)
        buffer_append_format(out,
                             ",\"annotations\":{\"title\":\"%s\",\"readOnlyHint\":%s,"
                             "\"destructiveHint\":%s,\"idempotentHint\":%s,"
                             "\"openWorldHint\":false}",
                             tool->title, boolean(tool->read_only), boolean(tool->destructive),
                             boolean(tool->idempotent));
    buffer_append_text(out, "}");
}

const char *const *tools_names(void) {
    static const char *names[TOOL_COUNT + 1];
    for (size_t i = 0; i < TOOL_COUNT; i++)
        names[i] = tools[i]->name;
    return names;
}

/* Where the page behind the cursor begins, or INVALID. */
static size_t index_after(const struct server *server, struct json_object *cursor) {
    size_t index;
    const char *text = json_plain_string(cursor);
    const char *last = text ? cursor_open(&server->cursors, text) : NULL;
    for (size_t i = 0; last && i < TOOL_COUNT; i++)
        if (strcmp(tools[i]->name, last) == 0)
            return i + 1;
    return last && catalog_open_cursor(server->project, REGISTRY_TOOL, last, &index)
               ? TOOL_COUNT + index
               : INVALID;
}

static void append_cursor(struct request *request, size_t end) {
    if (end >= TOOL_COUNT) {
        catalog_append_cursor(request, REGISTRY_TOOL, end - TOOL_COUNT);
        return;
    }
    if (end == 0)
        return; /* no page is empty */
    request_member(request, "nextCursor");
    json_write_string(request->out, cursor_make(&request->server->cursors, tools[end - 1]->name));
}

static void append_tools(struct request *request, size_t start, size_t end) {
    for (size_t i = start; i < end && i < TOOL_COUNT; i++) {
        buffer_append_text(request->out, i == start ? "" : ",");
        append_tool(request->out, tools[i], revision_of(request), request->server->settings);
    }
    if (end <= TOOL_COUNT)
        return;
    buffer_append_text(request->out, start < TOOL_COUNT ? "," : "");
    catalog_append(request, REGISTRY_TOOL, start > TOOL_COUNT ? start - TOOL_COUNT : 0,
                   end - TOOL_COUNT);
}

void tools_list(struct server *server, struct request *request, struct json_object *params) {
    struct json_object *cursor = NULL;
    size_t start = 0, size = (size_t)server->settings->list_page_size;
    size_t count = TOOL_COUNT + catalog_count(server->project, REGISTRY_TOOL);
    if (project_refuse_unread(server->project, request))
        return;
    if (params && json_object_object_get_ex(params, "cursor", &cursor))
        start = index_after(server, cursor);
    if (start == INVALID) {
        request_error_invalid(request, "cursor", "Invalid cursor.");
        return;
    }
    size_t end = count - start > size ? start + size : count;
    struct buffer *out = request_result(request);
    request_member(request, "tools");
    buffer_append_text(out, "[");
    append_tools(request, start, end);
    buffer_append_text(out, "]");
    if (end < count)
        append_cursor(request, end);
    modern_append_caching(request);
    request_end(request);
    server_warm_up(server);
}

static const struct tool *find(const char *name) {
    for (size_t i = 0; i < TOOL_COUNT; i++)
        if (strcmp(tools[i]->name, name) == 0)
            return tools[i];
    return NULL;
}

/* A required string that is missing or of another type is an error of the request, anything else
 * about the arguments one of the tool. */
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

/* How many bytes of a client's word a message repeats; "%.*s" takes an int. */
static int echo_bytes(const char *text) {
    return (int)utf8_offset((const unsigned char *)text, strlen(text), ECHO_CHARS);
}

static bool has_argument(const struct tool *tool, const char *name) {
    for (size_t i = 0; i < tool->argument_count; i++)
        if (strcmp(tool->arguments[i].name, name) == 0)
            return true;
    return false;
}

/* Refuses an argument that the tool does not have, with the names of those it has. */
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
        buffer_append(&message, "", 1);
        tool_refuse(request, "TYPE-ERROR", (const char *)message.data);
        return true;
    }
    return false;
}

static void unknown_tool(struct request *request, struct json_object *name) {
    char message[4 * ECHO_CHARS + 20];
    const char *text = json_object_get_string(name);
    snprintf(message, sizeof message, "Unknown tool: %.*s", echo_bytes(text), text);
    struct buffer *out = request_error_data(request, RPC_INVALID_PARAMS, message);
    buffer_append_text(out, "{\"name\":");
    json_write_bytes(out, text, (size_t)json_object_get_string_len(name));
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
    const char *plain_name = json_plain_string(name);
    const struct tool *tool = plain_name ? find(plain_name) : NULL;
    const struct registry_entry *entry =
        plain_name && !tool ? project_find(server->project, REGISTRY_TOOL, plain_name) : NULL;
    if (arguments && !json_object_is_type(arguments, json_type_object) && (tool || entry)) {
        request_error_invalid(request, "arguments", "arguments must be an object.");
        return;
    }
    if (plain_name && project_resume(request, "tools/call", plain_name, arguments, params))
        return;
    if (entry) {
        project_call_tool(server, request, entry, arguments, params);
        return;
    }
    if (!tool) {
        if (!project_refuse_unread(server->project, request))
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
