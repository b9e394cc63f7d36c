/* Notifications of changes. Never tells a stream what it did not ask for, nor a client what it was
 * not promised. */
#include "supervisor/project/notify.h"
#include "supervisor/json_tree.h"
#include "supervisor/json_write.h"
#include "supervisor/project/methods.h"
#include "supervisor/project/project.h"
#include "supervisor/project/resource.h"
#include "supervisor/rpc.h"
#include "supervisor/run.h"
#include "supervisor/server.h"
#include "supervisor/tool.h"

#include <string.h>

enum { SUBSCRIPTIONS_MAX = 1000 };

static const char updated_method[] = "notifications/resources/updated";

/* The lists that change, and what says so. */
static const struct list {
    const char *word, *method, *filter;
    unsigned kinds;
} lists[] = {
    {"tools", "notifications/tools/list_changed", "toolsListChanged", 1U << REGISTRY_TOOL},
    {"prompts", "notifications/prompts/list_changed", "promptsListChanged", 1U << REGISTRY_PROMPT},
    {"resources", "notifications/resources/list_changed", "resourcesListChanged",
     1U << REGISTRY_RESOURCE | 1U << REGISTRY_TEMPLATE},
};

enum { LIST_COUNT = sizeof lists / sizeof *lists };

/* --- sending --- */

/* STREAM is NULL for the legacy client, URI for a list. */
static void send(struct server *server, const struct request *stream, const char *method,
                 const char *uri) {
    struct buffer *out = output_line_begin(&server->output);
    buffer_append_format(out, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\"", method);
    if (stream || uri)
        buffer_append_text(out, ",\"params\":{");
    if (stream) {
        buffer_append_text(out, "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":");
        buffer_append(out, stream->id.text.bytes, stream->id.text.length);
        buffer_append_text(out, uri ? "}," : "}");
    }
    if (uri) {
        buffer_append_text(out, "\"uri\":");
        json_write_string(out, uri);
    }
    buffer_append_text(out, stream || uri ? "}}" : "}");
    output_line_end(&server->output, (struct span){0});
}

static bool legacy_listens(const struct server *server) {
    return server->initialized && !server->finishing;
}

static void tell_list(struct server *server, const struct list *list) {
    if (legacy_listens(server))
        send(server, NULL, list->method, NULL);
    for (const struct request *stream = server->requests.in_flight; stream; stream = stream->next)
        if (stream->listening && json_object_object_get_ex(stream->filter, list->filter, NULL))
            send(server, stream, list->method, NULL);
}

static bool contains(struct json_object *uris, const char *uri) {
    for (size_t i = 0; i < json_object_array_length(uris); i++)
        if (strcmp(json_object_get_string(json_object_array_get_idx(uris, i)), uri) == 0)
            return true;
    return false;
}

static bool stream_wants(const struct request *stream, const char *uri) {
    struct json_object *uris = json_tree_member(stream->filter, "resourceSubscriptions");
    return uris && contains(uris, uri);
}

static void tell_streams(struct server *server, const char *uri) {
    for (const struct request *stream = server->requests.in_flight; stream; stream = stream->next)
        if (stream->listening && stream_wants(stream, uri))
            send(server, stream, updated_method, uri);
}

static void tell_legacy(struct project *project, const char *uri) {
    if (legacy_listens(project->server) &&
        json_object_object_get_ex(project->subscribed, uri, NULL))
        send(project->server, NULL, updated_method, uri);
}

/* --- refreshes --- */

static const struct registry_entry *source_of(const struct snapshot *snapshot, const char *uri) {
    struct template_match match;
    const struct registry_entry *entry = snapshot_find(snapshot, REGISTRY_RESOURCE, uri);
    return entry ? entry : snapshot_match(snapshot, uri, &match);
}

static bool differs(const struct registry_change *change, const char *uri) {
    const struct registry_entry *before = source_of(change->before, uri);
    const struct registry_entry *now = source_of(change->now, uri);
    if (before == now || !before || !now)
        return before != now;
    return !digest_equal(before->content, now->content) ||
           !digest_equal(before->listing, now->listing);
}

static void tell_updates(struct project *project, const struct registry_change *change) {
    json_object_object_foreach(project->subscribed, uri, nothing) {
        (void)nothing;
        if (differs(change, uri))
            tell_legacy(project, uri);
    }
    struct server *server = project->server;
    for (struct request *stream = server->requests.in_flight; stream; stream = stream->next) {
        struct json_object *uris =
            stream->listening ? json_tree_member(stream->filter, "resourceSubscriptions") : NULL;
        for (size_t i = 0; uris && i < json_object_array_length(uris); i++) {
            const char *watched = json_object_get_string(json_object_array_get_idx(uris, i));
            if (differs(change, watched))
                send(server, stream, updated_method, watched);
        }
    }
}

void notify_refresh(struct project *project, const struct registry_change *change) {
    unsigned resources = 1U << REGISTRY_RESOURCE | 1U << REGISTRY_TEMPLATE;
    for (size_t i = 0; i < LIST_COUNT; i++)
        if (change->listed & lists[i].kinds)
            tell_list(project->server, &lists[i]);
    if ((change->listed | change->content) & resources)
        tell_updates(project, change);
}

void notify_event(struct project *project, const struct run_event *event) {
    const char *kind = json_object_get_string(json_tree_member(event->json, "kind"));
    const char *uri = json_object_get_string(json_tree_member(event->json, "uri"));
    for (size_t i = 0; i < LIST_COUNT; i++)
        if (strcmp(lists[i].word, kind) == 0)
            tell_list(project->server, &lists[i]);
    if (uri) {
        tell_legacy(project, uri);
        tell_streams(project->server, uri);
    }
}

/* --- what is asked for --- */

static struct json_object *honoured_uris(struct json_object *wanted) {
    struct json_object *uris = json_object_new_array();
    for (size_t i = 0; uris && i < json_object_array_length(wanted); i++) {
        struct json_object *value = json_object_array_get_idx(wanted, i);
        const char *uri = rpc_plain_string(value);
        if (json_object_array_length(uris) == SUBSCRIPTIONS_MAX)
            break;
        if (uri && uri_check(uri, NULL) && !contains(uris, uri))
            json_object_array_add(uris, json_object_get(value));
    }
    return uris;
}

struct json_object *notify_filter(const struct project *project, struct json_object *wanted) {
    struct json_object *filter = json_object_new_object(), *value;
    if (!filter || !project)
        return filter;
    for (size_t i = 0; i < LIST_COUNT; i++)
        if (json_object_object_get_ex(wanted, lists[i].filter, &value) &&
            json_object_is_type(value, json_type_boolean) && json_object_get_boolean(value))
            json_object_object_add(filter, lists[i].filter, json_object_new_boolean(1));
    if (json_object_object_get_ex(wanted, "resourceSubscriptions", &value) &&
        json_object_is_type(value, json_type_array))
        json_object_object_add(filter, "resourceSubscriptions", honoured_uris(value));
    return filter;
}

/* The URI that PARAMS names, or NULL: the request has been answered then. */
static const char *uri_of(struct request *request, struct json_object *params) {
    const char *uri = rpc_plain_string(json_tree_member(params, "uri"));
    struct error error;
    if (uri && uri_check(uri, &error))
        return uri;
    tool_invalid_params(request, "uri", "uri must be a URI.");
    return NULL;
}

void project_subscribe(struct server *server, struct request *request, struct json_object *params) {
    struct project *project = server->project;
    const char *uri = uri_of(request, params);
    if (!uri)
        return;
    if (!source_of(registry_snapshot(project->registry), uri)) {
        resource_not_found(request, uri);
    } else if (!json_object_object_get_ex(project->subscribed, uri, NULL) &&
               json_object_object_length(project->subscribed) >= SUBSCRIPTIONS_MAX) {
        struct buffer *out =
            request_error_data(request, RPC_INTERNAL_ERROR, "Too many subscriptions are open.");
        buffer_append_format(out, "{\"limit\":%d,\"name\":\"subscriptions\"}", SUBSCRIPTIONS_MAX);
        request_end(request);
    } else {
        json_object_object_add(project->subscribed, uri, NULL);
        request_acknowledge(request);
    }
}

void project_unsubscribe(struct server *server, struct request *request,
                         struct json_object *params) {
    const char *uri = uri_of(request, params);
    if (!uri)
        return;
    json_object_object_del(server->project->subscribed, uri);
    request_acknowledge(request);
}
