/* Finds and shows entries. A cursor is valid as long as its list does not change. */
#include "supervisor/project/catalog.h"
#include "supervisor/content/shape.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/modern.h"
#include "supervisor/mcp/server.h"
#include "supervisor/project/methods.h"
#include "supervisor/project/project.h"

#include <string.h>

const struct registry_entry *project_find(const struct project *project, enum registry_kind kind,
                                          const char *key) {
    return project ? snapshot_find(registry_snapshot(project->registry), kind, key) : NULL;
}

bool project_refuse_unread(struct project *project, struct request *request,
                           enum registry_kind kind) {
    struct error error;
    if (!project)
        return false;
    bool is_known = registry_was_read(project->registry);
    if (!registry_take_failure(project->registry, &error)) {
        if (is_known || kind == REGISTRY_TOOL)
            return false;
        error = *registry_failure(project->registry);
    }
    struct buffer *out = request_error_data(
        request, RPC_INTERNAL_ERROR,
        is_known ? "The project could not be read; the next request is answered from the previous "
                   "state."
                 : "The project could not be read; only the built-in tools are available.");
    buffer_append_text(out, "{\"name\":\"registry\",\"reason\":");
    json_write_string(out, error.text);
    buffer_append_text(out, "}");
    request_end(request);
    return true;
}

void resource_not_found(struct request *request, const char *uri) {
    request_error_with(request, request->modern ? RPC_INVALID_PARAMS : RPC_RESOURCE_NOT_FOUND,
                       "Resource not found.", "uri", uri);
}

/* --- showing --- */

enum {
    TOOL = 1U << REGISTRY_TOOL,
    RESOURCE = 1U << REGISTRY_RESOURCE,
    TEMPLATE = 1U << REGISTRY_TEMPLATE,
    PROMPT = 1U << REGISTRY_PROMPT,
    ALL = TOOL | RESOURCE | TEMPLATE | PROMPT
};

/* Members that are shown as they were written, and the first revision that has them. */
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

/* The arguments of a prompt, for a revision in which these have no titles. */
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
    /* Older revisions know only schemas of objects for the output. */
    if (strcmp(name, "outputSchema") == 0 && !revision->modern &&
        !shape_is_word(json_tree_member(value, "type"), "object"))
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

void catalog_show(struct buffer *out, const struct revision *revision,
                  const struct registry_entry *entry) {
    struct json_object *value;
    buffer_append_text(out, "{\"name\":");
    json_write_string(out, entry->name);
    if (entry->kind == REGISTRY_RESOURCE)
        show_text(out, "uri", entry_shown(entry));
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

/* --- lists --- */

size_t catalog_count(const struct project *project, enum registry_kind kind) {
    return project ? registry_snapshot(project->registry)->lists[kind].count : 0;
}

void catalog_append(struct request *request, enum registry_kind kind, size_t start, size_t end) {
    const struct project *project = request->server->project;
    for (size_t i = start; i < end; i++) {
        if (i > start)
            buffer_append_text(request->out, ",");
        catalog_show(request->out, revision_of(request),
                     registry_snapshot(project->registry)->lists[kind].entries[i]);
    }
}

void catalog_append_cursor(struct request *request, enum registry_kind kind, size_t index) {
    char mark[SNAPSHOT_MARK_BYTES];
    struct server *server = request->server;
    snapshot_mark(registry_snapshot(server->project->registry), kind, index, mark);
    request_member(request, "nextCursor");
    json_write_string(request->out, cursor_make(&server->cursors, mark));
}

bool catalog_open_cursor(const struct project *project, enum registry_kind kind, const char *mark,
                         size_t *index) {
    return project && snapshot_open_mark(registry_snapshot(project->registry), kind, mark, index);
}
