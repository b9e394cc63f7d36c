/* Builds json-c's values while json_inspect.c scans the text: it reports what it has scanned. */
#ifndef ECLAVE_SUPERVISOR_JSON_JSON_BUILD_INTERNAL_H
#define ECLAVE_SUPERVISOR_JSON_JSON_BUILD_INTERNAL_H

#include "supervisor/json/json_inspect.h"
#include <json-c/json.h>

struct json_builder {
    struct span omitted;      /* the value in whose place null is built; bytes NULL: none */
    struct json_object *root; /* owned */
    struct json_object *open[JSON_DEPTH_MAX + 1]; /* borrowed: each has a place in the one before */
    size_t depth;
    struct buffer string, name; /* decoded; the name is terminated */
    bool failed;                /* out of memory */
};

/* Prepares INSPECTOR to scan TEXT, which has been checked, for BUILDER. *shape is not needed. */
void json_builder_begin(struct json_builder *builder, struct json_inspector *inspector,
                        struct span text, struct json_shape *shape);
/* Scans about SIZE bytes. False at the end. */
bool json_builder_step(struct json_builder *builder, struct json_inspector *inspector, size_t size);
/* Frees what the builder holds but for the root, which the caller owns: NULL for null, and after a
 * failure. */
struct json_object *json_builder_take(struct json_builder *builder);

/* What json_inspect.c reports. */

/* BYTES are inside a string: whole characters and escapes. */
void json_build_part(struct json_builder *builder, const unsigned char *bytes, size_t size,
                     bool first);
/* The string was the name of a member. */
void json_build_name(struct json_builder *builder);
/* A string, with the parts that were reported, a number or a literal. */
void json_build_scalar(struct json_builder *builder, enum json_kind kind, struct span text);
void json_build_open(struct json_builder *builder, enum json_kind kind);
void json_build_close(struct json_builder *builder);

#endif
