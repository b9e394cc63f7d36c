/* supervisor/base/nearest: suggestions for a mistyped word. */
#include "supervisor/base/nearest.h"
#include <criterion/criterion.h>
#include <string.h>

Test(nearest, the_distance_counts_insertions_deletions_and_replacements) {
    cr_expect_eq(nearest_distance("", ""), 0);
    cr_expect_eq(nearest_distance("ci", "ci"), 0);
    cr_expect_eq(nearest_distance("", "abc"), 3);
    cr_expect_eq(nearest_distance("abc", ""), 3);
    cr_expect_eq(nearest_distance("call.timout_s", "call.timeout_s"), 1);
    cr_expect_eq(nearest_distance("kitten", "sitting"), 3);
    cr_expect_eq(nearest_distance("sitting", "kitten"), 3);
}

Test(nearest, long_words_have_no_neighbours) {
    char almost[NEAREST_MAX_BYTES], longer[2 * NEAREST_MAX_BYTES];
    memset(almost, 'a', sizeof almost);
    almost[sizeof almost - 1] = 0;
    memset(longer, 'a', sizeof longer);
    longer[sizeof longer - 1] = 0;
    cr_expect_eq(nearest_distance(almost, almost), 0);
    cr_expect_eq(nearest_distance(almost, longer), NEAREST_MAX_BYTES);
    cr_expect_eq(nearest_distance(longer, longer), NEAREST_MAX_BYTES);
    struct nearest nearest = nearest_to(longer);
    nearest_offer(&nearest, longer);
    cr_expect_str_empty(nearest.name);
}

Test(nearest, the_nearest_word_is_suggested_and_a_distant_one_is_not) {
    static const char *const names[] = {"strict", "library", "ci", "session.max", "session.queue"};
    static const struct {
        const char *word, *meant;
    } cases[] = {{"sesion.max", "session.max"},
                 {"session.que", "session.queue"},
                 {"librry", "library"},
                 {"cl", "ci"},
                 {"", ""},
                 {"xy", ""},
                 {"network", ""},
                 {"\xff\xfe", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nearest nearest = nearest_to(cases[i].word);
        for (size_t j = 0; j < sizeof names / sizeof *names; j++)
            nearest_offer(&nearest, names[j]);
        cr_expect_str_eq(nearest.name, cases[i].meant, "%s: %s", cases[i].word, nearest.name);
    }
}
