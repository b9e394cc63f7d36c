/* completion/complete: values listed in the metadata, or made by Lisp. */
#include "supervisor/base/letter_case.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/server.h"
#include "supervisor/mcp/tool_call.h"
#include "supervisor/project/catalog.h"
#include "supervisor/project/invocation.h"
#include "supervisor/project/methods.h"
#include "supervisor/project/project.h"
#include "supervisor/registry/metadata.h"

#include <string.h>

enum { VALUES_MAX = 100, TIMEOUT_MAX_MS = 3000 };

struct asked {
    const struct registry_entry *entry; /* a prompt or a template; NULL: a plain resource */
    const char *name, *value;
    struct json_object *context; /* `context.arguments`, or NULL */
};

static void begin(struct request *request) {
    request_result(request);
    request_member(request, "completion");
    buffer_append_text(request->out, "{\"values\":");
}

static void end(struct request *request, bool has_more) {
    buffer_append_format(request->out, ",\"hasMore\":%s}", has_more ? "true" : "false");
    request_end(request);
}

/* Answers with those of VALUES that begin with TYPED, in any letter case. */
static void answer_listed(struct request *request, struct json_object *values, const char *typed) {
    size_t total = 0;
    begin(request);
    buffer_append_text(request->out, "[");
    for (size_t i = 0; values && i < json_object_array_length(values); i++) {
        const char *value = json_object_get_string(json_object_array_get_idx(values, i));
        if (!letter_case_begins(string_span(value), string_span(typed)) || total++ >= VALUES_MAX)
            continue;
        buffer_append_text(request->out, total > 1 ? "," : "");
        json_write_string(request->out, value);
    }
    buffer_append_text(request->out, "]");
    buffer_append_format(request->out, ",\"total\":%zu", total);
    end(request, total > VALUES_MAX);
}

static void answer(struct invocation *invocation, const struct evaluation *evaluation) {
    struct json_object *json = evaluation->run->json;
    begin(invocation->request);
    json_write_tree(invocation->request->out, json_tree_member(json, "values"));
    buffer_append_text(invocation->request->out, ",\"total\":");
    json_write_tree(invocation->request->out, json_tree_member(json, "total"));
    end(invocation->request, json_object_get_boolean(json_tree_member(json, "hasMore")));
}

static const struct invocation_form form = {.kind = RUN_COMPLETION,
                                            .subject = "Completion",
                                            .method = "completion/complete",
                                            .timeout_max_ms = TIMEOUT_MAX_MS,
                                            .yields = true,
                                            .answer = answer};

static void run_completion(struct request *request, const struct registry_entry *completion,
                           const struct asked *asked, struct json_object *params) {
    cleanup_json struct json_object *arguments = json_object_new_object();
    json_object_object_add(arguments, "argument", json_object_new_string(asked->name));
    json_object_object_add(arguments, "value", json_object_new_string(asked->value));
    json_object_object_add(arguments, "context",
                           asked->context ? json_object_get(asked->context)
                                          : json_object_new_object());
    cleanup_json struct json_object *bound = json_object_new_object();
    json_object_object_add(bound, "ref", json_object_get(json_tree_member(params, "ref")));
    json_object_object_add(bound, "argument", json_object_new_string(asked->name));
    invocation_begin(request, completion, &form, completion->name, bound, arguments, params);
}

/* Does ENTRY have an argument of this name? */
static bool has_argument(const struct registry_entry *entry, const char *name) {
    struct json_object *declared = json_tree_member(entry->metadata, "arguments");
    size_t length = strlen(name);
    if (entry->kind == REGISTRY_TEMPLATE && length > 0 && length < TEMPLATE_NAME_BYTES) {
        char place[TEMPLATE_NAME_BYTES + 4];
        memcpy(place + 2, name, length);
        place[length + 2] = '}';
        place[length + 3] = 0;
        place[1] = '{';
        if (strstr(entry->key, place + 1))
            return true;
        place[0] = '{';
        place[1] = '+';
        return strstr(entry->key, place);
    }
    for (size_t i = 0; declared && i < json_object_array_length(declared); i++)
        if (strcmp(metadata_text(json_object_array_get_idx(declared, i), "name"), name) == 0)
            return true;
    return entry->kind == REGISTRY_PROMPT && !declared;
}

static void complete(struct request *request, const struct asked *asked,
                     struct json_object *params) {
    struct json_object *completions =
        asked->entry ? json_tree_member(asked->entry->metadata, "completions") : NULL;
    struct json_object *source = json_tree_member(completions, asked->name);
    const struct registry_entry *completion =
        json_object_is_type(source, json_type_string)
            ? project_find(request->server->project, REGISTRY_COMPLETION,
                           json_object_get_string(source))
            : NULL;
    if (asked->entry && !source && !has_argument(asked->entry, asked->name))
        request_error_invalid(request, "argument", "There is no argument of that name.");
    else if (completion)
        run_completion(request, completion, asked, params);
    else
        answer_listed(request, json_object_is_type(source, json_type_array) ? source : NULL,
                      asked->value);
}

/* Finds the entry that REF names; NULL for a plain resource. False: the request has been answered.
 */
static bool find_subject(struct request *request, struct json_object *ref,
                         const struct registry_entry **entry) {
    struct project *project = request->server->project;
    struct template_match match;
    const char *type = json_plain_string(json_tree_member(ref, "type"));
    bool prompt = type && strcmp(type, "ref/prompt") == 0;
    if (!prompt && !(type && strcmp(type, "ref/resource") == 0)) {
        request_error_invalid(request, "ref",
                              "ref.type must be \"ref/prompt\" or \"ref/resource\".");
        return false;
    }
    const char *key = json_plain_string(json_tree_member(ref, prompt ? "name" : "uri"));
    if (!key) {
        request_error_invalid(request, "ref",
                              prompt ? "ref.name must be a string without U+0000."
                                     : "ref.uri must be a string without U+0000.");
        return false;
    }
    *entry = project_find(project, prompt ? REGISTRY_PROMPT : REGISTRY_TEMPLATE, key);
    if (*entry || (!prompt && project_find(project, REGISTRY_RESOURCE, key)))
        return true;
    if (!prompt && project) /* the URI of a resource that a template makes */
        *entry = snapshot_match(registry_snapshot(project->registry), key, &match);
    if (*entry)
        return true;
    if (!project_refuse_unread(project, request, REGISTRY_PROMPT))
        request_error_invalid(request, key,
                              prompt ? "There is no prompt of that name."
                                     : "There is no resource or template of that URI.");
    return false;
}

void project_complete(struct request *request, const struct registry_entry *built_in,
                      struct json_object *params) {
    struct json_object *argument = json_tree_member(params, "argument");
    struct json_object *context = json_tree_member(params, "context");
    bool plain = built_in && built_in->kind == REGISTRY_RESOURCE;
    struct asked asked = {.entry = plain ? NULL : built_in,
                          .name = json_plain_string(json_tree_member(argument, "name")),
                          .value = json_plain_string(json_tree_member(argument, "value")),
                          .context = json_tree_member(context, "arguments")};
    if (!built_in && !find_subject(request, json_tree_member(params, "ref"), &asked.entry))
        return;
    if (!asked.name || !asked.value) {
        request_error_invalid(request, "argument",
                              "argument.name and argument.value must be strings without U+0000.");
        return;
    }
    if ((context && !json_object_is_type(context, json_type_object)) ||
        (asked.context && !json_object_is_type(asked.context, json_type_object))) {
        request_error_invalid(request, "context", "context and context.arguments must be objects.");
        return;
    }
    complete(request, &asked, params);
}
