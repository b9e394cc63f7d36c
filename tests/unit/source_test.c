/* common/source: where forms end, and what is not complete yet. */
#include "common/source.h"
#include "tests/support/lines.h"
#include "tests/support/random.h"

#include <stdio.h>
#include <stdlib.h>

/* The forms of SOURCE in brackets, then "." if nothing is left, or "+" if more is needed. */
static const char *forms_of(const char *source) {
    static char seen[256];
    const struct span text = string_span(source);
    struct span form;
    size_t at = 0, used = 0;
    enum source_rest rest;
    while ((rest = source_next(text, &at, &form)) == SOURCE_WHOLE)
        used += (size_t)snprintf(seen + used, sizeof seen - used, "[%.*s]", (int)form.length,
                                 (const char *)form.bytes);
    snprintf(seen + used, sizeof seen - used, "%s", rest == SOURCE_EMPTY ? "." : "+");
    return seen;
}

Test(source, forms_end_where_the_reader_ends_them) {
    static const struct {
        const char *source, *forms;
    } rows[] = {
        {"", "."},
        {" \t\n", "."},
        {"; (a comment", "."},
        {"#| a #| nested |# comment |# ", "."},
        {"#| open", "+"},
        {"#| #| |#", "+"},
        {"a b\n", "[a][b]."},
        {"(a (b) c)(d)", "[(a (b) c)][(d)]."},
        {"(a", "+"},
        {"(a)(b", "[(a)]+"},
        {"(a ; b)\n", "+"},
        {"(a ; b)\n)", "[(a ; b)\n)]."},
        {"\"a ) b\"", "[\"a ) b\"]."},
        {"\"a \\\" b", "+"},
        {"\"\" \"", "[\"\"]+"},
        {"|a ( b| c", "[|a ( b|][c]."},
        {"a|b", "+"},
        {"a\\( b", "[a\\(][b]."},
        {"#\\( #\\) #\\Space", "[#\\(][#\\)][#\\Space]."},
        {"(char= #\\( x)", "[(char= #\\( x)]."},
        {"'a `(b ,c ,@d)", "['a][`(b ,c ,@d)]."},
        {"'", "+"},
        {"'\n", "+"},
        {"#'", "+"},
        {"#'car #(1 2) #2A((1) (2)) #C(1 2)", "[#'car][#(1 2)][#2A((1) (2))][#C(1 2)]."},
        {"#x1F #b1 #.(a) #:g", "[#x1F][#b1][#.(a)][#:g]."},
        {"#p\"a\" #p", "[#p\"a\"]+"},
        {"#+a b c", "[#+a b][c]."},
        {"#+a", "+"},
        {"#-(or a b) (c) d", "[#-(or a b) (c)][d]."},
        {"#+a #-b c d", "[#+a #-b c][d]."},
        {"(a #+b c) d", "[(a #+b c)][d]."},
        {")", "[)]."},
        {"a) b", "[a][)][b]."},
        {"; c\n #| d |# (e) ; f", "[(e)]."},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        cr_expect_str_eq(forms_of(rows[i].source), rows[i].forms, "%s: %s", rows[i].source,
                         forms_of(rows[i].source));
}

Test(source, what_nests_too_deep_is_for_the_reader) {
    static const char *const openings[] = {"(", "'", "#("};
    for (size_t i = 0; i < COUNT_OF(openings); i++) {
        char *deep = nested(openings[i], SOURCE_DEPTH_MAX + 5, " a", "");
        struct span form;
        size_t at = 0;
        cr_assert_eq(source_next(string_span(deep), &at, &form), SOURCE_WHOLE);
        cr_assert_eq(at, strlen(deep));
        cr_assert_eq(source_next(string_span(deep), &at, &form), SOURCE_EMPTY);
        free(deep);
    }
}

/* Whatever the bytes are, forms follow each other within the source, and the rest is one answer. */
Test(source, any_bytes_come_to_an_end) {
    static const char alphabet[] = "()'`,@;#|\\\"+-:a1 \n\xC3\xFF";
    struct random random = random_for("source");
    for (size_t trial = 0; trial < random_trials(20000, 1000000); trial++) {
        char source[40];
        size_t length = random_below(&random, sizeof source), at = 0, before = 0;
        for (size_t i = 0; i < length; i++)
            source[i] = random_pick(&random, alphabet);
        const struct span text = {(const unsigned char *)source, length};
        struct span form;
        while (source_next(text, &at, &form) == SOURCE_WHOLE) {
            cr_assert_gt(at, before);
            cr_assert_leq(at, length);
            cr_assert(form.bytes >= text.bytes + before && form.length > 0 &&
                      form.bytes + form.length == text.bytes + at);
            before = at;
        }
    }
}
