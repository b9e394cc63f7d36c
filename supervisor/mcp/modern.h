/* The stateless era (2026-07-28): what every request carries, and its own methods. */
#ifndef ECLAVE_SUPERVISOR_MCP_MODERN_H
#define ECLAVE_SUPERVISOR_MCP_MODERN_H

#include "supervisor/json/json_tree.h"
#include <json-c/json.h>
#include <stdbool.h>

/* Keys of `_meta`. */
#define MODERN_KEY_PREFIX       "io.modelcontextprotocol/"
#define MODERN_KEY_VERSION      MODERN_KEY_PREFIX "protocolVersion"
#define MODERN_KEY_CAPABILITIES MODERN_KEY_PREFIX "clientCapabilities"
#define MODERN_KEY_LOG_LEVEL    MODERN_KEY_PREFIX "logLevel"
#define MODERN_KEY_SUBSCRIPTION MODERN_KEY_PREFIX "subscriptionId"

struct buffer;
struct request;
struct server;

/* Does PARAMS (NULL: none) say that its request is of the modern era? */
static inline bool modern_is_claimed(struct json_object *params) {
    struct json_object *meta = json_tree_member(params, "_meta");
    return json_object_is_type(meta, json_type_object) &&
           json_object_object_get_ex(meta, MODERN_KEY_VERSION, NULL);
}
/* Checks what a modern request must carry and notes in REQUEST what it asks for. False: the request
 * has been answered with what is wrong. */
bool modern_check_envelope(struct request *request, struct json_object *params);
/* Answers a method of the modern era that came without what it must carry. */
void modern_refuse_bare(struct request *request);

/* Appends the members ttlMs and cacheScope to a result that may be kept. */
void modern_append_caching(struct request *request);
/* The same for what may be another the next time. */
void modern_append_no_caching(struct request *request);

#endif
