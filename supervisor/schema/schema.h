/* JSON Schema 2020-12: a schema is compiled once and then checks values. Compiling and checking do
 * a bounded amount of work for any input, and fetch nothing.
 *
 * Debian packages no C library for this draft (valijson is C++ and ends at draft-07), so this is a
 * validator of our own. It refuses what it does not support:
 *  - All keywords of the core, applicator, unevaluated and validation vocabularies are supported,
 *    except $dynamicRef, $dynamicAnchor, $vocabulary and $id below the root.
 *  - $ref points into the same schema: "#", "#/pointer" or "#anchor".
 *  - format, the content keywords and `x-` members are annotations and assert nothing.
 *  - $schema may name 2020-12 or draft-07. Both are read as 2020-12, with "definitions" for
 * "$defs". Where draft-07 differs (an array of items, additionalItems, dependencies, members next
 * to $ref), the schema is refused.
 *  - pattern and patternProperties are ECMA-262 with the flag u, except what cannot be matched in
 *    linear time or needs Unicode's tables (see pattern_internal.h).
 *  - Numbers are compared exactly, as the decimals that were written: 0.0075 is a multiple of
 *    0.0001. A multipleOf may have SCHEMA_UNIT_DIGITS_MAX digits. */
#ifndef ECLAVE_SUPERVISOR_SCHEMA_SCHEMA_H
#define ECLAVE_SUPERVISOR_SCHEMA_SCHEMA_H

#include "common/error.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    SCHEMA_DEPTH_MAX = 64,        /* nesting of schemas */
    SCHEMA_NODES_MAX = 4096,      /* schemas in a schema */
    SCHEMA_PATTERNS_MAX = 256,    /* regular expressions in a schema */
    SCHEMA_CHECK_DEPTH_MAX = 512, /* nesting of schemas that are applied, and of values */
    SCHEMA_BYTES_MAX = 3145728,   /* memory of a compiled schema: 3 MiB */
    SCHEMA_COMPILE_MAX = 1000000, /* steps to compile a schema: less than 3 ms */
    SCHEMA_WORK_MAX = 2500000,    /* steps of a check: 6 ms, enough for 1 MB of plain values */
    SCHEMA_UNIT_DIGITS_MAX = 512  /* in a multipleOf, without the zeros at its ends */
};

struct schema;

/* Compiles JSON, as json-c parsed it, and keeps a reference to it; it must not change while the
 * schema exists. The caller frees the result. NULL with *error (may be NULL): "POINTER: message",
 * with a JSON pointer into the schema, or "the schema" for its root. */
struct schema *schema_compile(struct json_object *json, struct error *error);
/* The memory that SCHEMA takes, in bytes, without the JSON. */
size_t schema_bytes(const struct schema *schema);
/* SCHEMA may be NULL. */
void schema_free(struct schema *schema);

/* True if the values are equal as JSON Schema compares them: 1 equals 1.0, and the order of members
 * does not matter. Deducts its steps from *work; once none are left, the result means nothing. */
bool schema_equal(struct json_object *left, struct json_object *right, size_t *work);

/* Checks VALUE (NULL: null), in which 3.0 becomes 3 where the schema says "integer". False with
 * *error (may be NULL): "/count: 5 is more than the maximum 3", without a pointer for the root, and
 * code 0. If the check reaches a limit, the code is E2BIG, or ENOMEM when out of memory. The
 * message is UTF-8 on one line and quotes only a few characters of the value. */
bool schema_check(const struct schema *schema, struct json_object *value, struct error *error);

#endif
