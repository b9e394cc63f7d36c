/* prompts/get: prompts of text and fixed messages, with their placeholders filled, and prompts made
 * by Lisp. */
#include "supervisor/content/shape.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/blocks.h"
#include "supervisor/mcp/server.h"
#include "supervisor/mcp/tool_call.h"
#include "supervisor/project/ask.h"
#include "supervisor/project/capabilities.h"
#include "supervisor/project/catalog.h"
#include "supervisor/project/invocation.h"
#include "supervisor/project/methods.h"
#include "supervisor/project/project.h"
#include "supervisor/registry/metadata.h"
#include "supervisor/registry/placeholders.h"

#include <stdio.h>
#include <string.h>

/* --- arguments --- */

/* An empty string for each declared argument. NULL if arguments are not declared. */
static struct json_object *declared_arguments(const struct registry_entry *entry) {
    struct json_object *declared = json_tree_member(entry->metadata, "arguments");
    struct json_object *values = declared ? json_object_new_object() : NULL;
    for (size_t i = 0; values && i < json_object_array_length(declared); i++)
        json_object_object_add(values,
                               metadata_text(json_object_array_get_idx(declared, i), "name"),
                               json_object_new_string(""));
    return values;
}

static bool refuse_argument(struct request *request, const char *name, const char *what) {
    char message[200];
    snprintf(message, sizeof message, "The argument %.100s %s.", name, what);
    request_error_invalid(request, name, message);
    return false;
}

/* Does the prompt accept ARGUMENTS (NULL: none)? If not, the request has been answered. */
static bool check_arguments(struct request *request, const struct registry_entry *entry,
                            struct json_object *arguments) {
    struct json_object *declared = json_tree_member(entry->metadata, "arguments"), *value;
    cleanup_json struct json_object *names = declared_arguments(entry);
    if (arguments) {
        json_object_object_foreach(arguments, name, argument) {
            if (!json_object_is_type(argument, json_type_string))
                return refuse_argument(request, name, "must be a string");
            if (names && !json_object_object_get_ex(names, name, NULL))
                return refuse_argument(request, name, "is unknown");
        }
    }
    for (size_t i = 0; declared && i < json_object_array_length(declared); i++) {
        struct json_object *argument = json_object_array_get_idx(declared, i);
        const char *name = metadata_text(argument, "name");
        if (json_object_get_boolean(json_tree_member(argument, "required")) &&
            !json_object_object_get_ex(arguments, name, &value))
            return refuse_argument(request, name, "is missing");
    }
    return true;
}

/* --- text with placeholders --- */

/* The value of each argument; the caller's. */
static struct json_object *values_of(const struct registry_entry *entry,
                                     struct json_object *arguments) {
    struct json_object *values = declared_arguments(entry);
    if (!values)
        return json_object_get(arguments);
    if (arguments) {
        json_object_object_foreach(arguments, name, value) {
            json_object_object_add(values, name, json_object_get(value));
        }
    }
    return values;
}

static bool append_argument(const struct filling *filling, const char *name, struct buffer *out) {
    struct json_object *value = json_tree_member(filling->values, name);
    const struct span text = json_tree_string(value);
    if (text.bytes)
        buffer_append(out, text.bytes, text.length);
    return value;
}

/* The text of ENTRY as a message. */
static struct json_object *text_message(const struct registry_entry *entry,
                                        struct filling *filling) {
    const char *role = metadata_text(entry->metadata, "role");
    struct json_object *message = json_object_new_object(), *content = json_object_new_object();
    const struct span text = {entry->body.bytes, entry->body.size};
    json_object_object_add(content, "type", json_object_new_string("text"));
    json_object_object_add(content, "text", placeholders_fill(filling, text));
    json_object_object_add(message, "role", json_object_new_string(role ? role : "user"));
    json_object_object_add(message, "content", content);
    return message;
}

/* A prompt of text, of messages, or of both. */
static struct json_object *fixed_messages(const struct registry_entry *entry,
                                          struct filling *filling) {
    struct json_object *messages = json_tree_member(entry->metadata, "messages");
    struct json_object *all = json_object_new_array();
    if (entry->body.bytes)
        json_object_array_add(all, text_message(entry, filling));
    for (size_t i = 0; messages && i < json_object_array_length(messages); i++)
        json_object_array_add(
            all, placeholders_fill_all(filling, json_object_array_get_idx(messages, i)));
    return all;
}

/* --- answers --- */

static void begin(struct request *request, const struct registry_entry *entry) {
    struct json_object *description = json_tree_member(entry->metadata, "description");
    request_result(request);
    if (description) {
        request_member(request, "description");
        json_write_tree(request->out, description);
    }
    request_member(request, "messages");
}

static void answer_messages(struct request *request, const struct registry_entry *entry,
                            struct json_object *messages) {
    begin(request, entry);
    blocks_append_messages(request->out, revision_of(request), messages);
    request_end(request);
}

/* The filled prompt is too large for any answer. */
static void answer_full(struct request *request, const struct registry_entry *entry) {
    begin(request, entry);
    request->out->failed = true;
    request_end(request);
}

static void refuse_filling(struct request *request, const struct error *error) {
    char message[sizeof error->text + 80];
    snprintf(message, sizeof message, "With these arguments the prompt is malformed: %s",
             error->text);
    request_error_invalid(request, "arguments", message);
}

static void answer_fixed(struct request *request, const struct registry_entry *entry,
                         struct json_object *arguments) {
    cleanup_json struct json_object *values = values_of(entry, arguments);
    struct filling filling = {.append = append_argument,
                              .values = values,
                              .room = (size_t)request->server->settings->response_max_bytes};
    cleanup_json struct json_object *messages = fixed_messages(entry, &filling);
    struct error error;
    if (filling.full)
        answer_full(request, entry);
    else if (content_check_messages(messages, &error))
        answer_messages(request, entry, messages);
    else
        refuse_filling(request, &error);
}

void prompt_get_fixed(struct request *request, const struct registry_entry *entry,
                      struct json_object *arguments) {
    if (check_arguments(request, entry, arguments))
        answer_fixed(request, entry, arguments);
}

static void answer(struct invocation *invocation, const struct evaluation *evaluation) {
    answer_messages(invocation->request, invocation->entry,
                    json_tree_member(evaluation->run->json, "messages"));
}

static const struct invocation_form form = {.kind = RUN_PROMPT,
                                            .subject = "Prompt",
                                            .method = "prompts/get",
                                            .asks = true,
                                            .answer = answer};

static void get(struct request *request, const struct registry_entry *entry,
                struct json_object *arguments, struct json_object *params) {
    if (!check_arguments(request, entry, arguments) ||
        capabilities_refuse_entry(request, entry, params))
        return;
    if (!entry->is_lisp) {
        answer_fixed(request, entry, arguments);
        return;
    }
    cleanup_json struct json_object *passed =
        arguments ? json_object_get(arguments) : json_object_new_object();
    /* NOLINTNEXTLINE(readability-suspicious-call-argument): bound as they were sent */
    invocation_begin(request, entry, &form, entry->name, arguments, passed, params);
}

void project_get_prompt(struct server *server, struct request *request,
                        struct json_object *params) {
    const char *name = json_plain_string(json_tree_member(params, "name"));
    struct json_object *arguments = json_tree_member(params, "arguments");
    if (!name) {
        request_error_invalid(request, "name",
                              "The prompt's name must be a string without U+0000.");
        return;
    }
    if (arguments && !json_object_is_type(arguments, json_type_object)) {
        request_error_invalid(request, "arguments", "arguments must be an object.");
        return;
    }
    if (project_resume(request, form.method, name, arguments, params))
        return;
    const struct registry_entry *entry = project_find(server->project, REGISTRY_PROMPT, name);
    if (entry)
        get(request, entry, arguments, params);
    else if (!project_refuse_unread(server->project, request, REGISTRY_PROMPT))
        request_error_invalid(request, name, "There is no prompt of that name.");
}
