/* The shapes of metadata. Lists show most members as they were written, and some clients check a
 * list as a whole: one malformed member would hide every other entry from them. */
#include "supervisor/registry/metadata.h"
#include "supervisor/content/shape.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/registry/placeholders.h"
#include "supervisor/registry/uri_template.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

enum { ICON_MAX_BYTES = 256 * 1024, TIMEOUT_MAX_S = 86400 };

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
    return json_plain_string(json_tree_member(metadata, name));
}

/* --- members of several kinds --- */

static bool check_timeout(struct json_object *value, struct error *error) {
    return (shape_number(value, NULL) && json_object_get_double(value) > 0 &&
            json_object_get_double(value) <= TIMEOUT_MAX_S) ||
           error_set(error, 0, "must be seconds, more than 0 and at most %d", TIMEOUT_MAX_S);
}

static bool check_session(struct json_object *value, struct error *error) {
    static const char *const words[] = {"new", "caller"};
    return shape_word(value, words, sizeof words / sizeof *words, error);
}

/* Other schemes would run code in a client or read its files. */
static bool check_icon_source(struct json_object *value, struct error *error) {
    static const char *const schemes[] = {"https:", "http:", "data:"};
    const char *uri = json_plain_string(value);
    for (size_t i = 0; uri && i < sizeof schemes / sizeof *schemes; i++)
        if (strncasecmp(uri, schemes[i], strlen(schemes[i])) == 0 &&
            uri_check_strictly(uri, ICON_MAX_BYTES, NULL))
            return true;
    return error_set(error, 0, "must be a URI that begins with https:, http: or data:");
}

static bool check_theme(struct json_object *value, struct error *error) {
    static const char *const words[] = {"light", "dark"};
    return shape_word(value, words, sizeof words / sizeof *words, error);
}

static bool check_icon(struct json_object *value, struct error *error) {
    static const struct shape shape = {.members = {{"src", check_icon_source, true},
                                                   {"mimeType", shape_string, false},
                                                   {"sizes", shape_strings, false},
                                                   {"theme", check_theme, false}}};
    return shape_fits(value, &shape, error);
}

static bool check_icons(struct json_object *value, struct error *error) {
    return shape_all(value, check_icon, error);
}

/* The values for one argument, or the name of a completion that makes them. */
static bool check_completion(struct json_object *value, struct error *error) {
    if (json_object_is_type(value, json_type_string))
        return shape_name(value, error);
    return json_object_is_type(value, json_type_array)
               ? shape_all(value, shape_plain_string, error)
               : error_set(error, 0, "must be an array of strings, or the name of a completion");
}

static bool check_completions(struct json_object *value, struct error *error) {
    return shape_map(value, check_completion, error);
}

/* --- tools --- */

static bool check_tool_annotations(struct json_object *value, struct error *error) {
    static const struct shape shape = {.members = {{"title", shape_string, false},
                                                   {"readOnlyHint", shape_boolean, false},
                                                   {"destructiveHint", shape_boolean, false},
                                                   {"idempotentHint", shape_boolean, false},
                                                   {"openWorldHint", shape_boolean, false}}};
    return shape_fits(value, &shape, error);
}

static bool check_property(struct json_object *value, struct error *error) {
    return shape_object(value, NULL) ||
           error_set(error, 0,
                     "must be an object (MCP, tools); write {} for true, {\"not\": {}} for false");
}

static bool check_properties(struct json_object *value, struct error *error) {
    return shape_map(value, check_property, error);
}

/* Revisions that know only schemas of objects are not shown one of another type. */
static bool check_output_schema(struct json_object *value, struct error *error) {
    static const struct shape shape = {
        .members = {{"required", shape_strings, false}, {"properties", check_properties, false}},
        .open = true};
    return shape_fits(value, &shape, error);
}

static bool check_input_schema(struct json_object *value, struct error *error) {
    if (!check_output_schema(value, error))
        return false;
    return shape_is_word(json_tree_member(value, "type"), "object") ||
           error_set(error, 0, "must have \"type\": \"object\" (MCP, tools)");
}

/* --- resources and templates --- */

static bool check_resource_annotations(struct json_object *value, struct error *error) {
    static const struct shape shape = {.members = {{"audience", content_check_audience, false},
                                                   {"priority", shape_fraction, false},
                                                   {"lastModified", shape_time, false}}};
    return shape_fits(value, &shape, error);
}

static bool check_uri(struct json_object *value, struct error *error) {
    struct error why;
    if (!shape_nonempty_string(value, error))
        return false;
    return uri_check_strictly(json_object_get_string(value), URI_MAX_BYTES, &why) ||
           error_set(error, 0, "must be a URI: %s", why.text);
}

static bool check_template(struct json_object *value, struct error *error) {
    struct error why;
    if (!shape_nonempty_string(value, error))
        return false;
    return uri_template_check(json_object_get_string(value), &why) ||
           error_set(error, 0, "must be a URI template: %s", why.text);
}

/* --- prompts --- */

static bool check_argument(struct json_object *value, struct error *error) {
    static const struct shape shape = {.members = {{"name", shape_nonempty_string, true},
                                                   {"title", shape_plain_string, false},
                                                   {"description", shape_plain_string, false},
                                                   {"required", shape_boolean, false}}};
    return shape_fits(value, &shape, error);
}

static bool check_arguments(struct json_object *value, struct error *error) {
    if (!shape_all(value, check_argument, error))
        return false;
    size_t count = json_object_array_length(value);
    if (count > METADATA_ARGUMENTS_MAX)
        return error_set(error, 0, "must not have more than %d elements", METADATA_ARGUMENTS_MAX);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(metadata_text(json_object_array_get_idx(value, i), "name"),
                       metadata_text(json_object_array_get_idx(value, j), "name")) == 0)
                return error_set(error, 0, "has two arguments of the same name");
    return true;
}

/* Checks the messages with sample values in their placeholders. They are checked again with the
 * arguments of each request. */
static bool check_messages(struct json_object *value, struct error *error) {
    struct filling sample = placeholders_sample(METADATA_MAX_BYTES);
    struct json_object *filled = placeholders_fill_all(&sample, value);
    bool fine = content_check_messages(filled, error);
    json_object_put(filled);
    return fine;
}

/* --- the members of each folder --- */

enum {
    T = 1U << FOLDER_TOOLS,
    R = 1U << FOLDER_RESOURCES,
    P = 1U << FOLDER_PROMPTS,
    C = 1U << FOLDER_COMPLETIONS
};

static const struct {
    const char *name;
    unsigned folders; /* whose entries may have it */
    bool listed;
    shape_check *check;
} members[] = {
    {"name", T | P | C, true, shape_name},             /* default: the file's, without its suffix */
    {"name", R, true, shape_nonempty_string},          /* default: the file's */
    {"title", T | R | P, true, shape_nonempty_string}, /* for people */
    {"description", T | R | P | C, true, shape_nonempty_string},
    {"icons", T | R | P, true, check_icons},
    {"annotations", T, true, check_tool_annotations},
    {"annotations", R, true, check_resource_annotations},
    {"_meta", T | R | P, true, shape_object},
    {"inputSchema", T, true, check_input_schema},     /* default: any object */
    {"outputSchema", T, true, check_output_schema},   /* of structuredContent */
    {"uri", R, true, check_uri},                      /* default: eclave:///FILE */
    {"uriTemplate", R, true, check_template},         /* makes it a template, answered by Lisp */
    {"mimeType", R, true, shape_nonempty_string},     /* default: by suffix and content */
    {"arguments", P, true, check_arguments},          /* default: the {{placeholders}} */
    {"role", P, false, content_check_role},           /* of the text of a .txt; default: user */
    {"messages", P, false, check_messages},           /* after that text */
    {"completions", R | P, false, check_completions}, /* argument -> values or completion */
    {"timeout", T | R | P | C, false, check_timeout}, /* default: call.timeout_s */
    {"session", T | R | P, false, check_session},     /* default: new, a fresh process */
    {"requires", T | R | P, false, shape_object},     /* capabilities of the client */
};

enum { MEMBER_COUNT = sizeof members / sizeof *members };
static_assert((int)MEMBER_COUNT <= (int)SHAPE_MEMBERS_MAX,
              "metadata_check makes one shape of them");

bool metadata_check(enum project_folder folder, struct json_object *metadata, struct error *error) {
    struct shape shape = {0};
    size_t count = 0;
    for (size_t i = 0; i < MEMBER_COUNT; i++)
        if (members[i].folders & 1U << folder)
            shape.members[count++] =
                (struct shape_member){.name = members[i].name, .check = members[i].check};
    if (!shape_fits(metadata, &shape, error))
        return false;
    return !metadata_text(metadata, "uri") || !metadata_text(metadata, "uriTemplate") ||
           error_set(error, 0, "has both \"uri\" and \"uriTemplate\"");
}

bool metadata_is_listed(const char *member) {
    for (size_t i = 0; i < MEMBER_COUNT; i++)
        if (strcmp(members[i].name, member) == 0)
            return members[i].listed;
    return false;
}
