/* Shapes of JSON values, as tables: which members an object may have, which it must have, and what
 * each of them is. A value has a shape wholly or not at all; what no table names is refused. */
#ifndef ECLAVE_SUPERVISOR_CONTENT_SHAPE_H
#define ECLAVE_SUPERVISOR_CONTENT_SHAPE_H

#include "common/error.h"
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

/* Is VALUE one? False with *error (which may be NULL): what is wrong, to be read behind the name
 * of what it is wrong with. */
typedef bool shape_check(struct json_object *value, struct error *error);

struct shape_member {
    const char *name;
    shape_check *check;
    bool required;
};

enum { SHAPE_MEMBERS_MAX = 8 };

struct shape {
    struct shape_member members[SHAPE_MEMBERS_MAX]; /* up to one without a name */
    const char *one_of[2]; /* exactly one of these is there, when they are given */
};

bool shape_fits(struct json_object *value, const struct shape *shape, struct error *error);
/* Is VALUE an array of what CHECK is for? */
bool shape_all(struct json_object *value, shape_check *check, struct error *error);
/* Is VALUE the string that is one of COUNT WORDS? */
bool shape_is_word(struct json_object *value, const char *const *words, size_t count);

shape_check shape_anything;
shape_check shape_string;
shape_check shape_strings; /* an array of them */
shape_check shape_object;
shape_check shape_boolean;
shape_check shape_number; /* a finite one */
shape_check shape_count;  /* an integer from 0 */
shape_check shape_uri;
shape_check shape_mime_type;
shape_check shape_base64;

#endif
