/* prompts/get. Text takes the arguments' values in its {{places}}, once: what a value holds is
 * never a place itself. */
#include "supervisor/json_tree.h"
#include "supervisor/json_write.h"
#include "supervisor/project/ask.h"
#include "supervisor/project/content.h"
#include "supervisor/project/methods.h"
#include "supervisor/project/project.h"
#include "supervisor/project/run.h"
#include "supervisor/registry/metadata.h"
#include "supervisor/rpc.h"
#include "supervisor/server.h"
#include "supervisor/tool.h"

#include <stdio.h>
#include <string.h>

/* --- arguments --- */

/* What stands for each declared argument that is not given. NULL when none is declared. */
static struct json_object *declared_of(const struct registry_entry *entry) {
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
    tool_invalid_params(request, name, message);
    return false;
}

/* Are the ARGUMENTS (NULL: none) those of the prompt? If not, the request has been answered. */
static bool check_arguments(struct request *request, const struct registry_entry *entry,
                            struct json_object *arguments) {
    struct json_object *declared = json_tree_member(entry->metadata, "arguments"), *value;
    cleanup_json struct json_object *names = declared_of(entry);
    if (arguments) {
        json_object_object_foreach(arguments, name, given) {
            if (!json_object_is_type(given, json_type_string))
                return refuse_argument(request, name, "must be a string");
            if (names && !json_object_object_get_ex(names, name, NULL))
                return refuse_argument(request, name, "is none of this prompt's");
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

/* --- text with places --- */

struct filling {
    struct json_object *values; /* what stands for each argument */
    bool failed;                /* a text is too long, or there was no memory */
};

static struct filling filling_of(const struct registry_entry *entry,
                                 struct json_object *arguments) {
    struct json_object *values = declared_of(entry);
    if (!values)
        return (struct filling){json_object_get(arguments), false};
    if (arguments) {
        json_object_object_foreach(arguments, name, value) {
            json_object_object_add(values, name, json_object_get(value));
        }
    }
    return (struct filling){values, false};
}

/* Appends what stands for NAME. False when it is no argument. */
static bool append_argument(struct buffer *out, const struct filling *filling, const char *name) {
    struct json_object *value = json_tree_member(filling->values, name);
    const struct span text = json_tree_string(value);
    if (text.bytes)
        buffer_append(out, text.bytes, text.length);
    return value != NULL;
}

static void fill(struct buffer *out, const struct filling *filling, const char *text,
                 size_t length) {
    char name[METADATA_NAME_MAX + 1];
    const char *end = text + length;
    while (text < end && !out->failed) {
        const char *open = memmem(text, (size_t)(end - text), "{{", 2);
        if (!open) {
            buffer_append(out, text, (size_t)(end - text));
            return;
        }
        size_t left = (size_t)(end - open), reach = METADATA_NAME_MAX + 4;
        const char *close = memmem(open, left < reach ? left : reach, "}}", 2);
        size_t size = close ? (size_t)(close - open - 2) : 0;
        buffer_append(out, text, (size_t)(open - text));
        text = open + 2;
        if (size > 0) {
            memcpy(name, open + 2, size);
            name[size] = 0;
            if (append_argument(out, filling, name)) {
                text = close + 2;
                continue;
            }
        }
        buffer_append_text(out, "{{");
    }
}

/* A copy of VALUE with its texts filled, but for what is no text.
 * NOLINTNEXTLINE(misc-no-recursion): JSON_FILE_DEPTH_MAX deep at most */
static struct json_object *filled(struct filling *filling, struct json_object *value,
                                  const char *name, size_t maximum) {
    bool plain =
        strcmp(name, "data") == 0 || strcmp(name, "blob") == 0 || strcmp(name, "type") == 0;
    if (json_object_is_type(value, json_type_object)) {
        struct json_object *copy = json_object_new_object();
        json_object_object_foreach(value, member, inner) {
            json_object_object_add(copy, member, filled(filling, inner, member, maximum));
        }
        return copy;
    }
    if (json_object_is_type(value, json_type_array)) {
        struct json_object *copy = json_object_new_array();
        for (size_t i = 0; i < json_object_array_length(value); i++)
            json_object_array_add(
                copy, filled(filling, json_object_array_get_idx(value, i), name, maximum));
        return copy;
    }
    if (plain || !json_object_is_type(value, json_type_string))
        return json_object_get(value);
    cleanup_buffer struct buffer text = buffer_make(maximum);
    const struct span given = json_tree_string(value);
    fill(&text, filling, (const char *)given.bytes, given.length);
    filling->failed |= text.failed;
    return json_object_new_string_len(text.data ? (const char *)text.data : "", (int)text.length);
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

static void append_text(struct request *request, const struct registry_entry *entry,
                        const struct filling *filling) {
    const char *role = metadata_text(entry->metadata, "role");
    cleanup_buffer struct buffer text = buffer_make(request->out->maximum);
    fill(&text, filling, (const char *)entry->body.bytes, entry->body.size);
    buffer_append_format(request->out, "{\"role\":\"%s\",\"content\":{\"type\":\"text\",\"text\":",
                         role ? role : "user");
    json_write_bytes(request->out, text.data, text.length);
    buffer_append_text(request->out, "}}");
    request->out->failed |= text.failed;
}

/* A prompt of text, of messages, or of both. */
static void answer_fixed(struct request *request, const struct registry_entry *entry,
                         struct json_object *arguments) {
    struct filling filling = filling_of(entry, arguments);
    struct json_object *messages = json_tree_member(entry->metadata, "messages");
    size_t count = messages ? json_object_array_length(messages) : 0;
    begin(request, entry);
    struct buffer *out = request->out;
    buffer_append_text(out, "[");
    if (entry->body.bytes)
        append_text(request, entry, &filling);
    for (size_t i = 0; i < count && !out->failed; i++) {
        struct json_object *message = json_object_array_get_idx(messages, i);
        cleanup_json struct json_object *content =
            filled(&filling, json_tree_member(message, "content"), "", out->maximum);
        buffer_append_text(out, i || entry->body.bytes ? ",{\"role\":" : "{\"role\":");
        json_write_tree(out, json_tree_member(message, "role"));
        buffer_append_text(out, ",\"content\":");
        content_append(out, revision_of(request), content);
        buffer_append_text(out, "}");
    }
    buffer_append_text(out, "]");
    out->failed |= filling.failed;
    json_object_put(filling.values);
    request_end(request);
}

static void answer(struct run *run, const struct evaluation *evaluation) {
    struct request *request = run->request;
    begin(request, run->entry);
    content_append_messages(request->out, revision_of(request),
                            json_tree_member(evaluation->run->json, "messages"));
    request_end(request);
}

static const struct run_form form = {.kind = RUN_PROMPT,
                                     .subject = "Prompt",
                                     .method = "prompts/get",
                                     .asks = true,
                                     .answer = answer};

static void get(struct request *request, const struct registry_entry *entry,
                struct json_object *arguments, struct json_object *params) {
    if (!check_arguments(request, entry, arguments) || run_refuse_incapable(request, entry, params))
        return;
    if (!entry->is_lisp) {
        answer_fixed(request, entry, arguments);
        return;
    }
    cleanup_json struct json_object *given =
        arguments ? json_object_get(arguments) : json_object_new_object();
    /* NOLINTNEXTLINE(readability-suspicious-call-argument): bound as they were sent */
    run_begin(request, entry, &form, entry->name, arguments, given, params);
}

void project_get_prompt(struct server *server, struct request *request,
                        struct json_object *params) {
    const char *name = rpc_plain_string(json_tree_member(params, "name"));
    struct json_object *arguments = json_tree_member(params, "arguments");
    if (!name) {
        tool_invalid_params(request, "name", "The prompt's name must be a string.");
        return;
    }
    if (arguments && !json_object_is_type(arguments, json_type_object)) {
        tool_invalid_params(request, "arguments", "arguments must be an object.");
        return;
    }
    if (project_resume(request, form.method, name, arguments, params))
        return;
    const struct registry_entry *entry = project_find(server->project, REGISTRY_PROMPT, name);
    if (entry)
        get(request, entry, arguments, params);
    else
        tool_invalid_params(request, name, "There is no prompt of that name.");
}
