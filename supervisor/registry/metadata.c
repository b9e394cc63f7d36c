/* The table of metadata members and their checks. Never takes a member that it does not know. */
#include "supervisor/registry/metadata.h"
#include "supervisor/base/nearest.h"
#include "supervisor/content/content_check.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/registry/listed.h"
#include "supervisor/registry/places.h"
#include "supervisor/registry/uri_template.h"

#include <ctype.h>
#include <string.h>

enum { NAME_SHOWN = 60, TIMEOUT_MAX_S = 86400 };

const char *folder_name(enum project_folder folder) {
    static const char *const names[FOLDER_COUNT] = {
        [FOLDER_TOOLS] = "tools",
        [FOLDER_RESOURCES] = "resources",
        [FOLDER_PROMPTS] = "prompts",
        [FOLDER_COMPLETIONS] = "completions",
    };
    return names[folder];
}

const char *metadata_text(struct json_object *metadata, const char *name) {
    struct json_object *value;
    return json_object_object_get_ex(metadata, name, &value) ? json_plain_string(value) : NULL;
}

/* What VALUE, which is no plain text, should be or should not have. */
static const char *text_fault(struct json_object *value) {
    return json_object_is_type(value, json_type_string) ? "must not hold the character U+0000"
                                                        : "must be a text";
}

bool metadata_check_text(struct json_object *value, struct error *error) {
    const char *text = json_plain_string(value);
    if (!text)
        return error_set(error, 0, "%s", text_fault(value));
    return *text || error_set(error, 0, "must be a text that is not empty");
}

bool metadata_check_name(const char *name, struct error *error) {
    size_t length = strlen(name);
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("_.-", name[i]))
            length = 0;
    return (length > 0 && length <= METADATA_NAME_MAX) ||
           error_set(error, 0, "a name has 1 to %d of A-Z a-z 0-9 _ . -", METADATA_NAME_MAX);
}

/* --- checks of members; each says after `must`, or as a sentence, what is wrong --- */

typedef bool (*member_check)(struct json_object *value, struct error *error);

static bool check_name(struct json_object *value, struct error *error) {
    return metadata_check_text(value, error) &&
           metadata_check_name(json_plain_string(value), error);
}

static bool check_object(struct json_object *value, struct error *error) {
    return json_object_is_type(value, json_type_object) || error_set(error, 0, "must be an object");
}

static bool check_input_schema(struct json_object *value, struct error *error) {
    if (!check_object(value, error))
        return false;
    const char *type = metadata_text(value, "type");
    if (!type || strcmp(type, "object") != 0)
        return error_set(error, 0, "must have \"type\": \"object\" (MCP, tools)");
    return listed_check_schema(value, error);
}

/* Of any type: revisions that want an object are not shown another one. */
static bool check_output_schema(struct json_object *value, struct error *error) {
    return check_object(value, error) && listed_check_schema(value, error);
}

static bool check_seconds(struct json_object *value, struct error *error) {
    double seconds = json_object_get_double(value);
    return ((json_object_is_type(value, json_type_int) ||
             json_object_is_type(value, json_type_double)) &&
            seconds > 0 && seconds <= TIMEOUT_MAX_S) ||
           error_set(error, 0, "must be seconds, above 0 and at most %d", TIMEOUT_MAX_S);
}

static bool is_either(struct json_object *value, const char *one, const char *other) {
    const char *text = json_plain_string(value);
    return text && (strcmp(text, one) == 0 || strcmp(text, other) == 0);
}

static bool check_session(struct json_object *value, struct error *error) {
    return is_either(value, "new", "caller") ||
           error_set(error, 0, "must be \"new\" or \"caller\"");
}

static bool check_role(struct json_object *value, struct error *error) {
    return is_either(value, "user", "assistant") ||
           error_set(error, 0, "must be \"user\" or \"assistant\"");
}

static bool check_uri(struct json_object *value, struct error *error) {
    return metadata_check_text(value, error) &&
           uri_check_strictly(json_plain_string(value), URI_MAX_BYTES, error);
}

static bool check_template(struct json_object *value, struct error *error) {
    return metadata_check_text(value, error) && uri_template_check(json_plain_string(value), error);
}

/* Is VALUE an array of objects that all pass? */
static bool check_objects(struct json_object *value, member_check check, struct error *error) {
    if (!json_object_is_type(value, json_type_array))
        return error_set(error, 0, "must be an array");
    for (size_t i = 0; i < json_object_array_length(value); i++) {
        struct json_object *element = json_object_array_get_idx(value, i);
        if (!json_object_is_type(element, json_type_object))
            return error_set(error, 0, "must hold objects alone");
        if (!check(element, error))
            return false;
    }
    return true;
}

static bool check_argument(struct json_object *argument, struct error *error) {
    struct json_object *given;
    struct error why = {0};
    if (!json_object_object_get_ex(argument, "name", &given))
        return error_set(error, 0, "has an argument without a \"name\"");
    if (!metadata_check_text(given, &why))
        return error_set(error, 0, "has an argument whose \"name\" %s", why.text);
    json_object_object_foreach(argument, name, value) {
        bool text = strcmp(name, "name") == 0 || strcmp(name, "title") == 0 ||
                    strcmp(name, "description") == 0;
        bool truth = strcmp(name, "required") == 0;
        if (!text && !truth)
            return error_set(error, 0, "has an argument with the unknown member \"%.*s\"",
                             NAME_SHOWN, name);
        if (text ? !json_plain_string(value) : !json_object_is_type(value, json_type_boolean))
            return error_set(error, 0, "has an argument whose \"%s\" %s", name,
                             text ? text_fault(value) : "must be true or false");
    }
    return true;
}

static bool check_arguments(struct json_object *value, struct error *error) {
    if (!check_objects(value, check_argument, error))
        return false;
    size_t count = json_object_array_length(value);
    if (count > METADATA_ARGUMENTS_MAX)
        return error_set(error, 0, "must hold at most %d arguments", METADATA_ARGUMENTS_MAX);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(metadata_text(json_object_array_get_idx(value, i), "name"),
                       metadata_text(json_object_array_get_idx(value, j), "name")) == 0)
                return error_set(error, 0, "has two arguments of one name");
    return true;
}

/* As they are for some arguments; those of a request are checked again. */
static bool check_messages(struct json_object *value, struct error *error) {
    struct filling sample = places_sample(METADATA_MAX_BYTES);
    struct json_object *filled = places_filled(&sample, value);
    bool fine = content_check_messages(filled, error);
    json_object_put(filled);
    return fine;
}

/* Of one argument: the fixed values, or the name of a completion. */
static bool check_completion(struct json_object *value, struct error *error) {
    if (json_object_is_type(value, json_type_string))
        return check_name(value, error);
    if (!json_object_is_type(value, json_type_array))
        return error_set(error, 0, "must hold lists of texts, or names of completions");
    for (size_t i = 0; i < json_object_array_length(value); i++) {
        struct json_object *text = json_object_array_get_idx(value, i);
        if (!json_object_is_type(text, json_type_string))
            return error_set(error, 0, "must hold lists of texts alone");
        if (!json_plain_string(text))
            return error_set(error, 0, "%s", text_fault(text));
    }
    return true;
}

static bool check_completions(struct json_object *value, struct error *error) {
    if (!check_object(value, error))
        return false;
    json_object_object_foreach(value, name, completion) {
        (void)name;
        if (!check_completion(completion, error))
            return false;
    }
    return true;
}

enum {
    T = 1U << FOLDER_TOOLS,
    R = 1U << FOLDER_RESOURCES,
    P = 1U << FOLDER_PROMPTS,
    C = 1U << FOLDER_COMPLETIONS
};

static const struct member {
    const char *name;
    unsigned folders; /* whose entries may have it */
    bool listed;
    member_check check;
} members[] = {
    {"name", T | P | C, true, check_name},           /* else the file's, without its ending */
    {"name", R, true, metadata_check_text},          /* else the file's */
    {"title", T | R | P, true, metadata_check_text}, /* for people */
    {"description", T | R | P | C, true, metadata_check_text},
    {"icons", T | R | P, true, listed_check_icons},
    {"annotations", T, true, listed_check_tool_annotations},
    {"annotations", R, true, listed_check_resource_annotations},
    {"_meta", T | R | P, true, check_object},
    {"inputSchema", T, true, check_input_schema},     /* else any object */
    {"outputSchema", T, true, check_output_schema},   /* the result is JSON that it describes */
    {"uri", R, true, check_uri},                      /* else eclave:///FILE */
    {"uriTemplate", R, true, check_template},         /* makes it a template, which Lisp answers */
    {"mimeType", R, true, metadata_check_text},       /* else by the file's ending and content */
    {"arguments", P, true, check_arguments},          /* else the {{places}} of its texts */
    {"role", P, false, check_role},                   /* of the text of a .txt; else user */
    {"messages", P, false, check_messages},           /* behind the text; {{argument}} in texts */
    {"completions", R | P, false, check_completions}, /* argument -> values or completion */
    {"timeout", T | R | P | C, false, check_seconds}, /* else call.timeout_s */
    {"session", T | R | P, false, check_session},     /* else new: a world of its own */
    {"requires", T | R | P, false, check_object},     /* capabilities that the client must have */
};

enum { MEMBER_COUNT = sizeof members / sizeof *members };

static bool refuse_member(enum project_folder folder, const char *name, struct error *error) {
    struct nearest nearest = nearest_to(name);
    for (size_t i = 0; i < MEMBER_COUNT; i++)
        if (members[i].folders & 1U << folder)
            nearest_offer(&nearest, members[i].name);
    bool hint = nearest.name[0];
    return error_set(error, 0, "has the unknown member \"%.*s\"%s%s%s", NAME_SHOWN, name,
                     hint ? "; did you mean \"" : "", nearest.name, hint ? "\"?" : "");
}

static bool check_member(enum project_folder folder, const char *name, struct json_object *value,
                         struct error *error) {
    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        struct error why = {0};
        if (!(members[i].folders & 1U << folder) || strcmp(members[i].name, name) != 0)
            continue;
        return members[i].check(value, &why) || error_set(error, 0, "\"%s\": %s", name, why.text);
    }
    return refuse_member(folder, name, error);
}

bool metadata_check(enum project_folder folder, struct json_object *metadata, struct error *error) {
    json_object_object_foreach(metadata, name, value) {
        if (!check_member(folder, name, value, error))
            return false;
    }
    if (metadata_text(metadata, "uri") && metadata_text(metadata, "uriTemplate"))
        return error_set(error, 0, "has both \"uri\" and \"uriTemplate\"");
    return true;
}

bool metadata_is_listed(const char *member) {
    for (size_t i = 0; i < MEMBER_COUNT; i++)
        if (strcmp(members[i].name, member) == 0)
            return members[i].listed;
    return false;
}
