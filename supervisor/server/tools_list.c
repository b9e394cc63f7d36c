/* tools/list: the built-in tools, then those of the project. */
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/modern.h"
#include "supervisor/mcp/server.h"
#include "supervisor/mcp/tool_call.h"
#include "supervisor/project/catalog.h"
#include "supervisor/project/project.h"
#include "supervisor/server/tools.h"

#include <stdio.h>
#include <string.h>

/* Not an index of the list. */
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
    if (argument->choices) {
        buffer_append_text(out, ",\"enum\":[");
        for (const char *const *choice = argument->choices; *choice; choice++) {
            buffer_append_text(out, choice == argument->choices ? "" : ",");
            json_write_string(out, *choice);
        }
        buffer_append_text(out, "]");
    }
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
            " Limits: %lld s per call unless `timeout` says otherwise (at most %lld s), %lld MiB "
            "of memory, %lld bytes of output.",
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

/* The index of the page after the cursor, or INVALID. */
static size_t index_after(const struct server *server, struct json_object *cursor) {
    size_t index;
    const char *text = json_plain_string(cursor);
    const char *last = text ? cursor_open(&server->cursors, text) : NULL;
    for (size_t i = 0; last && i < TOOL_COUNT; i++)
        if (strcmp(tool_table[i]->name, last) == 0)
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
        return; /* pages are never empty */
    request_member(request, "nextCursor");
    json_write_string(request->out,
                      cursor_make(&request->server->cursors, tool_table[end - 1]->name));
}

static void append_tools(struct request *request, size_t start, size_t end) {
    for (size_t i = start; i < end && i < TOOL_COUNT; i++) {
        buffer_append_text(request->out, i == start ? "" : ",");
        append_tool(request->out, tool_table[i], revision_of(request), request->server->settings);
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
    if (project_refuse_unread(server->project, request, REGISTRY_TOOL))
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
