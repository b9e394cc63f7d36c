/* A strict look at JSON text before any library sees it and before any text of ours leaves: the
 * grammar of RFC 8259, UTF-8, a depth limit, a limit on the number of values. It allocates
 * nothing and does not recurse. json-c alone lets NaN, single quotes, raw control characters and
 * overlong UTF-8 pass, and rounds big integers: the `id` is therefore taken from the text here. It
 * cuts a member's name at U+0000, so such a name is refused. */
#ifndef ECLAVE_SUPERVISOR_JSON_JSON_INSPECT_H
#define ECLAVE_SUPERVISOR_JSON_JSON_INSPECT_H

#include "common/buffer.h"
#include <stdbool.h>
#include <stddef.h>

enum { JSON_DEPTH_MAX = 512 };

enum json_kind { JSON_OBJECT, JSON_ARRAY, JSON_STRING, JSON_NUMBER, JSON_LITERAL };

enum json_fault {
    JSON_FINE,
    JSON_NOT_UTF8,
    JSON_NOT_JSON,
    JSON_TOO_DEEP,
    JSON_TOO_MANY,
    JSON_ZERO_IN_NAME /* JSON, but no library in C can tell its members apart */
};

/* What FAULT is, as a part of a sentence. */
const char *json_fault_text(enum json_fault fault);
/* The same of a file, which "is not JSON". */
const char *json_file_fault_text(enum json_fault fault);
/* The line of TEXT, counted from 1, that the byte at OFFSET is in. */
size_t json_line_of(struct span text, size_t offset);

struct json_limits {
    size_t depth;  /* at most JSON_DEPTH_MAX */
    size_t values; /* 0: no limit */
};

/* The raw text of one value; of a repeated member the last. */
struct json_token {
    struct span text; /* bytes NULL when there is no such member */
    enum json_kind kind;
    bool is_integer; /* a number of digits with an optional minus: no fraction, no exponent */
    bool has_lone_surrogate; /* a string with an escape of half a character: not to be echoed */
};

struct json_shape {
    enum json_kind kind;
    struct json_token id;             /* the top-level member "id" */
    struct json_token request_id;     /* the member "requestId" of the top-level member "params" */
    struct json_token progress_token; /* of `_meta` of "params" the member "progressToken" */
    size_t fault_at;                  /* offset of the first byte that is wrong */
};

/* Inspects TEXT, one JSON value with nothing but blanks around it. *shape is meaningful only with
 * JSON_FINE, except fault_at. */
enum json_fault json_inspect(const unsigned char *text, size_t size, struct json_limits limits,
                             struct json_shape *shape);

/* Do two scalar tokens have the same type and value? Strings are compared as what they stand for,
 * numbers digit by digit. */
bool json_token_equal(const struct json_token *left, const struct json_token *right);

/* The next element of the array TEXT, which json_inspect found fine. *offset starts at 0. False
 * behind the last element. */
bool json_next_element(struct span text, size_t *offset, struct span *element);

/* The same for the name of the next member of the object TEXT. */
bool json_next_member(struct span text, size_t *offset, struct json_token *name);
/* The text of the value of the member NAME of TEXT, behind which json_next_member left OFFSET. */
struct span json_member_value(struct span text, const struct json_token *name, size_t offset);

#endif
