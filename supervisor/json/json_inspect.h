/* A strict check of JSON before a library parses it and before it is sent: the grammar of RFC 8259,
 * UTF-8, a limit of depth and one of values. json-c cuts a member's name at U+0000, so such a name
 * is refused. */
#ifndef ECLAVE_SUPERVISOR_JSON_JSON_INSPECT_H
#define ECLAVE_SUPERVISOR_JSON_JSON_INSPECT_H

#include "common/buffer.h"
#include <stdbool.h>
#include <stddef.h>

enum {
    JSON_DEPTH_MAX = 512,
    JSON_NUMBER_MAX_BYTES = 65536 /* converting more digits takes long */
};

enum json_kind { JSON_OBJECT, JSON_ARRAY, JSON_STRING, JSON_NUMBER, JSON_LITERAL };

enum json_fault {
    JSON_FINE,
    JSON_NOT_UTF8,
    JSON_NOT_JSON,
    JSON_TOO_DEEP,
    JSON_TOO_MANY,
    JSON_ZERO_IN_NAME,
    JSON_LONG_NUMBER
};

/* A description of FAULT in an input line: "not JSON". */
const char *json_fault_text(enum json_fault fault);
/* The same for a file, after its name: "is not JSON". */
const char *json_file_fault_text(enum json_fault fault);
/* The number of the line of TEXT, from 1, that holds the byte at OFFSET. */
size_t json_line_of(struct span text, size_t offset);

struct json_limits {
    size_t depth;  /* at most JSON_DEPTH_MAX */
    size_t values; /* 0: no limit */
};

/* One value as it was written. */
struct json_token {
    struct span text; /* bytes NULL: the member is missing */
    enum json_kind kind;
    bool is_integer;         /* digits with an optional minus; no fraction, no exponent */
    bool has_lone_surrogate; /* a string that must not be echoed: \uD800 alone is not a character */
};

/* Of a repeated member the last is recorded. */
struct json_shape {
    enum json_kind kind;
    struct json_token id;             /* "id" */
    struct json_token request_id;     /* "requestId" of "params" */
    struct json_token progress_token; /* "progressToken" of "_meta" of "params" */
    struct json_token structured;     /* "structuredContent" */
    size_t structured_count;          /* how often it occurs */
    size_t elements;                  /* of a JSON_ARRAY */
    size_t values, structured_values; /* with a limit of values: all, and those in `structured` */
    size_t fault_at;                  /* the offset of the first bad byte */
    bool has_method;                  /* there is a member "method" */
};

/* Checks that TEXT is one JSON value with nothing but blanks around it. After a fault, only
 * fault_at of *shape is valid, but after JSON_ZERO_IN_NAME, which is reported only if there is no
 * other fault, all of it is. */
enum json_fault json_inspect(const unsigned char *text, size_t size, struct json_limits limits,
                             struct json_shape *shape);

/* The same in steps. */
struct json_inspector {
    const unsigned char *text;
    size_t size, at, valid; /* valid: the bytes known to be UTF-8 */
    size_t stop;            /* where a step may end, also inside a string */
    size_t resume;          /* the place inside the string at `at` where it did; or 0 */
    struct json_limits limits;
    int state;
    size_t depth, values;
    unsigned char in_object[JSON_DEPTH_MAX / 8 + 1]; /* a bit per level: object or array */
    bool in_params;                                  /* inside the top-level member "params" */
    bool in_meta;                                    /* and inside its member "_meta" */
    bool zero_in_string;                             /* of the last string scanned */
    size_t zero_at;            /* the end of the first name with U+0000 in it; or 0 */
    bool lone_surrogate;       /* the same */
    struct json_token *target; /* records the next value; or NULL */
    struct json_token *open;   /* a recorded container whose end is not reached yet; or NULL */
    size_t open_depth;         /* the depth around it */
    size_t open_values;        /* the values before it */
    struct json_shape *shape;
    struct json_builder *builder; /* borrowed; NULL: the text is only checked */
};

void json_inspector_begin(struct json_inspector *inspector, const unsigned char *text, size_t size,
                          struct json_limits limits, struct json_shape *shape);
/* Checks about SIZE bytes more. False at the end of the text or at a
 * fault, with *fault. */
bool json_inspector_step(struct json_inspector *inspector, size_t size, enum json_fault *fault);

/* True if two scalars have the same type and value. Strings are compared after decoding their
 * escapes, numbers digit by digit. */
bool json_token_equal(const struct json_token *left, const struct json_token *right);

/* These read an array or object that json_inspect accepted. *offset starts at 0. False after the
 * last element or member. NAME includes its quotes. */
bool json_next_element(struct span text, size_t *offset, struct span *element);

/* The same in steps of about SIZE bytes. */
struct json_search {
    size_t offset; /* as *offset */
    size_t at;     /* inside the element that begins at `offset`; or 0 */
    size_t depth;
    bool in_string;
};
enum json_found { JSON_FOUND, JSON_FOUND_END, JSON_FOUND_NOTHING_YET };
enum json_found json_find_element(struct span text, struct json_search *search, size_t size,
                                  struct span *element);

bool json_next_member(struct span text, size_t *offset, struct json_token *name,
                      struct span *value);

#endif
