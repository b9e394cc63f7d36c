/* The stateless era (2026-07-28): what every request must carry. */
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

/* PARAMS (NULL: none) claim the modern era for their request. */
static inline bool modern_is_claimed(struct json_object *params) {
    struct json_object *meta = json_tree_member(params, "_meta");
    return json_object_is_type(meta, json_type_object) &&
           json_object_object_get_ex(meta, MODERN_KEY_VERSION, NULL);
}
/* Checks the members that every modern request must have, and stores their values in REQUEST. False
 * when the request was answered with an error. */
bool modern_check_envelope(struct request *request, struct json_object *params);
/* Answers a modern method that was called without the members of the envelope. */
void modern_refuse_bare(struct request *request);

/* Appends the members ttlMs and cacheScope to a result that clients may cache. */
void modern_append_caching(struct request *request);
/* The same for a result that clients must not cache. */
void modern_append_no_caching(struct request *request);

#endif
