/* JSON text into json-c's values. */
#ifndef ECLAVE_SUPERVISOR_JSON_JSON_TREE_H
#define ECLAVE_SUPERVISOR_JSON_JSON_TREE_H

#include "common/buffer.h"
#include "common/error.h"
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

/* Parses TEXT, which json_inspect accepted: json-c alone is not strict. The caller owns the result,
 * which is NULL for null and when out of memory. */
struct json_object *json_tree_parse(struct span text);

/* The limits of a file, which holds one JSON object. Parsing takes at most a microsecond per value,
 * so the number of values bounds the time. */
enum { JSON_FILE_DEPTH_MAX = 64, JSON_FILE_VALUES_MAX = 4096 };

/* Checks that TEXT, perhaps after a byte order mark, is a JSON object of at most VALUES values.
 * False with *error, which reads after the file's name and has the line. Does not look for repeated
 * members. */
bool json_file_check(struct span text, size_t values, struct error *error);

/* Checks and parses TEXT. The caller owns the result. NULL with *error, also if any object in TEXT
 * has a member twice. */
struct json_object *json_file_parse(struct span text, struct error *error);

/* The approximate memory in bytes that VALUE (may be NULL) takes: at worst about a hundred times
 * its text. */
size_t json_held_bytes(struct json_object *value);

/* True if VALUE, which was parsed from TEXT, has every member of it: false if an object in TEXT has
 * a member twice, of which json-c keeps one and another reader may take the other. */
bool json_tree_is_whole(struct json_object *value, struct span text);

/* The member NAME of OBJECT, borrowed; NULL if it is missing or null. */
struct json_object *json_tree_member(struct json_object *object, const char *name);

/* The bytes of a string, borrowed; bytes NULL for anything else. */
struct span json_tree_string(struct json_object *value);

/* A string without U+0000, borrowed; NULL for anything else, NULL included. */
const char *json_plain_string(struct json_object *value);

static inline void cleanup_json_value(struct json_object **slot) {
    json_object_put(*slot);
}
#define cleanup_json __attribute__((cleanup(cleanup_json_value)))

#endif
