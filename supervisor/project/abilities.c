/* What a client declared that it can do, and the answers where that is not enough. */
#include "supervisor/project/abilities.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/modern.h"
#include "supervisor/mcp/server.h"
#include "supervisor/mcp/tool_call.h"
#include "supervisor/project/invocation.h"

#include <string.h>

/* `elicitation: {}` has always meant forms. */
static bool is_implied(const char *name, struct json_object *abilities) {
    return strcmp(name, "form") == 0 && json_object_object_length(abilities) == 0;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as metadata in a file, JSON_FILE_DEPTH_MAX */
bool abilities_include(struct json_object *abilities, struct json_object *required) {
    json_object_object_foreach(required, name, wanted) {
        struct json_object *have = json_tree_member(abilities, name);
        if (!have && !(abilities && is_implied(name, abilities)))
            return false;
        if (have && json_object_is_type(wanted, json_type_object) &&
            (!json_object_is_type(have, json_type_object) || !abilities_include(have, wanted)))
            return false;
    }
    return true;
}

struct json_object *abilities_of(const struct request *request, struct json_object *params) {
    return request->modern
               ? json_tree_member(json_tree_member(params, "_meta"), MODERN_KEY_CAPABILITIES)
               : request->server->client_capabilities;
}

void abilities_refuse_missing(struct request *request, struct json_object *lacking) {
    struct buffer *out =
        request_error_data(request, RPC_MISSING_CAPABILITY,
                           "The client did not declare a capability that this needs.");
    buffer_append_text(out, "{\"requiredCapabilities\":");
    json_write_tree(out, lacking);
    buffer_append_text(out, "}");
    request_end(request);
}

bool abilities_refuse_lacking(struct request *request, const struct registry_entry *entry,
                              struct json_object *params) {
    struct json_object *required = json_tree_member(entry->metadata, "requires");
    if (!required || abilities_include(abilities_of(request, params), required))
        return false;
    if (request->modern) {
        abilities_refuse_missing(request, required);
        return true;
    }
    cleanup_buffer struct buffer message = buffer_make(4096);
    buffer_append_text(&message, "The client did not declare capabilities that this needs: ");
    json_write_tree(&message, required);
    buffer_append(&message, "", 1);
    if (message.failed)
        request_error(request, RPC_INVALID_PARAMS, "The client lacks a capability.");
    else if (entry->kind == REGISTRY_TOOL)
        tool_refuse(request, "MISSING-CAPABILITY", (const char *)message.data);
    else
        request_error(request, RPC_INVALID_PARAMS, (const char *)message.data);
    return true;
}

bool abilities_refuse_large(struct request *request, struct json_object *held,
                            struct json_object *responses, struct json_object *params) {
    if (!request->modern)
        return false;
    if (json_held_bytes(held) + json_held_bytes(responses) > INVOCATION_HELD_MAX_BYTES)
        request_error_invalid(request, "inputResponses", "inputResponses has too many values.");
    else if (json_held_bytes(abilities_of(request, params)) > INVOCATION_ABILITIES_MAX_BYTES)
        request_error_invalid(request, MODERN_KEY_CAPABILITIES,
                              "The capabilities of the client have too many values.");
    else
        return false;
    return true;
}
