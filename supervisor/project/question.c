/* The kinds of questions: what each requires of the client, and the shape of its result. */
#include "supervisor/project/question.h"
#include "supervisor/content/shape.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/schema/schema.h"

#include <string.h>

static bool check_action(struct json_object *value, struct error *error) {
    static const char *const words[] = {"accept", "decline", "cancel"};
    return shape_word(value, words, sizeof words / sizeof *words, error);
}

static bool check_content(struct json_object *value, struct error *error) {
    return value || error_set(error, 0, "must not be null");
}

static const struct kind {
    const char *method, *mode; /* mode NULL: any other */
    const char *capability, *part;
    enum since since;
    struct shape result; /* members that clients add are ignored */
} kinds[] = {
    {"elicitation/create",
     "url",
     "elicitation",
     "url",
     SINCE_2025_11,
     {.members = {{"action", check_action, true}}, .open = true}},
    {"elicitation/create",
     NULL,
     "elicitation",
     "form",
     SINCE_2025_06,
     {.members = {{"action", check_action, true}}, .open = true}},
    {"sampling/createMessage",
     NULL,
     "sampling",
     NULL,
     SINCE_2024_11,
     {.members = {{"role", shape_string, true}, {"content", check_content, true}}, .open = true}},
    {"roots/list",
     NULL,
     "roots",
     NULL,
     SINCE_2024_11,
     {.members = {{"roots", shape_array, true}}, .open = true}},
};

static const struct kind *kind_of(struct json_object *question) {
    struct json_object *method = json_tree_member(question, "method");
    struct json_object *mode = json_tree_member(json_tree_member(question, "params"), "mode");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (shape_is_word(method, kinds[i].method) &&
            (!kinds[i].mode || shape_is_word(mode, kinds[i].mode)))
            return &kinds[i];
    return NULL;
}

bool question_is_known(struct json_object *question, const struct revision *revision) {
    const struct kind *kind = kind_of(question);
    return kind && revision->since >= kind->since;
}

struct json_object *question_capability(struct json_object *question) {
    const struct kind *kind = kind_of(question);
    struct json_object *capability = json_object_new_object(), *parts = json_object_new_object();
    if (kind->part)
        json_object_object_add(parts, kind->part, json_object_new_object());
    json_object_object_add(capability, kind->capability, parts);
    return capability;
}

/* Is it an accepted form? Its content must then match the schema of the question. */
static bool check_form(struct json_object *schema_json, struct json_object *response,
                       struct error *error) {
    struct json_object *content = json_tree_member(response, "content");
    struct error why;
    if (!schema_json || !shape_is_word(json_tree_member(response, "action"), "accept"))
        return true;
    if (!shape_object(content, &why))
        return error_set(error, 0, "\"content\" %s", why.text);
    struct schema *schema = schema_compile(schema_json, NULL);
    bool fine = !schema || schema_check(schema, content, &why) ||
                error_set(error, 0, "\"content\": %.200s", why.text);
    schema_free(schema);
    return fine;
}

bool question_check(struct json_object *question, struct json_object *response,
                    struct error *error) {
    struct json_object *schema =
        json_tree_member(json_tree_member(question, "params"), "requestedSchema");
    struct error why;
    return (shape_fits(response, &kind_of(question)->result, &why) &&
            check_form(schema, response, &why)) ||
           error_set(error, 0, "The response of the client is malformed: %.190s", why.text);
}
