/* JSON text as json-c's values. Only for text that json_inspect found fine: json-c alone is not
 * strict. */
#ifndef ECLAVE_SUPERVISOR_JSON_JSON_TREE_H
#define ECLAVE_SUPERVISOR_JSON_JSON_TREE_H

#include "common/buffer.h"
#include <json-c/json.h>
#include <stdbool.h>

/* The value that TEXT stands for, the caller's to put; NULL with no memory. */
struct json_object *json_tree_parse(struct span text);

/* Does VALUE, parsed of TEXT, have all of it? Not when a member stands twice in one object: the
 * first is lost, and others may take that for the one. */
bool json_tree_is_whole(struct json_object *value, struct span text);

/* The member of OBJECT called NAME. NULL when there is none, and when it is null. */
struct json_object *json_tree_member(struct json_object *object, const char *name);

/* The bytes of a string, which belong to it; bytes NULL for anything else. */
struct span json_tree_string(struct json_object *value);

/* The characters of a string that has no U+0000 inside, which belong to VALUE; NULL for anything
 * else. VALUE may be NULL. */
const char *json_plain_string(struct json_object *value);

static inline void cleanup_json_value(struct json_object **slot) {
    json_object_put(*slot);
}
#define cleanup_json __attribute__((cleanup(cleanup_json_value)))

#endif
