/* Which members or elements of one value some keyword has looked at, for unevaluatedProperties and
 * unevaluatedItems. */
#ifndef ECLAVE_SUPERVISOR_SCHEMA_EVALUATED_H
#define ECLAVE_SUPERVISOR_SCHEMA_EVALUATED_H

#include <json-c/json.h>
#include <json-c/linkhash.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct evaluated {
    struct lh_table *members; /* borrowed; of an object, else NULL */
    uint64_t few;             /* the bits, while they are few */
    uint64_t *many;           /* owned; NULL: they are few */
    size_t count;
};

/* Nothing of VALUE is marked. False without memory. The caller closes it. */
bool evaluated_open(struct evaluated *evaluated, struct json_object *value);
void evaluated_close(struct evaluated *evaluated);

/* How much work it is to open or to merge one for VALUE. */
size_t evaluated_cost(struct json_object *value);

/* EVALUATED may be NULL in all of these: then nobody wants to know. */
void evaluated_mark(struct evaluated *evaluated, size_t index);
void evaluated_mark_member(struct evaluated *evaluated, const struct lh_entry *member);
void evaluated_merge(struct evaluated *evaluated, const struct evaluated *other);

bool evaluated_has(const struct evaluated *evaluated, size_t index);
bool evaluated_has_member(const struct evaluated *evaluated, const struct lh_entry *member);

#endif
