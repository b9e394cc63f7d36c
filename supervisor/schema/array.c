/* The keywords for arrays. */
#include "supervisor/schema/schema_internal.h"

static bool check_element(struct schema_check *check, const struct schema_node *node,
                          const struct schema_subject *array, size_t index) {
    const struct schema_place place = {array->place, NULL, index};
    const struct schema_subject element = {.value = json_object_array_get_idx(array->value, index),
                                           .place = &place,
                                           .depth = array->depth + 1};
    if (!schema_apply(check, node, &element))
        return false;
    evaluated_mark(array->evaluated, index);
    return true;
}

static bool check_count(struct schema_check *check, const struct schema_node *node,
                        const struct schema_subject *array, size_t count) {
    if (count > node->items_count.maximum)
        return schema_differ(check, array, "has %zu elements; at most %zu are allowed", count,
                             node->items_count.maximum);
    if (count < node->items_count.minimum)
        return schema_differ(check, array, "has %zu elements; at least %zu are required", count,
                             node->items_count.minimum);
    return true;
}

static bool check_elements(struct schema_check *check, const struct schema_node *node,
                           const struct schema_subject *array, size_t count) {
    size_t fixed = node->prefix_items.count;
    for (size_t i = 0; i < count && i < fixed; i++)
        if (!check_element(check, node->prefix_items.list[i], array, i))
            return false;
    for (size_t i = fixed; i < count && node->items; i++)
        if (!check_element(check, node->items, array, i))
            return false;
    return true;
}

static bool check_contained(struct schema_check *check, const struct schema_node *node,
                            const struct schema_subject *array, size_t count) {
    const struct schema_range *range = &node->contains_count;
    struct error *error = check->error;
    size_t found = 0;
    check->error = NULL;
    for (size_t i = 0; i < count && !check->broken; i++)
        found += check_element(check, node->contains, array, i);
    check->error = error;
    if (found < range->minimum)
        return schema_differ(check, array, "%zu elements match \"contains\"; at least %zu must",
                             found, range->minimum);
    if (found > range->maximum)
        return schema_differ(check, array, "%zu elements match \"contains\"; at most %zu may",
                             found, range->maximum);
    return true;
}

static bool check_unique(struct schema_check *check, const struct schema_subject *array) {
    size_t first, second;
    bool failed, twins;
    twins = schema_find_twins(array->value, &first, &second, &check->work, &failed);
    if (failed)
        return schema_break(check, ENOMEM);
    if (!schema_work(check, 1))
        return false;
    return !twins ||
           schema_differ(check, array, "elements %zu and %zu are equal",
                         first < second ? first : second, first < second ? second : first);
}

bool schema_check_array(struct schema_check *check, const struct schema_node *node,
                        const struct schema_subject *subject) {
    size_t count = json_object_array_length(subject->value);
    return check_count(check, node, subject, count) &&
           check_elements(check, node, subject, count) &&
           (!node->contains || check_contained(check, node, subject, count)) &&
           (!node->unique_items || check_unique(check, subject));
}

bool schema_check_unevaluated_items(struct schema_check *check, const struct schema_node *node,
                                    const struct schema_subject *subject) {
    if (!node->unevaluated_items || !json_object_is_type(subject->value, json_type_array))
        return true;
    size_t count = json_object_array_length(subject->value);
    for (size_t i = 0; i < count; i++)
        if (!schema_work(check, 4) || (!evaluated_has(subject->evaluated, i) &&
                                       !check_element(check, node->unevaluated_items, subject, i)))
            return false;
    return true;
}
