/* JSON Schema 2020-12: a schema is compiled once and then judges values. Never fetches anything,
 * and never does more than a bounded amount of work, whatever schema and value are.
 *
 * No C library that Debian packages knows this draft (valijson is C++ and ends at draft-07, the
 * others are for other languages), so this is a subset of our own that refuses what it does not
 * know:
 *  - all keywords of the core, applicator, unevaluated and validation vocabularies, but
 * $dynamicRef, $dynamicAnchor, $vocabulary and a $id below the root;
 *  - $ref to a place in the same schema only: "#", "#/pointer" or "#anchor";
 *  - format, the content keywords and all `x-` members are annotations and assert nothing;
 *  - $schema may name 2020-12 or draft-07. Either is read as 2020-12, with "definitions" for
 * "$defs"; what draft-07 means otherwise (an array of items, additionalItems, dependencies, members
 * beside $ref) is refused;
 *  - pattern and patternProperties are ECMA-262 with the flag u, without what cannot be matched in
 *    linear time or needs Unicode's tables (see schema_pattern.h);
 *  - a number is what json-c makes of its text: 64 bits for integers, beyond them the nearest that
 *    fits, and double for the rest. Numbers are compared exactly. multipleOf takes the shortest
 *    decimal that reads as the double, so 0.0075 is a multiple of 0.0001. */
#ifndef ECLAVE_SUPERVISOR_SCHEMA_SCHEMA_H
#define ECLAVE_SUPERVISOR_SCHEMA_SCHEMA_H

#include "common/error.h"

#include <json-c/json.h>
#include <stdbool.h>

enum {
    SCHEMA_DEPTH_MAX = 64,        /* schemas within schemas */
    SCHEMA_NODES_MAX = 4096,      /* schemas in a schema */
    SCHEMA_PATTERNS_MAX = 256,    /* regular expressions in a schema */
    SCHEMA_CHECK_DEPTH_MAX = 512, /* schemas applied within each other, and values in values */
    SCHEMA_BYTES_MAX = 3145728,   /* that a schema takes when it is compiled: 3 MiB */
    SCHEMA_COMPILE_MAX = 1000000, /* steps of compiling one: less than 3 ms */
    SCHEMA_WORK_MAX = 2500000     /* steps of one check: 6 ms, enough for 1 MB of plain values */
};

struct schema;

/* Compiles JSON, an object or a boolean as json-c parsed it. Keeps a reference to JSON, which
 * nobody may change as long as the schema lives. The caller frees the result with schema_free. NULL
 * with *error (which may be NULL) as "POINTER: what is wrong there", POINTER a JSON pointer into
 * the schema or "the schema" for its root. */
struct schema *schema_compile(struct json_object *json, struct error *error);
/* How much memory SCHEMA takes, without the JSON that it was made of. */
size_t schema_bytes(const struct schema *schema);
/* SCHEMA may be NULL. */
void schema_free(struct schema *schema);

/* Is VALUE (NULL: null) as SCHEMA demands? If not, *error (which may be NULL) says where and what,
 * "/count: 5 is more than the maximum 3", and of the root only what; its code is 0. A check that
 * cannot be finished within the limits fails with code E2BIG (ENOMEM without memory). Messages
 * are UTF-8 on one line, with no more than some ten characters of a value in them. */
bool schema_check(const struct schema *schema, struct json_object *value, struct error *error);

#endif
