/* From text to json-c. Never judges text: that is json_inspect's. */
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_inspect.h"

#include <string.h>

struct json_object *json_tree_parse(struct span text) {
    struct json_tokener *tokener = json_tokener_new_ex(JSON_DEPTH_MAX + 1);
    if (!tokener)
        return NULL;
    struct json_object *root =
        json_tokener_parse_ex(tokener, (const char *)text.bytes, (int)text.length);
    json_tokener_free(tokener);
    return root;
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

/* The members of all objects in the text: the colons outside strings. */
static size_t count_written(struct span text) {
    size_t count = 0;
    bool in_string = false;
    for (size_t i = 0; i < text.length; i++) {
        unsigned char byte = text.bytes[i];
        if (byte == '"')
            in_string = !in_string;
        else if (in_string && byte == '\\')
            i++;
        else
            count += !in_string && byte == ':';
    }
    return count;
}

/* The members of all objects in VALUE. */
static size_t
count_held(struct json_object *value) { /* NOLINT(misc-no-recursion): as deep as its text may be */
    size_t count = 0;
    if (json_object_is_type(value, json_type_array))
        for (size_t i = 0; i < json_object_array_length(value); i++)
            count += count_held(json_object_array_get_idx(value, i));
    if (!json_object_is_type(value, json_type_object))
        return count;
    json_object_object_foreach(value, name, member) {
        (void)name;
        count += 1 + count_held(member);
    }
    return count;
}

bool json_tree_is_whole(struct json_object *value, struct span text) {
    return count_written(text) == count_held(value);
}
