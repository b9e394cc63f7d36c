/* The keywords that apply other schemas to the same value. */
#include "supervisor/schema/schema_internal.h"

/* Applies NODE. A value that is not valid leaves no marks. */
static bool try_schema(struct schema_check *check, const struct schema_node *node,
                       const struct schema_subject *subject) {
    return subject->evaluated ? schema_apply_apart(check, node, subject, schema_apply)
                              : schema_apply(check, node, subject);
}

static bool try_quietly(struct schema_check *check, const struct schema_node *node,
                        const struct schema_subject *subject) {
    struct error *error = check->error;
    check->error = NULL;
    bool valid = try_schema(check, node, subject);
    check->error = error;
    return valid;
}

/* Reports why the value is valid under none of NODES. Runs them again for their messages and keeps
 * the one that is deepest in the value: most likely it is of the schema that was meant. */
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
        return schema_differ(check, subject, "%s matches none of the %zu schemas of \"%s\"",
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
            return schema_differ(check, subject, "matches two schemas of \"oneOf\": %zu and %zu",
                                 first, i);
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
    if (!node->negated || !try_quietly(check, node->negated, &own))
        return !check->broken;
    return schema_differ(check, subject, "%s matches the schema of \"not\"",
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
