/* supervisor/schema: each keyword accepts and refuses what the draft says, and anything unknown is
 * refused. A case is a schema, values that it accepts and values that it does not. */
#include "supervisor/json/json_tree.h"
#include "supervisor/schema/schema.h"
#include "tests/support/lines.h"
#include <criterion/criterion.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct json_object *parse(const char *text) {
    struct json_object *value = json_tree_parse(string_span(text));
    cr_assert(value || strcmp(text, "null") == 0, "%s", text);
    return value;
}

static struct schema *compile(const char *text, struct error *error) {
    struct json_object *json = parse(text);
    struct schema *schema = schema_compile(json, error);
    json_object_put(json);
    return schema;
}

static bool check(const struct schema *schema, const char *text, struct error *error) {
    struct json_object *value = parse(text);
    *error = (struct error){0};
    bool accepted = schema_check(schema, value, error);
    cr_expect_eq(accepted, error->text[0] == 0, "%s: %s", text, error->text);
    cr_expect_eq(schema_check(schema, value, NULL), accepted, "%s without an error", text);
    json_object_put(value);
    return accepted;
}

enum { VALUES_MAX = 12 };

struct table {
    const char *schema, *good[VALUES_MAX], *bad[VALUES_MAX];
};

static void try_table(const struct table *table, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct error error = {0};
        struct schema *schema = compile(table[i].schema, &error);
        cr_expect_not_null(schema, "%s: %s", table[i].schema, error.text);
        for (size_t j = 0; j < VALUES_MAX && table[i].good[j] && schema; j++)
            cr_expect(check(schema, table[i].good[j], &error), "%s refuses %s: %s", table[i].schema,
                      table[i].good[j], error.text);
        for (size_t j = 0; j < VALUES_MAX && table[i].bad[j] && schema; j++)
            cr_expect_not(check(schema, table[i].bad[j], &error), "%s accepts %s", table[i].schema,
                          table[i].bad[j]);
        schema_free(schema);
    }
}

#define TRY(table) try_table(table, sizeof(table) / sizeof *(table))

Test(schema, any_value) {
    static const struct table table[] = {
        {"true", {"1", "null", "{}"}, {NULL}},
        {"false", {NULL}, {"1", "null", "{}"}},
        {"{}", {"1", "null", "{}"}, {NULL}},
        {"{\"type\":\"integer\"}",
         {"1", "1.0", "-0", "1e3", "18446744073709551615"},
         {"1.5", "\"1\"", "null", "true", "1e999"}},
        {"{\"type\":\"number\"}", {"1", "1.5"}, {"\"1\"", "null", "[]"}},
        {"{\"type\":\"null\"}", {"null"}, {"0", "false", "\"\""}},
        {"{\"type\":\"boolean\"}", {"true", "false"}, {"0", "null"}},
        {"{\"type\":\"string\"}", {"\"\""}, {"1", "null"}},
        {"{\"type\":\"array\"}", {"[]"}, {"{}"}},
        {"{\"type\":\"object\"}", {"{}"}, {"[]", "null"}},
        {"{\"type\":[\"integer\",\"null\"]}", {"1", "null"}, {"1.5", "\"\""}},
        {"{\"type\":[\"integer\",\"number\"]}", {"1", "1.5"}, {"\"\""}},
        {"{\"enum\":[1,\"a\",null,[1,2],{\"a\":1,\"b\":[2]}]}",
         {"1", "1.0", "\"a\"", "null", "[1.0,2]", "{\"b\":[2],\"a\":1}"},
         {"2", "true", "[2,1]", "[1]", "{\"a\":1}", "{\"a\":1,\"b\":[2],\"c\":3}", "\"A\""}},
        {"{\"enum\":[]}", {NULL}, {"1", "null"}},
        {"{\"enum\":[0,false]}", {"0", "-0.0", "false"}, {"null", "\"\"", "true"}},
        {"{\"const\":null}", {"null"}, {"0", "false"}},
        {"{\"const\":9007199254740993}",
         {"9007199254740993"},
         {"9007199254740992", "9007199254740992.0"}},
        {"{\"const\":18446744073709551615}",
         {"18446744073709551615"},
         {"18446744073709551614", "-1"}},
        {"{\"const\":\"a\\u0000b\"}", {"\"a\\u0000b\""}, {"\"a\"", "\"a\\u0000c\""}},
    };
    TRY(table);
}

Test(schema, numbers) {
    static const struct table table[] = {
        {"{\"maximum\":3}",
         {"3", "3.0", "-5", "\"x\""},
         {"3.0000001", "4", "18446744073709551615"}},
        {"{\"minimum\":-2}", {"-2", "0", "null"}, {"-2.0001", "-3", "-9223372036854775808"}},
        {"{\"exclusiveMaximum\":3}", {"2.99"}, {"3", "3.0"}},
        {"{\"exclusiveMinimum\":1.1}", {"1.2"}, {"1.1", "1"}},
        {"{\"maximum\":9223372036854775807}", {"9223372036854775807"}, {"9223372036854775808"}},
        {"{\"maximum\":9007199254740992.0}", {"9007199254740992"}, {"9007199254740993"}},
        {"{\"maximum\":100000000000000000000}",
         {"100000000000000000000", "1e20", "99999999999999999999.9", "-1e400"},
         {"100000000000000000001", "100000000000000000000.1", "1e21", "1e400"}},
        {"{\"minimum\":-18446744073709551616}",
         {"-18446744073709551616", "0"},
         {"-18446744073709551617", "-1e30"}},
        {"{\"exclusiveMaximum\":123456789012345678901234567890}",
         {"123456789012345678901234567889"},
         {"123456789012345678901234567890", "123456789012345678901234567890.0", "1e400"}},
        {"{\"exclusiveMinimum\":-123456789012345678901234567890}",
         {"-123456789012345678901234567889"},
         {"-123456789012345678901234567890", "-123456789012345678901234567891"}},
        {"{\"exclusiveMinimum\":0}", {"1e-400"}, {"0e5", "-1e-400"}},
        {"{\"maximum\":0.1}", {"0.1", "1e-1"}, {"0.1000000000000000055511151231257827"}},
        {"{\"maximum\":1e999}", {"1e998", "5"}, {"1e1000"}},
        {"{\"const\":123456789012345678901234567890}",
         {"123456789012345678901234567890", "1234567890123456789012345678.90e2"},
         {"123456789012345678901234567891", "123456789012345677877719597056"}},
        {"{\"enum\":[18446744073709551616,18446744073709551617,0.1]}",
         {"18446744073709551616", "18446744073709551617.0", "0.10"},
         {"18446744073709551618", "18446744073709551615", "0.1000000000000000055511151231257827"}},
        {"{\"uniqueItems\":true}",
         {"[100000000000000000001,100000000000000000002]", "[1e400,1e401]"},
         {"[100000000000000000001,100000000000000000001.0]", "[1e400,10e399]", "[0,-0.0]"}},
        {"{\"type\":\"integer\"}",
         {"123456789012345678901234567890", "-0", "3.0", "1e2", "123456789012345678901234567890.0"},
         {"0.5", "123456789012345678901234567890.5", "1e400", "1e-400"}},
        {"{\"multipleOf\":3}",
         {"123456789012345678901234567890", "-3000000000000000000000000000000", "3e400"},
         {"123456789012345678901234567891", "1e400", "100000000000000000000"}},
        {"{\"multipleOf\":1000000000000000003}",
         {"1000000000000000006000000000000000009", "1000000000000000003e99"},
         {"1000000000000000006000000000000000008", "1e99"}},
        {"{\"multipleOf\":12345678901234567890123}",
         {"0", "12345678901234567890123", "24691357802469135780246", "-1234567890123456789012300",
          "152415787532388367504942236884722755800955129", "12345678901234567890123e50"},
         {"12345678901234567890124", "1", "152415787532388367504942236884722755800955128",
          "1234567890123456789012.3", "1e50"}},
        {"{\"multipleOf\":1e30}", {"1e30", "5000000000000000000000000000000"}, {"1e29", "1"}},
        {"{\"maxLength\":1e30}", {"\"abc\""}, {NULL}},
        {"{\"multipleOf\":2}",
         {"0", "7e3", "-4", "\"x\"", "9007199254740994"},
         {"7", "2.5", "9007199254740993"}},
        {"{\"multipleOf\":0.0001}", {"0.0075", "1"}, {"0.00751", "0.00015"}},
        {"{\"multipleOf\":0.01}", {"19.99", "4.35", "1e300"}, {"0.001", "19.999", "1e-300"}},
        {"{\"multipleOf\":1.5}", {"4.5", "3", "0.0"}, {"35", "4"}},
        {"{\"multipleOf\":1e10}", {"2e10", "30000000000"}, {"1", "20000000001"}},
        {"{\"multipleOf\":0.123456789}", {"0.246913578"}, {"1e308", "1e999"}},
    };
    TRY(table);
}

Test(schema, strings) {
    static const struct table table[] = {
        {"{\"maxLength\":2}",
         {"\"\"", "\"ab\"", "\"\\ud83d\\ude00\xc3\xa9\"", "12345"},
         {"\"abc\"", "\"\\ud83d\\ude00\xc3\xa9x\""}},
        {"{\"minLength\":2.0}", {"\"ab\"", "[]"}, {"\"a\"", "\"\\ud83d\\ude00\""}},
        {"{\"pattern\":\"^a*$\"}", {"\"\"", "\"aaa\"", "null"}, {"\"aab\"", "\"a\\n\""}},
        {"{\"pattern\":\"b+c\"}", {"\"xbbcx\""}, {"\"xbb\"", "\"\""}},
        {"{\"format\":\"date\"}", {"\"2020-01-01\"", "\"nonsense\""}, {NULL}},
    };
    TRY(table);
}

Test(schema, arrays) {
    static const struct table table[] = {
        {"{\"items\":{\"type\":\"integer\"}}", {"[]", "[1,2]", "{}"}, {"[1,\"x\"]"}},
        {"{\"items\":false}", {"[]"}, {"[1]"}},
        {"{\"prefixItems\":[{\"type\":\"integer\"},true],\"items\":{\"type\":\"null\"}}",
         {"[]", "[1]", "[1,\"x\"]", "[1,1,null]"},
         {"[\"x\"]", "[1,1,1]"}},
        {"{\"contains\":{\"minimum\":5}}", {"[1,5]", "{}", "7"}, {"[]", "[1,2]"}},
        {"{\"contains\":{\"const\":1},\"minContains\":2,\"maxContains\":3}",
         {"[1,1]", "[1,2,1,1]"},
         {"[]", "[1]", "[1,1,1,1]"}},
        {"{\"contains\":{\"const\":1},\"minContains\":0}", {"[]", "[2]"}, {NULL}},
        {"{\"minContains\":2}", {"[]"}, {NULL}},
        {"{\"maxItems\":1}", {"[]", "[1]", "{\"a\":1,\"b\":2}"}, {"[1,2]"}},
        {"{\"minItems\":1}", {"[1]", "\"\""}, {"[]"}},
        {"{\"uniqueItems\":true}",
         {"[]", "[1,2]", "[1,true]", "[0,false]", "[[1],[true]]", "[{\"a\":1},{\"a\":2}]",
          "[\"1\",1]", "[9007199254740992,9007199254740993]"},
         {"[1,1.0]", "[0,-0.0]", "[{\"a\":1,\"b\":2},{\"b\":2,\"a\":1.0}]", "[[\"x\"],[\"x\"]]",
          "[null,1,null]"}},
        {"{\"uniqueItems\":false}", {"[1,1]"}, {NULL}},
        {"{\"prefixItems\":[true],\"unevaluatedItems\":false}", {"[1]", "[]"}, {"[1,2]"}},
        {"{\"contains\":{\"const\":1},\"unevaluatedItems\":{\"const\":2}}", {"[1,2,1]"}, {"[1,3]"}},
        {"{\"allOf\":[{\"prefixItems\":[true,true]}],\"unevaluatedItems\":false}",
         {"[1,2]"},
         {"[1,2,3]"}},
        {"{\"anyOf\":[{\"items\":{\"type\":\"string\"}},true],\"unevaluatedItems\":false}",
         {"[]", "[\"a\"]"},
         {"[1]"}},
    };
    TRY(table);
}

Test(schema, objects) {
    static const struct table table[] = {
        {"{\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":false}}",
         {"{}", "{\"a\":1}", "{\"c\":1}", "[]"},
         {"{\"a\":\"x\"}", "{\"b\":1}"}},
        {"{\"patternProperties\":{\"^x\":{\"type\":\"integer\"},\"y$\":{\"minimum\":5}}}",
         {"{}", "{\"x\":1}", "{\"xy\":5}", "{\"z\":null}"},
         {"{\"x\":null}", "{\"xy\":4}", "{\"xy\":5.5}"}},
        {"{\"properties\":{\"a\":true},\"patternProperties\":{\"^x\":true},"
         "\"additionalProperties\":{\"type\":\"null\"}}",
         {"{\"a\":1,\"x1\":2,\"b\":null}"},
         {"{\"b\":1}"}},
        {"{\"additionalProperties\":false}", {"{}", "[]"}, {"{\"a\":1}"}},
        {"{\"propertyNames\":{\"maxLength\":2}}", {"{\"ab\":1}", "{}"}, {"{\"abc\":1}"}},
        {"{\"required\":[\"a\",\"b\"]}", {"{\"a\":1,\"b\":null}", "1"}, {"{}", "{\"a\":1}"}},
        {"{\"required\":[]}", {"{}"}, {NULL}},
        {"{\"dependentRequired\":{\"a\":[\"b\"]}}",
         {"{}", "{\"b\":1}", "{\"a\":1,\"b\":2}"},
         {"{\"a\":1}"}},
        {"{\"dependentSchemas\":{\"a\":{\"minProperties\":2}}}",
         {"{}", "{\"b\":1}", "{\"a\":1,\"b\":2}"},
         {"{\"a\":1}"}},
        {"{\"maxProperties\":1}", {"{}", "{\"a\":1}", "[1,2]"}, {"{\"a\":1,\"b\":2}"}},
        {"{\"minProperties\":1}", {"{\"a\":1}", "[]"}, {"{}"}},
        {"{\"properties\":{\"a\":true},\"unevaluatedProperties\":false}",
         {"{}", "{\"a\":1}"},
         {"{\"b\":1}", "{\"a\":1,\"b\":1}"}},
        {"{\"anyOf\":[{\"properties\":{\"a\":true},\"required\":[\"a\"]},"
         "{\"properties\":{\"b\":true},\"required\":[\"b\"]}],\"unevaluatedProperties\":false}",
         {"{\"a\":1}", "{\"b\":1}", "{\"a\":1,\"b\":2}"},
         {"{\"a\":1,\"c\":1}", "{}"}},
        {"{\"if\":{\"properties\":{\"k\":{\"const\":1}},\"required\":[\"k\"]},"
         "\"then\":{\"properties\":{\"a\":true}},\"else\":{\"properties\":{\"b\":true}},"
         "\"unevaluatedProperties\":false}",
         {"{\"k\":1,\"a\":1}", "{\"b\":1}"},
         {"{\"k\":1,\"b\":1}", "{\"k\":2}", "{\"a\":1}"}},
        {"{\"not\":{\"not\":{\"properties\":{\"a\":true}}},\"unevaluatedProperties\":false}",
         {"{}"},
         {"{\"a\":1}"}},
        {"{\"allOf\":[{\"properties\":{\"a\":true}},{\"unevaluatedProperties\":false}]}",
         {"{}"},
         {"{\"a\":1}"}},
        {"{\"allOf\":[{\"unevaluatedProperties\":true}],\"unevaluatedProperties\":false}",
         {"{\"a\":1}"},
         {NULL}},
        {"{\"dependentSchemas\":{\"a\":{\"properties\":{\"b\":true}}},\"properties\":{\"a\":true},"
         "\"unevaluatedProperties\":false}",
         {"{\"a\":1,\"b\":1}"},
         {"{\"b\":1}"}},
        {"{\"$ref\":\"#/$defs/base\",\"unevaluatedProperties\":false,"
         "\"$defs\":{\"base\":{\"properties\":{\"a\":true}}}}",
         {"{\"a\":1}"},
         {"{\"b\":1}"}},
    };
    TRY(table);
}

Test(schema, many_members_are_distinguished) {
    enum { MEMBERS = 300 };
    struct json_object *value = json_object_new_object();
    struct error error = {0};
    struct schema *schema = compile("{\"patternProperties\":{\"^a\":true},"
                                    "\"anyOf\":[{\"patternProperties\":{\"^b\":true}}],"
                                    "\"unevaluatedProperties\":false}",
                                    &error);
    cr_assert_not_null(schema);
    for (int i = 0; i < MEMBERS; i++) {
        char name[16];
        snprintf(name, sizeof name, "%c%d", i % 2 ? 'a' : 'b', i);
        json_object_object_add(value, name, NULL);
    }
    cr_expect(schema_check(schema, value, &error), "%s", error.text);
    json_object_object_add(value, "c", NULL);
    cr_expect_not(schema_check(schema, value, &error));
    cr_expect_str_eq(error.text, "/c: is not allowed");
    json_object_put(value);
    schema_free(schema);
}

Test(schema, combinations) {
    static const struct table table[] = {
        {"{\"allOf\":[{\"minimum\":1},{\"maximum\":3}]}", {"2", "null"}, {"0", "4"}},
        {"{\"anyOf\":[{\"type\":\"null\"},{\"minimum\":3}]}", {"null", "3", "\"x\""}, {"2"}},
        {"{\"oneOf\":[{\"minimum\":1},{\"maximum\":3}]}", {"0", "4"}, {"2", "null"}},
        {"{\"not\":{\"type\":\"null\"}}", {"1"}, {"null"}},
        {"{\"not\":false}", {"1"}, {NULL}},
        {"{\"if\":{\"minimum\":10},\"then\":{\"multipleOf\":10},\"else\":{\"multipleOf\":2}}",
         {"20", "4"},
         {"11", "3"}},
        {"{\"if\":true,\"then\":false}", {NULL}, {"1"}},
        {"{\"then\":false,\"else\":false}", {"1"}, {NULL}},
    };
    TRY(table);
}

Test(schema, references) {
    static const struct table table[] = {
        {"{\"$ref\":\"#/$defs/n\",\"$defs\":{\"n\":{\"type\":\"null\"}}}", {"null"}, {"1"}},
        {"{\"$ref\":\"#/definitions/n\",\"definitions\":{\"n\":{\"type\":\"null\"}}}",
         {"null"},
         {"1"}},
        {"{\"$ref\":\"#n\",\"$defs\":{\"x\":{\"$anchor\":\"n\",\"type\":\"null\"}}}",
         {"null"},
         {"1"}},
        {"{\"$ref\":\"#/$defs/a~1b%20~0\",\"$defs\":{\"a/b ~\":false}}", {NULL}, {"1"}},
        {"{\"prefixItems\":[{\"type\":\"integer\"},{\"$ref\":\"#/prefixItems/0\"}]}",
         {"[1,2]"},
         {"[1,\"x\"]"}},
        {"{\"properties\":{\"next\":{\"$ref\":\"#\"},\"n\":{\"type\":\"integer\"}},"
         "\"additionalProperties\":false}",
         {"{\"n\":1,\"next\":{\"next\":{}}}"},
         {"{\"next\":{\"next\":{\"x\":1}}}", "{\"next\":{\"n\":\"\"}}"}},
        {"{\"$ref\":\"#/$defs/n\",\"minimum\":2,\"$defs\":{\"n\":{\"maximum\":3}}}",
         {"2", "3"},
         {"1", "4"}},
        {"{\"$ref\":\"#/$defs/\",\"$defs\":{\"\":false}}", {NULL}, {"1"}},
    };
    TRY(table);
}

Test(schema, annotations_do_not_affect_the_result) {
    static const struct table table[] = {
        {"{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"http://x/y\","
         "\"$comment\":\"c\",\"title\":\"t\",\"description\":\"d\",\"default\":1,\"examples\":[1],"
         "\"deprecated\":true,\"readOnly\":true,\"writeOnly\":false,\"format\":\"email\","
         "\"contentEncoding\":\"base64\",\"contentMediaType\":\"text/"
         "plain\",\"contentSchema\":false,"
         "\"x-anything\":{\"type\":3}}",
         {"1", "\"\"", "null"},
         {NULL}},
        {"{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"$ref\":\"#/definitions/a\","
         "\"definitions\":{\"a\":{\"type\":\"null\"}}}",
         {"null"},
         {"1"}},
    };
    TRY(table);
}

/* --- refusals --- */

struct refusal {
    const char *schema, *text;
};

static void try_refusals(const struct refusal *refusals, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct error error = {0};
        struct schema *schema = compile(refusals[i].schema, &error);
        cr_expect_null(schema, "%s is accepted", refusals[i].schema);
        cr_expect_str_eq(error.text, refusals[i].text, "%s: %s", refusals[i].schema, error.text);
        schema_free(schema);
        schema = compile(refusals[i].schema, NULL);
        cr_expect_null(schema);
        schema_free(schema);
    }
}

#define TRY_REFUSALS(table) try_refusals(table, sizeof(table) / sizeof *(table))

Test(schema, unknown_keywords_are_refused) {
    static const struct refusal refusals[] = {
        {"1", "the schema: a schema must be an object, true or false, not 1"},
        {"null", "the schema: a schema must be an object, true or false, not null"},
        {"{\"minimun\":1}", "/minimun: unknown keyword; did you mean \"minimum\"?"},
        {"{\"properties\":{\"a\":{\"nonsense\":1}}}", "/properties/a/nonsense: unknown keyword"},
        {"{\"items\":[true]}", "/items: an array of schemas is \"prefixItems\" in 2020-12"},
        {"{\"additionalItems\":true}",
         "/additionalItems: is \"items\" next to \"prefixItems\" in 2020-12"},
        {"{\"dependencies\":{}}",
         "/dependencies: is \"dependentRequired\" or \"dependentSchemas\" in 2020-12"},
        {"{\"$dynamicRef\":\"#a\"}", "/$dynamicRef: is not supported; use $ref"},
        {"{\"$dynamicAnchor\":\"a\"}", "/$dynamicAnchor: is not supported; use $anchor"},
        {"{\"$vocabulary\":{}}", "/$vocabulary: is not supported"},
        {"{\"$schema\":\"http://json-schema.org/draft-04/schema#\"}",
         "/$schema: must be https://json-schema.org/draft/2020-12/schema or draft-07's, not "
         "\"http://json-schema.org/draft-04/schema#\""},
        {"{\"items\":{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\"}}",
         "/items/$schema: is allowed only at the root"},
        {"{\"items\":{\"$id\":\"x\"}}", "/items/$id: is supported only at the root"},
        {"{\"$id\":\"#a\"}", "/$id: must have no fragment; use $anchor"},
        {"{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"items\":{\"$ref\":\"#\","
         "\"minimum\":1}}",
         "/items/minimum: draft-07 ignores members next to $ref"},
    };
    TRY_REFUSALS(refusals);
}

Test(schema, invalid_values_of_keywords_are_refused) {
    static const struct refusal refusals[] = {
        {"{\"type\":\"integr\"}", "/type: unknown type \"integr\"; did you mean \"integer\"?"},
        {"{\"type\":[]}", "/type: must be one or more types, not an array of 0"},
        {"{\"type\":[\"null\",\"null\"]}", "/type: \"null\" is listed twice"},
        {"{\"type\":1}", "/type: must be the name of a type, not 1"},
        {"{\"enum\":1}", "/enum: must be an array, not 1"},
        {"{\"minimum\":\"1\"}", "/minimum: must be a number, not \"1\""},
        {"{\"multipleOf\":0}", "/multipleOf: must be more than 0, not 0"},
        {"{\"maxLength\":-1}", "/maxLength: must be a whole number from 0, not -1"},
        {"{\"minItems\":1.5}", "/minItems: must be a whole number from 0, not 1.5"},
        {"{\"uniqueItems\":1}", "/uniqueItems: must be true or false, not 1"},
        {"{\"required\":\"a\"}", "/required: must be an array of distinct strings, not \"a\""},
        {"{\"required\":[\"a\",\"a\"]}",
         "/required: must be an array of distinct strings, not an array of 2"},
        {"{\"dependentRequired\":{\"a\":1}}",
         "/dependentRequired/a: must be an array of distinct strings, not 1"},
        {"{\"properties\":[]}", "/properties: must be an object of schemas, not an array of 0"},
        {"{\"properties\":{\"a/b~\":1}}",
         "/properties/a~1b~0: a schema must be an object, true or false, not 1"},
        {"{\"allOf\":[]}", "/allOf: must be an array of one or more schemas, not an array of 0"},
        {"{\"allOf\":[true,{\"not\":null}]}",
         "/allOf/1/not: a schema must be an object, true or false, not null"},
        {"{\"pattern\":\"a(\"}", "/pattern: the pattern has a ( without a ) (at byte 3)"},
        {"{\"patternProperties\":{\"(?=a)\":true}}",
         "/patternProperties/(?=a): the pattern has a lookahead, which is not supported; use allOf "
         "and not (at byte 2)"},
        {"{\"title\":1}", "/title: must be a string, not 1"},
        {"{\"$anchor\":\"1\"}", "/$anchor: \"1\" is not a valid anchor"},
        {"{\"$anchor\":\"a\",\"not\":{\"$anchor\":\"a\"}}", "/not/$anchor: \"a\" is defined twice"},
    };
    TRY_REFUSALS(refusals);
}

Test(schema, references_stay_in_the_schema) {
    static const struct refusal refusals[] = {
        {"{\"$ref\":\"https://x.example/s\"}",
         "/$ref: \"https://x.example/s\" is not in this schema (#\xe2\x80\xa6); other "
         "schemas are neither fetched nor read from files"},
        {"{\"$ref\":\"file:///etc/passwd\"}",
         "/$ref: \"file:///etc/passwd\" is not in this schema (#\xe2\x80\xa6); other "
         "schemas are neither fetched nor read from files"},
        {"{\"$ref\":\"other.json#/a\"}", "/$ref: \"other.json#/a\" is not in this schema "
                                         "(#\xe2\x80\xa6); other schemas are neither "
                                         "fetched nor read from files"},
        {"{\"$ref\":1}", "/$ref: must be a string, not 1"},
        {"{\"$ref\":\"#/$defs/a\"}", "/$ref: there is nothing at \"#/$defs/a\""},
        {"{\"$ref\":\"#/$defs/~2\",\"$defs\":{}}", "/$ref: there is nothing at \"#/$defs/~2\""},
        {"{\"$ref\":\"#/allOf/01\",\"allOf\":[true,true]}",
         "/$ref: there is nothing at \"#/allOf/01\""},
        {"{\"$ref\":\"#/allOf/2\",\"allOf\":[true,true]}",
         "/$ref: there is nothing at \"#/allOf/2\""},
        {"{\"$ref\":\"#/required\",\"required\":[]}",
         "/$ref: there is no schema at \"#/required\""},
        {"{\"$ref\":\"#a\"}", "/$ref: no schema has the $anchor \"a\""},
        {"{\"$ref\":\"#%zz\"}", "/$ref: \"#%zz\" is not a valid reference"},
        {"{\"$ref\":\"#/%00\"}", "/$ref: \"#/%00\" is not a valid reference"},
        {"{\"$ref\":\"#\"}", "the schema: this schema applies itself to the same value endlessly"},
        {"{\"allOf\":[{\"$ref\":\"#/$defs/a\"}],\"$defs\":{\"a\":{\"anyOf\":[{\"$ref\":\"#\"}]}}}",
         "the schema: this schema applies itself to the same value endlessly"},
        {"{\"$defs\":{\"a\":{\"dependentSchemas\":{\"x\":{\"$ref\":\"#/$defs/a\"}}}}}",
         "/$defs/a: this schema applies itself to the same value endlessly"},
    };
    TRY_REFUSALS(refusals);
}

Test(schema, an_error_names_the_place_and_the_reason) {
    static const struct {
        const char *schema, *value, *text;
    } cases[] = {
        {"{\"properties\":{\"count\":{\"maximum\":3}}}", "{\"count\":5}",
         "/count: 5 is more than the maximum 3"},
        {"{\"minimum\":3}", "2.5", "2.5 is less than the minimum 3"},
        {"{\"exclusiveMinimum\":3}", "3", "3 is not more than 3"},
        {"{\"exclusiveMaximum\":3}", "3", "3 is not less than 3"},
        {"{\"multipleOf\":2}", "3", "3 is not a multiple of 2"},
        {"{\"type\":[\"string\",\"null\"]}", "[1]", "an array of 1 is not of type null or string"},
        {"{\"enum\":[1,\"b\"]}", "\"a\"", "\"a\" is not one of 1, \"b\""},
        {"{\"const\":{}}", "null", "null is not an object of 0"},
        {"{\"maxLength\":1}", "\"ab\"", "has 2 characters; at most 1 are allowed"},
        {"{\"minLength\":3}", "\"ab\"", "has 2 characters; at least 3 are required"},
        {"{\"pattern\":\"^x\"}", "\"ab\"", "\"ab\" does not match the pattern ^x"},
        {"{\"items\":{\"items\":false}}", "[[],[1]]", "/1/0: is not allowed"},
        {"{\"required\":[\"a\"]}", "{}", "lacks the member \"a\""},
        {"{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"a\":1}",
         "has the member \"a\" but lacks \"b\""},
        {"{\"additionalProperties\":false}", "{\"a/b\":1}", "/a~1b: is not allowed"},
        {"{\"propertyNames\":{\"maxLength\":1}}", "{\"ab\":1}",
         "the name of the member \"ab\" is not allowed"},
        {"{\"uniqueItems\":true}", "[3,1,2,1]", "elements 1 and 3 are equal"},
        {"{\"contains\":false}", "[1]", "0 elements match \"contains\"; at least 1 must"},
        {"{\"anyOf\":[{\"type\":\"null\"},{\"type\":\"string\"}]}", "1",
         "1 matches none of the 2 schemas of \"anyOf\""},
        {"{\"oneOf\":[{\"type\":\"null\"},{\"properties\":{\"a\":{\"type\":\"null\"}}}]}",
         "{\"a\":1}", "/a: 1 is not of type null"},
        {"{\"oneOf\":[{},{}]}", "1", "matches two schemas of \"oneOf\": 0 and 1"},
        {"{\"not\":{}}", "1", "1 matches the schema of \"not\""},
        {"{\"type\":\"null\"}", "\"a\\nb\\u0007\\u0000c\"", "\"a?b?\" is not of type null"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error error = {0};
        struct schema *schema = compile(cases[i].schema, &error);
        cr_assert_not_null(schema, "%s: %s", cases[i].schema, error.text);
        cr_expect_not(check(schema, cases[i].value, &error), "%s accepts", cases[i].schema);
        cr_expect_str_eq(error.text, cases[i].text, "%s: %s", cases[i].schema, error.text);
        cr_expect_eq(error.code, 0);
        schema_free(schema);
    }
}

/* --- limits --- */

Test(schema, values_are_quoted_briefly) {
    struct error error = {0};
    struct schema *schema = compile(
        "{\"additionalProperties\":{\"additionalProperties\":{\"type\":\"null\"}}}", &error);
    char *name = nested("\xc3\xa9", 1000, "", "");
    cr_assert_not_null(schema);
    cr_expect_not(check(schema, formatted("{\"%s\":{\"x\":\"%s\"}}", name, name), &error));
    cr_expect_lt(strlen(error.text), 150, "%s", error.text);
    cr_expect_not_null(strstr(error.text, "\xc3\xa9\xe2\x80\xa6/x: \""), "%s", error.text);
    free(name);
    schema_free(schema);
}

Test(schema, deep_places_keep_their_end) {
    struct error error = {0};
    struct schema *schema =
        compile("{\"additionalProperties\":{\"$ref\":\"#\"},\"type\":\"object\"}", &error);
    char *value = nested("{\"name\":", 100, "1", "}");
    cr_assert_not_null(schema);
    cr_expect_not(check(schema, value, &error));
    cr_expect(strncmp(error.text, "\xe2\x80\xa6", 3) == 0, "%s", error.text);
    cr_expect_not_null(strstr(error.text, "/name/name: 1 is not of type object"), "%s", error.text);
    free(value);
    schema_free(schema);
}

Test(schema, schemas_are_limited_in_depth_and_number) {
    struct error error = {0};
    char *deep = nested("{\"not\":", SCHEMA_DEPTH_MAX - 1, "true", "}");
    struct schema *schema = compile(deep, &error);
    cr_expect_not_null(schema, "%s", error.text);
    schema_free(schema);
    free(deep);
    deep = nested("{\"not\":", SCHEMA_DEPTH_MAX, "true", "}");
    cr_expect_null(compile(deep, &error));
    cr_expect_not_null(strstr(error.text, ": schemas are nested deeper than 64"), "%s", error.text);
    free(deep);
    char *many = nested("true,", SCHEMA_NODES_MAX, "true]}", "");
    cr_expect_null(compile(formatted("{\"allOf\":[%s", many), &error));
    cr_expect_str_eq(error.text, "/allOf/4095: there are more than 4096 schemas");
    free(many);
}

/* The check must end unfinished, at its limit of work. */
static void expect_too_much(const char *schema_text, const char *value) {
    struct error error = {0};
    struct schema *schema = compile(schema_text, &error);
    cr_assert_not_null(schema, "%s", error.text);
    cr_expect_not(check(schema, value, &error));
    cr_expect_eq(error.code, E2BIG, "%.100s: %s", schema_text, error.text);
    cr_expect_str_eq(error.text, "the value cannot be checked within 2500000 steps and 512 levels");
    schema_free(schema);
}

Test(schema, work_is_limited, .timeout = 60) {
    /* Two branches at each of forty levels. */
    char text[4000];
    size_t used = (size_t)sprintf(text, "{\"allOf\":[{\"$ref\":\"#/$defs/a0\"}],\"$defs\":{");
    for (int i = 0; i < 40; i++)
        used += (size_t)sprintf(text + used,
                                "\"a%d\":{\"%s\":[{\"$ref\":\"#/$defs/a%d\"},"
                                "{\"$ref\":\"#/$defs/a%d\"}]},",
                                i, i % 2 ? "allOf" : "anyOf", i + 1, i + 1);
    sprintf(text + used, "\"a40\":{\"not\":true}}}");
    expect_too_much(text, "1");
    /* A value with two schemas at each of its levels. */
    char *deep = nested("[", 500, "", "]");
    expect_too_much("{\"items\":{\"$ref\":\"#\"}}", deep);
    expect_too_much("{\"not\":{\"items\":{\"$ref\":\"#\"}}}", deep);
    expect_too_much("{\"if\":{\"$ref\":\"#/$defs/a\"},\"else\":true,"
                    "\"$defs\":{\"a\":{\"items\":{\"$ref\":\"#/$defs/a\"}}}}",
                    deep);
    free(deep);
    /* Patterns for which other engines take exponential or quadratic time. */
    char *long_text = nested("a", 20000, "", "");
    const char *quoted = formatted("\"%sb\"", long_text);
    struct error error = {0};
    struct schema *schema = compile("{\"pattern\":\"^(a+)+$|(a|a|b?)*c|a+$\"}", &error);
    cr_expect_not(check(schema, quoted, &error));
    cr_expect_eq(error.code, 0, "%s", error.text);
    schema_free(schema);
    expect_too_much("{\"pattern\":\"(a{500}|x){2,}(a?){500}c\"}", quoted);
    free(long_text);
}

/* --- cost --- */

/* "OPENING part, part, ... CLOSING", each PART with its number in place of #. Valid as that of
 * formatted(). */
static const char *repeated(const char *opening, const char *part, int count, const char *closing) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    cr_assert_not_null(out);
    fputs(opening, out);
    for (int i = 0; i < count; i++) {
        fputs(i ? "," : "", out);
        for (const char *byte = part; *byte; byte++)
            *byte == '#' ? fprintf(out, "%d", i) : fputc(*byte, out);
    }
    fclose(out);
    const char *whole = formatted("%s%s", text, closing);
    free(text);
    return whole;
}

/* Checks the value that VALUE_TEXT is by the schema that SCHEMA_TEXT is. */
static bool check_texts(const char *schema_text, const char *value_text, struct error *error) {
    *error = (struct error){0};
    struct schema *schema = compile(schema_text, error);
    cr_assert_not_null(schema, "%.60s: %s", schema_text, error->text);
    bool accepted = check(schema, value_text, error);
    schema_free(schema);
    return accepted;
}

/* Expects that the check ends with its work used up. */
static void expect_given_up(const char *schema_text, const char *value_text) {
    struct error error;
    cr_expect_not(check_texts(schema_text, value_text, &error));
    cr_expect_str_eq(error.text, "the value cannot be checked within 2500000 steps and 512 levels");
}

/* A check that would take long ends after a count of steps, the same on every machine. */
Test(schema, the_work_of_a_check_is_limited, .timeout = 60) {
    char name[101];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = 0;
    char member[120];
    snprintf(member, sizeof member, "\"%.60s#\":1", name);
    expect_given_up(repeated("{\"items\":{\"not\":{\"enum\":[", "#.5", 4000, "]}}}"),
                    repeated("[", "#.25", 100000, "]"));
    expect_given_up(repeated("{\"patternProperties\":{", "\"(a|aa|b){0,100}c#\":{}", 200, "}}"),
                    repeated("{", member, 500, "}"));
    expect_given_up(
        "{\"items\":{\"not\":{\"multipleOf\":1234567890123456789012345678901234567891}}}",
        repeated("[", "98765432109876543210987654321098765432109876543210#", 30000, "]"));
    expect_given_up(repeated("{\"allOf\":[", "{\"unevaluatedProperties\":true}", 1000, "]}"),
                    repeated("{", "\"k#\":1", 20000, "}"));
    expect_given_up("{\"uniqueItems\":true}", repeated("[", "[[#]]", 30000, "]"));
    expect_given_up("{\"propertyNames\":{\"maxLength\":9}}",
                    repeated("{", "\"k#\":1", 100000, "}"));
}

/* A number is rewritten once, so only the first check is expensive. */
Test(schema, the_work_of_rewriting_integers_is_limited) {
    struct error error = {0};
    struct schema *schema = compile("{\"items\":{\"type\":\"integer\"}}", &error);
    struct json_object *value = parse(repeated("[", "#e300", 10000, "]"));
    cr_expect_not(schema_check(schema, value, &error));
    cr_expect_eq(error.code, E2BIG, "%s", error.text);
    json_object_put(value);
    schema_free(schema);
}

Test(schema, long_lists_of_alternatives_are_checked, .timeout = 60) {
    struct error error;
    cr_expect(check_texts(repeated("{\"items\":{\"enum\":[", "\"a#\"", 4000, "]}}"),
                          repeated("[\"a3999\",", "\"a3999\"", 1000, "]"), &error),
              "%s", error.text);
    cr_expect_not(check_texts("{\"items\":{\"multipleOf\":0.3}}",
                              repeated("[", "1.234567890123456#", 30000, "]"), &error));
    cr_expect_str_eq(error.text, "/0: 1.2345678901234560 is not a multiple of 0.3");
    cr_expect_not(
        check_texts(repeated("{\"items\":{\"anyOf\":[", "{\"enum\":[1,2,3,4,5,#]}", 1000, "]}}"),
                    repeated("[", "[#]", 10000, "]"), &error));
    cr_expect_str_eq(error.text, "/0: an array of 1 matches none of the 1000 schemas of \"anyOf\"");
}

Test(schema, a_megabyte_of_plain_values_is_checked, .timeout = 60) {
    struct error error;
    cr_expect(check_texts("{\"items\":{\"type\":\"integer\",\"minimum\":0}}",
                          repeated("[", "10000000#", 110000, "]"), &error),
              "%s", error.text);
    cr_expect(check_texts("{\"items\":{\"type\":\"object\",\"properties\":{"
                          "\"id\":{\"type\":\"integer\"},\"name\":{\"type\":\"string\","
                          "\"maxLength\":100},\"tags\":{\"items\":{\"enum\":[\"red\","
                          "\"blue\"]}}},\"required\":[\"id\",\"name\"],"
                          "\"additionalProperties\":false}}",
                          repeated("[",
                                   "{\"id\":#,\"name\":\"some longer name #\","
                                   "\"tags\":[\"red\",\"blue\"]}",
                                   16000, "]"),
                          &error),
              "%s", error.text);
    cr_expect(check_texts("{\"additionalProperties\":{\"type\":\"string\"}}",
                          repeated("{", "\"key#\":\"value#\"", 45000, "}"), &error),
              "%s", error.text);
    cr_expect(
        check_texts("{\"uniqueItems\":true}", repeated("[", "\"00000000#\"", 90000, "]"), &error),
        "%s", error.text);
}

Test(schema, size_is_limited, .timeout = 60) {
    static const struct {
        const char *opening, *part;
        int count;
        const char *closing, *reason;
    } cases[] = {
        {"{\"patternProperties\":{", "\"#(a|b|c|d){0,250}\":{}", 200, "}}",
         "the schema: is too big: with the repetitions in its patterns expanded, it takes more "
         "than 3072 KiB"},
        {"{\"enum\":[", "#", 100000, "]}",
         "the schema: is too big: its patterns and its lists of names and values are too long "
         "in total"},
        {"{\"required\":[", "\"#\"", 100000, "]}",
         "the schema: is too big: its patterns and its lists of names and values are too long "
         "in total"},
        {"{\"pattern\":\"", "(a{4000}){0}#", 60, "\"}",
         "/pattern: the pattern is too big (at byte 65)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error error = {0};
        const char *text =
            repeated(cases[i].opening, cases[i].part, cases[i].count, cases[i].closing);
        cr_expect_null(compile(text, &error));
        cr_expect_str_eq(error.text, cases[i].reason);
    }
}

/* A schema takes about what it says that it takes. */
Test(schema, counts_what_it_takes) {
    struct error error = {0};
    const char *text = repeated("{\"properties\":{",
                                "\"p#\":{\"pattern\":\"(ab|c){0,#}\",\"enum\":[1]}", 200, "}}");
    struct json_object *json = parse(text);
    struct mallinfo2 before = mallinfo2();
    struct schema *schema = schema_compile(json, &error);
    cr_assert_not_null(schema, "%s", error.text);
    size_t taken = mallinfo2().uordblks - before.uordblks, counted = schema_bytes(schema);
#ifndef __SANITIZE_ADDRESS__
    cr_expect(counted > taken / 10 * 9 && counted < taken / 10 * 13, "%zu, counted as %zu", taken,
              counted);
#else
    (void)taken, (void)counted;
#endif
    schema_free(schema);
    json_object_put(json);
}
