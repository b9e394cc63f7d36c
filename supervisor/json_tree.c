/* From text to json-c. Never judges text: that is json_inspect's. */
#include "supervisor/json_tree.h"
#include "supervisor/json_inspect.h"

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
