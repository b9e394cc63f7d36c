/* supervisor/json_write: whatever bytes go in, strict JSON on one line comes out and means them. */
#include "common/utf8.h"
#include "supervisor/json_write.h"
#include "tests/support/json.h"
#include "tests/support/random.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct text text_in(const struct buffer *buffer) {
    return (struct text){(const char *)buffer->data, buffer->length};
}

/* What is written for BYTES, read back, is BYTES repaired. */
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

Test(json_write, escapes_what_must_be_and_nothing_else) {
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

Test(json_write, remembers_that_there_was_no_room) {
    for (size_t room = 0; room < 12; room++) {
        cleanup_buffer struct buffer out = buffer_make(room);
        json_write_string(&out, "a\nb\xff");
        cr_expect_eq(out.failed, room < 9, "room %zu", room);
    }
}
