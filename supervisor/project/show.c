/* Which members of an entry lists show, and since when. Never shows what the revision lacks. */
#include "supervisor/project/show.h"
#include "supervisor/json/json_write.h"
#include "supervisor/registry/metadata.h"

#include <string.h>

enum {
    TOOL = 1U << REGISTRY_TOOL,
    RESOURCE = 1U << REGISTRY_RESOURCE,
    TEMPLATE = 1U << REGISTRY_TEMPLATE,
    PROMPT = 1U << REGISTRY_PROMPT,
    ALL = TOOL | RESOURCE | TEMPLATE | PROMPT
};

/* Members that are shown as they were written. */
static const struct {
    const char *name;
    unsigned kinds;
    enum since since;
} members[] = {
    {"title", ALL, SINCE_2025_06},        {"description", ALL, SINCE_2024_11},
    {"inputSchema", TOOL, SINCE_2024_11}, {"outputSchema", TOOL, SINCE_2025_06},
    {"annotations", TOOL, SINCE_2025_03}, {"annotations", RESOURCE | TEMPLATE, SINCE_2024_11},
    {"arguments", PROMPT, SINCE_2024_11}, {"icons", ALL, SINCE_2025_11},
    {"_meta", ALL, SINCE_2025_06},
};

bool show_is_object_schema(struct json_object *schema) {
    const char *type =
        json_object_is_type(schema, json_type_object) ? metadata_text(schema, "type") : NULL;
    return type && strcmp(type, "object") == 0;
}

/* The arguments of a prompt for a revision that gives them no titles. */
static void show_untitled(struct buffer *out, struct json_object *arguments) {
    buffer_append_text(out, "[");
    for (size_t i = 0; i < json_object_array_length(arguments); i++) {
        const char *separator = "{";
        if (i)
            buffer_append_text(out, ",");
        json_object_object_foreach(json_object_array_get_idx(arguments, i), name, value) {
            if (strcmp(name, "title") == 0)
                continue;
            buffer_append_text(out, separator);
            json_write_name(out, name);
            json_write_tree(out, value);
            separator = ",";
        }
        buffer_append_text(out, "}");
    }
    buffer_append_text(out, "]");
}

static void show_member(struct buffer *out, const struct revision *revision, const char *name,
                        struct json_object *value) {
    if (strcmp(name, "outputSchema") == 0 && !revision->modern && !show_is_object_schema(value))
        return;
    buffer_append_text(out, ",");
    json_write_name(out, name);
    if (strcmp(name, "arguments") == 0 && !revision->titles)
        show_untitled(out, value);
    else
        json_write_tree(out, value);
}

static void show_text(struct buffer *out, const char *name, const char *text) {
    buffer_append_text(out, ",");
    json_write_name(out, name);
    json_write_string(out, text);
}

void show_entry(struct buffer *out, const struct revision *revision,
                const struct registry_entry *entry) {
    struct json_object *value;
    buffer_append_text(out, "{\"name\":");
    json_write_string(out, entry->name);
    if (entry->kind == REGISTRY_RESOURCE)
        show_text(out, "uri", entry->key);
    if (entry->kind == REGISTRY_TEMPLATE)
        show_text(out, "uriTemplate", entry->key);
    if (entry->mime_type)
        show_text(out, "mimeType", entry->mime_type);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (members[i].kinds & 1U << entry->kind && revision->since >= members[i].since &&
            json_object_object_get_ex(entry->metadata, members[i].name, &value))
            show_member(out, revision, members[i].name, value);
    if (entry->kind == REGISTRY_TOOL &&
        !json_object_object_get_ex(entry->metadata, "inputSchema", &value))
        buffer_append_text(out, ",\"inputSchema\":{\"type\":\"object\"}");
    buffer_append_text(out, "}");
}
