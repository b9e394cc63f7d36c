/* Pages of lists. A cursor names the last item of its page; among the items of the project it is
 * valid as long as these do not change. */
#include "supervisor/server/lists.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/modern.h"
#include "supervisor/mcp/server.h"
#include "supervisor/project/catalog.h"

#include <stdio.h>
#include <string.h>

enum { MARK_BYTES = 160 };

/* What a cursor after ITEM stands for; the lists share one table of cursors. */
static const char *mark_of(const struct list *list, const void *item, char mark[MARK_BYTES]) {
    snprintf(mark, MARK_BYTES, "%s/%s", list->member, list->name(item));
    return mark;
}

/* The index after the cursor in PARAMS. False if it is none of this list. */
static bool find_start(const struct server *server, const struct list *list,
                       struct json_object *params, size_t *start) {
    struct json_object *cursor;
    char mark[MARK_BYTES];
    *start = 0;
    if (!params || !json_object_object_get_ex(params, "cursor", &cursor))
        return true;
    const char *text = json_plain_string(cursor);
    const char *last = text ? cursor_open(&server->cursors, text) : NULL;
    for (size_t i = 0; last && i < list->count; i++)
        if (strcmp(mark_of(list, list->items[i], mark), last) == 0) {
            *start = i + 1;
            return true;
        }
    if (!last || !catalog_open_cursor(server->project, list->kind, last, start))
        return false;
    *start += list->count;
    return true;
}

static void append_cursor(struct request *request, const struct list *list, size_t end) {
    char mark[MARK_BYTES];
    if (end == 0)
        return; /* pages are never empty */
    if (end >= list->count) {
        catalog_append_cursor(request, list->kind, end - list->count);
        return;
    }
    request_member(request, "nextCursor");
    json_write_string(request->out, cursor_make(&request->server->cursors,
                                                mark_of(list, list->items[end - 1], mark)));
}

static void append_items(struct request *request, const struct list *list, size_t start,
                         size_t end) {
    for (size_t i = start; i < end && i < list->count; i++) {
        buffer_append_text(request->out, i == start ? "" : ",");
        list->append(request, list->items[i]);
    }
    if (end <= list->count)
        return;
    buffer_append_text(request->out, start < list->count ? "," : "");
    catalog_append(request, list->kind, start > list->count ? start - list->count : 0,
                   end - list->count);
}

void list_answer(struct server *server, struct request *request, struct json_object *params,
                 const struct list *list) {
    size_t start, size = (size_t)server->settings->list_page_size;
    size_t count = list->count + catalog_count(server->project, list->kind);
    if (project_refuse_unread(server->project, request, list->kind))
        return;
    if (!find_start(server, list, params, &start)) {
        request_error_invalid(request, "cursor", "Invalid cursor.");
        return;
    }
    size_t end = count - start > size ? start + size : count;
    struct buffer *out = request_result(request);
    request_member(request, list->member);
    buffer_append_text(out, "[");
    append_items(request, list, start, end);
    buffer_append_text(out, "]");
    if (end < count)
        append_cursor(request, list, end);
    modern_append_caching(request);
    request_end(request);
    server_warm_up(server);
}
