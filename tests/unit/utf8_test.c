/* common/utf8: every boundary of RFC 3629, and all of it by comparison with another decoder. */
#include "common/utf8.h"
#include "tests/support/json.h"
#include "tests/support/random.h"
#include <criterion/criterion.h>
#include <string.h>

#define BYTES(text) (const unsigned char *)(text), sizeof(text) - 1

/* A sequence, and its length, or 0 when it is ill-formed. */
static const struct {
    const char *bytes;
    size_t size, length;
    const char *what;
} sequences[] = {
    {"", 0, 0, "nothing"},
    {"\x00", 1, 1, "U+0000"},
    {"\x7f", 1, 1, "U+007F, the last of one byte"},
    {"\xc2\x80", 2, 2, "U+0080, the first of two bytes"},
    {"\xdf\xbf", 2, 2, "U+07FF, the last of two bytes"},
    {"\xe0\xa0\x80", 3, 3, "U+0800, the first of three bytes"},
    {"\xe0\xbf\xbf", 3, 3, "U+0FFF, the last behind E0"},
    {"\xe1\x80\x80", 3, 3, "U+1000"},
    {"\xec\xbf\xbf", 3, 3, "U+CFFF"},
    {"\xed\x80\x80", 3, 3, "U+D000"},
    {"\xed\x9f\xbf", 3, 3, "U+D7FF, the last before the surrogates"},
    {"\xee\x80\x80", 3, 3, "U+E000, the first behind the surrogates"},
    {"\xef\xbb\xbf", 3, 3, "U+FEFF"},
    {"\xef\xbf\xbd", 3, 3, "U+FFFD"},
    {"\xef\xbf\xbf", 3, 3, "U+FFFF, the last of three bytes"},
    {"\xf0\x90\x80\x80", 4, 4, "U+10000, the first of four bytes"},
    {"\xf0\xbf\xbf\xbf", 4, 4, "U+3FFFF, the last behind F0"},
    {"\xf1\x80\x80\x80", 4, 4, "U+40000"},
    {"\xf3\xbf\xbf\xbf", 4, 4, "U+FFFFF"},
    {"\xf4\x80\x80\x80", 4, 4, "U+100000"},
    {"\xf4\x8f\xbf\xbf", 4, 4, "U+10FFFF, the last of all"},
    {"\x80", 1, 0, "a continuation byte alone"},
    {"\xbf", 1, 0, "the last continuation byte alone"},
    {"\xc0\x80", 2, 0, "U+0000 in two bytes"},
    {"\xc0\xaf", 2, 0, "a slash in two bytes"},
    {"\xc1\xbf", 2, 0, "U+007F in two bytes"},
    {"\xc2", 1, 0, "two bytes cut off"},
    {"\xc2\x7f", 2, 0, "a second byte that is too small"},
    {"\xc2\xc0", 2, 0, "a second byte that is too large"},
    {"\xe0\x80\x80", 3, 0, "U+0000 in three bytes"},
    {"\xe0\x9f\xbf", 3, 0, "U+07FF in three bytes"},
    {"\xe0\xa0", 2, 0, "three bytes cut off"},
    {"\xe1\x80\x7f", 3, 0, "a third byte that is too small"},
    {"\xe1\x80\xc0", 3, 0, "a third byte that is too large"},
    {"\xed\xa0\x80", 3, 0, "U+D800, the first surrogate"},
    {"\xed\xad\xbf", 3, 0, "U+DB7F"},
    {"\xed\xaf\xbf\xed\xb0\x80", 6, 0, "a surrogate pair"},
    {"\xed\xbf\xbf", 3, 0, "U+DFFF, the last surrogate"},
    {"\xf0\x80\x80\x80", 4, 0, "U+0000 in four bytes"},
    {"\xf0\x8f\xbf\xbf", 4, 0, "U+FFFF in four bytes"},
    {"\xf0\x90\x80", 3, 0, "four bytes cut off"},
    {"\xf0\x90\x80\x7f", 4, 0, "a fourth byte that is too small"},
    {"\xf0\x90\x80\xc0", 4, 0, "a fourth byte that is too large"},
    {"\xf4\x90\x80\x80", 4, 0, "U+110000"},
    {"\xf5\x80\x80\x80", 4, 0, "U+140000"},
    {"\xf7\xbf\xbf\xbf", 4, 0, "U+1FFFFF"},
    {"\xf8\x88\x80\x80\x80", 5, 0, "five bytes"},
    {"\xfc\x84\x80\x80\x80\x80", 6, 0, "six bytes"},
    {"\xfe", 1, 0, "FE"},
    {"\xff", 1, 0, "FF"},
};
enum { SEQUENCES = sizeof sequences / sizeof sequences[0] };

Test(utf8, knows_each_boundary) {
    for (size_t i = 0; i < SEQUENCES; i++) {
        const unsigned char *bytes = (const unsigned char *)sequences[i].bytes;
        cr_expect_eq(utf8_sequence_length(bytes, sequences[i].size), sequences[i].length, "%s",
                     sequences[i].what);
        if (sequences[i].size)
            cr_expect_eq(utf8_is_valid(bytes, sequences[i].size),
                         sequences[i].length == sequences[i].size, "%s", sequences[i].what);
    }
}

Test(utf8, a_sequence_ends_where_the_input_ends) {
    for (size_t i = 0; i < SEQUENCES; i++)
        for (size_t size = 0; size < sequences[i].length; size++)
            cr_expect_eq(utf8_sequence_length((const unsigned char *)sequences[i].bytes, size), 0,
                         "%s, %zu bytes of it", sequences[i].what, size);
}

/* After any number of valid characters, since the reader works in strides. */
Test(utf8, the_valid_prefix_ends_at_the_first_fault) {
    for (size_t before = 0; before <= 20; before++)
        for (size_t i = 0; i < SEQUENCES; i++) {
            unsigned char text[40];
            size_t size = before + sequences[i].size;
            memset(text, 'a', sizeof text);
            memcpy(text + before, sequences[i].bytes, sequences[i].size);
            bool good = sequences[i].length == sequences[i].size;
            cr_assert_eq(utf8_valid_prefix(text, size), good ? size : before, "%s behind %zu",
                         sequences[i].what, before);
            cr_assert_eq(utf8_is_valid(text, size), good);
            if (sequences[i].size && good)
                cr_assert_eq(utf8_valid_prefix(text, sizeof text), sizeof text);
        }
}

Test(utf8, the_empty_string_is_valid) {
    cr_assert(utf8_is_valid(NULL, 0));
    cr_assert_eq(utf8_count((const unsigned char *)"", 0), 0);
    cr_assert_eq(utf8_offset((const unsigned char *)"", 0, 0), 0);
}

Test(utf8, encodes_every_code_point_and_reads_it_back) {
    for (uint32_t code = 0; code <= 0x110010; code++) {
        unsigned char bytes[5] = {0, 0, 0, 0, 0xaa};
        size_t length = utf8_encode(code, bytes);
        bool scalar = code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
        cr_assert_eq(bytes[4], 0xaa);
        cr_assert_eq(utf8_sequence_length(bytes, length), length, "U+%04X", code);
        cr_assert(json_utf8_valid((struct text){(const char *)bytes, length}), "U+%04X", code);
        if (!scalar)
            cr_assert(length == 3 && memcmp(bytes, "\xef\xbf\xbd", 3) == 0, "U+%04X", code);
    }
}

Test(utf8, all_pairs_of_bytes_agree_with_another_decoder) {
    for (unsigned first = 0; first < 256; first++)
        for (unsigned second = 0; second < 256; second++) {
            unsigned char bytes[] = {(unsigned char)first, (unsigned char)second, 0x80, 0x80};
            for (size_t size = 1; size <= sizeof bytes; size++)
                cr_assert_eq(utf8_is_valid(bytes, size),
                             json_utf8_valid((struct text){(const char *)bytes, size}),
                             "%02x %02x, %zu bytes", first, second, size);
        }
}

Test(utf8, random_bytes_agree_with_another_decoder) {
    struct random random = random_for("utf8_random_bytes");
    for (size_t trial = 0; trial < random_trials(20000, 200000); trial++) {
        unsigned char bytes[24];
        size_t size = random_below(&random, sizeof bytes);
        for (size_t i = 0; i < size; i++)
            bytes[i] =
                (unsigned char)(random_percent(&random, 50) ? random_below(&random, 256)
                                                            : 0x80 + random_below(&random, 64));
        cr_assert_eq(utf8_is_valid(bytes, size),
                     json_utf8_valid((struct text){(const char *)bytes, size}));
        size_t prefix = utf8_valid_prefix(bytes, size);
        cr_assert_leq(prefix, size);
        cr_assert(utf8_is_valid(bytes, prefix));
        cr_assert(prefix == size || utf8_sequence_length(bytes + prefix, size - prefix) == 0);
    }
}

Test(utf8, counts_characters_and_finds_their_offsets) {
    static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x8dz";
    static const size_t offsets[] = {0, 1, 3, 6, 10, 11};
    cr_assert_eq(utf8_count(BYTES(text)), 5);
    for (size_t i = 0; i < 6; i++)
        cr_assert_eq(utf8_offset(BYTES(text), i), offsets[i], "character %zu", i);
    cr_assert_eq(utf8_offset(BYTES(text), 6), 11);
    cr_assert_eq(utf8_offset(BYTES(text), SIZE_MAX), 11);
}

/* One U+FFFD for each "maximal subpart", as the Unicode standard recommends in section 3.9. */
Test(utf8, replaces_ill_formed_sequences) {
    static const struct {
        const char *from, *to;
    } repairs[] = {
        {"plain", "plain"},
        {"\xff", "?"},
        {"a\xff"
         "b",
         "a?b"},
        {"\xc3\x28", "?("},
        {"\xe2\x82", "?"},
        {"\xe2\x82z", "?z"},
        {"\xf0\x9f\x90", "?"},
        {"\xf0\x9f\x90z\xf0\x9f", "?z?"},
        {"\xe2\x28\xa1", "?(?"},
        {"\x80\x80", "??"},
        {"\xc0\xaf", "??"},
        {"\xed\xa0\x80", "???"},
        {"\xf4\x90\x80\x80", "????"},
        {"\xf0\x80\x80\xaf", "????"},
        {"\xe0\x80\xaf", "???"},
        {"\xc3\xa9\xc3", "\xc3\xa9?"},
        {"\xf1\x80\x80\xe1\x80\xc2\x62\x80\x63\x80\xbf\x64", "???b?c??d"},
    };
    for (size_t i = 0; i < sizeof repairs / sizeof repairs[0]; i++) {
        cleanup_buffer struct buffer out = buffer_make(100), expected = buffer_make(100);
        for (const char *at = repairs[i].to; *at; at++)
            buffer_append(&expected, *at == '?' ? "\xef\xbf\xbd" : at, *at == '?' ? 3 : 1);
        cr_assert(utf8_append_repaired(&out, (const unsigned char *)repairs[i].from,
                                       strlen(repairs[i].from)));
        cr_assert_eq(out.length, expected.length, "repair %zu", i);
        cr_assert_eq(memcmp(out.data, expected.data, out.length), 0, "repair %zu", i);
    }
}

Test(utf8, a_repaired_string_is_valid_and_a_valid_one_is_unchanged) {
    struct random random = random_for("utf8_repaired");
    for (size_t trial = 0; trial < random_trials(5000, 50000); trial++) {
        unsigned char bytes[32];
        size_t size = random_below(&random, sizeof bytes);
        for (size_t i = 0; i < size; i++)
            bytes[i] = (unsigned char)random_below(&random, 256);
        cleanup_buffer struct buffer out = buffer_make(3 * sizeof bytes), again = buffer_make(200);
        cr_assert(utf8_append_repaired(&out, bytes, size));
        cr_assert(utf8_is_valid(out.data, out.length));
        cr_assert(utf8_append_repaired(&again, out.data, out.length));
        cr_assert_eq(again.length, out.length);
        cr_assert(out.length == 0 || memcmp(again.data, out.data, out.length) == 0);
    }
}

Test(utf8, a_repair_that_does_not_fit_fails) {
    cleanup_buffer struct buffer out = buffer_make(4);
    cr_assert_not(utf8_append_repaired(&out, BYTES("ab\xff")));
    cr_assert(out.failed);
}

/* Offsets and counts agree with a decoder that takes one character at a time. */
Test(utf8, counts_and_offsets_are_those_of_single_characters) {
    static const char *const characters[] = {"a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    enum { CHARACTERS = 41, SEEDS = 200 };
    for (unsigned seed = 0; seed < SEEDS; seed++) {
        unsigned char text[CHARACTERS * 4];
        size_t offsets[CHARACTERS + 1] = {0}, size = 0;
        uint32_t random = seed * 2654435761U + 1;
        for (size_t i = 0; i < CHARACTERS; i++) {
            random = random * 1664525U + 1013904223U;
            const char *character = characters[seed < 4 ? seed : random >> 30];
            memcpy(text + size, character, strlen(character));
            size += strlen(character);
            offsets[i + 1] = size;
        }
        for (size_t i = 0; i <= CHARACTERS; i++) {
            cr_assert_eq(utf8_count(text, offsets[i]), i);
            cr_assert_eq(utf8_offset(text, size, i), offsets[i]);
            cr_assert_eq(utf8_offset_from_end(text, size, CHARACTERS - i), offsets[i]);
        }
        cr_assert_eq(utf8_offset(text, size, CHARACTERS + 1), size);
        cr_assert_eq(utf8_offset_from_end(text, size, CHARACTERS + 1), 0);
        cr_assert(utf8_is_valid(text, size));
    }
}
