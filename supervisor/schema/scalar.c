/* The keywords for any value, for numbers and for strings. */
#include "supervisor/json/json_number.h"
#include "supervisor/schema/schema_internal.h"

static const char *type_words(unsigned types, char *words, size_t size) {
    size_t used = 0;
    words[0] = 0;
    for (unsigned i = 0; schema_type_names[i]; i++)
        if (types & 1U << i)
            used += (size_t)snprintf(words + used, size - used, "%s%s", used ? " or " : "",
                                     schema_type_names[i]);
    return words;
}

enum { COST_OF_REWRITING = 60 }; /* a number */

static bool check_type(struct schema_check *check, const struct schema_node *node,
                       const struct schema_subject *subject) {
    char words[100]; /* enough for all the names */
    if (!node->types)
        return true;
    if (node->types & schema_types_of(subject->value)) {
        size_t written =
            node->types & SCHEMA_NUMBER ? 0 : json_number_drop_fraction(subject->value);
        return !written || schema_work(check, COST_OF_REWRITING + written);
    }
    return schema_differ(check, subject, "%s is not of type %s", schema_brief(subject->value).text,
                         type_words(node->types, words, sizeof words));
}

/* Lists as many of the values as fit. */
static const char *list_words(struct json_object *list, char *words, size_t size) {
    size_t used = 0, count = json_object_array_length(list);
    words[0] = 0;
    for (size_t i = 0; i < count; i++) {
        struct schema_brief brief = schema_brief(json_object_array_get_idx(list, i));
        if (used + strlen(brief.text) + 2 * sizeof ", \xe2\x80\xa6" > size) {
            snprintf(words + used, size - used, ", \xe2\x80\xa6");
            break;
        }
        used += (size_t)snprintf(words + used, size - used, "%s%s", used ? ", " : "", brief.text);
    }
    return words;
}

static bool differ_from_list(struct schema_check *check, const struct schema_subject *subject,
                             struct json_object *list) {
    char words[120];
    if (!check->error || !schema_work(check, SCHEMA_COST_SAY))
        return false;
    return schema_differ(check, subject, "%s is not one of %s", schema_brief(subject->value).text,
                         list_words(list, words, sizeof words));
}

static bool check_values(struct schema_check *check, const struct schema_node *node,
                         const struct schema_subject *subject) {
    struct json_object *value = subject->value;
    if (node->enumeration && !schema_set_has(&node->values, value, &check->work))
        return schema_work(check, 1) && differ_from_list(check, subject, node->enumeration);
    if (node->has_constant && !schema_equal(node->constant, value, &check->work))
        return schema_work(check, 1) &&
               schema_differ(check, subject, "%s is not %s", schema_brief(value).text,
                             schema_brief(node->constant).text);
    return schema_work(check, 1);
}

static bool differ_from(struct schema_check *check, const struct schema_subject *subject,
                        const char *how, struct json_object *limit) {
    return schema_differ(check, subject, "%s is %s %s", schema_brief(subject->value).text, how,
                         schema_brief(limit).text);
}

static bool check_number(struct schema_check *check, const struct schema_node *node,
                         const struct schema_subject *subject) {
    struct json_object *number = subject->value;
    size_t *work = &check->work;
    if (node->maximum && schema_compare(number, node->maximum, work) > 0)
        return differ_from(check, subject, "more than the maximum", node->maximum);
    if (node->minimum && schema_compare(number, node->minimum, work) < 0)
        return differ_from(check, subject, "less than the minimum", node->minimum);
    if (node->exclusive_maximum && schema_compare(number, node->exclusive_maximum, work) >= 0)
        return differ_from(check, subject, "not less than", node->exclusive_maximum);
    if (node->exclusive_minimum && schema_compare(number, node->exclusive_minimum, work) <= 0)
        return differ_from(check, subject, "not more than", node->exclusive_minimum);
    if (!node->multiple_of)
        return schema_work(check, 1);
    bool is_multiple = schema_is_multiple(number, node->multiple_of, work);
    return schema_work(check, 1) &&
           (is_multiple || differ_from(check, subject, "not a multiple of", node->multiple_of));
}

/* Counts code points; in ill-formed UTF-8, the bytes that begin one. */
static size_t count_characters(const char *text, size_t size) {
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

static bool check_length(struct schema_check *check, const struct schema_node *node,
                         const struct schema_subject *subject, const char *text, size_t size) {
    if (!node->length.minimum && node->length.maximum == SIZE_MAX)
        return true;
    if (!schema_work(check, size / 16))
        return false;
    size_t count = count_characters(text, size);
    if (count > node->length.maximum)
        return schema_differ(check, subject, "has %zu characters; at most %zu are allowed", count,
                             node->length.maximum);
    if (count < node->length.minimum)
        return schema_differ(check, subject, "has %zu characters; at least %zu are required", count,
                             node->length.minimum);
    return true;
}

static bool check_string(struct schema_check *check, const struct schema_node *node,
                         const struct schema_subject *subject) {
    const char *text = json_object_get_string(subject->value);
    size_t size = (size_t)json_object_get_string_len(subject->value);
    if (!check_length(check, node, subject, text, size))
        return false;
    return !node->pattern || schema_matches(check, node->pattern, text, size) ||
           schema_differ(check, subject, "%s does not match the pattern %.80s",
                         schema_brief(subject->value).text, node->pattern_text);
}

bool schema_check_scalar(struct schema_check *check, const struct schema_node *node,
                         const struct schema_subject *subject) {
    if (!check_type(check, node, subject) || !check_values(check, node, subject))
        return false;
    switch (json_object_get_type(subject->value)) {
    case json_type_int:
    case json_type_double:
        return check_number(check, node, subject);
    case json_type_string:
        return check_string(check, node, subject);
    default:
        return true;
    }
}
