/* tools/list: the built-in tools, as they are in this era and with these settings, then those of
 * the project. */
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/server.h"
#include "supervisor/server/describe.h"
#include "supervisor/server/lists.h"
#include "supervisor/server/tools.h"

#include <string.h>

enum { DESCRIPTION_MAX_BYTES = 64 << 10 };

static int64_t setting_at(const struct settings *settings, size_t offset) {
    int64_t value;
    memcpy(&value, (const char *)settings + offset, sizeof value);
    return value;
}

static void append_description(struct buffer *out, const struct surroundings *here,
                               const struct tool *tool, const struct tool_argument *argument) {
    cleanup_buffer struct buffer text = buffer_make(DESCRIPTION_MAX_BYTES);
    describe_append(&text, here, tool, argument);
    buffer_append_text(out, "\"description\":");
    json_write_bytes(out, text.data, text.length);
    out->failed |= text.failed;
}

static void append_argument(struct buffer *out, const struct surroundings *here,
                            const struct tool *tool, const struct tool_argument *argument) {
    bool number = strcmp(argument->type, "number") == 0;
    json_write_name(out, argument->name);
    buffer_append_format(out, "{\"type\":\"%s\",", argument->type);
    append_description(out, here, tool, argument);
    const char *separator = ",\"enum\":[";
    for (const char *const *choice = argument->choices; choice && *choice; choice++)
        if (describe_offers_choice(here, *choice)) {
            buffer_append_text(out, separator);
            json_write_string(out, *choice);
            separator = ",";
        }
    if (argument->choices)
        buffer_append_text(out, "]");
    if (number || argument->minimum > 0)
        buffer_append_format(out, ",\"%s\":%g", number ? "exclusiveMinimum" : "minimum",
                             argument->minimum);
    if (argument->maximum_setting)
        buffer_append_format(out, ",\"maximum\":%lld",
                             (long long)setting_at(here->settings, argument->maximum_setting));
    cleanup_buffer struct buffer value = buffer_make(256);
    if (describe_default(&value, here, argument)) {
        buffer_append_text(out, ",\"default\":");
        buffer_append(out, value.data, value.length);
    }
    buffer_append_text(out, "}");
}

static void append_schema(struct buffer *out, const struct surroundings *here,
                          const struct tool *tool) {
    const char *separator = "";
    size_t required = 0;
    buffer_append_text(out, "{\"type\":\"object\",\"properties\":{");
    for (size_t i = 0; i < tool->argument_count; i++) {
        if (!describe_offers(here, tool, &tool->arguments[i]))
            continue;
        buffer_append_text(out, separator);
        append_argument(out, here, tool, &tool->arguments[i]);
        separator = ",";
    }
    buffer_append_text(out, "}");
    for (size_t i = 0; i < tool->argument_count; i++)
        if (describe_requires(here, tool, &tool->arguments[i])) {
            buffer_append_text(out, required++ ? "," : ",\"required\":[");
            json_write_string(out, tool->arguments[i].name);
        }
    buffer_append_text(out, required ? "],\"additionalProperties\":false}"
                                     : ",\"additionalProperties\":false}");
}

static const char *boolean(bool value) {
    return value ? "true" : "false";
}

static void append_tool(struct request *request, const void *item) {
    const struct tool *tool = item;
    const struct revision *revision = revision_of(request);
    const struct surroundings here = describe_surroundings(request->server, request);
    struct buffer *out = request->out;
    buffer_append_format(out, "{\"name\":\"%s\"", tool->name);
    if (revision->titles)
        buffer_append_format(out, ",\"title\":\"%s\"", tool->title);
    buffer_append_text(out, ",");
    append_description(out, &here, tool, NULL);
    buffer_append_text(out, ",\"inputSchema\":");
    append_schema(out, &here, tool);
    if (revision->annotations)
        buffer_append_format(out,
                             ",\"annotations\":{\"title\":\"%s\",\"readOnlyHint\":%s,"
                             "\"destructiveHint\":%s,\"idempotentHint\":%s,"
                             "\"openWorldHint\":false}",
                             tool->title, boolean(tool->read_only), boolean(tool->destructive),
                             boolean(tool->idempotent));
    buffer_append_text(out, "}");
}

static const char *name_of(const void *item) {
    const struct tool *tool = item;
    return tool->name;
}

void tools_list(struct server *server, struct request *request, struct json_object *params) {
    const struct surroundings here = describe_surroundings(server, request);
    struct list list = {
        .member = "tools", .kind = REGISTRY_TOOL, .name = name_of, .append = append_tool};
    for (size_t i = 0; i < TOOL_COUNT; i++)
        if (describe_offers(&here, tool_table[i], NULL))
            list.items[list.count++] = tool_table[i];
    list_answer(server, request, params, &list);
}
