/* The keywords that apply other schemas to the same value. What a schema that fails has looked at
 * never counts as evaluated. */
#include "supervisor/schema/check.h"

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

/* Says why none of NODES accepts: of their reasons the one that is deepest in the value, for there
 * the schema that was meant failed. They are made now, when it is known that they are wanted. */
static bool differ_from_all(struct schema_check *check, const struct schema_nodes *nodes,
                            const struct schema_subject *subject, const char *keyword) {
    struct error *error = check->error, best = {0}, why;
    size_t depth = subject->depth;
    for (size_t i = 0; i < nodes->count && error && !check->broken; i++) {
        why.text[0] = 0;
        check->error = &why;
        try_schema(check, nodes->list[i], subject);
        if (why.text[0] && check->error_depth > depth) {
            best = why;
            depth = check->error_depth;
        }
    }
    check->error = error;
    if (!best.text[0] || check->broken)
        return schema_differ(check, subject, "%s is as none of the %zu schemas of \"%s\" demands",
                             schema_brief(subject->value).text, nodes->count, keyword);
    *error = best;
    check->error_depth = depth;
    return false;
}

static bool check_any(struct schema_check *check, const struct schema_node *node,
                      const struct schema_subject *subject) {
    bool accepted = false;
    for (size_t i = 0; i < node->any_of.count && !check->broken; i++) {
        if (accepted && !subject->evaluated)
            return true;
        accepted |= try_quietly(check, node->any_of.list[i], subject);
    }
    return accepted || differ_from_all(check, &node->any_of, subject, "anyOf");
}

static bool check_one(struct schema_check *check, const struct schema_node *node,
                      const struct schema_subject *subject) {
    size_t accepted = 0, first = 0;
    for (size_t i = 0; i < node->one_of.count && !check->broken; i++) {
        if (!try_quietly(check, node->one_of.list[i], subject))
            continue;
        if (accepted++)
            return schema_differ(check, subject,
                                 "is as two schemas of \"oneOf\" demand, number %zu and %zu", first,
                                 i);
        first = i;
    }
    return accepted || differ_from_all(check, &node->one_of, subject, "oneOf");
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
    return (!node->any_of.count || check_any(check, node, subject)) &&
           (!node->one_of.count || check_one(check, node, subject)) &&
           check_negated(check, node, subject) && check_condition(check, node, subject);
}
