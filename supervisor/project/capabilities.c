/* Compares the capabilities that are declared with those that are required. */
#include "supervisor/project/capabilities.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/modern.h"
#include "supervisor/mcp/server.h"
#include "supervisor/mcp/tool_call.h"
#include "supervisor/project/invocation.h"

#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 256 };

/* `elicitation: {}` means forms: in its first revision there was nothing else. */
static bool is_implied(const char *name, struct json_object *declared) {
    return strcmp(name, "form") == 0 && json_object_object_length(declared) == 0;
}

/* NOLINTNEXTLINE(misc-no-recursion): JSON_FILE_DEPTH_MAX deep at most */
bool capabilities_include(struct json_object *declared, struct json_object *required) {
    json_object_object_foreach(required, name, wanted) {
        struct json_object *have = json_tree_member(declared, name);
        if (!have && !(declared && is_implied(name, declared)))
            return false;
        if (have && json_object_is_type(wanted, json_type_object) &&
            (!json_object_is_type(have, json_type_object) || !capabilities_include(have, wanted)))
            return false;
    }
    return true;
}

struct json_object *capabilities_of(const struct request *request, struct json_object *params) {
    return request->modern
               ? json_tree_member(json_tree_member(params, "_meta"), MODERN_KEY_CAPABILITIES)
               : request->server->client_capabilities;
}

/* Appends the names of the capabilities in REQUIRED that DECLARED lacks: "elicitation.url, roots".
 */
/* NOLINTNEXTLINE(misc-no-recursion): as above */
static void append_missing(struct buffer *out, struct json_object *declared,
                           struct json_object *required, const char *prefix) {
    json_object_object_foreach(required, name, wanted) {
        struct json_object *have = json_tree_member(declared, name);
        const bool is_object = json_object_is_type(wanted, json_type_object);
        if (have ? !is_object || capabilities_include(have, wanted)
                 : declared && is_implied(name, declared))
            continue;
        char path[PATH_BYTES];
        snprintf(path, sizeof path, "%s%s%s", prefix, *prefix ? "." : "", name);
        if (is_object && json_object_object_length(wanted))
            append_missing(out, have, wanted, path);
        else
            buffer_append_format(out, "%s%s", out->length ? ", " : "", path);
    }
}

void capabilities_refuse(struct request *request, struct json_object *declared,
                         struct json_object *required) {
    cleanup_buffer struct buffer names = buffer_make(4096);
    cleanup_buffer struct buffer message = buffer_make(8192);
    append_missing(&names, declared, required, "");
    buffer_append_text(&message, "The client did not declare a capability that this needs: ");
    buffer_append(&message, names.data, names.length);
    buffer_append_text(&message, ".");
    struct buffer *out = request_error_text(request, RPC_MISSING_CAPABILITY,
                                            (struct span){message.data, message.length});
    buffer_append_text(out, "{\"requiredCapabilities\":");
    json_write_tree(out, required);
    buffer_append_text(out, "}");
    request_end(request);
}

bool capabilities_refuse_entry(struct request *request, const struct registry_entry *entry,
                               struct json_object *params) {
    struct json_object *required = json_tree_member(entry->metadata, "requires");
    if (!required || capabilities_include(capabilities_of(request, params), required))
        return false;
    if (request->modern) {
        capabilities_refuse(request, capabilities_of(request, params), required);
        return true;
    }
    cleanup_buffer struct buffer message = buffer_make(4096);
    buffer_append_text(&message, "The client did not declare capabilities that this needs: ");
    json_write_tree(&message, required);
    const char *text = buffer_string(&message, "The client lacks a capability.");
    if (entry->kind == REGISTRY_TOOL && !message.failed)
        tool_refuse(request, "MISSING-CAPABILITY", text);
    else
        request_error(request, RPC_INVALID_PARAMS, text);
    return true;
}

bool capabilities_refuse_large(struct request *request, struct json_object *held,
                               struct json_object *responses, struct json_object *params) {
    if (!request->modern)
        return false;
    if (json_held_bytes(held) + json_held_bytes(responses) > INVOCATION_HELD_MAX_BYTES)
        request_error_invalid(request, "inputResponses", "inputResponses has too many values.");
    else if (json_held_bytes(capabilities_of(request, params)) > INVOCATION_CAPABILITIES_MAX_BYTES)
        request_error_invalid(request, MODERN_KEY_CAPABILITIES,
                              "The capabilities of the client have too many values.");
    else
        return false;
    return true;
}
