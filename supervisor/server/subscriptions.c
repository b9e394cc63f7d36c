/* subscriptions/listen. Without a project no change of what this server offers is reported: the
 * acknowledgement then holds an empty set, and no notification follows. */
#include "supervisor/server/subscriptions.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/modern.h"
#include "supervisor/mcp/server.h"
#include "supervisor/mcp/tool_call.h"
#include "supervisor/project/notify.h"
#include "supervisor/server/resources.h"

enum { SUBSCRIPTIONS_MAX = 16 };

static void acknowledge(struct server *server, const struct request *request) {
    struct buffer *out =
        output_notification_begin(&server->output, "notifications/subscriptions/acknowledged");
    buffer_append_text(out, "\"_meta\":{\"" MODERN_KEY_SUBSCRIPTION "\":");
    buffer_append(out, request->id.text.bytes, request->id.text.length);
    buffer_append_text(out, "},\"notifications\":");
    json_write_tree(out, request->filter);
    output_notification_end(&server->output);
}

static size_t count_open(const struct server *server) {
    size_t count = 0;
    for (const struct request *request = server->requests.in_flight; request;
         request = request->next)
        count += request->listening;
    return count;
}

/* The changes of built-in resources are not reported, so they are not honoured. */
static void drop_builtin(const struct server *server, struct json_object *wanted) {
    struct json_object *uris = json_tree_member(wanted, "resourceSubscriptions");
    struct json_object *kept = json_object_new_array();
    if (!json_object_is_type(uris, json_type_array) || !kept) {
        json_object_put(kept);
        return;
    }
    for (size_t i = 0; i < json_object_array_length(uris); i++) {
        struct json_object *uri = json_object_array_get_idx(uris, i);
        if (!resource_is_builtin(server, json_plain_string(uri)))
            json_object_array_add(kept, json_object_get(uri));
    }
    json_object_object_add(wanted, "resourceSubscriptions", kept);
}

void subscriptions_listen(struct server *server, struct request *request,
                          struct json_object *params) {
    if (!json_object_is_type(json_tree_member(params, "notifications"), json_type_object)) {
        request_error_invalid(request, "notifications", "notifications must be an object.");
        return;
    }
    struct request *kept =
        count_open(server) < SUBSCRIPTIONS_MAX ? request_keep(server, request) : NULL;
    if (!kept) {
        request_error_limit(request, RPC_INTERNAL_ERROR, "Too many subscriptions are open.",
                            "subscriptions.streams", SUBSCRIPTIONS_MAX);
        return;
    }
    kept->listening = true;
    drop_builtin(server, json_tree_member(params, "notifications"));
    kept->filter =
        notify_filter(server->project, json_tree_member(params, "notifications"), &kept->watched);
    acknowledge(server, kept);
}
