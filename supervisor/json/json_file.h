/* JSON that stands in files of a project: strict, no member twice, bounded. */
#ifndef ECLAVE_SUPERVISOR_JSON_JSON_FILE_H
#define ECLAVE_SUPERVISOR_JSON_JSON_FILE_H

#include "common/buffer.h"
#include "common/error.h"
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

/* A value costs the parser a microsecond at worst, so their number bounds how long it takes. */
enum { JSON_FILE_DEPTH_MAX = 64, JSON_FILE_VALUES_MAX = 4096 };

/* Is TEXT one JSON object of at most VALUES values? False with *error, which says what is wrong and
 * in which line of TEXT. Members that stand twice are not looked for. */
bool json_file_check(struct span text, size_t values, struct error *error);

/* The object that TEXT is, of at most JSON_FILE_VALUES_MAX values; the caller puts it. NULL with
 * *error, also when a member stands twice in one of the objects inside. */
struct json_object *json_file_parse(struct span text, struct error *error);

/* The next member of the object TEXT, which was found fine: its name, quotes included, and its
 * value. *offset starts at 0. False behind the last. */
bool json_file_next(struct span text, size_t *offset, struct span *name, struct span *value);

/* About how much memory VALUE, which may be NULL, takes: some hundred times its text at worst. */
size_t json_held_bytes(struct json_object *value);

#endif
