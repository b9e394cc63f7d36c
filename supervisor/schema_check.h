/* One check of a value against a schema: what is left of its limits, and the keywords by the kind
 * of value that they look at. Each file ends a check whose limits are used up. */
#ifndef ECLAVE_SUPERVISOR_SCHEMA_CHECK_H
#define ECLAVE_SUPERVISOR_SCHEMA_CHECK_H

#include "supervisor/schema_evaluated.h"
#include "supervisor/schema_parts.h"

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

/* Fails at SUBJECT. */
__attribute__((format(printf, 3, 4))) bool schema_differ(struct schema_check *check,
                                                         const struct schema_subject *subject,
                                                         const char *format, ...);

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

/* schema_scalar.c, schema_array.c, schema_object.c, schema_combine.c: NODE's keywords for values of
 * that kind. Any other value passes. */
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
