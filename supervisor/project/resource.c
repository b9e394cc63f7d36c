/* resources/read: files, and resources that Lisp makes for the URIs of a template. */
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/modern.h"
#include "supervisor/mcp/server.h"
#include "supervisor/mcp/tool_call.h"
#include "supervisor/project/ask.h"
#include "supervisor/project/capabilities.h"
#include "supervisor/project/catalog.h"
#include "supervisor/project/invocation.h"
#include "supervisor/project/methods.h"
#include "supervisor/project/project.h"

#include <string.h>

void resource_refuse_size(struct request *request, const char *uri) {
    const struct log_event event = {.level = LOG_ERROR_LEVEL, .name = "resource-limit"};
    struct server *server = request->server;
    log_write(&server->log, &event, "a resource exceeds resource.max_bytes (%lld)",
              (long long)server->settings->resource_max_bytes);
    struct buffer *out =
        request_error_data(request, RPC_INTERNAL_ERROR, "The resource exceeds its limit.");
    buffer_append_format(out, "{\"limit\":%lld,\"name\":\"resource.max_bytes\",\"uri\":",
                         (long long)server->settings->resource_max_bytes);
    json_write_string(out, uri);
    buffer_append_text(out, "}");
    request_end(request);
}

/* --- files --- */

static void write_base64(struct buffer *out, const unsigned char *bytes, size_t size) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t length = (size + 2) / 3 * 4;
    unsigned char *to = buffer_reserve(out, length + 2);
    if (!to)
        return;
    *to++ = '"';
    for (size_t i = 0; i < size; i += 3, to += 4) {
        size_t left = size - i;
        unsigned bits = (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0) |
                        (left > 2 ? bytes[i + 2] : 0);
        to[0] = (unsigned char)digits[bits >> 18];
        to[1] = (unsigned char)digits[bits >> 12 & 63];
        to[2] = left > 1 ? (unsigned char)digits[bits >> 6 & 63] : '=';
        to[3] = left > 2 ? (unsigned char)digits[bits & 63] : '=';
    }
    *to = '"';
    out->length += length + 2;
}

static void answer_file(struct request *request, const struct registry_entry *entry) {
    if (entry->body.size > (size_t)request->server->settings->resource_max_bytes) {
        resource_refuse_size(request, entry->uri);
        return;
    }
    struct buffer *out = request_result(request);
    request_member(request, "contents");
    buffer_append_text(out, "[{\"uri\":");
    json_write_string(out, entry->uri);
    buffer_append_text(out, ",\"mimeType\":");
    json_write_string(out, entry->mime_type);
    if (entry->body.is_text) {
        buffer_append_text(out, ",\"text\":");
        json_write_bytes(out, entry->body.bytes, entry->body.size);
    } else {
        buffer_append_text(out, ",\"blob\":");
        write_base64(out, entry->body.bytes, entry->body.size);
    }
    buffer_append_text(out, "}]");
    modern_append_caching(request);
    request_end(request);
}

/* --- Lisp --- */

static size_t size_of(struct json_object *contents) {
    size_t size = 0;
    for (size_t i = 0; i < json_object_array_length(contents); i++) {
        struct json_object *part = json_object_array_get_idx(contents, i);
        size += json_tree_string(json_tree_member(part, "text")).length +
                json_tree_string(json_tree_member(part, "blob")).length / 4 * 3;
    }
    return size;
}

static void answer(struct invocation *invocation, const struct evaluation *evaluation) {
    struct request *request = invocation->request;
    struct json_object *contents = json_tree_member(evaluation->run->json, "contents");
    if (size_of(contents) > (size_t)invocation->server->settings->resource_max_bytes) {
        resource_refuse_size(request, invocation->name);
        return;
    }
    const char *mime_type = invocation->entry->mime_type;
    for (size_t i = 0; mime_type && i < json_object_array_length(contents); i++) {
        struct json_object *part = json_object_array_get_idx(contents, i);
        if (!json_tree_member(part, "mimeType"))
            json_object_object_add(part, "mimeType", json_object_new_string(mime_type));
    }
    request_result(request);
    request_member(request, "contents");
    json_write_tree(request->out, contents);
    modern_append_no_caching(request);
    request_end(request);
}

static const struct invocation_form form = {.kind = RUN_RESOURCE,
                                            .subject = "Resource",
                                            .method = "resources/read",
                                            .asks = true,
                                            .answer = answer};

static void run_template(struct request *request, const struct registry_entry *entry,
                         const char *uri, const struct template_match *match,
                         struct json_object *params) {
    cleanup_json struct json_object *arguments = json_object_new_object();
    for (size_t i = 0; i < match->count; i++) {
        char name[TEMPLATE_NAME_BYTES + 1] = {0};
        const struct span span = match->values[i].name;
        memcpy(name, span.bytes, span.length < sizeof name ? span.length : sizeof name - 1);
        json_object_object_add(arguments, name, json_object_new_string(match->values[i].text));
    }
    json_object_object_add(arguments, "uri", json_object_new_string(uri));
    if (!capabilities_refuse_entry(request, entry, params))
        invocation_begin(request, entry, &form, uri, NULL, arguments, params);
}

/* Why the file whose default URI this is was refused; NULL: there is no such file. */
static const char *reason_of_refusal(const struct snapshot *snapshot, const char *uri) {
    static const char folder[] = "resources/";
    char made[URI_MAX_BYTES + 1], normal[URI_MAX_BYTES + 1];
    uri = uri_normal(uri, normal);
    for (size_t i = 0; i < snapshot->refusals.count; i++) {
        const struct notice *refusal = &snapshot->refusals.items[i];
        if (strncmp(refusal->file, folder, sizeof folder - 1) == 0 &&
            uri_of_file("eclave:///", refusal->file + sizeof folder - 1, made) &&
            strcmp(made, uri) == 0)
            return refusal->text;
    }
    return NULL;
}

static void refuse_refused(struct request *request, const char *uri, const char *reason) {
    const struct log_event event = {.level = LOG_ERROR_LEVEL, .name = "resource-refused"};
    log_write(&request->server->log, &event, "%s: %s", uri, reason);
    struct buffer *out =
        request_error_data(request, RPC_INTERNAL_ERROR, "The resource cannot be served.");
    buffer_append_text(out, "{\"uri\":");
    json_write_string(out, uri);
    buffer_append_text(out, ",\"reason\":");
    json_write_string(out, reason);
    buffer_append_text(out, "}");
    request_end(request);
}

void project_read_resource(struct server *server, struct request *request,
                           struct json_object *params) {
    const char *uri = json_plain_string(json_tree_member(params, "uri"));
    struct template_match match;
    if (!uri) {
        request_error_invalid(request, "uri", "uri must be a string without U+0000.");
        return;
    }
    if (!server->project) {
        resource_not_found(request, uri);
        return;
    }
    const struct snapshot *snapshot = registry_snapshot(server->project->registry);
    if (project_resume(request, form.method, uri, NULL, params))
        return;
    const struct registry_entry *file = snapshot_find(snapshot, REGISTRY_RESOURCE, uri);
    const struct registry_entry *made = file ? NULL : snapshot_match(snapshot, uri, &match);
    const char *refused = file || made ? NULL : reason_of_refusal(snapshot, uri);
    if (refused)
        refuse_refused(request, uri, refused);
    else if (file)
        answer_file(request, file);
    else if (made)
        run_template(request, made, uri, &match, params);
    else if (!project_refuse_unread(server->project, request, REGISTRY_RESOURCE))
        resource_not_found(request, uri);
}
