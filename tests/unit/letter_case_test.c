/* supervisor/base/letter_case: which strings are equal in any letter case. */
#include "supervisor/base/letter_case.h"
#include <criterion/criterion.h>
#include <locale.h>

TestSuite(letter_case, .init = letter_case_load);

static bool has_unicode(void) {
    return newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0) != (locale_t)0;
}

Test(letter_case, simple_folding) {
    static const struct {
        const char *left, *right;
        bool equal, ascii;
    } cases[] = {
        {"", "", true, true},
        {"abc", "ABC", true, true},
        {"abc", "ABCD", false, true},
        {"a_c", "A-C", false, true},
        {"\xc3\xa4pfel", "\xc3\x84PFEL", true, false},                         /* German */
        {"\xd0\xb6\xd1\x83\xd0\xba", "\xd0\x96\xd0\xa3\xd0\x9a", true, false}, /* Cyrillic */
        {"\xcf\x83", "\xcf\x82", true, false},     /* both small sigmas */
        {"\xce\xa3", "\xcf\x82", true, false},     /* and the capital one */
        {"K", "\xe2\x84\xaa", true, false},        /* the sign of kelvin */
        {"s", "\xc5\xbf", true, false},            /* the long s */
        {"\xc3\xa5", "\xe2\x84\xab", true, false}, /* the sign of angstrom */
        {"\xe1\xba\x9e", "\xc3\x9f", true, false}, /* the capital sharp s */
        {"\xc3\x9f", "ss", false, true},           /* full folding, which it is not */
        {"I", "\xc4\xb1", false, true},            /* Turkish */
        {"i", "\xc4\xb0", false, true},
        {"\xc3\xa4", "a", false, true}, /* accents count */
        {"\xc3\xa4", "\xc3\xb6", false, true},
        {"\xf0\x90\x90\xa8", "\xf0\x90\x90\x80", true, false}, /* Deseret, of four bytes */
        {"\xe6\xbc\xa2", "\xe6\xbc\xa2", true, true},          /* without case */
    };
    bool unicode = has_unicode();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!unicode && !cases[i].ascii)
            continue;
        struct span one = string_span(cases[i].left), other = string_span(cases[i].right);
        cr_expect_eq(letter_case_equal(one, other), cases[i].equal, "%s %s", cases[i].left,
                     cases[i].right);
        cr_expect_eq(letter_case_equal(other, one), cases[i].equal);
    }
}

Test(letter_case, beginnings) {
    cr_expect(letter_case_begins(string_span("Anton"), string_span("AN")));
    cr_expect(letter_case_begins(string_span("Anton"), string_span("")));
    cr_expect_not(letter_case_begins(string_span("An"), string_span("ANT")));
    cr_expect_not(letter_case_begins(string_span("Bernd"), string_span("AN")));
    if (has_unicode()) {
        cr_expect(letter_case_begins(string_span("\xc3\x84pfel"), string_span("\xc3\xa4P")));
        cr_expect(letter_case_begins(string_span("Kelvin"), string_span("\xe2\x84\xaa"
                                                                        "E")));
    }
}
