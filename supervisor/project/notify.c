/* Sends the notifications of changes, and keeps the subscriptions of the legacy client. */
#include "supervisor/project/notify.h"
#include "supervisor/base/clock.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/modern.h"
#include "supervisor/mcp/server.h"
#include "supervisor/project/catalog.h"
#include "supervisor/project/differences.h"
#include "supervisor/project/methods.h"
#include "supervisor/project/project.h"
#include "supervisor/session/run.h"

#include <stdlib.h>
#include <string.h>

enum { SUBSCRIPTIONS_MAX = 1000, BACKLOG_WAIT_MS = 100 };

static const char updated_method[] = "notifications/resources/updated";

/* The lists, by the word in a RUN_CHANGE, with the notification and the member of a filter. */
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
    if (!stream && !uri) {
        buffer_append_format(output_line_begin(&server->output),
                             "{\"jsonrpc\":\"2.0\",\"method\":\"%s\"}", method);
        output_line_end(&server->output, (struct span){0});
        return;
    }
    struct buffer *out = output_notification_begin(&server->output, method);
    if (stream) {
        buffer_append_text(out, "\"_meta\":{\"" MODERN_KEY_SUBSCRIPTION "\":");
        buffer_append(out, stream->id.text.bytes, stream->id.text.length);
        buffer_append_text(out, uri ? "}," : "}");
    }
    if (uri) {
        buffer_append_text(out, "\"uri\":");
        json_write_string(out, uri);
    }
    output_notification_end(&server->output);
}

static bool has_legacy_client(const struct server *server) {
    return server->initialized && !server->finishing;
}

static void notify_list(struct server *server, const struct list *list) {
    bool declared = server->declared_project || list->kinds == 1U << REGISTRY_TOOL;
    if (has_legacy_client(server) && declared)
        send(server, NULL, list->method, NULL);
    for (const struct request *stream = server->requests.in_flight; stream; stream = stream->next)
        if (stream->listening && json_object_object_get_ex(stream->filter, list->filter, NULL))
            send(server, stream, list->method, NULL);
}

/* A client that is behind with reading is notified once, when it has read. */
static void notify_lists(void *context) {
    struct project *project = context;
    struct server *server = project->server;
    if (output_is_behind(&server->output)) {
        loop_timer_start(&server->loop, &project->lists_timer, BACKLOG_WAIT_MS, notify_lists,
                         project);
        return;
    }
    for (size_t i = 0; i < LIST_COUNT; i++)
        if (project->changed_lists & 1U << i)
            notify_list(server, &lists[i]);
    project->changed_lists = 0;
}

/* The member of SUBSCRIBED for URI, as the client wrote it; NULL if it is not subscribed. */
static const char *subscribed_as(struct json_object *subscribed, const char *uri) {
    char normal[URI_MAX_BYTES + 1];
    return json_object_get_string(json_tree_member(subscribed, uri_normal(uri, normal)));
}

static void notify_legacy(struct project *project, const char *uri) {
    const char *written = subscribed_as(project->subscribed, uri);
    if (has_legacy_client(project->server) && written)
        send(project->server, NULL, updated_method, written);
}

/* --- after a scan --- */

/* The subscribed URIs that are compared after a scan. */
struct update {
    struct differences differences;
    struct json_object *lists; /* arrays of URIs: of the legacy client, then of each stream */
    size_t list, at;           /* the next URI to compare */
};

static struct json_object *legacy_uris(const struct project *project) {
    struct json_object *uris = json_object_new_array();
    if (!uris)
        return NULL;
    json_object_object_foreach(project->subscribed, normal, uri) {
        (void)normal;
        json_object_array_add(uris, json_object_get(uri));
    }
    return uris;
}

/* NULL if no URI is subscribed. */
static struct json_object *subscribed_lists(const struct project *project) {
    struct json_object *subscribed = json_object_new_array(), *uris = legacy_uris(project);
    size_t count = uris ? json_object_array_length(uris) : 0;
    if (!subscribed || json_object_array_add(subscribed, uris) != 0) {
        json_object_put(subscribed);
        json_object_put(uris);
        return NULL;
    }
    for (const struct request *stream = project->server->requests.in_flight; stream;
         stream = stream->next) {
        uris = json_tree_member(stream->filter, "resourceSubscriptions");
        if (!uris)
            continue;
        count += json_object_array_length(uris);
        json_object_array_add(subscribed, json_object_get(uris));
    }
    if (count)
        return subscribed;
    json_object_put(subscribed);
    return NULL;
}

/* The stream that subscribed URIS; NULL when it has ended. */
static const struct request *stream_of(const struct server *server, struct json_object *uris) {
    const struct request *stream = server->requests.in_flight;
    while (stream && json_tree_member(stream->filter, "resourceSubscriptions") != uris)
        stream = stream->next;
    return stream;
}

static void notify_if_different(struct project *project, const struct update *update,
                                struct json_object *uris) {
    const char *uri = json_object_get_string(json_object_array_get_idx(uris, update->at));
    if (!differences_have(&update->differences, uri))
        return;
    const struct request *stream = stream_of(project->server, uris);
    if (update->list == 0)
        notify_legacy(project, uri);
    else if (stream)
        send(project->server, stream, updated_method, uri);
}

static void update_free(struct update *update) {
    if (!update)
        return;
    differences_close(&update->differences);
    json_object_put(update->lists);
    free(update);
}

/* Compares one URI, or frees a part of the snapshots compared. True when all is done. */
static bool update_step(struct project *project) {
    struct update *update = project->update;
    struct json_object *uris = json_object_array_get_idx(update->lists, update->list);
    if (uris && update->at < json_object_array_length(uris)) {
        notify_if_different(project, update, uris);
        update->at++;
    } else if (uris) {
        update->list++;
        update->at = 0;
    } else if (differences_close_some(&update->differences)) {
        update_free(update);
        project->update = project->next_update;
        project->next_update = NULL;
    }
    return !project->update;
}

/* One slice. It waits for a client that is behind with reading: the queue would grow without
 * limit. */
static void on_update(void *context) {
    struct project *project = context;
    int64_t start_ns = clock_now_ns();
    bool waits = output_is_behind(&project->server->output);
    while (!waits && clock_now_ns() - start_ns < LOOP_TURN_NS)
        if (update_step(project))
            return;
    loop_timer_start(&project->server->loop, &project->update_timer, waits ? BACKLOG_WAIT_MS : 0,
                     on_update, project);
}

void notify_stop(struct project *project) {
    loop_timer_stop(&project->server->loop, &project->update_timer);
    loop_timer_stop(&project->server->loop, &project->lists_timer);
    update_free(project->update);
    update_free(project->next_update);
    project->update = project->next_update = NULL;
}

/* An update that has not begun is replaced by one that covers its changes, too. */
static void add_update(struct project *project, const struct registry_change *change) {
    struct json_object *subscribed = subscribed_lists(project);
    struct update *made = subscribed ? calloc(1, sizeof *made) : NULL;
    if (!made) {
        json_object_put(subscribed);
        return;
    }
    struct update **slot = project->update ? &project->next_update : &project->update;
    struct update *replaced = *slot;
    made->lists = subscribed;
    differences_open(&made->differences, replaced ? replaced->differences.before : change->before,
                     change->now);
    *slot = made;
    update_free(replaced);
    if (!project->update_timer.active)
        loop_timer_start(&project->server->loop, &project->update_timer, 0, on_update, project);
}

void notify_scan(struct project *project, const struct registry_change *change) {
    unsigned resources = 1U << REGISTRY_RESOURCE | 1U << REGISTRY_TEMPLATE;
    for (size_t i = 0; i < LIST_COUNT; i++)
        if (change->listed & lists[i].kinds)
            project->changed_lists |= 1U << i;
    notify_lists(project);
    if ((change->listed | change->content) & resources)
        add_update(project, change);
}

void notify_change(struct project *project, const struct run_event *event) {
    const struct server *server = project->server;
    const char *kind = json_object_get_string(json_tree_member(event->json, "kind"));
    const char *uri = json_object_get_string(json_tree_member(event->json, "uri"));
    for (size_t i = 0; i < LIST_COUNT; i++)
        if (strcmp(lists[i].word, kind) == 0)
            project->changed_lists |= 1U << i;
    notify_lists(project);
    if (!uri)
        return;
    notify_legacy(project, uri);
    for (const struct request *stream = server->requests.in_flight; stream; stream = stream->next) {
        const char *written = stream->listening ? subscribed_as(stream->watched, uri) : NULL;
        if (written)
            send(project->server, stream, updated_method, written);
    }
}

/* --- subscriptions --- */

/* The URIs of WANTED without repetitions, in an array and as the members of SEEN, each under its
 * normal form. */
static struct json_object *honoured_uris(struct json_object *wanted, struct json_object *seen) {
    struct json_object *uris = json_object_new_array();
    for (size_t i = 0; uris && seen && i < json_object_array_length(wanted); i++) {
        struct json_object *value = json_object_array_get_idx(wanted, i);
        const char *uri = json_plain_string(value);
        if (json_object_array_length(uris) == SUBSCRIPTIONS_MAX)
            break;
        if (uri && uri_check(uri, NULL) && !subscribed_as(seen, uri)) {
            char normal[URI_MAX_BYTES + 1];
            json_object_object_add(seen, uri_normal(uri, normal), json_object_get(value));
            json_object_array_add(uris, json_object_get(value));
        }
    }
    return uris;
}

struct json_object *notify_filter(const struct project *project, struct json_object *wanted,
                                  struct json_object **watched) {
    struct json_object *filter = json_object_new_object(), *value;
    *watched = NULL;
    if (!filter || !project)
        return filter;
    for (size_t i = 0; i < LIST_COUNT; i++)
        if (json_object_object_get_ex(wanted, lists[i].filter, &value) &&
            json_object_is_type(value, json_type_boolean) && json_object_get_boolean(value))
            json_object_object_add(filter, lists[i].filter, json_object_new_boolean(1));
    if (json_object_object_get_ex(wanted, "resourceSubscriptions", &value) &&
        json_object_is_type(value, json_type_array)) {
        *watched = json_object_new_object();
        json_object_object_add(filter, "resourceSubscriptions", honoured_uris(value, *watched));
    }
    return filter;
}

/* The URI in PARAMS, or NULL: the request has been answered. */
static const char *uri_of(struct request *request, struct json_object *params) {
    const char *uri = json_plain_string(json_tree_member(params, "uri"));
    if (uri && uri_check(uri, NULL))
        return uri;
    request_error_invalid(request, "uri", "uri must be a URI.");
    return NULL;
}

static bool is_known(const struct snapshot *snapshot, const char *uri) {
    struct template_match match;
    return snapshot_find(snapshot, REGISTRY_RESOURCE, uri) || snapshot_match(snapshot, uri, &match);
}

void project_subscribe(struct server *server, struct request *request, struct json_object *params) {
    char normal[URI_MAX_BYTES + 1];
    struct project *project = server->project;
    const char *uri = uri_of(request, params);
    if (!uri)
        return;
    if (!is_known(registry_snapshot(project->registry), uri)) {
        resource_not_found(request, uri);
    } else if (!subscribed_as(project->subscribed, uri) &&
               json_object_object_length(project->subscribed) >= SUBSCRIPTIONS_MAX) {
        request_error_limit(request, RPC_INTERNAL_ERROR, "Too many subscriptions are open.",
                            "subscriptions.resources", SUBSCRIPTIONS_MAX);
    } else {
        json_object_object_add(project->subscribed, uri_normal(uri, normal),
                               json_object_new_string(uri));
        request_acknowledge(request);
    }
}

void project_unsubscribe(struct server *server, struct request *request,
                         struct json_object *params) {
    char normal[URI_MAX_BYTES + 1];
    const char *uri = uri_of(request, params);
    if (!uri)
        return;
    json_object_object_del(server->project->subscribed, uri_normal(uri, normal));
    request_acknowledge(request);
}
