/* The keywords that apply other schemas to the same value. What a schema that fails has looked at
 * never counts as evaluated. */
#include "supervisor/schema_check.h"

/* Applies NODE; only if it accepts, what it looked at counts. */
static bool try_schema(struct schema_check *check, const struct schema_node *node,
                       const struct schema_subject *subject) {
    if (!subject->evaluated)
        return schema_apply(check, node, subject);
    struct evaluated evaluated;
    struct schema_subject own = *subject;
    if (!schema_work(check, evaluated_cost(subject->value)))
        return false;
    own.evaluated = &evaluated;
    bool accepts = (evaluated_open(&evaluated, subject->value) || schema_break(check, ENOMEM)) &&
                   schema_apply(check, node, &own);
    if (accepts)
        evaluated_merge(subject->evaluated, &evaluated);
    evaluated_close(&evaluated);
    return accepts;
}

static bool try_quietly(struct schema_check *check, const struct schema_node *node,
                        const struct schema_subject *subject) {
    struct error *error = check->error;
    check->error = NULL;
    bool accepts = try_schema(check, node, subject);
    check->error = error;
    return accepts;
}

/* Of several reasons the one that is deepest in the value: there the schema that was meant failed.
 */
struct reason {
    struct error error;
    size_t depth;
};

static bool try_for_reason(struct schema_check *check, const struct schema_node *node,
                           const struct schema_subject *subject, struct reason *reason) {
    struct error *error = check->error, why = {0};
    check->error = error ? &why : NULL;
    bool accepts = try_schema(check, node, subject);
    check->error = error;
    if (!accepts && error && why.text[0] && check->error_depth > reason->depth)
        *reason = (struct reason){why, check->error_depth};
    return accepts;
}

static bool differ_from_all(struct schema_check *check, const struct schema_subject *subject,
                            const char *keyword, size_t count, const struct reason *reason) {
    if (!reason->error.text[0] || !check->error || check->broken)
        return schema_differ(check, subject, "%s is as none of the %zu schemas of \"%s\" demands",
                             schema_brief(subject->value).text, count, keyword);
    *check->error = reason->error;
    check->error_depth = reason->depth;
    return false;
}

static bool check_any(struct schema_check *check, const struct schema_node *node,
                      const struct schema_subject *subject) {
    struct reason reason = {.depth = subject->depth};
    bool accepted = !node->any_of.count;
    for (size_t i = 0; i < node->any_of.count && !check->broken; i++) {
        if (accepted && !subject->evaluated)
            return true;
        accepted |= try_for_reason(check, node->any_of.list[i], subject, &reason);
    }
    return accepted || differ_from_all(check, subject, "anyOf", node->any_of.count, &reason);
}

static bool check_one(struct schema_check *check, const struct schema_node *node,
                      const struct schema_subject *subject) {
    struct reason reason = {.depth = subject->depth};
    size_t accepted = 0, first = 0;
    if (!node->one_of.count)
        return true;
    for (size_t i = 0; i < node->one_of.count && !check->broken; i++) {
        if (!try_for_reason(check, node->one_of.list[i], subject, &reason))
            continue;
        if (accepted++)
            return schema_differ(check, subject,
                                 "is as two schemas of \"oneOf\" demand, number %zu and %zu", first,
                                 i);
        first = i;
    }
    return accepted || differ_from_all(check, subject, "oneOf", node->one_of.count, &reason);
}

static bool check_condition(struct schema_check *check, const struct schema_node *node,
                            const struct schema_subject *subject) {
    if (!node->condition || (!node->consequence && !node->alternative && !subject->evaluated))
        return true;
    bool holds = try_quietly(check, node->condition, subject);
    const struct schema_node *next = holds ? node->consequence : node->alternative;
    return !check->broken && (!next || schema_apply(check, next, subject));
}

static bool check_negated(struct schema_check *check, const struct schema_node *node,
                          const struct schema_subject *subject) {
    struct schema_subject own = *subject;
    own.evaluated = NULL;
    if (!node->negated || !schema_would_accept(check, node->negated, &own))
        return !check->broken;
    return schema_differ(check, subject, "%s is as \"not\" forbids",
                         schema_brief(subject->value).text);
}

bool schema_check_combined(struct schema_check *check, const struct schema_node *node,
                           const struct schema_subject *subject) {
    if (node->reference && !schema_apply(check, node->reference, subject))
        return false;
    for (size_t i = 0; i < node->all_of.count; i++)
        if (!schema_apply(check, node->all_of.list[i], subject))
            return false;
    return check_any(check, node, subject) && check_one(check, node, subject) &&
           check_negated(check, node, subject) && check_condition(check, node, subject);
}
