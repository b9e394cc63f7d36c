/* Checks a value against a compiled schema. Never recurses deeper or works longer than the limits
 * allow: then the check is broken, and fails whatever the schema would have said. */
#include "supervisor/schema/check.h"

#include <stdarg.h>

bool schema_say(struct schema_check *check, const struct schema_subject *subject,
                const char *format, ...) {
    char text[sizeof check->error->text];
    if (!schema_work(check, SCHEMA_COST_SAY))
        return false;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    check->error_depth = subject->depth;
    return schema_fail(check->error, "", subject->place, "%s", text);
}

bool schema_break(struct schema_check *check, int code) {
    if (!check->broken)
        check->broken = code;
    return false;
}

bool schema_work(struct schema_check *check, size_t cost) {
    if (check->broken)
        return false;
    return schema_spend(&check->work, cost) || schema_break(check, E2BIG);
}

size_t schema_cost_of_name(struct json_object *object, size_t size) {
    enum { NEAR = 64, BYTES_A_STEP = 8 };
    size_t cost = SCHEMA_COST_NAME + size / BYTES_A_STEP;
    return json_object_object_length(object) <= NEAR ? cost : cost + SCHEMA_COST_COLD;
}

bool schema_matches(struct schema_check *check, const struct pattern *pattern, const char *text,
                    size_t size) {
    if (check->broken)
        return false;
    enum pattern_result result = pattern_search(pattern, text, size, &check->work);
    if (result == PATTERN_TOO_MUCH || !check->work)
        return schema_break(check, E2BIG);
    return result == PATTERN_MATCHES;
}

bool schema_would_accept(struct schema_check *check, const struct schema_node *node,
                         const struct schema_subject *subject) {
    struct error *error = check->error;
    check->error = NULL;
    bool accepts = schema_apply(check, node, subject);
    check->error = error;
    return accepts;
}

static bool apply_keywords(struct schema_check *check, const struct schema_node *node,
                           const struct schema_subject *subject) {
    if (!schema_check_scalar(check, node, subject))
        return false;
    enum json_type type = json_object_get_type(subject->value);
    if (type == json_type_array && !schema_check_array(check, node, subject))
        return false;
    if (type == json_type_object && !schema_check_object(check, node, subject))
        return false;
    return !node->combines || schema_check_combined(check, node, subject);
}

/* What is unevaluated depends on the keywords beside and below alone, not on those around. */
static bool apply_with_unevaluated(struct schema_check *check, const struct schema_node *node,
                                   const struct schema_subject *subject) {
    struct evaluated evaluated;
    struct schema_subject own = *subject;
    if (!schema_work(check, evaluated_cost(subject->value)))
        return false;
    own.evaluated = &evaluated;
    bool accepts = evaluated_open(&evaluated, subject->value) || schema_break(check, ENOMEM);
    accepts = accepts && apply_keywords(check, node, &own) &&
              schema_check_unevaluated_items(check, node, &own) &&
              schema_check_unevaluated_members(check, node, &own);
    if (accepts)
        evaluated_merge(subject->evaluated, &evaluated);
    evaluated_close(&evaluated);
    return accepts;
}

/* NOLINTNEXTLINE(misc-no-recursion): SCHEMA_CHECK_DEPTH_MAX times at most */
bool schema_apply(struct schema_check *check, const struct schema_node *node,
                  const struct schema_subject *subject) {
    if (!schema_work(check, SCHEMA_COST_APPLY))
        return false;
    if (node->refuses_all)
        return schema_differ(check, subject, "is not allowed");
    if (check->depth == SCHEMA_CHECK_DEPTH_MAX)
        return schema_break(check, E2BIG);
    check->depth++;
    bool accepts = node->unevaluated_items || node->unevaluated_properties
                       ? apply_with_unevaluated(check, node, subject)
                       : apply_keywords(check, node, subject);
    check->depth--;
    return accepts && !check->broken;
}

/* Says so without the words that errno has for it, which are about something else. */
static void break_off(struct error *error) {
    error_set(error, 0, "the value cannot be checked within %d steps and %d levels",
              SCHEMA_WORK_MAX, SCHEMA_CHECK_DEPTH_MAX);
    if (error)
        error->code = E2BIG;
}

bool schema_check(const struct schema *schema, struct json_object *value, struct error *error) {
    static const struct schema_place root = {0};
    struct schema_check check = {.error = error, .work = SCHEMA_WORK_MAX};
    const struct schema_subject subject = {.value = value, .place = &root};
    bool accepts = schema_apply(&check, schema->root, &subject);
    if (check.broken == E2BIG)
        break_off(error);
    else if (check.broken)
        error_set(error, check.broken, "the value cannot be checked");
    return accepts;
}
