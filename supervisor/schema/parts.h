/* What the parts of the schema code share: the compiled form of a schema, places in JSON, values
 * compared as JSON Schema has it. Grouped by the file that implements each part. */
#ifndef ECLAVE_SUPERVISOR_SCHEMA_PARTS_H
#define ECLAVE_SUPERVISOR_SCHEMA_PARTS_H

#include "supervisor/schema/pattern.h"
#include "supervisor/schema/schema.h"

#include <json-c/linkhash.h>
#include <stddef.h>
#include <stdint.h>

/* --- schema_place.c: where something is, and messages that say it --- */

struct schema_place {
    const struct schema_place *parent; /* NULL: this is the root */
    const char *name;                  /* of a member; NULL: an element */
    size_t index;
};

enum { SCHEMA_BRIEF_BYTES = 48 };

struct schema_brief {
    char text[SCHEMA_BRIEF_BYTES];
};

/* VALUE in a few characters: a number, a short string's text, "an array of 3". */
struct schema_brief schema_brief(struct json_object *value);

/* Sets *error (which may be NULL) to "POINTER: text", ROOT in place of an empty pointer; both
 * empty: "text". Returns false. */
__attribute__((format(printf, 4, 5))) bool schema_fail(struct error *error, const char *root,
                                                       const struct schema_place *place,
                                                       const char *format, ...);

/* --- schema_value.c: types, numbers, equality --- */

enum schema_type {
    SCHEMA_NULL = 1,
    SCHEMA_BOOLEAN = 2,
    SCHEMA_INTEGER = 4, /* 1.0 too; every integer is a number */
    SCHEMA_NUMBER = 8,
    SCHEMA_STRING = 16,
    SCHEMA_ARRAY = 32,
    SCHEMA_OBJECT = 64
};

/* All types that VALUE is of. */
unsigned schema_types_of(struct json_object *value);
/* The type called NAME, 0 when there is none; the names in order of their bits, and then NULL. */
unsigned schema_type_named(const char *name);
extern const char *const schema_type_names[];

/* Every integer of 64 bits and every double is one of these: compared, they are compared exactly.
 */
typedef long double schema_number;
schema_number schema_number_of(struct json_object *number);

/* All of these take their steps off *work. With none left, what they return means nothing. */

/* Is NUMBER, as a decimal, a multiple of UNIT, which is more than 0? */
bool schema_is_multiple(struct json_object *number, struct json_object *unit, size_t *work);
bool schema_equal(struct json_object *left, struct json_object *right, size_t *work);
/* *first and *second become the indices of two equal elements of ARRAY. False if there are none, or
 * without memory, which *failed tells. */
bool schema_find_twins(struct json_object *array, size_t *first, size_t *second, size_t *work,
                       bool *failed);

/* Elements of an array, to be found by their value. */
struct schema_set {
    struct json_object *list; /* borrowed */
    struct schema_slot {
        uint32_t hash, number; /* of the element, from 1; 0: free */
    } * slots;                 /* owned */
    size_t mask;
    unsigned types; /* that elements are of */
};
/* An empty one for elements of LIST. False without memory. Closed, it may be opened again. */
bool schema_set_open(struct schema_set *set, struct json_object *list);
void schema_set_close(struct schema_set *set);
/* Adds the element INDEX; returns the index of one before that is equal, or else INDEX. */
size_t schema_set_add(struct schema_set *set, size_t index, size_t *work);
bool schema_set_has(const struct schema_set *set, struct json_object *value, size_t *work);
size_t schema_set_bytes(const struct schema_set *set);

/* Takes COST off *work, as much as there is. */
static inline bool schema_spend(size_t *work, size_t cost) {
    *work -= cost < *work ? cost : *work;
    return *work > 0;
}

/* --- schema_compile.c --- */

struct schema_node;

struct schema_nodes {
    struct schema_node **list; /* owned; the nodes are the schema's */
    size_t count;
};

/* A member of an object of schemas; NAME borrowed. */
struct schema_member {
    const char *name;
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

/* One schema. What is borrowed is part of the JSON that the whole schema keeps. */
struct schema_node {
    struct schema_place keyword_place, place; /* the keyword's, when there is one between */
    struct json_object *json;                 /* borrowed */
    bool refuses_all;                         /* the schema `false` */

    unsigned types; /* 0: any */
    struct json_object *enumeration, *constant;
    struct schema_set values; /* of the enumeration */
    bool has_constant;        /* which may be null */

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
    bool combines; /* has one of allOf to reference: some schema is applied to the same value */
    struct schema_members definitions, old_definitions;

    enum { SCHEMA_UNSEEN, SCHEMA_ENTERED, SCHEMA_LEFT } mark; /* of the search for cycles */
};

struct schema {
    struct json_object *json; /* owned */
    struct schema_node *root;
    struct schema_nodes nodes; /* all, owned */
    struct lh_table *by_json;  /* owned: where JSON is a schema, its node */
    struct lh_table *anchors;  /* owned: names to nodes */
    size_t pattern_count;
    size_t bytes; /* that it takes */
    bool is_draft_7;
};

/* While a schema is compiled. */
struct schema_compiler {
    struct schema *schema;
    size_t depth;
    size_t work; /* that is left */
    struct error *error;
};

/* What compiling costs, in steps as schema_check.h has them. */
enum { SCHEMA_COST_NODE = 120, SCHEMA_COST_PATTERN_BYTE = 10, SCHEMA_COST_PATTERN_STEP = 2 };

/* Counts BYTES more that the schema takes, and WORK more. False when it is too much of either. */
bool schema_grow(struct schema_compiler *compiler, size_t bytes, size_t work);

/* Fails at NODE, or at its member KEYWORD when that is not NULL. */
__attribute__((format(printf, 4, 5))) bool schema_refuse(const struct schema_compiler *compiler,
                                                         const struct schema_node *node,
                                                         const char *keyword, const char *format,
                                                         ...);

/* Compiles JSON, which stands in PARENT under KEYWORD and there, unless NAME is NULL and INDEX is
 * SIZE_MAX, under that. NULL after a failure. */
struct schema_node *schema_compile_node(struct schema_compiler *compiler, struct json_object *json,
                                        struct schema_node *parent, const char *keyword,
                                        const char *name, size_t index);

/* --- schema_keywords.c --- */

/* Reads the keyword NAME with its VALUE into NODE. */
bool schema_read_keyword(struct schema_compiler *compiler, struct schema_node *node,
                         const char *name, struct json_object *value);

/* --- schema_refer.c --- */

/* Finds what each $ref means, and refuses schemas that apply themselves to the same value. */
bool schema_resolve(struct schema_compiler *compiler);

#endif
