/* Strict JSON from files of a project. Never takes a text in which one member stands twice. */
#include "supervisor/json/json_file.h"
#include "supervisor/json/json_inspect.h"
#include "supervisor/json/json_tree.h"

#include <json-c/linkhash.h>
#include <string.h>

bool json_file_check(struct span text, size_t values, struct error *error) {
    const struct json_limits limits = {.depth = JSON_FILE_DEPTH_MAX, .values = values};
    struct json_shape shape;
    if (text.length >= 3 && memcmp(text.bytes, "\xef\xbb\xbf", 3) == 0)
        return error_set(error, 0, "begins with a byte order mark, which JSON may not");
    enum json_fault fault = json_inspect(text.bytes, text.length, limits, &shape);
    if (fault != JSON_FINE)
        return error_set(error, 0, "%s (line %zu)", json_file_fault_text(fault),
                         json_line_of(text, shape.fault_at));
    return shape.kind == JSON_OBJECT || error_set(error, 0, "is not a JSON object");
}

/* Names the member that stands twice where it is one of the first of the outermost object. */
static bool refuse_repeated(struct span text, struct error *error) {
    enum { COMPARED_MAX = 100 };
    struct json_token names[COMPARED_MAX];
    size_t count = 0, offset = 0;
    while (count < COMPARED_MAX && json_next_member(text, &offset, &names[count])) {
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
    if (!json_file_check(text, JSON_FILE_VALUES_MAX, error))
        return NULL;
    struct json_tokener *tokener = json_tokener_new_ex(JSON_FILE_DEPTH_MAX + 1);
    if (!tokener) {
        error_set(error, ENOMEM, "cannot be parsed");
        return NULL;
    }
    struct json_object *object =
        json_tokener_parse_ex(tokener, (const char *)text.bytes, (int)text.length);
    enum json_tokener_error fault = json_tokener_get_error(tokener);
    json_tokener_free(tokener);
    if (fault != json_tokener_success || !json_object_is_type(object, json_type_object)) {
        error_set(error, 0, "cannot be parsed");
        json_object_put(object);
        return NULL;
    }
    if (json_tree_is_whole(object, text))
        return object;
    json_object_put(object);
    refuse_repeated(text, error);
    return NULL;
}

bool json_file_next(struct span text, size_t *offset, struct span *name, struct span *value) {
    struct json_token token;
    if (!json_next_member(text, offset, &token))
        return false;
    *name = token.text;
    *value = json_member_value(text, &token, *offset);
    return true;
}

/* NOLINTNEXTLINE(misc-no-recursion): bounded by JSON_FILE_DEPTH_MAX */
size_t json_held_bytes(struct json_object *value) {
    enum { VALUE = 64, NAME = 32, TABLE = 112, SLOTS_AT_LEAST = 32 };
    size_t bytes = VALUE;
    if (json_object_is_type(value, json_type_string))
        bytes += (size_t)json_object_get_string_len(value);
    if (json_object_is_type(value, json_type_array)) {
        size_t count = json_object_array_length(value);
        bytes += TABLE + (count > SLOTS_AT_LEAST ? count : SLOTS_AT_LEAST) * sizeof(void *);
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
