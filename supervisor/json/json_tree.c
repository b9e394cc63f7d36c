/* json-c's values. */
#include "supervisor/json/json_tree.h"
#include "common/utf8.h"
#include "supervisor/json/json_build_internal.h"
#include "supervisor/json/json_number.h"
#include "supervisor/json/json_string_internal.h"

#include <json-c/linkhash.h>
#include <string.h>

struct json_object *json_tree_parse(struct span text) {
    struct json_builder builder;
    struct json_inspector inspector;
    struct json_shape shape;
    json_builder_begin(&builder, &inspector, text, &shape);
    while (json_builder_step(&builder, &inspector, SIZE_MAX))
        continue;
    return json_builder_take(&builder);
}

struct json_object *json_tree_member(struct json_object *object, const char *name) {
    struct json_object *member = NULL;
    json_object_object_get_ex(object, name, &member);
    return member;
}

struct span json_tree_string(struct json_object *value) {
    if (!json_object_is_type(value, json_type_string))
        return (struct span){0};
    return (struct span){(const unsigned char *)json_object_get_string(value),
                         (size_t)json_object_get_string_len(value)};
}

const char *json_plain_string(struct json_object *value) {
    if (!json_object_is_type(value, json_type_string))
        return NULL;
    const char *text = json_object_get_string(value);
    return strlen(text) == (size_t)json_object_get_string_len(value) ? text : NULL;
}

/* The number of members of all objects in TEXT: the colons outside strings. */
static size_t count_in_text(struct span text) {
    size_t count = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (text.bytes[i] == ':')
            count++;
        if (text.bytes[i] != '"')
            continue;
        i++;
        while (i += json_plain_prefix(text.bytes + i, text.length - i), text.bytes[i] != '"')
            i += 2;
    }
    return count;
}

/* The same for VALUE. NOLINTNEXTLINE(misc-no-recursion): JSON_DEPTH_MAX deep at most */
static size_t count_in_value(struct json_object *value) {
    size_t count = 0;
    if (json_object_is_type(value, json_type_array))
        for (size_t i = 0; i < json_object_array_length(value); i++)
            count += count_in_value(json_object_array_get_idx(value, i));
    if (!json_object_is_type(value, json_type_object))
        return count;
    json_object_object_foreach(value, name, member) {
        (void)name;
        count += 1 + count_in_value(member);
    }
    return count;
}

bool json_tree_is_whole(struct json_object *value, struct span text) {
    return count_in_text(text) == count_in_value(value);
}

/* --- files --- */

static bool check_object(struct span text, size_t values, struct error *error) {
    const struct json_limits limits = {.depth = JSON_FILE_DEPTH_MAX, .values = values};
    struct json_shape shape;
    enum json_fault fault = json_inspect(text.bytes, text.length, limits, &shape);
    if (fault != JSON_FINE)
        return error_set(error, 0, "%s (line %zu)", json_file_fault_text(fault),
                         json_line_of(text, shape.fault_at));
    return shape.kind == JSON_OBJECT || error_set(error, 0, "is not a JSON object");
}

bool json_file_check(struct span text, size_t values, struct error *error) {
    return check_object(utf8_without_mark(text), values, error);
}

/* Names the repeated member if it is among the first of the outermost object. */
static bool refuse_repeated(struct span text, struct error *error) {
    enum { COMPARED_MAX = 100 };
    struct json_token names[COMPARED_MAX];
    struct span value;
    size_t count = 0, offset = 0;
    while (count < COMPARED_MAX && json_next_member(text, &offset, &names[count], &value)) {
        const struct json_token *name = &names[count++];
        for (size_t i = 0; i + 1 < count; i++)
            if (json_token_equal(&names[i], name))
                return error_set(error, 0, "has the member %.*s twice",
                                 name->text.length < 80 ? (int)name->text.length : 80,
                                 (const char *)name->text.bytes);
    }
    return error_set(error, 0, "has a member twice in one object");
}

struct json_object *json_file_parse(struct span text, struct error *error) {
    text = utf8_without_mark(text);
    if (!check_object(text, JSON_FILE_VALUES_MAX, error))
        return NULL;
    struct json_object *object = json_tree_parse(text);
    if (!object)
        error_set(error, ENOMEM, "cannot be parsed");
    else if (!json_tree_is_whole(object, text))
        refuse_repeated(text, error);
    else
        return object;
    json_object_put(object);
    return NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): bounded by JSON_FILE_DEPTH_MAX */
size_t json_held_bytes(struct json_object *value) {
    enum { VALUE = 64, NUMBER = 80, NAME = 32, TABLE = 112, SLOTS_MIN = 32 };
    size_t bytes = VALUE;
    if (json_object_is_type(value, json_type_string))
        bytes += (size_t)json_object_get_string_len(value);
    if (json_object_is_type(value, json_type_double))
        bytes += NUMBER + json_number_text(value).length;
    if (json_object_is_type(value, json_type_array)) {
        size_t count = json_object_array_length(value);
        bytes += TABLE + (count > SLOTS_MIN ? count : SLOTS_MIN) * sizeof(void *);
        for (size_t i = 0; i < count; i++)
            bytes += json_held_bytes(json_object_array_get_idx(value, i));
    }
    if (json_object_is_type(value, json_type_object)) {
        bytes += TABLE + (size_t)json_object_get_object(value)->size * sizeof(struct lh_entry);
        json_object_object_foreach(value, name, member) {
            bytes += NAME + strlen(name) + json_held_bytes(member);
        }
    }
    return bytes;
}
