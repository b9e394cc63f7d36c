/* Notifications of changes. Never tells a stream what it did not ask for, nor a client what it was
 * not promised. */
#include "supervisor/project/notify.h"
#include "supervisor/base/clock.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/modern.h"
#include "supervisor/mcp/server.h"
#include "supervisor/mcp/tool_call.h"
#include "supervisor/project/differences.h"
#include "supervisor/project/lookup.h"
#include "supervisor/project/methods.h"
#include "supervisor/project/project.h"
#include "supervisor/session/run.h"

#include <stdlib.h>
#include <string.h>

enum { SUBSCRIPTIONS_MAX = 1000, BACKLOG_WAIT_MS = 100 };

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
        buffer_append_text(out, "\"_meta\":{\"" MODERN_KEY_SUBSCRIPTION "\":");
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

static void on_lists_waiting(void *context);

/* To a client that does not read a change is told once, when it reads again. */
static void tell_lists(struct project *project) {
    struct server *server = project->server;
    if (output_is_behind(&server->output)) {
        loop_timer_start(&server->loop, &project->lists_timer, BACKLOG_WAIT_MS, on_lists_waiting,
                         project);
        return;
    }
    for (size_t i = 0; i < LIST_COUNT; i++)
        if (project->untold_lists & 1U << i)
            tell_list(server, &lists[i]);
    project->untold_lists = 0;
}

static void on_lists_waiting(void *context) {
    tell_lists(context);
}

static bool stream_wants(const struct request *stream, const char *uri) {
    return json_object_object_get_ex(stream->watched, uri, NULL);
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

/* Telling of one refresh, a slice at a time. */
struct telling {
    struct telling *next;
    struct differences differences;
    struct json_object *lists; /* arrays of URIs: the legacy client's, and those of the streams */
    size_t list, at;           /* the next one to be looked at */
};

static struct json_object *legacy_uris(const struct project *project) {
    struct json_object *uris = json_object_new_array();
    if (!uris)
        return NULL;
    json_object_object_foreach(project->subscribed, uri, nothing) {
        (void)nothing;
        json_object_array_add(uris, json_object_new_string(uri));
    }
    return uris;
}

/* What is watched now. NULL when nothing is. */
static struct json_object *watched_lists(const struct project *project) {
    struct json_object *watched = json_object_new_array(), *uris = legacy_uris(project);
    size_t count = uris ? json_object_array_length(uris) : 0;
    if (!watched || json_object_array_add(watched, uris) != 0) {
        json_object_put(watched);
        json_object_put(uris);
        return NULL;
    }
    for (const struct request *stream = project->server->requests.in_flight; stream;
         stream = stream->next) {
        uris = json_tree_member(stream->filter, "resourceSubscriptions");
        if (!uris)
            continue;
        count += json_object_array_length(uris);
        json_object_array_add(watched, json_object_get(uris));
    }
    if (count)
        return watched;
    json_object_put(watched);
    return NULL;
}

/* The stream whose URIs these are; NULL when it has ended. */
static const struct request *stream_of(const struct server *server, struct json_object *uris) {
    const struct request *stream = server->requests.in_flight;
    while (stream && json_tree_member(stream->filter, "resourceSubscriptions") != uris)
        stream = stream->next;
    return stream;
}

static void tell_if_different(struct project *project, const struct telling *telling,
                              struct json_object *uris) {
    const char *uri = json_object_get_string(json_object_array_get_idx(uris, telling->at));
    if (!differences_have(&telling->differences, uri))
        return;
    const struct request *stream = stream_of(project->server, uris);
    if (telling->list == 0)
        tell_legacy(project, uri);
    else if (stream)
        send(project->server, stream, updated_method, uri);
}

/* Looks at one URI, or lets go of what was compared a bit at a time. True when all is told. */
static bool tell_some(struct project *project) {
    struct telling *telling = project->telling;
    struct json_object *uris = json_object_array_get_idx(telling->lists, telling->list);
    if (uris && telling->at < json_object_array_length(uris)) {
        tell_if_different(project, telling, uris);
        telling->at++;
    } else if (uris) {
        telling->list++;
        telling->at = 0;
    } else if (differences_close_some(&telling->differences)) {
        project->telling = telling->next;
        json_object_put(telling->lists);
        free(telling);
    }
    return !project->telling;
}

/* One slice. It waits for a client that does not read: the queue would grow without end. */
static void on_telling(void *context) {
    struct project *project = context;
    int64_t start_ns = clock_now_ns();
    bool waits = output_is_behind(&project->server->output);
    while (!waits && clock_now_ns() - start_ns < LOOP_TURN_NS)
        if (tell_some(project))
            return;
    loop_timer_start(&project->server->loop, &project->telling_timer, waits ? BACKLOG_WAIT_MS : 0,
                     on_telling, project);
}

static void telling_free(struct telling *telling) {
    differences_close(&telling->differences);
    json_object_put(telling->lists);
    free(telling);
}

void notify_stop(struct project *project) {
    loop_timer_stop(&project->server->loop, &project->telling_timer);
    loop_timer_stop(&project->server->loop, &project->lists_timer);
    while (project->telling) {
        struct telling *telling = project->telling;
        project->telling = telling->next;
        telling_free(telling);
    }
}

/* Of what was not begun when the next refresh came, it is told together with that. */
static void tell_updates(struct project *project, const struct registry_change *change) {
    struct json_object *watched = watched_lists(project);
    struct telling *made = watched ? calloc(1, sizeof *made) : NULL;
    if (!made) {
        json_object_put(watched);
        return;
    }
    struct telling **link = project->telling ? &project->telling->next : &project->telling;
    struct telling *waiting = *link;
    made->lists = watched;
    differences_open(&made->differences, waiting ? waiting->differences.before : change->before,
                     change->now);
    *link = made;
    if (waiting)
        telling_free(waiting);
    if (!project->telling_timer.active)
        loop_timer_start(&project->server->loop, &project->telling_timer, 0, on_telling, project);
}

void notify_refresh(struct project *project, const struct registry_change *change) {
    unsigned resources = 1U << REGISTRY_RESOURCE | 1U << REGISTRY_TEMPLATE;
    for (size_t i = 0; i < LIST_COUNT; i++)
        if (change->listed & lists[i].kinds)
            project->untold_lists |= 1U << i;
    tell_lists(project);
    if ((change->listed | change->content) & resources)
        tell_updates(project, change);
}

void notify_event(struct project *project, const struct run_event *event) {
    const char *kind = json_object_get_string(json_tree_member(event->json, "kind"));
    const char *uri = json_object_get_string(json_tree_member(event->json, "uri"));
    for (size_t i = 0; i < LIST_COUNT; i++)
        if (strcmp(lists[i].word, kind) == 0)
            project->untold_lists |= 1U << i;
    tell_lists(project);
    if (uri) {
        tell_legacy(project, uri);
        tell_streams(project->server, uri);
    }
}

/* --- what is asked for --- */

/* The URIs of WANTED, each once, in an array, and as the members of SEEN. */
static struct json_object *honoured_uris(struct json_object *wanted, struct json_object *seen) {
    struct json_object *uris = json_object_new_array();
    for (size_t i = 0; uris && seen && i < json_object_array_length(wanted); i++) {
        struct json_object *value = json_object_array_get_idx(wanted, i);
        const char *uri = json_plain_string(value);
        if (json_object_array_length(uris) == SUBSCRIPTIONS_MAX)
            break;
        if (uri && !json_object_object_get_ex(seen, uri, NULL) && uri_check(uri, NULL)) {
            json_object_object_add(seen, uri, NULL);
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

/* The URI that PARAMS names, or NULL: the request has been answered then. */
static const char *uri_of(struct request *request, struct json_object *params) {
    const char *uri = json_plain_string(json_tree_member(params, "uri"));
    struct error error;
    if (uri && uri_check(uri, &error))
        return uri;
    request_error_invalid(request, "uri", "uri must be a URI.");
    return NULL;
}

static bool is_known(const struct snapshot *snapshot, const char *uri) {
    struct template_match match;
    return snapshot_find(snapshot, REGISTRY_RESOURCE, uri) || snapshot_match(snapshot, uri, &match);
}

void project_subscribe(struct server *server, struct request *request, struct json_object *params) {
    struct project *project = server->project;
    const char *uri = uri_of(request, params);
    if (!uri)
        return;
    if (!is_known(registry_snapshot(project->registry), uri)) {
        resource_not_found(request, uri);
    } else if (!json_object_object_get_ex(project->subscribed, uri, NULL) &&
               json_object_object_length(project->subscribed) >= SUBSCRIPTIONS_MAX) {
        request_error_limit(request, RPC_INTERNAL_ERROR, "Too many subscriptions are open.",
                            "subscriptions.resources", SUBSCRIPTIONS_MAX);
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
