/* The lists of a project's entries, in pages. A cursor is good for the state of the list that it
 * was given out in, and for no other. */
#include "supervisor/project/list.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/modern.h"
#include "supervisor/mcp/server.h"
#include "supervisor/mcp/tool_call.h"
#include "supervisor/project/lookup.h"
#include "supervisor/project/methods.h"
#include "supervisor/project/project.h"
#include "supervisor/project/show.h"

size_t list_count(const struct project *project, enum registry_kind kind) {
    return project ? registry_snapshot(project->registry)->lists[kind].count : 0;
}

void list_append(struct request *request, enum registry_kind kind, size_t start, size_t end) {
    const struct project *project = request->server->project;
    for (size_t i = start; i < end; i++) {
        if (i > start)
            buffer_append_text(request->out, ",");
        show_entry(request->out, revision_of(request),
                   registry_snapshot(project->registry)->lists[kind].entries[i]);
    }
}

void list_append_cursor(struct request *request, enum registry_kind kind, size_t index) {
    char mark[SNAPSHOT_MARK_BYTES];
    struct server *server = request->server;
    snapshot_mark(registry_snapshot(server->project->registry), kind, index, mark);
    request_member(request, "nextCursor");
    json_write_string(request->out, cursor_make(&server->cursors, mark));
}

bool list_open_cursor(const struct project *project, enum registry_kind kind, const char *mark,
                      size_t *index) {
    return project && snapshot_open_mark(registry_snapshot(project->registry), kind, mark, index);
}

/* Where the page that PARAMS asks for begins. False: the cursor is none of this list. */
static bool find_start(const struct server *server, enum registry_kind kind,
                       struct json_object *params, size_t *start) {
    struct json_object *cursor;
    *start = 0;
    if (!params || !json_object_object_get_ex(params, "cursor", &cursor))
        return true;
    const char *text = json_plain_string(cursor);
    const char *mark = text ? cursor_open(&server->cursors, text) : NULL;
    return mark && list_open_cursor(server->project, kind, mark, start);
}

static void list(struct server *server, struct request *request, struct json_object *params,
                 enum registry_kind kind, const char *member) {
    size_t start, count = list_count(server->project, kind);
    size_t size = (size_t)server->settings->list_page_size;
    if (project_refuse_unread(server->project, request))
        return;
    if (!find_start(server, kind, params, &start)) {
        request_error_invalid(request, "cursor", "Invalid cursor.");
        return;
    }
    size_t end = count - start > size ? start + size : count;
    struct buffer *out = request_result(request);
    request_member(request, member);
    buffer_append_text(out, "[");
    list_append(request, kind, start, end);
    buffer_append_text(out, "]");
    if (end < count)
        list_append_cursor(request, kind, end);
    modern_append_caching(request);
    request_end(request);
    server_warm_up(server);
}

void project_list_resources(struct server *server, struct request *request,
                            struct json_object *params) {
    list(server, request, params, REGISTRY_RESOURCE, "resources");
}

void project_list_templates(struct server *server, struct request *request,
                            struct json_object *params) {
    list(server, request, params, REGISTRY_TEMPLATE, "resourceTemplates");
}

void project_list_prompts(struct server *server, struct request *request,
                          struct json_object *params) {
    list(server, request, params, REGISTRY_PROMPT, "prompts");
}
