/* Checks of answers. Believes no client: a definition gets what it asked for, or nothing. */
#include "supervisor/project/answer.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/schema/schema.h"

#include <string.h>

static bool is_text(struct json_object *object, const char *name) {
    return json_object_is_type(json_tree_member(object, name), json_type_string);
}

static bool check_content(struct json_object *question, struct json_object *content,
                          struct error *error) {
    struct json_object *wanted =
        json_tree_member(json_tree_member(question, "params"), "requestedSchema");
    struct schema *schema = wanted ? schema_compile(wanted, NULL) : NULL;
    struct error why;
    bool fine = !schema || schema_check(schema, content, &why) ||
                error_set(error, 0, "the form's content: %.200s", why.text);
    schema_free(schema);
    return fine;
}

static bool check_form(struct json_object *question, struct json_object *response,
                       struct error *error) {
    static const char *const actions[] = {"accept", "decline", "cancel"};
    const char *action = is_text(response, "action")
                             ? json_object_get_string(json_tree_member(response, "action"))
                             : "";
    struct json_object *content = json_tree_member(response, "content");
    size_t at = 0;
    while (at < sizeof actions / sizeof *actions && strcmp(actions[at], action) != 0)
        at++;
    if (at == sizeof actions / sizeof *actions)
        return error_set(error, 0, "action must be accept, decline or cancel");
    if (at > 0 || !json_tree_member(json_tree_member(question, "params"), "requestedSchema"))
        return true;
    if (!json_object_is_type(content, json_type_object))
        return error_set(error, 0, "an accepted form must have an object as its content");
    return check_content(question, content, error);
}

static bool check_sample(struct json_object *question, struct json_object *response,
                         struct error *error) {
    (void)question;
    return (is_text(response, "role") && json_tree_member(response, "content")) ||
           error_set(error, 0, "a sample must have role and content");
}

static bool check_roots(struct json_object *question, struct json_object *response,
                        struct error *error) {
    (void)question;
    return json_object_is_type(json_tree_member(response, "roots"), json_type_array) ||
           error_set(error, 0, "roots must be an array");
}

static const struct {
    const char *method;
    bool (*check)(struct json_object *question, struct json_object *response, struct error *error);
} checks[] = {{"elicitation/create", check_form},
              {"sampling/createMessage", check_sample},
              {"roots/list", check_roots}};

bool answer_check(struct json_object *question, struct json_object *response, struct error *error) {
    const char *method = json_object_get_string(json_tree_member(question, "method"));
    if (!json_object_is_type(response, json_type_object))
        return error_set(error, 0, "a response must be an object");
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (strcmp(checks[i].method, method) == 0)
            return checks[i].check(question, response, error);
    return true;
}
