/* Shapes of JSON values as tables: the members that an object must or may have, with a check for
 * each. */
#ifndef ECLAVE_SUPERVISOR_CONTENT_SHAPE_H
#define ECLAVE_SUPERVISOR_CONTENT_SHAPE_H

#include "common/error.h"
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

/* A check of VALUE (NULL: null). False with *error (may be NULL), a phrase that follows the name of
 * the value: `must be a string`, or `"size" must be a number` for a member of it. */
typedef bool shape_check(struct json_object *value, struct error *error);

struct shape_member {
    const char *name;
    shape_check *check;
    bool required;
};

enum { SHAPE_MEMBERS_MAX = 24, SHAPE_NAME_MAX = 64, SHAPE_URI_MAX_BYTES = 65536 };

struct shape {
    struct shape_member members[SHAPE_MEMBERS_MAX]; /* end at the first without a name */
    const char *one_of[2]; /* exactly one of these must be present, unless they are NULL */
    bool open;             /* other members are allowed */
};

bool shape_fits(struct json_object *value, const struct shape *shape, struct error *error);
/* An array whose elements pass CHECK. */
bool shape_all(struct json_object *value, shape_check *check, struct error *error);
/* An object whose members pass CHECK, whatever their names. */
bool shape_map(struct json_object *value, shape_check *check, struct error *error);
/* A string that is one of COUNT WORDS. */
bool shape_word(struct json_object *value, const char *const *words, size_t count,
                struct error *error);

/* VALUE is the string WORD. */
bool shape_is_word(struct json_object *value, const char *word);
/* NAME is valid for a tool, prompt or completion: 1 to SHAPE_NAME_MAX of A-Z a-z 0-9 _ . - (MCP,
 * tools#tool-names). False with *error, a phrase that follows the name. */
bool shape_is_name(const char *name, struct error *error);

shape_check shape_anything;
shape_check shape_string;
shape_check shape_plain_string;    /* without U+0000 */
shape_check shape_nonempty_string; /* the same, and not empty */
shape_check shape_name;            /* one that shape_is_name accepts */
shape_check shape_strings;         /* an array of strings */
shape_check shape_object;
shape_check shape_array;
shape_check shape_boolean;
shape_check shape_number;    /* a finite one */
shape_check shape_fraction;  /* a number from 0 to 1 */
shape_check shape_count;     /* an integer, 0 or more */
shape_check shape_time;      /* RFC 3339 */
shape_check shape_uri;       /* of at most SHAPE_URI_MAX_BYTES */
shape_check shape_mime_type; /* the same */
shape_check shape_base64;

/* --- content_check.c: contents of results and prompts, as MCP defines them --- */

shape_check content_check_blocks;    /* an array of content blocks */
shape_check content_check_messages;  /* an array of {role, content} */
shape_check content_check_resources; /* an array of the contents of resources */
shape_check content_check_role;      /* "user" or "assistant" */
shape_check content_check_audience;  /* an array of roles */

#endif
