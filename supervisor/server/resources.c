/* Serves what is built in, and passes everything else on to the project. A name or URI that is
 * built in is never looked for in the project. */
#include "supervisor/server/resources.h"
#include "supervisor/content/uri.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/modern.h"
#include "supervisor/mcp/server.h"
#include "supervisor/mcp/tool_call.h"
#include "supervisor/process/policy_text.h"
#include "supervisor/project/catalog.h"
#include "supervisor/project/methods.h"
#include "supervisor/registry/uri_template.h"
#include "supervisor/server/builtins.h"
#include "supervisor/server/guide.h"
#include "supervisor/server/lists.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- lists --- */

static const char *key_of(const void *item) {
    const struct registry_entry *entry = item;
    return entry->key;
}

static void append_entry(struct request *request, const void *item) {
    catalog_show(request->out, revision_of(request), item);
}

static void list(struct server *server, struct request *request, struct json_object *params,
                 enum registry_kind kind, const char *member) {
    struct list list = {.member = member, .kind = kind, .name = key_of, .append = append_entry};
    const struct registry_entry *entry;
    while ((entry = builtins_at(server->builtins, kind, list.count)))
        list.items[list.count++] = entry;
    list_answer(server, request, params, &list);
}

void resources_list(struct server *server, struct request *request, struct json_object *params) {
    list(server, request, params, REGISTRY_RESOURCE, "resources");
}

void resources_list_templates(struct server *server, struct request *request,
                              struct json_object *params) {
    list(server, request, params, REGISTRY_TEMPLATE, "resourceTemplates");
}

void prompts_list(struct server *server, struct request *request, struct json_object *params) {
    list(server, request, params, REGISTRY_PROMPT, "prompts");
}

/* --- finding --- */

/* What URI stands for. */
struct found {
    struct registry_entry *entry;     /* NULL: nothing that is built in */
    char session[SESSION_NAME_BYTES]; /* of a transcript; empty if it can be no session's name */
};

/* A session may be called "..", which a normal form removes. */
static bool match_transcript(const char *uri, struct found *found) {
    struct template_match match;
    if (!uri_template_match(BUILTIN_TRANSCRIPT, uri, &match))
        return false;
    const char *name = match.values[0].text;
    if (strlen(name) < sizeof found->session)
        strcpy(found->session, name); /* NOLINT(clang-analyzer-security.insecureAPI.strcpy) */
    return true;
}

static struct found find(const struct builtins *builtins, const char *uri) {
    char normal[URI_MAX_BYTES + 1];
    struct found found = {.entry = NULL};
    if (!uri)
        return found;
    const char *key = uri_normal(uri, normal);
    found.entry = builtins_find(builtins, REGISTRY_RESOURCE, key);
    if (!found.entry && (match_transcript(uri, &found) || match_transcript(key, &found)))
        found.entry = builtins_find(builtins, REGISTRY_TEMPLATE, BUILTIN_TRANSCRIPT);
    return found;
}

/* --- resources/read --- */

static void append_policy(struct buffer *text, const struct settings *settings) {
    char *bytes = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&bytes, &size);
    if (out)
        policy_text_print(out, settings);
    text->failed |= !out || fclose(out) != 0;
    buffer_append(text, bytes, size);
    free(bytes);
}

static bool is_session(const struct server *server, const struct request *request,
                       const char *name) {
    const char *implicit = tool_implicit_session(server, request);
    return *name && ((implicit && strcmp(implicit, name) == 0) ||
                     sessions_find(&server->sessions, string_span(name)));
}

/* Answers with TEXT as the content of ENTRY, which the client asked for as URI. */
static void answer_text(struct request *request, const struct registry_entry *entry,
                        const char *uri, const struct buffer *text) {
    bool changes = entry->kind == REGISTRY_TEMPLATE;
    struct buffer *out = request_result(request);
    request_member(request, "contents");
    buffer_append_text(out, "[{\"uri\":");
    json_write_string(out, changes ? uri : entry->uri);
    buffer_append_text(out, ",\"mimeType\":");
    json_write_string(out, entry->mime_type);
    buffer_append_text(out, ",\"text\":");
    json_write_bytes(out, text->data, text->length);
    buffer_append_text(out, "}]");
    out->failed |= text->failed;
    if (changes)
        modern_append_no_caching(request);
    else
        modern_append_caching(request);
    request_end(request);
}

static void read_builtin(struct server *server, struct request *request, const struct found *found,
                         const char *uri) {
    cleanup_buffer struct buffer text = buffer_make((size_t)server->settings->response_max_bytes);
    const struct surroundings here = describe_surroundings(server, request);
    if (found->entry->kind == REGISTRY_TEMPLATE && !is_session(server, request, found->session)) {
        resource_not_found(request, uri);
        return;
    }
    if (found->entry->kind == REGISTRY_TEMPLATE)
        transcript_append(&server->transcripts, found->session, &text);
    else if (strcmp(found->entry->key, BUILTIN_GUIDE) == 0)
        guide_append(&text, &here);
    else
        append_policy(&text, server->settings);
    if (text.length > (size_t)server->settings->resource_max_bytes)
        resource_refuse_size(request, uri);
    else
        answer_text(request, found->entry, uri, &text);
}

void resources_read(struct server *server, struct request *request, struct json_object *params) {
    const char *uri = json_plain_string(json_tree_member(params, "uri"));
    const struct found found = find(server->builtins, uri);
    if (found.entry)
        read_builtin(server, request, &found, uri);
    else
        project_read_resource(server, request, params);
}

bool resource_is_builtin(const struct server *server, const char *uri) {
    return find(server->builtins, uri).entry != NULL;
}

void resources_subscribe(struct server *server, struct request *request,
                         struct json_object *params) {
    const char *uri = json_plain_string(json_tree_member(params, "uri"));
    if (resource_is_builtin(server, uri))
        request_error_invalid(request, "uri",
                              "A built-in resource cannot be subscribed: its changes are not "
                              "reported. Read it again.");
    else
        project_subscribe(server, request, params);
}

/* --- prompts --- */

void prompts_get(struct server *server, struct request *request, struct json_object *params) {
    const char *name = json_plain_string(json_tree_member(params, "name"));
    struct json_object *arguments = json_tree_member(params, "arguments");
    const struct registry_entry *prompt =
        name ? builtins_find(server->builtins, REGISTRY_PROMPT, name) : NULL;
    if (prompt && (!arguments || json_object_is_type(arguments, json_type_object)))
        prompt_get_fixed(request, prompt, arguments);
    else
        project_get_prompt(server, request, params);
}

/* --- completion/complete --- */

/* The names of the open sessions, for the variable of the transcript. */
static struct json_object *session_names(const struct server *server,
                                         const struct request *request) {
    struct json_object *names = json_object_new_array();
    const char *implicit = tool_implicit_session(server, request);
    if (implicit && !sessions_find(&server->sessions, string_span(implicit)))
        json_object_array_add(names, json_object_new_string(implicit));
    for (const struct session *session = sessions_next(&server->sessions, NULL); session;
         session = sessions_next(&server->sessions, session))
        json_object_array_add(names, json_object_new_string(session_name(session)));
    return names;
}

/* The prompt or template that REF names; NULL if it is not built in. */
static struct registry_entry *find_reference(const struct builtins *builtins,
                                             struct json_object *ref) {
    const char *type = json_plain_string(json_tree_member(ref, "type"));
    const char *name = json_plain_string(json_tree_member(ref, "name"));
    const char *uri = json_plain_string(json_tree_member(ref, "uri"));
    if (type && name && strcmp(type, "ref/prompt") == 0)
        return builtins_find(builtins, REGISTRY_PROMPT, name);
    if (!type || !uri || strcmp(type, "ref/resource") != 0)
        return NULL;
    struct registry_entry *template = builtins_find(builtins, REGISTRY_TEMPLATE, uri);
    return template ? template : find(builtins, uri).entry;
}

void resources_complete(struct server *server, struct request *request,
                        struct json_object *params) {
    struct registry_entry *entry =
        find_reference(server->builtins, json_tree_member(params, "ref"));
    if (entry && entry->kind == REGISTRY_TEMPLATE) {
        struct json_object *completions = json_object_new_object();
        json_object_object_add(completions, "name", session_names(server, request));
        json_object_object_add(entry->metadata, "completions", completions);
    }
    project_complete(request, entry, params);
}
