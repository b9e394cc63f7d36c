/* The keywords of a schema, in one table. */
#include "supervisor/base/nearest.h"
#include "supervisor/json/json_number.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/schema/schema_internal.h"

#include <stdlib.h>

struct keyword;

/* A keyword with its value in a schema. */
struct occurrence {
    struct schema_compiler *compiler;
    struct schema_node *node;
    const struct keyword *keyword;
    struct json_object *value;
};

/* Compiles the keyword into the node. False after an error. */
typedef bool keyword_reader(const struct occurrence *in);

struct keyword {
    const char *name;
    keyword_reader *read;
    size_t field;     /* the offset in the node, for a reader of several keywords */
    const char *text; /* the message of refuse_keyword */
};

static void *field_of(const struct occurrence *in) {
    return (char *)in->node + in->keyword->field;
}

#define refuse(in, ...) schema_refuse((in)->compiler, (in)->node, (in)->keyword->name, __VA_ARGS__)

static bool refuse_value(const struct occurrence *in, const char *expected) {
    return refuse(in, "must be %s, not %s", expected, schema_brief(in->value).text);
}

static bool is_type(const struct occurrence *in, enum json_type type) {
    return json_object_is_type(in->value, type);
}

static bool fail_memory(const struct occurrence *in) {
    return error_set(in->compiler->error, ENOMEM, "schema");
}

/* --- annotations --- */

static bool read_text(const struct occurrence *in) {
    return is_type(in, json_type_string) || refuse_value(in, "a string");
}

static bool read_flag(const struct occurrence *in) {
    return is_type(in, json_type_boolean) || refuse_value(in, "true or false");
}

static bool read_array(const struct occurrence *in) {
    return is_type(in, json_type_array) || refuse_value(in, "an array");
}

static bool read_anything(const struct occurrence *in) {
    (void)in;
    return true;
}

static bool refuse_keyword(const struct occurrence *in) {
    return refuse(in, "%s", in->keyword->text);
}

/* --- names and places --- */

static const char *const draft_2020_12[] = {"https://json-schema.org/draft/2020-12/schema",
                                            "https://json-schema.org/draft/2020-12/schema#"};
static const char *const draft_7[] = {
    "http://json-schema.org/draft-07/schema", "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft-07/schema", "https://json-schema.org/draft-07/schema#"};

static bool is_one_of(const char *text, const char *const *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, list[i]) == 0)
            return true;
    return false;
}

static bool read_dialect(const struct occurrence *in) {
    if (!read_text(in))
        return false;
    const char *text = json_object_get_string(in->value);
    if (in->node->place.parent)
        return refuse(in, "is allowed only at the root");
    in->compiler->schema->is_draft_7 = is_one_of(text, draft_7, sizeof draft_7 / sizeof *draft_7);
    return in->compiler->schema->is_draft_7 ||
           is_one_of(text, draft_2020_12, sizeof draft_2020_12 / sizeof *draft_2020_12) ||
           refuse(in, "must be %s or draft-07's, not \"%.60s\"", draft_2020_12[0], text);
}

static bool read_id(const struct occurrence *in) {
    if (!read_text(in))
        return false;
    const char *hash = strchr(json_object_get_string(in->value), '#');
    if (hash && hash[1])
        return refuse(in, "must have no fragment; use $anchor");
    return !in->node->place.parent || refuse(in, "is supported only at the root");
}

static bool is_anchor(const char *text) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    return text[0] && strchr(letters, text[0]) &&
           text[strspn(text,
                       "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-.0123456789")] == 0;
}

static bool read_anchor(const struct occurrence *in) {
    if (!read_text(in))
        return false;
    const char *name = json_object_get_string(in->value);
    if (!is_anchor(name))
        return refuse(in, "\"%.40s\" is not a valid anchor", name);
    if (lh_table_lookup_entry(in->compiler->schema->anchors, name))
        return refuse(in, "\"%.40s\" is defined twice", name);
    return lh_table_insert(in->compiler->schema->anchors, name, in->node) == 0 || fail_memory(in);
}

static bool read_reference(const struct occurrence *in) {
    in->node->reference_text = in->value;
    return read_text(in);
}

/* --- schemas in schemas --- */

static bool read_schema(const struct occurrence *in) {
    struct schema_node **field = field_of(in);
    *field =
        schema_compile_node(in->compiler, in->value, in->node, in->keyword->name, NULL, SIZE_MAX);
    return *field;
}

static bool read_items(const struct occurrence *in) {
    if (is_type(in, json_type_array))
        return refuse(in, "an array of schemas is \"prefixItems\" in 2020-12");
    return read_schema(in);
}

static bool read_schemas(const struct occurrence *in) {
    struct schema_nodes *nodes = field_of(in);
    size_t count = is_type(in, json_type_array) ? json_object_array_length(in->value) : 0;
    if (!count)
        return refuse_value(in, "an array of one or more schemas");
    nodes->list = calloc(count, sizeof(struct schema_node *));
    if (!nodes->list)
        return fail_memory(in);
    for (; nodes->count < count; nodes->count++) {
        nodes->list[nodes->count] =
            schema_compile_node(in->compiler, json_object_array_get_idx(in->value, nodes->count),
                                in->node, in->keyword->name, NULL, nodes->count);
        if (!nodes->list[nodes->count])
            return false;
    }
    return true;
}

static bool read_members(const struct occurrence *in) {
    struct schema_members *members = field_of(in);
    if (!is_type(in, json_type_object))
        return refuse_value(in, "an object of schemas");
    members->list = calloc((size_t)json_object_object_length(in->value) + 1, sizeof *members->list);
    if (!members->list)
        return fail_memory(in);
    json_object_object_foreach(in->value, name, member) {
        struct schema_member *next = &members->list[members->count];
        next->name = name;
        next->node =
            schema_compile_node(in->compiler, member, in->node, in->keyword->name, name, 0);
        if (!next->node)
            return false;
        members->count++;
    }
    return true;
}

static bool read_properties(const struct occurrence *in) {
    if (!read_members(in))
        return false;
    const struct schema_members *members = &in->node->property_list;
    if (!schema_grow(in->compiler, 2 * members->count * sizeof(struct lh_entry), members->count))
        return false;
    in->node->properties = lh_kchar_table_new(2 * (int)members->count + 1, NULL);
    for (size_t i = 0; i < members->count && in->node->properties; i++)
        if (lh_table_insert(in->node->properties, members->list[i].name, members->list[i].node) !=
            0)
            return fail_memory(in);
    return in->node->properties || fail_memory(in);
}

/* --- patterns --- */

/* Compiles TEXT, which is at PLACE. */
static struct pattern *compile_pattern(struct schema_compiler *compiler,
                                       const struct schema_place *place, const char *text,
                                       size_t size) {
    struct pattern_fault fault;
    if (compiler->schema->pattern_count++ == SCHEMA_PATTERNS_MAX) {
        schema_fail(compiler->error, "the schema", place, "there are more than %d patterns",
                    SCHEMA_PATTERNS_MAX);
        return NULL;
    }
    if (!schema_grow(compiler, 0, size * SCHEMA_COST_PATTERN_BYTE))
        return NULL;
    struct pattern *pattern = pattern_compile(text, size, &fault);
    if (!pattern)
        schema_fail(compiler->error, "the schema", place, "the pattern %s (at byte %zu)",
                    fault.text, fault.at + 1);
    if (pattern &&
        schema_grow(compiler, pattern_bytes(pattern), pattern->made * SCHEMA_COST_PATTERN_STEP))
        return pattern;
    pattern_free(pattern);
    return NULL;
}

static bool read_pattern(const struct occurrence *in) {
    const struct schema_place place = {&in->node->place, in->keyword->name, 0};
    if (!read_text(in))
        return false;
    in->node->pattern_text = json_object_get_string(in->value);
    in->node->pattern = compile_pattern(in->compiler, &place, in->node->pattern_text,
                                        (size_t)json_object_get_string_len(in->value));
    return in->node->pattern;
}

static bool read_pattern_members(const struct occurrence *in) {
    if (!read_members(in))
        return false;
    const struct schema_members *members = &in->node->pattern_properties;
    for (size_t i = 0; i < members->count; i++) {
        struct schema_member *member = &members->list[i];
        member->pattern =
            compile_pattern(in->compiler, &member->node->place, member->name, strlen(member->name));
        if (!member->pattern)
            return false;
    }
    return true;
}

/* --- numbers --- */

/* A whole number from 0. *count is SIZE_MAX for a greater one. */
static bool is_count(struct json_object *value, size_t *count) {
    struct json_decimal decimal;
    int64_t integer;
    if (!json_number_is_integer(value))
        return false;
    json_number_read(value, &decimal);
    *count = json_get_integer(value, &integer) ? (size_t)integer : SIZE_MAX;
    return !decimal.negative;
}

static bool read_count(const struct occurrence *in) {
    return is_count(in->value, field_of(in)) || refuse_value(in, "a whole number from 0");
}

static bool read_number(const struct occurrence *in) {
    struct json_object **field = field_of(in);
    *field = in->value;
    return json_is_number(in->value) || refuse_value(in, "a number");
}

static bool read_unit(const struct occurrence *in) {
    struct json_decimal decimal;
    if (!read_number(in))
        return false;
    json_number_read(in->value, &decimal);
    if (!decimal.count || decimal.negative)
        return refuse_value(in, "more than 0");
    return decimal.count <= SCHEMA_UNIT_DIGITS_MAX ||
           refuse(in, "has more than %d digits", SCHEMA_UNIT_DIGITS_MAX);
}

/* --- values --- */

static bool read_unique(const struct occurrence *in) {
    in->node->unique_items = json_object_get_boolean(in->value);
    return read_flag(in);
}

static bool read_constant(const struct occurrence *in) {
    in->node->has_constant = true;
    in->node->constant = in->value;
    return true;
}

static bool read_enumeration(const struct occurrence *in) {
    in->node->enumeration = in->value;
    if (!read_array(in))
        return false;
    if (!schema_set_open(&in->node->values, in->value))
        return fail_memory(in);
    for (size_t i = 0; i < json_object_array_length(in->value) && in->compiler->work; i++)
        schema_set_add(&in->node->values, i, &in->compiler->work);
    return schema_grow(in->compiler, schema_set_bytes(&in->node->values), 1);
}

/* VALUE is the keyword's value, or an element of it. */
static bool read_one_type(const struct occurrence *in, struct json_object *value) {
    if (!json_object_is_type(value, json_type_string))
        return refuse(in, "must be the name of a type, not %s", schema_brief(value).text);
    const char *name = json_object_get_string(value);
    unsigned type = schema_type_named(name);
    if (type && (in->node->types & type))
        return refuse(in, "\"%s\" is listed twice", name);
    in->node->types |= type;
    if (type)
        return true;
    struct nearest nearest = nearest_to(name);
    for (size_t i = 0; schema_type_names[i]; i++)
        nearest_offer(&nearest, schema_type_names[i]);
    return refuse(in, "unknown type \"%.40s\"%s", name, nearest_hint(&nearest, "\"").text);
}

static bool read_type(const struct occurrence *in) {
    if (!is_type(in, json_type_array))
        return read_one_type(in, in->value);
    if (!json_object_array_length(in->value))
        return refuse_value(in, "one or more types");
    for (size_t i = 0; i < json_object_array_length(in->value); i++)
        if (!read_one_type(in, json_object_array_get_idx(in->value, i)))
            return false;
    return true;
}

/* An array of strings that can be names of members, none of them twice. */
static bool is_list_of_names(struct json_object *value, size_t *work) {
    size_t first, second;
    bool failed;
    if (!json_object_is_type(value, json_type_array))
        return false;
    for (size_t i = 0; i < json_object_array_length(value); i++)
        if (!json_plain_string(json_object_array_get_idx(value, i)))
            return false;
    return !schema_find_twins(value, &first, &second, work, &failed) && !failed;
}

static bool read_names(const struct occurrence *in) {
    in->node->required = in->value;
    bool is_list = is_list_of_names(in->value, &in->compiler->work);
    return schema_grow(in->compiler, 0, 1) &&
           (is_list || refuse_value(in, "an array of distinct strings"));
}

static bool read_dependencies(const struct occurrence *in) {
    in->node->dependent_required = in->value;
    if (!is_type(in, json_type_object))
        return refuse_value(in, "an object of arrays of strings");
    json_object_object_foreach(in->value, name, names) {
        const struct schema_place keyword_place = {&in->node->place, in->keyword->name, 0};
        const struct schema_place place = {&keyword_place, name, 0};
        bool is_list = is_list_of_names(names, &in->compiler->work);
        if (!schema_grow(in->compiler, 0, 1))
            return false;
        if (!is_list)
            return schema_fail(in->compiler->error, "", &place,
                               "must be an array of distinct strings, not %s",
                               schema_brief(names).text);
    }
    return true;
}

/* --- the table --- */

#define FIELD(member) offsetof(struct schema_node, member), NULL

static const struct keyword keywords[] = {
    {"$schema", read_dialect, 0, NULL},
    {"$id", read_id, 0, NULL},
    {"$comment", read_text, 0, NULL},
    {"$anchor", read_anchor, 0, NULL},
    {"$ref", read_reference, 0, NULL},
    {"$defs", read_members, FIELD(definitions)},
    {"definitions", read_members, FIELD(old_definitions)},
    {"$dynamicRef", refuse_keyword, 0, "is not supported; use $ref"},
    {"$dynamicAnchor", refuse_keyword, 0, "is not supported; use $anchor"},
    {"$recursiveRef", refuse_keyword, 0, "belongs to another draft; use $ref"},
    {"$recursiveAnchor", refuse_keyword, 0, "belongs to another draft; use $anchor"},
    {"$vocabulary", refuse_keyword, 0, "is not supported"},
    {"additionalItems", refuse_keyword, 0, "is \"items\" next to \"prefixItems\" in 2020-12"},
    {"dependencies", refuse_keyword, 0,
     "is \"dependentRequired\" or \"dependentSchemas\" in 2020-12"},

    {"title", read_text, 0, NULL},
    {"description", read_text, 0, NULL},
    {"default", read_anything, 0, NULL},
    {"examples", read_array, 0, NULL},
    {"deprecated", read_flag, 0, NULL},
    {"readOnly", read_flag, 0, NULL},
    {"writeOnly", read_flag, 0, NULL},
    {"format", read_text, 0, NULL},
    {"contentEncoding", read_text, 0, NULL},
    {"contentMediaType", read_text, 0, NULL},
    {"contentSchema", read_anything, 0, NULL},

    {"type", read_type, 0, NULL},
    {"enum", read_enumeration, 0, NULL},
    {"const", read_constant, 0, NULL},

    {"multipleOf", read_unit, FIELD(multiple_of)},
    {"maximum", read_number, FIELD(maximum)},
    {"exclusiveMaximum", read_number, FIELD(exclusive_maximum)},
    {"minimum", read_number, FIELD(minimum)},
    {"exclusiveMinimum", read_number, FIELD(exclusive_minimum)},

    {"maxLength", read_count, FIELD(length.maximum)},
    {"minLength", read_count, FIELD(length.minimum)},
    {"pattern", read_pattern, 0, NULL},

    {"prefixItems", read_schemas, FIELD(prefix_items)},
    {"items", read_items, FIELD(items)},
    {"contains", read_schema, FIELD(contains)},
    {"minContains", read_count, FIELD(contains_count.minimum)},
    {"maxContains", read_count, FIELD(contains_count.maximum)},
    {"maxItems", read_count, FIELD(items_count.maximum)},
    {"minItems", read_count, FIELD(items_count.minimum)},
    {"uniqueItems", read_unique, 0, NULL},
    {"unevaluatedItems", read_schema, FIELD(unevaluated_items)},

    {"properties", read_properties, FIELD(property_list)},
    {"patternProperties", read_pattern_members, FIELD(pattern_properties)},
    {"additionalProperties", read_schema, FIELD(additional_properties)},
    {"propertyNames", read_schema, FIELD(property_names)},
    {"required", read_names, 0, NULL},
    {"dependentRequired", read_dependencies, 0, NULL},
    {"dependentSchemas", read_members, FIELD(dependent_schemas)},
    {"maxProperties", read_count, FIELD(members_count.maximum)},
    {"minProperties", read_count, FIELD(members_count.minimum)},
    {"unevaluatedProperties", read_schema, FIELD(unevaluated_properties)},

    {"allOf", read_schemas, FIELD(all_of)},
    {"anyOf", read_schemas, FIELD(any_of)},
    {"oneOf", read_schemas, FIELD(one_of)},
    {"not", read_schema, FIELD(negated)},
    {"if", read_schema, FIELD(condition)},
    {"then", read_schema, FIELD(consequence)},
    {"else", read_schema, FIELD(alternative)},
};

static bool refuse_unknown(const struct schema_compiler *compiler, const struct schema_node *node,
                           const char *name) {
    struct nearest nearest = nearest_to(name);
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (keywords[i].read != refuse_keyword)
            nearest_offer(&nearest, keywords[i].name);
    return schema_refuse(compiler, node, name, "unknown keyword%s",
                         nearest_hint(&nearest, "\"").text);
}

bool schema_read_keyword(struct schema_compiler *compiler, struct schema_node *node,
                         const char *name, struct json_object *value) {
    struct occurrence in = {.compiler = compiler, .node = node, .value = value};
    if (strncmp(name, "x-", 2) == 0)
        return true;
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (strcmp(keywords[i].name, name) == 0) {
            in.keyword = &keywords[i];
            return in.keyword->read(&in);
        }
    return refuse_unknown(compiler, node, name);
}
