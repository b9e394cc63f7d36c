/* The envelope of requests in the modern era, in which each request stands alone. */
#include "supervisor/mcp/modern.h"
#include "common/utf8.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/log.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/request.h"
#include "supervisor/mcp/revision.h"
#include "supervisor/mcp/server.h"

#include <stdio.h>
#include <string.h>

enum { CACHE_MS = 3600000, ECHO_CHARS = 100 };

/* Legacy revisions exist here but are served through `initialize`, so a request for one of them is
 * not offered others like it. */
static void refuse_version(struct request *request, const char *requested) {
    struct buffer *out =
        request_error_data(request, RPC_UNSUPPORTED_VERSION, "Unsupported protocol version.");
    cleanup_buffer struct buffer dates = buffer_make(256);
    revision_append_dates(&dates, true, false);
    char quoted[32];
    snprintf(quoted, sizeof quoted, "\"%.20s\"", requested);
    bool legacy = strstr(buffer_string(&dates, ""), quoted) != NULL;
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
    const char *version = json_plain_string(json_tree_member(meta, MODERN_KEY_VERSION));
    struct json_object *level = json_tree_member(meta, MODERN_KEY_LOG_LEVEL);
    if (!version) {
        request_error_invalid(request, MODERN_KEY_VERSION,
                              "_meta " MODERN_KEY_VERSION " must be a string without U+0000.");
        return false;
    }
    if (!json_object_is_type(json_tree_member(meta, MODERN_KEY_CAPABILITIES), json_type_object)) {
        request_error_invalid(request, MODERN_KEY_CAPABILITIES,
                              "_meta must have the object " MODERN_KEY_CAPABILITIES ".");
        return false;
    }
    if (strcmp(version, revision_modern->date) != 0) {
        refuse_version(request, version);
        return false;
    }
    if (json_object_object_get_ex(meta, MODERN_KEY_LOG_LEVEL, NULL)) {
        const char *name = json_plain_string(level);
        request->log_level = name ? log_level_of(name) : -1;
        if (request->log_level < 0) {
            request_error_invalid(request, MODERN_KEY_LOG_LEVEL, "Invalid log level.");
            return false;
        }
    }
    return true;
}

void modern_refuse_bare(struct request *request) {
    request_error_invalid(request, MODERN_KEY_VERSION,
                          "params._meta must have " MODERN_KEY_VERSION
                          " and " MODERN_KEY_CAPABILITIES ".");
}

static void append_caching(struct request *request, int64_t ttl_ms) {
    if (!request->modern)
        return;
    request_member(request, "ttlMs");
    buffer_append_format(request->out, "%lld", (long long)ttl_ms);
    request_member(request, "cacheScope");
    buffer_append_text(request->out, "\"public\"");
}

/* A project can change at the next scan. */
void modern_append_caching(struct request *request) {
    const struct server *server = request->server;
    append_caching(request, server->project ? server->settings->registry_refresh_s * CLOCK_MS_PER_S
                                            : CACHE_MS);
}

void modern_append_no_caching(struct request *request) {
    append_caching(request, 0);
}
