/* supervisor/json/json_reader: reading a text in slices has the same result as reading it at once.
 */
#include "supervisor/json/json_reader.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include <criterion/criterion.h>
#include <string.h>

enum { TEXT_MAX = 64 << 20 };

static struct buffer repeated(const char *before, const char *item, size_t count,
                              const char *separator, const char *after) {
    struct buffer text = buffer_make(TEXT_MAX);
    buffer_append_text(&text, before);
    for (size_t i = 0; i < count; i++) {
        buffer_append_text(&text, i ? separator : "");
        buffer_append_text(&text, item);
    }
    buffer_append_text(&text, after);
    cr_assert_not(text.failed);
    return text;
}

static void expect_equal(struct json_object *left, struct json_object *right) {
    struct buffer written[2] = {buffer_make(TEXT_MAX), buffer_make(TEXT_MAX)};
    json_write_tree(&written[0], left);
    json_write_tree(&written[1], right);
    cr_expect(written[0].length == written[1].length &&
              memcmp(written[0].data, written[1].data, written[0].length) == 0);
    buffer_free(&written[0]);
    buffer_free(&written[1]);
}

/* Returns the number of slices. */
static size_t read_text(struct json_reader *reader, struct span text, struct json_limits limits) {
    size_t slices = 1;
    json_reader_begin(reader, text, limits);
    while (json_reader_check(reader))
        slices++;
    if (reader->fault != JSON_FINE)
        return slices;
    json_reader_parse(reader, (struct span){0});
    while (json_reader_step(reader))
        slices++;
    return slices;
}

static const struct {
    const char *before, *item, *separator, *after;
} texts[] = {
    {"[", "{\"a\":[1,2.5,\"\\u00e9\\n\"]}", ",", "]"},
    {"{\"id\":7,\"text\":\"", "\xc3\xa9\\ud83d\\ude00\\n\xf0\x9f\x98\x80", "", "\"}"},
    {"  [", "[[[]]]", " , ", "]  "},
    {"[", "-1.5e3", ",", "]"},
    {"[\"", "\xff", "", "\"]"}, /* not UTF-8 */
    {"[", "[", ",", "]"},       /* too deep */
    {"[\"", "a", "\x01", "\"]"},
    {"", "{}", " ", ""},
    {"[", "{\"a\\u0000\":1}", ",", "]"},
    {"{\"a\":1}", " ", "", "x"},
};

Test(json_reader, reads_what_json_inspect_and_json_c_read) {
    static const size_t counts[] = {0, 1, 7, 3000, 60000};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t j = 0; j < sizeof counts / sizeof *counts; j++) {
            struct buffer text = repeated(texts[i].before, texts[i].item, counts[j],
                                          texts[i].separator, texts[i].after);
            const struct span span = {text.data, text.length};
            const struct json_limits limits = {.depth = 128};
            struct json_shape shape;
            struct json_reader reader;
            enum json_fault fault = json_inspect(span.bytes, span.length, limits, &shape);
            size_t slices = read_text(&reader, span, limits);
            cr_assert_eq(reader.fault, fault, "%zu, %zu times", i, counts[j]);
            cr_assert_eq(reader.shape.fault_at, shape.fault_at);
            cr_assert_eq(reader.shape.id.text.bytes, shape.id.text.bytes);
            if (fault == JSON_FINE) {
                struct json_object *whole = json_tree_parse(span);
                expect_equal(reader.root, whole);
                json_object_put(whole);
                cr_assert(text.length < (1 << 18) || slices > 8);
            }
            json_reader_free(&reader);
            buffer_free(&text);
        }
}

Test(json_reader, stops_at_the_limit_of_values) {
    struct buffer text = repeated("[", "1", 1000000, ",", "]");
    struct json_reader reader;
    size_t slices =
        read_text(&reader, (struct span){text.data, text.length}, (struct json_limits){128, 500});
    cr_assert_eq(reader.fault, JSON_TOO_MANY);
    cr_assert_leq(slices, 2);
    json_reader_free(&reader);
    buffer_free(&text);
}

Test(json_reader, reads_a_value_at_the_end_of_the_text) {
    static const char *const values[] = {"1234", "true", "\"a\"", "null", "-0.5", "{}"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        const struct span span = {(const unsigned char *)values[i], strlen(values[i])};
        struct json_reader reader;
        read_text(&reader, span, (struct json_limits){.depth = 4});
        struct json_object *whole = json_tree_parse(string_span(values[i]));
        expect_equal(reader.root, whole);
        json_object_put(whole);
        json_reader_free(&reader);
    }
}

Test(json_reader, leaves_out_a_value) {
    struct buffer text = repeated("{\"a\":1,\"structuredContent\" : ", "[1,{\"b\":2}", 40, ",", "");
    for (int i = 0; i < 40; i++)
        buffer_append_text(&text, "]");
    buffer_append_text(&text, " ,\"c\":3}");
    struct json_reader reader;
    json_reader_begin(&reader, (struct span){text.data, text.length},
                      (struct json_limits){.depth = 128});
    while (json_reader_check(&reader))
        continue;
    cr_assert_eq(reader.fault, JSON_FINE);
    cr_assert_eq(reader.shape.structured_count, 1);
    json_reader_parse(&reader, reader.shape.structured.text);
    while (json_reader_step(&reader))
        continue;
    struct buffer written = buffer_make(TEXT_MAX);
    json_write_tree(&written, reader.root);
    buffer_append(&written, "", 1);
    cr_assert_str_eq((const char *)written.data, "{\"a\":1,\"structuredContent\":null,\"c\":3}");
    buffer_free(&written);
    json_reader_free(&reader);
    buffer_free(&text);
}

Test(json_reader, can_end_in_the_middle) {
    struct buffer text = repeated("[", "{\"a\":\"b\"}", 60000, ",", "]");
    struct json_reader reader;
    json_reader_begin(&reader, (struct span){text.data, text.length},
                      (struct json_limits){.depth = 128});
    cr_assert(json_reader_check(&reader));
    json_reader_free(&reader);
    json_reader_begin(&reader, (struct span){text.data, text.length},
                      (struct json_limits){.depth = 128});
    while (json_reader_check(&reader))
        continue;
    json_reader_parse(&reader, (struct span){0});
    cr_assert(json_reader_step(&reader));
    json_reader_free(&reader);
    buffer_free(&text);
}

Test(json_reader, a_number_of_too_many_digits_is_refused) {
    for (size_t count = JSON_NUMBER_MAX_BYTES; count <= JSON_NUMBER_MAX_BYTES + 1; count++) {
        struct buffer text = repeated("[", "1", count, "", "]");
        struct json_shape shape;
        cr_assert_eq(json_inspect(text.data, text.length, (struct json_limits){.depth = 8}, &shape),
                     count > JSON_NUMBER_MAX_BYTES ? JSON_LONG_NUMBER : JSON_FINE);
        buffer_free(&text);
    }
}
