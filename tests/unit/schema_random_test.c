/* supervisor/schema: random schemas and values. A combination of a schema with itself accepts what
 * the schema accepts, a negation what it refuses. */
#include "supervisor/json/json_number.h"
#include "supervisor/schema/schema.h"
#include "tests/support/random.h"
#include <criterion/criterion.h>

static struct json_object *random_value(struct random *random, size_t depth) {
    static const char *const names[] = {"a", "b", "c", "next", ""};
    static const char *const numbers[] = {"0",
                                          "1.0",
                                          "1.5",
                                          "-2e0",
                                          "1e300",
                                          "0.1",
                                          "-0.00",
                                          "1e1",
                                          "3.0",
                                          "1e400",
                                          "18446744073709551617"};
    struct json_object *value;
    switch (random_below(random, depth ? 8 : 6)) {
    case 0:
        return NULL;
    case 1:
        return json_object_new_boolean((json_bool)random_below(random, 2));
    case 2:
        return json_object_new_int64((int64_t)random_below(random, 6) - 2);
    case 3:
        return json_number_make(string_span(random_pick(random, numbers)));
    case 4:
    case 5:
        return json_object_new_string(random_pick(random, names));
    case 6:
        value = json_object_new_array();
        for (size_t i = random_below(random, 4); i; i--)
            json_object_array_add(value, random_value(random, depth - 1));
        return value;
    default:
        value = json_object_new_object();
        for (size_t i = random_below(random, 4); i; i--)
            json_object_object_add(value, random_pick(random, names),
                                   random_value(random, depth - 1));
        return value;
    }
}

static struct json_object *random_schema(struct random *random, size_t depth);

static struct json_object *random_schemas(struct random *random, size_t depth) {
    struct json_object *list = json_object_new_array();
    for (size_t i = 1 + random_below(random, 3); i; i--)
        json_object_array_add(list, random_schema(random, depth));
    return list;
}

static struct json_object *random_members(struct random *random, size_t depth) {
    static const char *const names[] = {"a", "b", "c", "next"};
    struct json_object *members = json_object_new_object();
    for (size_t i = random_below(random, 3); i; i--)
        json_object_object_add(members, random_pick(random, names), random_schema(random, depth));
    return members;
}

static void add_keyword(struct random *random, struct json_object *schema, size_t depth) {
    static const char *const one[] = {
        "items", "contains",         "additionalProperties",  "not",          "if", "then",
        "else",  "unevaluatedItems", "unevaluatedProperties", "propertyNames"};
    static const char *const several[] = {"allOf", "anyOf", "oneOf", "prefixItems"};
    static const char *const members[] = {"properties", "patternProperties", "dependentSchemas"};
    static const char *const numbers[] = {"minimum", "maximum", "exclusiveMinimum",
                                          "exclusiveMaximum"};
    static const char *const counts[] = {"minLength",   "maxLength",     "minItems",
                                         "maxItems",    "minProperties", "maxProperties",
                                         "minContains", "maxContains",   "multipleOf"};
    static const char *const types[] = {"null",   "boolean", "integer", "number",
                                        "string", "array",   "object"};
    static const char *const patterns[] = {"^a", "b|c", "^[a-c]*$", "", "x+"};
    switch (random_below(random, depth ? 10 : 6)) {
    case 0:
        json_object_object_add(schema, "type", json_object_new_string(random_pick(random, types)));
        break;
    case 1:
        json_object_object_add(schema, random_pick(random, numbers),
                               json_object_new_int64((int64_t)random_below(random, 5) - 2));
        break;
    case 2:
        json_object_object_add(schema, random_pick(random, counts),
                               json_object_new_int64(1 + (int64_t)random_below(random, 3)));
        break;
    case 3:
        json_object_object_add(schema, "pattern",
                               json_object_new_string(random_pick(random, patterns)));
        break;
    case 4:
        json_object_object_add(schema, "const", random_value(random, 1));
        break;
    case 5:
        json_object_object_add(schema, "uniqueItems", json_object_new_boolean(true));
        break;
    case 6:
    case 7:
        json_object_object_add(schema, random_pick(random, one), random_schema(random, depth - 1));
        break;
    case 8:
        json_object_object_add(schema, random_pick(random, several),
                               random_schemas(random, depth - 1));
        break;
    default:
        json_object_object_add(schema, random_pick(random, members),
                               random_members(random, depth - 1));
        break;
    }
}

static struct json_object *random_schema(struct random *random, size_t depth) {
    if (random_below(random, 8) == 0)
        return json_object_new_boolean((json_bool)random_below(random, 2));
    struct json_object *schema = json_object_new_object();
    for (size_t i = random_below(random, 4); i; i--)
        add_keyword(random, schema, depth);
    return schema;
}

/* Whether {KEYWORD: JSON}, or {KEYWORD: [JSON, JSON]}, accepts VALUE. */
static bool wrapped_accepts(const char *keyword, bool is_list, struct json_object *json,
                            struct json_object *value) {
    struct json_object *outer = json_object_new_object(), *inner = json;
    struct error error = {0};
    json_object_get(json);
    if (is_list) {
        inner = json_object_new_array();
        json_object_array_add(inner, json);
        json_object_array_add(inner, json_object_get(json));
    }
    json_object_object_add(outer, keyword, inner);
    struct schema *schema = schema_compile(outer, &error);
    if (!schema)
        cr_assert(false, "%s: %s", json_object_to_json_string(outer), error.text);
    bool accepts = schema_check(schema, value, &error);
    cr_expect_eq(error.code, 0, "%s", error.text);
    schema_free(schema);
    json_object_put(outer);
    return accepts;
}

Test(schema_property, combinations_agree_with_their_parts, .timeout = 110) {
    struct random random = random_for("schema combinations");
    size_t accepted = 0, trials = random_trials(3000, 100000);
    for (size_t i = 0; i < trials; i++) {
        struct json_object *json = random_schema(&random, 4), *value = random_value(&random, 4);
        struct error error = {0};
        struct schema *schema = schema_compile(json, &error);
        if (!schema)
            cr_assert(false, "%s: %s", json_object_to_json_string(json), error.text);
        bool accepts = schema_check(schema, value, &error);
        accepted += accepts;
        if (wrapped_accepts("not", false, json, value) == accepts ||
            wrapped_accepts("allOf", true, json, value) != accepts ||
            wrapped_accepts("anyOf", true, json, value) != accepts ||
            wrapped_accepts("oneOf", true, json, value))
            cr_expect(false, "%s on %s: %d %s", json_object_to_json_string(json),
                      json_object_to_json_string(value), accepts, error.text);
        schema_free(schema);
        json_object_put(json);
        json_object_put(value);
    }
    cr_expect_gt(accepted, trials / 10);
    cr_expect_lt(accepted, trials - trials / 10);
}
