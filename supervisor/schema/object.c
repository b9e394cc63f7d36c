/* The keywords for objects. */
#include "supervisor/schema/schema_internal.h"

static bool apply_to_member(struct schema_check *check, const struct schema_node *node,
                            const struct schema_subject *object, const struct lh_entry *entry) {
    const struct schema_place place = {object->place, lh_entry_k(entry), 0};
    const struct schema_subject member = {.value = (struct json_object *)lh_entry_v(entry),
                                          .place = &place,
                                          .depth = object->depth + 1};
    if (!schema_apply(check, node, &member))
        return false;
    evaluated_mark_member(object->evaluated, entry);
    return true;
}

static bool check_count(struct schema_check *check, const struct schema_node *node,
                        const struct schema_subject *object) {
    size_t count = (size_t)json_object_object_length(object->value);
    if (count > node->members_count.maximum)
        return schema_differ(check, object, "has %zu members; at most %zu are allowed", count,
                             node->members_count.maximum);
    if (count < node->members_count.minimum)
        return schema_differ(check, object, "has %zu members; at least %zu are required", count,
                             node->members_count.minimum);
    return true;
}

static bool check_required(struct schema_check *check, const struct schema_subject *object,
                           struct json_object *names, const char *why) {
    for (size_t i = 0; i < json_object_array_length(names); i++) {
        struct json_object *name = json_object_array_get_idx(names, i);
        size_t size = (size_t)json_object_get_string_len(name);
        if (!schema_work(check, schema_cost_of_name(object->value, size)))
            return false;
        if (json_object_object_get_ex(object->value, json_object_get_string(name), NULL))
            continue;
        return why ? schema_differ(check, object, "has the member \"%.40s\" but lacks %s", why,
                                   schema_brief(name).text)
                   : schema_differ(check, object, "lacks the member %s", schema_brief(name).text);
    }
    return true;
}

static bool has_member(struct schema_check *check, const struct schema_subject *object,
                       const char *name) {
    return schema_work(check, schema_cost_of_name(object->value, strlen(name))) &&
           json_object_object_get_ex(object->value, name, NULL);
}

static bool check_dependencies(struct schema_check *check, const struct schema_node *node,
                               const struct schema_subject *object) {
    const struct schema_members *schemas = &node->dependent_schemas;
    if (node->dependent_required) {
        json_object_object_foreach(node->dependent_required, name, names) {
            if (has_member(check, object, name) && !check_required(check, object, names, name))
                return false;
        }
    }
    for (size_t i = 0; i < schemas->count; i++)
        if (has_member(check, object, schemas->list[i].name) &&
            !schema_apply(check, schemas->list[i].node, object))
            return false;
    return !check->broken;
}

/* Reports a bad name at the place of the object. */
static bool check_name(struct schema_check *check, const struct schema_node *node,
                       const struct schema_subject *object, const char *name) {
    if (!schema_work(check, SCHEMA_COST_MAKE + strlen(name) / 16))
        return false;
    struct json_object *text = json_object_new_string(name);
    if (!text)
        return schema_break(check, ENOMEM);
    const struct schema_subject subject = {
        .value = text, .place = object->place, .depth = object->depth};
    struct error *error = check->error, why = {0};
    check->error = error ? &why : NULL;
    bool accepts = schema_apply(check, node, &subject);
    check->error = error;
    if (!accepts)
        (void)schema_differ(check, object, "the name of the member %s is not allowed",
                            schema_brief(text).text);
    json_object_put(text);
    return accepts;
}

static bool check_member(struct schema_check *check, const struct schema_node *node,
                         const struct schema_subject *object, const struct lh_entry *entry) {
    const char *name = lh_entry_k(entry);
    size_t size = strlen(name);
    if (!schema_work(check, schema_cost_of_name(object->value, size)))
        return false;
    if (node->property_names && !check_name(check, node->property_names, object, name))
        return false;
    struct lh_entry *known =
        node->properties ? lh_table_lookup_entry(node->properties, name) : NULL;
    bool is_known = known;
    if (known && !apply_to_member(check, (struct schema_node *)lh_entry_v(known), object, entry))
        return false;
    for (size_t i = 0; i < node->pattern_properties.count; i++) {
        const struct schema_member *member = &node->pattern_properties.list[i];
        if (!schema_matches(check, member->pattern, name, size))
            continue;
        is_known = true;
        if (!apply_to_member(check, member->node, object, entry))
            return false;
    }
    return !check->broken && (is_known || !node->additional_properties ||
                              apply_to_member(check, node->additional_properties, object, entry));
}

static bool applies_to_members(const struct schema_node *node) {
    return node->properties || node->pattern_properties.count || node->property_names ||
           node->additional_properties;
}

static bool check_members(struct schema_check *check, const struct schema_node *node,
                          const struct schema_subject *object) {
    struct lh_entry *entry;
    lh_foreach(json_object_get_object(object->value), entry) {
        if (!check_member(check, node, object, entry))
            return false;
    }
    return true;
}

bool schema_check_object(struct schema_check *check, const struct schema_node *node,
                         const struct schema_subject *subject) {
    return check_count(check, node, subject) &&
           (!node->required || check_required(check, subject, node->required, NULL)) &&
           (!applies_to_members(node) || check_members(check, node, subject)) &&
           check_dependencies(check, node, subject);
}

bool schema_check_unevaluated_members(struct schema_check *check, const struct schema_node *node,
                                      const struct schema_subject *subject) {
    struct lh_entry *entry;
    if (!node->unevaluated_properties || !json_object_is_type(subject->value, json_type_object))
        return true;
    lh_foreach(json_object_get_object(subject->value), entry) {
        if (!schema_work(check, 4) ||
            (!evaluated_has_member(subject->evaluated, entry) &&
             !apply_to_member(check, node->unevaluated_properties, subject, entry)))
            return false;
    }
    return true;
}
