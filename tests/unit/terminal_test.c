/* supervisor/base/terminal: controls of a terminal are escaped, everything else is unchanged. */
#include "supervisor/base/terminal.h"
#include "tests/support/span.h"
#include <criterion/criterion.h>
#include <string.h>

static void expect_shown(const char *text, enum shown_as as, const char *wanted) {
    cleanup_buffer struct buffer out = buffer_make(1000);
    cr_expect(shown_append(&out, span_of(text), as));
    cr_expect(buffer_append(&out, "", 1));
    cr_expect_str_eq((const char *)out.data, wanted);
}

/* NOLINTBEGIN(misc-misleading-bidirectional): that is what is tested */
Test(terminal, controls_of_a_terminal_are_escaped) {
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"\033[2J\a", "\\u001B[2J\\u0007"},
        {"\177\302\200\302\237", "\\u007F\\u0080\\u009F"},
        {"\302\255\330\234", "\\u00AD\\u061C"},
        {"\342\200\213\342\200\216\342\200\217", "\\u200B\\u200E\\u200F"},
        {"\342\200\250\342\200\252\342\200\256", "\\u2028\\u202A\\u202E"},
        {"\342\201\246\342\201\251\357\273\277", "\\u2066\\u2069\\uFEFF"},
        {"\363\240\200\201", "\\uDB40\\uDC01"},
        {"\233\377\342\200", "\\x9b\\xff\\xe2\\x80"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int as = SHOWN_AS_LINE; as <= SHOWN_AS_LINES; as++)
            expect_shown(cases[i].text, (enum shown_as)as, cases[i].wanted);
}
/* NOLINTEND(misc-misleading-bidirectional) */

Test(terminal, harmless_characters_are_unchanged) {
    static const char *const texts[] = {"", "a b~", "\302\240\303\251\342\202\254",
                                        "\342\200\215\342\200\220\357\277\275", "\360\237\230\200"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int as = SHOWN_AS_LINE; as <= SHOWN_AS_LINES; as++)
            expect_shown(texts[i], (enum shown_as)as, texts[i]);
}

Test(terminal, newlines_are_kept_in_texts_and_escaped_in_lines) {
    expect_shown("a\n\tb\\\r", SHOWN_AS_LINES, "a\n\tb\\\\u000D");
    expect_shown("a\n\tb\\", SHOWN_AS_LINE, "a\\u000A\\u0009b\\");
    expect_shown("a\\u202E\n", SHOWN_AS_NAME, "a\\u005Cu202E\\u000A");
}

Test(terminal, a_null_byte_is_not_an_end) {
    cleanup_buffer struct buffer out = buffer_make(100);
    cr_expect(shown_append(&out, (struct span){(const unsigned char *)"a\0b", 3}, SHOWN_AS_LINES));
    cr_expect_eq(out.length, 8);
    cr_expect(out.length == 8 && memcmp(out.data, "a\\u0000b", 8) == 0);
}

Test(terminal, escapes_are_not_cut) {
    for (size_t room = 1; room < 8; room++) {
        cleanup_buffer struct buffer out = buffer_make(room);
        cr_expect_eq(shown_append(&out, span_of("a\033"), SHOWN_AS_LINE), room >= 7);
        cr_expect_eq(out.length, room >= 7 ? 7 : 1);
    }
}

Test(terminal, a_file_gets_the_bytes_unchanged) {
    char got[16] = "";
    FILE *file = tmpfile();
    cr_assert_not_null(file);
    cr_expect(shown_write(file, span_of("\033[2J\302\233\377")));
    cr_expect(shown_write(file, (struct span){0}));
    rewind(file);
    cr_expect_eq(fread(got, 1, sizeof got, file), 7);
    cr_expect_str_eq(got, "\033[2J\302\233\377");
    fclose(file);
}
