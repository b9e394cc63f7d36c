/* Checks of JSON values by table: the members that an object may have, those that it must have, and
 * the check of each. A member that no table names is refused. */
#ifndef ECLAVE_SUPERVISOR_CONTENT_SHAPE_H
#define ECLAVE_SUPERVISOR_CONTENT_SHAPE_H

#include "common/error.h"
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

/* A check of VALUE. False with *error (may be NULL), which reads after the name of the value: "must
 * be a string", "lacks the member …". */
typedef bool shape_check(struct json_object *value, struct error *error);

struct shape_member {
    const char *name;
    shape_check *check;
    bool required;
};

enum { SHAPE_MEMBERS_MAX = 8 };

struct shape {
    struct shape_member members[SHAPE_MEMBERS_MAX]; /* ends at one without a name */
    const char *one_of[2]; /* the object has exactly one of these; NULL: no such rule */
};

bool shape_fits(struct json_object *value, const struct shape *shape, struct error *error);
/* VALUE is an array whose elements all pass CHECK. */
bool shape_all(struct json_object *value, shape_check *check, struct error *error);
/* VALUE is a string and one of COUNT words. */
bool shape_is_word(struct json_object *value, const char *const *words, size_t count);

shape_check shape_anything;
shape_check shape_string;
shape_check shape_strings; /* an array */
shape_check shape_object;
shape_check shape_boolean;
shape_check shape_number; /* finite */
shape_check shape_count;  /* an integer from 0 */
shape_check shape_uri;
shape_check shape_mime_type;
shape_check shape_base64;

/* --- content_check.c: the contents of results and prompts, as MCP defines them --- */

shape_check content_check_blocks;    /* an array of content blocks */
shape_check content_check_messages;  /* an array of {role, content} */
shape_check content_check_resources; /* an array of the contents of resources */

#endif
