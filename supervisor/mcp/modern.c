/* The modern era. Never takes anything from an earlier request. */
#include "supervisor/mcp/modern.h"
#include "common/utf8.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/log.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/request.h"
#include "supervisor/mcp/revision.h"
#include "supervisor/mcp/server.h"
#include "supervisor/project/notify.h"

#include <stdio.h>
#include <string.h>

#define PREFIX           "io.modelcontextprotocol/"
#define KEY_VERSION      PREFIX "protocolVersion"
#define KEY_CAPABILITIES PREFIX "clientCapabilities"
#define KEY_LOG_LEVEL    PREFIX "logLevel"
#define KEY_SUBSCRIPTION PREFIX "subscriptionId"

enum { SUBSCRIPTIONS_MAX = 16, CACHE_MS = 3600000, ECHO_CHARS = 100 };

bool modern_is_claimed(struct json_object *params) {
    struct json_object *meta = json_tree_member(params, "_meta");
    return json_object_is_type(meta, json_type_object) &&
           json_object_object_get_ex(meta, KEY_VERSION, NULL);
}

static void refuse_key(struct request *request, const char *key, const char *message) {
    struct buffer *out = request_error_data(request, RPC_INVALID_PARAMS, message);
    buffer_append_text(out, "{\"name\":");
    json_write_string(out, key);
    buffer_append_text(out, "}");
    request_end(request);
}

/* A version that `initialize` knows is not served this way, so it is not called supported here. */
static void refuse_version(struct request *request, const char *requested) {
    struct buffer *out =
        request_error_data(request, RPC_UNSUPPORTED_VERSION, "Unsupported protocol version.");
    cleanup_buffer struct buffer dates = buffer_make(256);
    revision_append_dates(&dates, true, false);
    buffer_append(&dates, "", 1);
    char quoted[32];
    snprintf(quoted, sizeof quoted, "\"%.20s\"", requested);
    bool legacy = strstr((const char *)dates.data, quoted) != NULL;
    buffer_append_text(out, "{\"supported\":");
    revision_append_dates(out, !legacy, true);
    buffer_append_text(out, ",\"requested\":");
    json_write_bytes(out, requested,
                     utf8_offset((const unsigned char *)requested, strlen(requested), ECHO_CHARS));
    buffer_append_text(out, "}");
    request_end(request);
}

bool modern_check_envelope(struct request *request, struct json_object *params) {
    struct json_object *meta = json_tree_member(params, "_meta");
    const char *version = json_plain_string(json_tree_member(meta, KEY_VERSION));
    struct json_object *level = json_tree_member(meta, KEY_LOG_LEVEL);
    if (!version) {
        refuse_key(request, KEY_VERSION, "_meta " KEY_VERSION " must be a string.");
        return false;
    }
    if (!json_object_is_type(json_tree_member(meta, KEY_CAPABILITIES), json_type_object)) {
        refuse_key(request, KEY_CAPABILITIES, "_meta must have the object " KEY_CAPABILITIES ".");
        return false;
    }
    if (strcmp(version, revision_modern->date) != 0) {
        refuse_version(request, version);
        return false;
    }
    if (json_object_object_get_ex(meta, KEY_LOG_LEVEL, NULL)) {
        const char *name = json_plain_string(level);
        request->log_level = name ? log_level_of(name) : -1;
        if (request->log_level < 0) {
            refuse_key(request, KEY_LOG_LEVEL, "Invalid log level.");
            return false;
        }
    }
    return true;
}

void modern_refuse_bare(struct request *request) {
    refuse_key(request, KEY_VERSION,
               "params._meta must have " KEY_VERSION " and " KEY_CAPABILITIES ".");
}

static void append_caching(struct request *request, int64_t ttl_ms) {
    if (!request->modern)
        return;
    request_member(request, "ttlMs");
    buffer_append_format(request->out, "%lld", (long long)ttl_ms);
    request_member(request, "cacheScope");
    buffer_append_text(request->out, "\"public\"");
}

/* What a project has may change as soon as it is looked at again. */
void modern_append_caching(struct request *request) {
    const struct server *server = request->server;
    append_caching(request, server->project ? server->settings->registry_refresh_s * CLOCK_MS_PER_S
                                            : CACHE_MS);
}

void modern_append_no_caching(struct request *request) {
    append_caching(request, 0);
}

void modern_discover(struct server *server, struct request *request, struct json_object *params) {
    (void)params;
    struct buffer *out = request_result(request);
    request_member(request, "supportedVersions");
    revision_append_dates(out, true, true);
    request_member(request, "capabilities");
    revision_append_capabilities(out, server, revision_modern);
    request_member(request, "instructions");
    revision_append_instructions(out, server);
    modern_append_caching(request);
    request_end(request);
}

/* --- subscriptions/listen: without a project nothing that this server has changes, so nothing is
 * ever told, and the acknowledgement says so by an empty set. --- */

static void acknowledge(struct server *server, const struct request *request) {
    struct buffer *out = output_line_begin(&server->output);
    buffer_append_text(out, "{\"jsonrpc\":\"2.0\",\"method\":"
                            "\"notifications/subscriptions/acknowledged\",\"params\":{\"_meta\":{"
                            "\"" KEY_SUBSCRIPTION "\":");
    buffer_append(out, request->id.text.bytes, request->id.text.length);
    buffer_append_text(out, "},\"notifications\":");
    json_write_tree(out, request->filter);
    buffer_append_text(out, "}}");
    output_line_end(&server->output, (struct span){0});
}

static size_t count_open(const struct server *server) {
    size_t count = 0;
    for (const struct request *request = server->requests.in_flight; request;
         request = request->next)
        count += request->listening;
    return count;
}

void modern_listen(struct server *server, struct request *request, struct json_object *params) {
    if (!json_object_is_type(json_tree_member(params, "notifications"), json_type_object)) {
        refuse_key(request, "notifications", "notifications must be an object.");
        return;
    }
    struct request *kept =
        count_open(server) < SUBSCRIPTIONS_MAX ? request_keep(server, request) : NULL;
    if (!kept) {
        struct buffer *out =
            request_error_data(request, RPC_INTERNAL_ERROR, "Too many subscriptions are open.");
        buffer_append_format(out, "{\"limit\":%d,\"name\":\"subscriptions.streams\"}",
                             SUBSCRIPTIONS_MAX);
        request_end(request);
        return;
    }
    kept->listening = true;
    kept->filter =
        notify_filter(server->project, json_tree_member(params, "notifications"), &kept->watched);
    acknowledge(server, kept);
}

static struct request *next_open(const struct server *server) {
    struct request *request = server->requests.in_flight;
    while (request && !request->listening)
        request = request->next;
    return request;
}

void modern_end_subscriptions(struct server *server) {
    for (struct request *request; (request = next_open(server)) != NULL;) {
        cleanup_buffer struct buffer id = buffer_make(SIZE_MAX / 2);
        buffer_append(&id, request->id.text.bytes, request->id.text.length);
        request_result(request);
        request_meta(request);
        request_member(request, KEY_SUBSCRIPTION);
        buffer_append(request->out, id.data, id.length);
        request_end(request);
        struct buffer *out = output_line_begin(&server->output);
        buffer_append_text(out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                                "\"params\":{\"requestId\":");
        buffer_append(out, id.data, id.length);
        buffer_append_text(out, ",\"reason\":\"The server is ending.\"}}");
        output_line_end(&server->output, (struct span){0});
    }
}
