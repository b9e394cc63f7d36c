/* supervisor/json/json_inspect: only strict JSON passes, and ids are found and compared exactly.
 * Judged by tables and by the tests' own reader. */
#include "supervisor/json/json_inspect.h"
#include "tests/support/generate.h"
#include "tests/support/json.h"
#include "tests/support/random.h"
#include "tests/support/span.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 20 };

static const struct json_limits usual = {.depth = DEPTH};

static enum json_fault inspect(const char *text, size_t length, struct json_shape *shape) {
    /* An exact copy, so that the sanitizer sees a read beyond the end. */
    unsigned char *copy = malloc(length ? length : 1);
    cr_assert_not_null(copy);
    if (length)
        memcpy(copy, text, length);
    enum json_fault fault = json_inspect(copy, length, usual, shape);
    free(copy);
    return fault;
}

static enum json_fault fault_of(const char *text) {
    struct json_shape shape;
    return inspect(text, strlen(text), &shape);
}

Test(json_inspect, distinguishes_the_faults) {
    static const struct {
        const char *text;
        enum json_fault fault;
    } cases[] = {
        {"{}", JSON_FINE},
        {" [1,\"a\",null,true,false,-0.5e+1] ", JSON_FINE},
        {"\"\xc3\xa9\\u00e9\\ud83d\\ude00\"", JSON_FINE},
        {"1e999", JSON_FINE},
#define MALFORMED(text) {text, JSON_NOT_JSON},
#define NOT_UTF8(text)  {text, JSON_NOT_UTF8},
#include "tests/support/malformed_json.def"
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        cr_expect_eq(fault_of(cases[i].text), cases[i].fault, "%s is %d", cases[i].text,
                     (int)fault_of(cases[i].text));
}

Test(json_inspect, a_zero_byte_is_not_json) {
    struct json_shape shape;
    cr_expect_eq(inspect("{}\0", 3, &shape), JSON_NOT_JSON);
    cr_expect_eq(inspect("\"a\0\"", 4, &shape), JSON_NOT_JSON);
    cr_expect_eq(inspect("\"\\\0\"", 4, &shape), JSON_NOT_JSON);
}

Test(json_inspect, depth_is_counted_in_containers) {
    char text[4 * DEPTH + 8];
    for (size_t depth = DEPTH - 1; depth <= DEPTH + 1; depth++) {
        struct json_shape shape;
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        cr_expect_eq(inspect(text, 2 * depth, &shape), depth <= DEPTH ? JSON_FINE : JSON_TOO_DEEP,
                     "depth %zu", depth);
    }
}

Test(json_inspect, extreme_depth_is_refused_safely) {
    enum { HUGE = 1 << 20 };
    static char text[HUGE];
    struct json_shape shape;
    memset(text, '[', HUGE);
    cr_assert_eq(
        json_inspect((unsigned char *)text, HUGE, (struct json_limits){.depth = 512}, &shape),
        JSON_TOO_DEEP);
}

Test(json_inspect, values_are_counted) {
    static const struct {
        const char *text;
        size_t values;
    } cases[] = {{"1", 1}, {"[]", 1}, {"[1,2]", 3}, {"{\"a\":[1,{}],\"b\":null}", 5}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t limit = 1; limit <= cases[i].values; limit++) {
            struct json_shape shape;
            enum json_fault fault =
                json_inspect((const unsigned char *)cases[i].text, strlen(cases[i].text),
                             (struct json_limits){.depth = 9, .values = limit}, &shape);
            cr_expect_eq(fault, limit < cases[i].values ? JSON_TOO_MANY : JSON_FINE, "%s, %zu",
                         cases[i].text, limit);
        }
}

Test(json_inspect, finds_the_id_as_written) {
    static const struct {
        const char *text, *id;
        bool integer;
    } cases[] = {
        {"{\"id\":1}", "1", true},
        {"{\"id\":-0}", "-0", true},
        {"{\"id\":12345678901234567890123}", "12345678901234567890123", true},
        {"{\"id\":1.0}", "1.0", false},
        {"{\"id\":1e3}", "1e3", false},
        {"{ \"x\" : {\"id\":2} , \"id\" : \"a\\u0041\\\"\" }", "\"a\\u0041\\\"\"", false},
        {"{\"\\u0069d\":3}", "3", true},
        {"{\"\\u0069\\u0064\":3}", "3", true},
        {"{\"id\":1,\"id\":2}", "2", true},
        {"{\"id\":null}", "null", false},
        {"{\"id\":[1,{\"id\":2}],\"z\":0}", "[1,{\"id\":2}]", false},
        {"{\"x\":[{\"id\":1}],\"ID\":2,\"id \":3,\"i\":4,\"idx\":5}", NULL, false},
        {"[{\"id\":1}]", NULL, false},
        {"{\"x\":\"\\\"id\\\":5\"}", NULL, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct json_shape shape;
        const char *text = cases[i].text;
        cr_assert_eq(json_inspect((const unsigned char *)text, strlen(text), usual, &shape),
                     JSON_FINE);
        if (!cases[i].id) {
            cr_expect_null(shape.id.text.bytes, "%s", text);
            continue;
        }
        cr_assert_not_null(shape.id.text.bytes, "%s", text);
        /* Of a container, which cannot be an id, only the beginning is kept. */
        struct text id = {(const char *)shape.id.text.bytes, shape.id.text.length};
        if (shape.id.kind == JSON_ARRAY || shape.id.kind == JSON_OBJECT)
            cr_expect_eq(id.bytes[0], cases[i].id[0], "%s", text);
        else
            cr_expect(text_is(id, cases[i].id), "%s", text);
        cr_expect_eq(shape.id.is_integer, cases[i].integer, "%s", text);
    }
}

Test(json_inspect, finds_the_request_id_in_params) {
    static const struct {
        const char *text, *id;
    } cases[] = {
        {"{\"params\":{\"requestId\":7}}", "7"},
        {"{\"params\":{\"x\":{\"requestId\":8},\"request\\u0049d\":\"7\"},\"id\":1}", "\"7\""},
        {"{\"params\":{\"requestId\":7},\"params\":{}}", NULL},
        {"{\"params\":[{\"requestId\":7}]}", NULL},
        {"{\"x\":{\"requestId\":7}}", NULL},
        {"{\"requestId\":7}", NULL},
        {"{\"params\":{\"a\":{\"requestId\":7}}}", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct json_shape shape;
        cr_assert_eq(json_inspect((const unsigned char *)cases[i].text, strlen(cases[i].text),
                                  usual, &shape),
                     JSON_FINE);
        struct text id = {(const char *)shape.request_id.text.bytes, shape.request_id.text.length};
        if (cases[i].id)
            cr_expect(id.bytes && text_is(id, cases[i].id), "%s", cases[i].text);
        else
            cr_expect_null(id.bytes, "%s", cases[i].text);
    }
}

static struct json_token token_of(const char *text) {
    return (struct json_token){.text = {(const unsigned char *)text, strlen(text)},
                               .kind = text[0] == '"' ? JSON_STRING : JSON_NUMBER};
}

Test(json_inspect, tokens_are_equal_by_type_and_value) {
    static const struct {
        const char *left, *right;
        bool equal;
    } pairs[] = {
        {"7", "7", true},
        {"7", "\"7\"", false},
        {"7", "70", false},
        {"0", "-0", false},
        {"\"a\"", "\"a\"", true},
        {"\"a\"", "\"\\u0061\"", true},
        {"\"a\"", "\"ab\"", false},
        {"\"\"", "\"\\u0000\"", false},
        {"\"\\n\\t\\/\\\\\\\"\"", "\"\\u000a\\u0009/\\u005c\\u0022\"", true},
        {"\"\xc3\xa9\"", "\"\xc3\xa9\"", true},
        {"\"\xc3\xa9\"", "\"\\u00c3\\u00a9\"", false},
        {"\"\xc3\xa9\"", "\"\xc3\xa8\"", false},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct json_token left = token_of(pairs[i].left), right = token_of(pairs[i].right);
        cr_expect_eq(json_token_equal(&left, &right), pairs[i].equal, "%s and %s", pairs[i].left,
                     pairs[i].right);
        cr_expect_eq(json_token_equal(&right, &left), pairs[i].equal, "%s and %s", pairs[i].right,
                     pairs[i].left);
    }
}

Test(json_inspect, iterates_over_the_elements_of_an_array) {
    static const char *const arrays[] = {"[]", " [ ] ", "[1]",
                                         "[ {\"a\":[1,2]} , \"],[\" ,[[]],-1.5e3 ]"};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        struct text array = text_of(arrays[i]), expected;
        struct span element;
        size_t offset = 0, index = 0;
        while (json_next_element((struct span){(const unsigned char *)array.bytes, array.length},
                                 &offset, &element)) {
            cr_assert(json_element(array, index++, &expected), "%s", arrays[i]);
            cr_assert_eq((const char *)element.bytes, expected.bytes, "%s", arrays[i]);
            size_t length = element.length; /* blanks after it may count */
            while (length > expected.length && element.bytes[length - 1] == ' ')
                length--;
            cr_assert_eq(length, expected.length, "%s", arrays[i]);
        }
        cr_assert_eq(index, json_count(array), "%s", arrays[i]);
    }
}

Test(json_inspect, iterates_over_the_members_of_an_object) {
    static const char text[] =
        " { \"a\" : [1, {\"b\":2}] ,\"\\\"}\":\"]},\\\"\",\"c\":{\"d\":{}}, \"\" :null } ";
    static const char *const members[][2] = {{"\"a\"", "[1, {\"b\":2}]"},
                                             {"\"\\\"}\"", "\"]},\\\"\""},
                                             {"\"c\"", "{\"d\":{}}"},
                                             {"\"\"", "null"}};
    const struct span object = {(const unsigned char *)text, sizeof text - 1};
    const struct span empty = {(const unsigned char *)"{ }", 3};
    struct json_token name;
    struct span value;
    size_t offset = 0, index = 0;
    for (; json_next_member(object, &offset, &name, &value); index++) {
        cr_assert_lt(index, sizeof members / sizeof *members);
        cr_expect(span_is(name.text, members[index][0]));
        cr_expect(span_is(value, members[index][1]));
    }
    cr_expect_eq(index, sizeof members / sizeof *members);
    offset = 0;
    cr_expect_not(json_next_member(empty, &offset, &name, &value));
}

/* Thousands of lines of every kind. */
Test(json_inspect, agrees_with_the_reader_of_the_tests) {
    struct generator generator = generate_for("agrees_with_the_reader_of_the_tests");
    size_t fine = 0;
    size_t trials = random_trials(20000, 200000);
    for (size_t trial = 0; trial < trials; trial++) {
        cleanup_buffer struct buffer line = buffer_make(1 << 20);
        generate_line(&generator,
                      GENERATE_VALID | GENERATE_REFUSED | GENERATE_ILL_FORMED |
                          GENERATE_UNREADABLE | GENERATE_MUTATED | GENERATE_BATCH | GENERATE_TWINS,
                      &line);
        struct text text = {(const char *)line.data, line.length};
        struct json_shape shape;
        const char *why = json_fault(text, DEPTH);
        enum json_fault fault = inspect(text.bytes, text.length, &shape);
        cr_assert_eq(fault == JSON_FINE, why == NULL, "%.*s: %d and %s", (int)text.length,
                     text.bytes, (int)fault, why ? why : "fine");
        fine += fault == JSON_FINE;
    }
    cr_assert_gt(fine, trials / 10);
    cr_assert_lt(fine, trials - trials / 10);
}
