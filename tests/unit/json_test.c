/* tests/support/json and wire, which judge the lines of the server. */
#include "tests/support/json.h"
#include "tests/support/random.h"
#include "tests/support/wire.h"
#include <criterion/criterion.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 8 };

static const char *const good[] = {
    "{}",
    "[]",
    "null",
    "true",
    "false",
    "0",
    "-0",
    "-1.5e+10",
    "1E400",
    "\"\"",
    " {} ",
    "\t[ ]\r",
    "[1,[2,[3]]]",
    "{\"a\":{\"b\":[null]}}",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"",
    "\"\\ud83d\\ude00\"",
    "\"\\ud800\"",
    "\"\xc3\xa9\xe2\x80\xa8\xf4\x8f\xbf\xbf\x7f\"",
    "{\"a\":1,\"a\":2}",
    "[[[[[[[[]]]]]]]]",
    "123456789012345678901234567890",
};

static const char *const bad[] = {
#define MALFORMED(text) text,
#define NOT_UTF8(text)  text,
#include "tests/support/malformed_json.def"
    "\"\n\"", "[[[[[[[[[]]]]]]]]]", "{\"a\":[[[[[[[[1]]]]]]]]}"};

Test(json, accepts_the_grammar) {
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        cr_expect_null(json_fault(text_of(good[i]), DEPTH), "%s", good[i]);
}

Test(json, refuses_everything_else) {
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        cr_expect_not_null(json_fault(text_of(bad[i]), DEPTH), "%s", bad[i]);
    cr_expect_not_null(json_fault((struct text){"\"a\0b\"", 5}, DEPTH));
    cr_expect_not_null(json_fault((struct text){"1\0", 2}, DEPTH));
    cr_expect_not_null(json_fault((struct text){"{}\0", 3}, DEPTH));
}

/* json-c accepts more than the grammar, but must accept everything that is accepted here. */
Test(json, accepts_nothing_that_json_c_refuses) {
    struct random random = random_for("accepts_nothing_that_json_c_refuses");
    size_t accepted = 0;
    for (size_t trial = 0; trial < random_trials(20000, 200000); trial++) {
        static const char *const pieces[] = {
            "{",     "}",       "[",  "]",    ",",     ":",        "\"",      "a",
            "\"a\"", "\"b\":",  "1",  "-",    "0",     ".",        "e",       "true",
            " ",     "\\u00e9", "{}", "null", "[1,2]", "\"x\":{}", "{\"k\":", "}"};
        char line[128] = "";
        for (size_t count = 1 + random_below(&random, 9); count > 0; count--)
            strcat(line, random_pick(&random, pieces)); // NOLINT: at most 9 pieces of 7
        if (json_fault(text_of(line), 30))
            continue;
        accepted++;
        enum json_tokener_error error;
        struct json_object *object = json_tokener_parse_verbose(line, &error);
        /* A bare number is complete only at the end of the text, which json-c does not know. */
        cr_assert(error == json_tokener_success || error == json_tokener_continue, "%s", line);
        json_object_put(object);
    }
    cr_assert_gt(accepted, 100);
}

static void expect_decoded(const char *string, const char *expected, size_t expected_length) {
    size_t length;
    char *decoded = json_decode(text_of(string), &length);
    cr_expect_eq(length, expected_length, "%s has %zu bytes", string, length);
    cr_expect_eq(memcmp(decoded, expected, expected_length), 0, "%s is %s", string, decoded);
    free(decoded);
}

Test(json, decodes_strings) {
    expect_decoded("\"\"", "", 0);
    expect_decoded("\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "a\"\\/\b\f\n\r\t", 9);
    expect_decoded("\"\\u0041\\u00e9\\u20AC\\uffff\"", "A\xc3\xa9\xe2\x82\xac\xef\xbf\xbf", 9);
    expect_decoded("\"\\u07ff\\u0800\"", "\xdf\xbf\xe0\xa0\x80", 5);
    expect_decoded("\"\\ud83d\\ude00\\ud800\\udc00\\udbff\\udfff\"",
                   "\xf0\x9f\x98\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 12);
    expect_decoded("\"a\\u0000b\"", "a\0b", 3);
    expect_decoded("\"\\ud800x\"", "\xef\xbf\xbdx", 4);
    expect_decoded("\"\\udc00\\ud800\"", "\xef\xbf\xbd\xef\xbf\xbd", 6);
    expect_decoded("\"\\ud800\\ud83d\\ude00\"", "\xef\xbf\xbd\xf0\x9f\x98\x80", 7);
}

Test(json, decodes_what_it_quoted) {
    char bytes[256];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i < 128 ? i : 'x');
    char *quoted = json_quote(bytes, sizeof bytes);
    cr_assert_null(json_fault(text_of(quoted), 1));
    expect_decoded(quoted, bytes, sizeof bytes);
    free(quoted);
}

Test(json, finds_lone_surrogates) {
    static const char *const lone[] = {"\"\\ud800\"", "\"\\udfff\"", "[1,{\"a\":\"\\ud83dx\"}]",
                                       "{\"\\ud800\":1}", "\"\\ude00\\ud83d\""};
    static const char *const fine[] = {"\"\\ud83d\\ude00\"", "\"\\\\ud800\"",
                                       "[\"\xf0\x9f\x98\x80\"]"};
    for (size_t i = 0; i < sizeof lone / sizeof lone[0]; i++)
        cr_expect(json_has_lone_surrogate(text_of(lone[i])), "%s", lone[i]);
    for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++)
        cr_expect_not(json_has_lone_surrogate(text_of(fine[i])), "%s", fine[i]);
}

Test(json, finds_members) {
    struct text object =
                    text_of("{ \"a\" : 1 , \"b\":{\"c\":[true, \"x\"]}, \"\\u0061\":2,\"\":3 }"),
                value;
    cr_assert_eq(json_members_named(object, "a", &value), 2);
    cr_assert(text_is(value, "2"));
    cr_assert(json_has_twins(object));
    cr_assert(json_member(object, "", &value) && text_is(value, "3"));
    cr_assert(json_at(object, &value, "b", "c", NULL) && text_is(value, "[true, \"x\"]"));
    struct text element;
    cr_assert_eq(json_count(value), 2);
    cr_assert(json_element(value, 1, &element) && text_is(element, "\"x\""));
    cr_assert_not(json_element(value, 2, &element));
    cr_assert_not(json_at(object, &value, "b", "d", NULL));
    cr_assert_not(json_member(text_of("[1]"), "a", &value));
    cr_assert_eq(json_count(text_of("[]")), 0);
    cr_assert_eq(json_count(text_of("5")), 0);
}

Test(json, compares_ids_by_type_and_value) {
    static const struct {
        const char *one, *other;
        bool same;
    } pairs[] = {
        {"1", "1", true},
        {"1", "\"1\"", false},
        {"1", "1.0", false},
        {"0", "-0", false},
        {"null", "null", true},
        {"\"\\u0061\"", "\"a\"", true},
        {"\"\"", "null", false},
        {"\"a\\/\"", "\"a/\"", true},
        {"12", "123", false},
        {"\"a\\u0000b\"", "\"a\"", false},
        {"123456789012345678901234567890", "123456789012345678901234567890", true},
        {"123456789012345678901234567890", "123456789012345678901234567891", false},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        cr_expect_eq(json_same_id(text_of(pairs[i].one), text_of(pairs[i].other)), pairs[i].same,
                     "%s and %s", pairs[i].one, pairs[i].other);
}

/* wire */

static const char *const messages[] = {
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
    "{\"id\":\"a\",\"result\":{\"x\":[]},\"jsonrpc\":\"2.0\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"m\"}}",
    "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"error\":{\"code\":-32600,\"message\":\"m\",\"data\":{}}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"roots/list\"}",
};

static const char *const no_messages[] = {
    "",
    "text",
    "[]",
    "5",
    "{}",
    "{\"jsonrpc\":\"2.0\",\"id\":1}",
    "{\"id\":1,\"result\":{}}",
    "{\"jsonrpc\":\"1.0\",\"id\":1,\"result\":{}}",
    "{\"jsonrpc\":2.0,\"id\":1,\"result\":{}}",
    "{\"jsonrpc\":\"2.0\",\"result\":{}}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{\"code\":1,\"message\":\"m\"}}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}",
    "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}",
    "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"result\":{}}",
    "{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{\"code\":1,\"message\":\"m\"}}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":\"1\",\"message\":\"m\"}}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1.5,\"message\":\"m\"}}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1}}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"\"}}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"m\",\"data\":\"x\"}}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":5}",
    "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":1,\"message\":\"m\"}}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":1,\"result\":{}}",
    "{\"jsonrpc\":\"2.0\",\"method\":5}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":[]}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"result\":{}}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r",
    "{\"jsonrpc\":\"2.0\",\n\"id\":1,\"result\":{}}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"x\":\"\\ud800\"}}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"x\":\"\xff\"}}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"x\":NaN}}",
};

Test(wire, accepts_messages_and_nothing_else) {
    struct wire_message message;
    for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
        const char *fault = wire_fault(text_of(messages[i]), &message);
        cr_expect_null(fault, "%s: %s", messages[i], fault);
    }
    for (size_t i = 0; i < sizeof no_messages / sizeof no_messages[0]; i++)
        cr_expect_not_null(wire_fault(text_of(no_messages[i]), &message), "%s", no_messages[i]);
}

Test(wire, returns_the_parts_of_a_message) {
    struct wire_message message;
    cr_assert_null(wire_fault(text_of(messages[3]), &message));
    cr_assert_eq(message.kind, WIRE_ERROR);
    cr_assert_eq(message.code, -32600);
    cr_assert(text_is(message.id, "1.5"));
    cr_assert_null(wire_fault(text_of(messages[1]), &message));
    cr_assert_eq(message.kind, WIRE_RESULT);
    cr_assert(text_is(message.body, "{\"x\":[]}"));
}

Test(wire, accepts_arrays_of_responses_as_batches) {
    cr_assert_null(wire_batch_fault(text_of("[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}]")));
    cr_assert_not_null(wire_batch_fault(text_of("[]")));
    cr_assert_not_null(wire_batch_fault(text_of("[5]")));
    cr_assert_not_null(wire_batch_fault(text_of("[{\"jsonrpc\":\"2.0\",\"method\":\"x\"}]")));
}
