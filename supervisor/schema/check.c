/* Checks a value against a compiled schema, within limits of depth and work. A limit that is
 * reached breaks the check, which then fails whatever the schema says. */
#include "supervisor/schema/schema_internal.h"

#include <stdarg.h>
#include <stdlib.h>

/* --- evaluated parts --- */

enum { WORD_BITS = 64 };

static size_t count_bits(struct json_object *value) {
    switch (json_object_get_type(value)) {
    case json_type_array:
        return json_object_array_length(value);
    case json_type_object:
        return (size_t)json_object_get_object(value)->size;
    default:
        return 0;
    }
}

static bool evaluated_open(struct evaluated *evaluated, struct json_object *value) {
    bool has_members = json_object_is_type(value, json_type_object);
    *evaluated = (struct evaluated){.members = has_members ? json_object_get_object(value) : NULL,
                                    .count = count_bits(value)};
    if (evaluated->count <= WORD_BITS)
        return true;
    evaluated->many = calloc(1 + evaluated->count / WORD_BITS, sizeof *evaluated->many);
    return evaluated->many;
}

void evaluated_mark(struct evaluated *evaluated, size_t index) {
    if (!evaluated || index >= evaluated->count)
        return;
    uint64_t *words = evaluated->many ? evaluated->many : &evaluated->few;
    words[index / WORD_BITS] |= UINT64_C(1) << index % WORD_BITS;
}

bool evaluated_has(const struct evaluated *evaluated, size_t index) {
    if (!evaluated || index >= evaluated->count)
        return false;
    const uint64_t *words = evaluated->many ? evaluated->many : &evaluated->few;
    return words[index / WORD_BITS] >> index % WORD_BITS & 1;
}

void evaluated_mark_member(struct evaluated *evaluated, const struct lh_entry *member) {
    if (evaluated)
        evaluated_mark(evaluated, (size_t)(member - evaluated->members->table));
}

bool evaluated_has_member(const struct evaluated *evaluated, const struct lh_entry *member) {
    return evaluated && evaluated_has(evaluated, (size_t)(member - evaluated->members->table));
}

static void evaluated_merge(struct evaluated *evaluated, const struct evaluated *other) {
    if (!evaluated)
        return;
    evaluated->few |= other->few;
    for (size_t i = 0; evaluated->many && i <= evaluated->count / WORD_BITS; i++)
        evaluated->many[i] |= other->many[i];
}

/* --- messages and limits --- */

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

/* --- applying schemas --- */

bool schema_matches(struct schema_check *check, const struct pattern *pattern, const char *text,
                    size_t size) {
    if (check->broken)
        return false;
    enum pattern_result result = pattern_search(pattern, text, size, &check->work);
    if (result == PATTERN_TOO_MUCH || !check->work)
        return schema_break(check, E2BIG);
    return result == PATTERN_MATCHES;
}

bool schema_apply_apart(struct schema_check *check, const struct schema_node *node,
                        const struct schema_subject *subject, schema_applier *apply) {
    struct evaluated evaluated;
    struct schema_subject own = *subject;
    if (!schema_work(check, 1 + count_bits(subject->value) / WORD_BITS))
        return false;
    own.evaluated = &evaluated;
    bool valid = (evaluated_open(&evaluated, subject->value) || schema_break(check, ENOMEM)) &&
                 apply(check, node, &own);
    if (valid)
        evaluated_merge(subject->evaluated, &evaluated);
    free(evaluated.many);
    return valid;
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

static bool apply_all(struct schema_check *check, const struct schema_node *node,
                      const struct schema_subject *subject) {
    return apply_keywords(check, node, subject) &&
           schema_check_unevaluated_items(check, node, subject) &&
           schema_check_unevaluated_members(check, node, subject);
}

/* NOLINTNEXTLINE(misc-no-recursion): SCHEMA_CHECK_DEPTH_MAX deep at most */
bool schema_apply(struct schema_check *check, const struct schema_node *node,
                  const struct schema_subject *subject) {
    if (!schema_work(check, SCHEMA_COST_APPLY))
        return false;
    if (node->refuses_all)
        return schema_differ(check, subject, "is not allowed");
    if (check->depth == SCHEMA_CHECK_DEPTH_MAX)
        return schema_break(check, E2BIG);
    check->depth++;
    /* The unevaluated keywords see the marks of this node and of those inside it only. */
    bool valid = node->unevaluated_items || node->unevaluated_properties
                     ? schema_apply_apart(check, node, subject, apply_all)
                     : apply_keywords(check, node, subject);
    check->depth--;
    return valid && !check->broken;
}

bool schema_check(const struct schema *schema, struct json_object *value, struct error *error) {
    static const struct schema_place root = {0};
    struct schema_check check = {.error = error, .work = SCHEMA_WORK_MAX};
    const struct schema_subject subject = {.value = value, .place = &root};
    bool valid = schema_apply(&check, schema->root, &subject);
    if (!check.broken)
        return valid;
    if (check.broken != E2BIG)
        return error_set(error, check.broken, "the value cannot be checked");
    error_set(error, 0, "the value cannot be checked within %d steps and %d levels",
              SCHEMA_WORK_MAX, SCHEMA_CHECK_DEPTH_MAX);
    if (error)
        error->code = E2BIG; /* without strerror's words, which name another cause */
    return false;
}
