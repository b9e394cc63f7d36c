/* One check of a value against a schema: what is left of its limits, and the keywords by the kind
 * of value that they look at. Each file ends a check whose limits are used up. */
#ifndef ECLAVE_SUPERVISOR_SCHEMA_CHECK_H
#define ECLAVE_SUPERVISOR_SCHEMA_CHECK_H

#include "supervisor/schema/evaluated.h"
#include "supervisor/schema/parts.h"

struct schema_check {
    struct error *error; /* NULL while nobody wants to know why */
    size_t error_depth;  /* how deep in the value the last error was */
    size_t work, depth;
    int broken; /* errno: the check cannot be finished, and every answer means nothing */
};

/* One value, where it is, and which of its parts were looked at. */
struct schema_subject {
    struct json_object *value;
    const struct schema_place *place;
    size_t depth;
    struct evaluated *evaluated; /* NULL: nobody wants to know */
};

/* Fails at SUBJECT. What it says is made only when somebody wants to know. */
#define schema_differ(check, ...)                                                                  \
    ((check)->error && !(check)->broken && schema_say(check, __VA_ARGS__))
__attribute__((format(printf, 3, 4))) bool schema_say(struct schema_check *check,
                                                      const struct schema_subject *subject,
                                                      const char *format, ...);

/* What things cost, in steps: at worst one takes about two and a half nanoseconds. */
enum {
    SCHEMA_COST_APPLY = 8, /* a schema to a value */
    SCHEMA_COST_NAME = 8,  /* a name to be looked for, or the next member of an object */
    SCHEMA_COST_COLD = 28, /* more for it where there are more than a cache keeps near */
    SCHEMA_COST_MAKE = 20, /* a value made of a name */
    SCHEMA_COST_SAY = 200, /* a sentence that says what is wrong */
};
/* To look for a name of SIZE bytes in OBJECT. */
size_t schema_cost_of_name(struct json_object *object, size_t size);

/* Takes COST off what is left. False when the check is broken, or now breaks. */
bool schema_work(struct schema_check *check, size_t cost);
bool schema_break(struct schema_check *check, int code);

/* Does NODE accept SUBJECT? */
bool schema_apply(struct schema_check *check, const struct schema_node *node,
                  const struct schema_subject *subject);
/* The same without a word why not. */
bool schema_would_accept(struct schema_check *check, const struct schema_node *node,
                         const struct schema_subject *subject);

bool schema_matches(struct schema_check *check, const struct pattern *pattern, const char *text,
                    size_t size);

/* schema_scalar.c, schema_array.c, schema_object.c, schema_combine.c: NODE's keywords for any value
 * and for scalars; for an array, which SUBJECT is; for an object, which it is; for any value. */
bool schema_check_scalar(struct schema_check *check, const struct schema_node *node,
                         const struct schema_subject *subject);
bool schema_check_array(struct schema_check *check, const struct schema_node *node,
                        const struct schema_subject *subject);
bool schema_check_object(struct schema_check *check, const struct schema_node *node,
                         const struct schema_subject *subject);
bool schema_check_combined(struct schema_check *check, const struct schema_node *node,
                           const struct schema_subject *subject);
/* What nothing else of NODE has looked at. */
bool schema_check_unevaluated_items(struct schema_check *check, const struct schema_node *node,
                                    const struct schema_subject *subject);
bool schema_check_unevaluated_members(struct schema_check *check, const struct schema_node *node,
                                      const struct schema_subject *subject);

#endif
