/* supervisor/json/json_write: any bytes become strict JSON on one line with the same meaning. */
#include "common/utf8.h"
#include "supervisor/json/json_number.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "tests/support/json.h"
#include "tests/support/random.h"
#include <criterion/criterion.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct text text_in(const struct buffer *buffer) {
    return (struct text){(const char *)buffer->data, buffer->length};
}

/* The string written for BYTES is read as BYTES repaired. */
static void expect_round_trip(const unsigned char *bytes, size_t size) {
    cleanup_buffer struct buffer out = buffer_make(10000), repaired = buffer_make(10000);
    json_write_bytes(&out, bytes, size);
    cr_assert_not(out.failed);
    struct text written = text_in(&out);
    const char *fault = json_fault(written, 0);
    cr_assert_null(fault, "%s", fault);
    cr_assert_eq(json_kind(written), VALUE_STRING);
    cr_assert_null(memchr(written.bytes, '\n', written.length));
    size_t length;
    char *decoded = json_decode(written, &length);
    cr_assert(utf8_append_repaired(&repaired, bytes, size));
    cr_assert_eq(length, repaired.length);
    cr_assert(length == 0 || memcmp(decoded, repaired.data, length) == 0);
    free(decoded);
}

Test(json_write, writes_every_byte) {
    for (unsigned byte = 0; byte < 256; byte++)
        expect_round_trip((unsigned char[]){'a', (unsigned char)byte, 'z'}, 3);
    expect_round_trip(NULL, 0);
}

Test(json_write, writes_every_pair_of_bytes) {
    for (unsigned first = 0; first < 256; first++)
        for (unsigned second = 0; second < 256; second++)
            expect_round_trip((unsigned char[]){(unsigned char)first, (unsigned char)second}, 2);
}

Test(json_write, writes_random_bytes) {
    struct random random = random_for("writes_random_bytes");
    for (size_t trial = 0; trial < random_trials(5000, 100000); trial++) {
        unsigned char bytes[200];
        size_t size = random_below(&random, sizeof bytes);
        for (size_t i = 0; i < size; i++)
            bytes[i] =
                (unsigned char)random_below(&random, random_percent(&random, 50) ? 256 : 128);
        expect_round_trip(bytes, size);
    }
}

static void expect_written(const char *text, const char *json) {
    cleanup_buffer struct buffer out = buffer_make(1000);
    json_write_string(&out, text);
    cr_expect(text_is(text_in(&out), json), "%s", text);
}

Test(json_write, escapes_only_what_json_requires) {
    expect_written("plain / text", "\"plain / text\"");
    expect_written("\"\\", "\"\\\"\\\\\"");
    expect_written("\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\"");
    expect_written("\x01\x1f\x7f", "\"\\u0001\\u001f\x7f\"");
    expect_written("\xc3\xa9\xe2\x80\xa8\xf0\x9f\x90\x8d",
                   "\"\xc3\xa9\xe2\x80\xa8\xf0\x9f\x90\x8d\"");
    expect_written("\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

Test(json_write, writes_names) {
    cleanup_buffer struct buffer out = buffer_make(100);
    json_write_name(&out, "a\"b");
    cr_assert(text_is(text_in(&out), "\"a\\\"b\":"));
}

Test(json_write, reports_that_the_buffer_was_full) {
    for (size_t room = 0; room < 12; room++) {
        cleanup_buffer struct buffer out = buffer_make(room);
        json_write_string(&out, "a\nb\xff");
        cr_expect_eq(out.failed, room < 9, "room %zu", room);
    }
}

/* Wherever the limit falls: between plain characters, in an escape, in a multibyte character. */
Test(json_write, fails_one_byte_below_the_required_size) {
    static const char *const texts[] = {"",
                                        "plain",
                                        "\"",
                                        "\x01",
                                        "plain, and then\x1f",
                                        "\n\n\n\n\n\n\n\n\x02\x02",
                                        "1234567\xC3\xA9",
                                        "12345678\xF0\x9F\x90\x8D\"",
                                        "\xFF",
                                        "good \xE2\x82 bad \xC0\xAF"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        cleanup_buffer struct buffer whole = buffer_make(1000);
        json_write_string(&whole, texts[i]);
        cr_assert_not(whole.failed);
        for (size_t room = 0; room <= whole.length; room++) {
            cleanup_buffer struct buffer out = buffer_make(room);
            json_write_string(&out, texts[i]);
            cr_expect_eq(out.failed, room < whole.length, "%s in %zu", texts[i], room);
            cr_expect_leq(out.length, room);
        }
    }
}

/* One mebibyte that becomes six: input that cannot fit, or follows a failure, is not processed. */
Test(json_write, does_no_work_once_the_buffer_is_full) {
    enum { SIZE = 1 << 20, ROOM = 1000 };
    char *text = calloc(1, SIZE);
    cleanup_buffer struct buffer small = buffer_make(ROOM), middle = buffer_make(SIZE + 100);
    json_write_bytes(&small, text, SIZE);
    cr_expect(small.failed);
    cr_expect_leq(small.length, 1, "it could not fit");
    json_write_bytes(&middle, text, SIZE);
    cr_expect(middle.failed);
    size_t length = middle.length;
    json_write_bytes(&middle, "more", 4);
    json_write_string(&middle, "more");
    cr_expect_leq(middle.length, length + 2, "nothing but quotes");
    free(text);
}

/* --- trees --- */

/* NOLINTNEXTLINE(misc-no-recursion): four deep */
static struct json_object *random_tree(struct random *random, int depth) {
    struct json_object *value;
    char text[24];
    size_t size = random_below(random, sizeof text), count = random_below(random, 5);
    for (size_t i = 0; i < size; i++)
        text[i] = (char)random_below(random, 128);
    switch (random_below(random, depth ? 8 : 6)) {
    case 0:
        return NULL;
    case 1:
        return json_object_new_boolean((json_bool)random_below(random, 2));
    case 2:
        return json_object_new_int64((int64_t)random_bits(random) >> random_below(random, 64));
    case 3:
        snprintf(text, sizeof text, "%" PRIu64, random_bits(random));
        return json_number_make(string_span(text));
    case 4:
        snprintf(text, sizeof text, "%.17g", (double)random_bits(random) / 1e9);
        return json_number_make(string_span(text));
    case 5:
        return json_object_new_string_len(text, (int)size);
    case 6:
        value = json_object_new_array();
        while (count--)
            json_object_array_add(value, random_tree(random, depth - 1));
        return value;
    default:
        value = json_object_new_object();
        for (; count; count--) {
            snprintf(text, sizeof text, "k\"%u\n", (unsigned)random_below(random, 10));
            json_object_object_add(value, text, random_tree(random, depth - 1));
        }
        return value;
    }
}

Test(json_write, writes_trees_as_the_library_does) {
    struct random random = random_for("writes_trees");
    for (size_t trial = 0; trial < random_trials(5000, 100000); trial++) {
        struct json_object *value = random_tree(&random, 4);
        const char *expected = json_object_to_json_string_ext(
            value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
        cleanup_buffer struct buffer out = buffer_make(1 << 20);
        json_write_tree(&out, value);
        cr_assert_not(out.failed);
        cr_assert(text_is(text_in(&out), expected), "%s", expected);
        cleanup_buffer struct buffer less = buffer_make(out.length - 1);
        json_write_tree(&less, value);
        cr_assert(less.failed);
        json_object_put(value);
    }
}

Test(json_write, keeps_the_digits_of_parsed_numbers) {
    static const char *const texts[] = {"-9223372036854775808",
                                        "9223372036854775807",
                                        "18446744073709551615",
                                        "-9223372036854775809",
                                        "9223372036854775808",
                                        "123456789012345678901234567890",
                                        "0",
                                        "-0",
                                        "[1.10,-0.0,1e5]",
                                        "{\"a\":[{},[]]}",
                                        "[1e400,-1E-400,0e0]",
                                        "[1.0e+0,1e-07,0.10]",
                                        "[true,false,null]"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct json_object *value = json_tree_parse(string_span(texts[i]));
        cleanup_buffer struct buffer out = buffer_make(100);
        json_write_tree(&out, value);
        cr_expect(text_is(text_in(&out), texts[i]), "%s", texts[i]);
        json_object_put(value);
    }
}

/* --- raw values --- */

static void expect_raw(const char *text, const char *expected) {
    cleanup_buffer struct buffer out = buffer_make(1000);
    json_write_raw(&out, text, strlen(text));
    cr_expect(text_is(text_in(&out), expected), "%s", text);
}

Test(json_write, changes_only_newlines_and_lone_surrogates_of_raw_values) {
    expect_raw("{\"a\" :\n[1,\r\n2]}", "{\"a\" : [1,  2]}");
    expect_raw("123456789012345678901234567890", "123456789012345678901234567890");
    expect_raw("\"\\n\\\\u\\u0041\\\"\"", "\"\\n\\\\u\\u0041\\\"\"");
    expect_raw("\"\\ud83d\\uDE00\"", "\"\\ud83d\\uDE00\"");
    expect_raw("\"\\ud83d\"", "\"\\ufffd\"");
    expect_raw("\"\\ud83d\\n\\ude00\"", "\"\\ufffd\\n\\ufffd\"");
    expect_raw("\"\\ud83d\\ud83d\\ude00\"", "\"\\ufffd\\ud83d\\ude00\"");
    expect_raw("\"\\ud83d\\u0041\"", "\"\\ufffd\\u0041\"");
    cleanup_buffer struct buffer less = buffer_make(2);
    json_write_raw(&less, "[1]", 3);
    cr_expect(less.failed);
    cr_expect_eq(less.length, 0);
}
