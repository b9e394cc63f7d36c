/* What the files of the validator share, grouped by the file that implements each part. */
#ifndef ECLAVE_SUPERVISOR_SCHEMA_SCHEMA_INTERNAL_H
#define ECLAVE_SUPERVISOR_SCHEMA_SCHEMA_INTERNAL_H

#include "supervisor/schema/pattern_internal.h"
#include "supervisor/schema/schema.h"

#include <json-c/linkhash.h>
#include <stddef.h>
#include <stdint.h>

/* --- place.c: JSON pointers, and messages that begin with one --- */

struct schema_place {
    const struct schema_place *parent; /* NULL: this is the root */
    const char *name;                  /* of a member; NULL: an element */
    size_t index;
};

enum { SCHEMA_BRIEF_BYTES = 48 };

struct schema_brief {
    char text[SCHEMA_BRIEF_BYTES];
};

/* VALUE in a few characters: a number, the start of a string in quotes, "an array of 3". */
struct schema_brief schema_brief(struct json_object *value);

/* Sets *error (may be NULL) to "POINTER: message", with ROOT in place of an empty pointer, or to
 * the message alone if both are empty. Returns false. */
__attribute__((format(printf, 4, 5))) bool schema_fail(struct error *error, const char *root,
                                                       const struct schema_place *place,
                                                       const char *format, ...);

/* --- value.c: types, numbers, equality. *work is a count of steps: these functions deduct theirs,
 * and their results mean nothing once none are left. --- */

enum schema_type {
    SCHEMA_NULL = 1,
    SCHEMA_BOOLEAN = 2,
    SCHEMA_INTEGER = 4, /* 1.0 too; every integer is a number as well */
    SCHEMA_NUMBER = 8,
    SCHEMA_STRING = 16,
    SCHEMA_ARRAY = 32,
    SCHEMA_OBJECT = 64
};

/* The types of VALUE, as bits. */
unsigned schema_types_of(struct json_object *value);
/* The type called NAME, or 0. */
unsigned schema_type_named(const char *name);
/* The names in the order of the bits; NULL ends them. */
extern const char *const schema_type_names[];

/* As json_number_compare. */
int schema_compare(struct json_object *left, struct json_object *right, size_t *work);

/* True if NUMBER is a multiple of UNIT, which is positive and has at most SCHEMA_UNIT_DIGITS_MAX
 * digits. */
bool schema_is_multiple(struct json_object *number, struct json_object *unit, size_t *work);
/* Finds two equal elements of ARRAY and sets *first and *second to their indices. False if there
 * are none, or with *failed when out of memory. */
bool schema_find_twins(struct json_object *array, size_t *first, size_t *second, size_t *work,
                       bool *failed);

/* A hash set of elements of an array. */
struct schema_set {
    struct json_object *list; /* borrowed */
    struct schema_slot {
        uint32_t hash, number; /* the element's number, from 1; 0: free */
    } * slots;                 /* owned */
    size_t mask;
    unsigned types; /* of the elements */
};
/* Opens an empty set for elements of LIST. False when out of memory. */
bool schema_set_open(struct schema_set *set, struct json_object *list);
void schema_set_close(struct schema_set *set);
/* Adds the element INDEX. Returns the index of an equal element already in the set, else INDEX. */
size_t schema_set_add(struct schema_set *set, size_t index, size_t *work);
bool schema_set_has(const struct schema_set *set, struct json_object *value, size_t *work);
size_t schema_set_bytes(const struct schema_set *set);

/* Deducts COST from *work, down to 0. False if none is left. */
static inline bool schema_spend(size_t *work, size_t cost) {
    *work -= cost < *work ? cost : *work;
    return *work > 0;
}

/* The costs of compiling and checking, in steps. A step takes at most 2.5 ns. */
enum {
    SCHEMA_COST_NODE = 120, /* to compile a schema */
    SCHEMA_COST_PATTERN_BYTE = 10,
    SCHEMA_COST_PATTERN_STEP = 2,
    SCHEMA_COST_APPLY = 8, /* to apply a schema to a value */
    SCHEMA_COST_NAME = 8,  /* to look up a name, or to move to the next member of an object */
    SCHEMA_COST_COLD = 28, /* more, in an object that is not in the processor's cache */
    SCHEMA_COST_MAKE = 20, /* to make a string of a name */
    SCHEMA_COST_SAY = 200, /* to format a message */
};

/* --- compile.c --- */

struct schema_node;

struct schema_nodes {
    struct schema_node **list; /* owned; the nodes are the schema's */
    size_t count;
};

/* A member of an object of schemas. */
struct schema_member {
    const char *name;        /* borrowed */
    struct pattern *pattern; /* owned; of patternProperties only */
    struct schema_node *node;
};

struct schema_members {
    struct schema_member *list; /* owned */
    size_t count;
};

struct schema_range {
    size_t minimum, maximum; /* 0 and SIZE_MAX: any */
};

/* One compiled schema. It borrows from the JSON, which the whole schema keeps. */
struct schema_node {
    struct schema_place place, keyword_place; /* of the keyword that the schema is under */
    struct json_object *json;                 /* borrowed */
    bool refuses_all;                         /* the schema `false` */

    unsigned types; /* 0: any */
    struct json_object *enumeration, *constant;
    struct schema_set values; /* of the enumeration */
    bool has_constant;        /* the constant may be null */

    struct json_object *maximum, *minimum, *exclusive_maximum, *exclusive_minimum, *multiple_of;

    struct schema_range length, items_count, members_count;
    struct schema_range contains_count; /* from 1 without minContains */
    struct pattern *pattern;            /* owned */
    const char *pattern_text;

    struct schema_nodes prefix_items;
    struct schema_node *items, *contains, *unevaluated_items;
    bool unique_items;

    struct lh_table *properties; /* owned: names to nodes; NULL: none */
    struct schema_members property_list, pattern_properties, dependent_schemas;
    struct schema_node *additional_properties, *property_names, *unevaluated_properties;
    struct json_object *required, *dependent_required;

    struct schema_nodes all_of, any_of, one_of;
    struct schema_node *negated, *condition, *consequence, *alternative;
    struct json_object *reference_text; /* until it is resolved */
    struct schema_node *reference;
    bool combines; /* applies another schema to the same value */
    struct schema_members definitions, old_definitions;

    enum { SCHEMA_UNSEEN, SCHEMA_ENTERED, SCHEMA_LEFT } mark; /* of the search for cycles */
};

struct schema {
    struct json_object *json; /* owned */
    struct schema_node *root;
    struct schema_nodes nodes; /* all, owned */
    struct lh_table *by_json;  /* owned: from JSON to the node of that schema; while compiling */
    struct lh_table *anchors;  /* owned: from names to nodes; while compiling */
    size_t pattern_count;
    size_t bytes; /* of memory */
    bool is_draft_7;
};

struct schema_compiler {
    struct schema *schema;
    size_t depth;
    size_t work; /* remaining */
    struct error *error;
};

/* Counts BYTES of memory and WORK. False with an error if either exceeds its limit. */
bool schema_grow(struct schema_compiler *compiler, size_t bytes, size_t work);

/* Reports an error at NODE, or at its member KEYWORD if that is not NULL. Returns false. */
__attribute__((format(printf, 4, 5))) bool schema_refuse(const struct schema_compiler *compiler,
                                                         const struct schema_node *node,
                                                         const char *keyword, const char *format,
                                                         ...);

/* Compiles JSON, which is in PARENT under KEYWORD and, unless NAME is NULL and INDEX is SIZE_MAX,
 * under that name or index. NULL after an error. */
struct schema_node *schema_compile_node(struct schema_compiler *compiler, struct json_object *json,
                                        struct schema_node *parent, const char *keyword,
                                        const char *name, size_t index);

/* --- keywords.c --- */

/* Compiles the keyword NAME with its VALUE into NODE. */
bool schema_read_keyword(struct schema_compiler *compiler, struct schema_node *node,
                         const char *name, struct json_object *value);

/* --- refer.c --- */

/* Resolves each $ref, and refuses schemas that apply themselves to the same value. */
bool schema_resolve(struct schema_compiler *compiler);

/* --- check.c: one check, its limits, and the parts of a value that were evaluated --- */

struct schema_check {
    struct error *error; /* NULL: no message is needed */
    size_t error_depth;  /* the depth in the value of the last error */
    size_t work, depth;
    int broken; /* an errno value: a limit was reached, and all further results mean nothing */
};

/* The members or elements of one value that keywords have evaluated, for unevaluatedProperties and
 * unevaluatedItems: a bit for each element, or for each slot of an object's table. */
struct evaluated {
    struct lh_table *members; /* borrowed; NULL: the value is not an object */
    uint64_t few;             /* the bits, if they fit */
    uint64_t *many;           /* owned; the bits otherwise, else NULL */
    size_t count;
};

/* One value, its place, and where to mark its evaluated parts. */
struct schema_subject {
    struct json_object *value;
    const struct schema_place *place;
    size_t depth;
    struct evaluated *evaluated; /* NULL: not needed */
};

/* Reports that SUBJECT fails. Evaluates the arguments only if a message is needed. Is false. */
#define schema_differ(check, ...)                                                                  \
    ((check)->error && !(check)->broken && schema_say(check, __VA_ARGS__))
__attribute__((format(printf, 3, 4))) bool schema_say(struct schema_check *check,
                                                      const struct schema_subject *subject,
                                                      const char *format, ...);

/* The cost of looking up a name of SIZE bytes in OBJECT. */
size_t schema_cost_of_name(struct json_object *object, size_t size);

/* Deducts COST. False if the check is broken, or breaks now. */
bool schema_work(struct schema_check *check, size_t cost);
/* Breaks the check. Returns false. */
bool schema_break(struct schema_check *check, int code);

/* NODE's keywords alone, or a whole node, applied to SUBJECT. True if the value is valid. */
typedef bool schema_applier(struct schema_check *check, const struct schema_node *node,
                            const struct schema_subject *subject);
schema_applier schema_apply;

/* Calls APPLY with marks of its own, and merges them into SUBJECT's if the value is valid. */
bool schema_apply_apart(struct schema_check *check, const struct schema_node *node,
                        const struct schema_subject *subject, schema_applier *apply);

bool schema_matches(struct schema_check *check, const struct pattern *pattern, const char *text,
                    size_t size);

/* EVALUATED may be NULL: then nothing is marked, and nothing is found marked. */
void evaluated_mark(struct evaluated *evaluated, size_t index);
void evaluated_mark_member(struct evaluated *evaluated, const struct lh_entry *member);
bool evaluated_has(const struct evaluated *evaluated, size_t index);
bool evaluated_has_member(const struct evaluated *evaluated, const struct lh_entry *member);

/* --- scalar.c, array.c, object.c, combine.c: NODE's keywords by the kind of value --- */

schema_applier schema_check_scalar; /* also the keywords for any value */
schema_applier schema_check_array;  /* the value is an array */
schema_applier schema_check_object; /* the value is an object */
schema_applier schema_check_combined;
/* Apply to the parts that nothing else in NODE has evaluated; true for another kind of value. */
schema_applier schema_check_unevaluated_items;
schema_applier schema_check_unevaluated_members;

#endif
