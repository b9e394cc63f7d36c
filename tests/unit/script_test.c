/* The shrinker of failing scripts, with made-up failures, and the command printed for one. */
#include "tests/support/random.h"
#include "tests/support/script.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* Fails when FIRST occurs in a line before one with SECOND. */
struct order {
    const char *first, *second;
    size_t asked;
};

static bool fails_in_order(const struct script *script, void *context) {
    struct order *order = context;
    order->asked++;
    bool first = false;
    for (size_t i = 0; i < script->count; i++) {
        if (first && strstr(script->lines[i].bytes, order->second))
            return true;
        first = first || strstr(script->lines[i].bytes, order->first);
    }
    return false;
}

Test(script, shrinks_to_the_lines_that_matter) {
    struct script script = {0};
    for (int i = 0; i < 60; i++)
        script_add_line(&script, i == 40 ? "one" : i == 58 ? "two" : "{}");
    struct order order = {"one", "two", 0};
    cr_assert_eq(script_shrink(&script, fails_in_order, &order, 10000), order.asked);
    cr_assert_eq(script.count, 2);
    cr_assert_str_eq(script.lines[0].bytes, "one");
    cr_assert_str_eq(script.lines[1].bytes, "two");
    script_free(&script);
}

static bool fails_as_told(const struct script *script, void *context) {
    (void)script;
    return *(const bool *)context;
}

Test(script, shrinks_to_no_fewer_than_one_line_within_the_attempts) {
    struct script script = {0};
    for (int i = 0; i < 4; i++)
        script_add_line(&script, "x");
    bool always = true, never = false;
    script_shrink(&script, fails_as_told, &never, 1000);
    cr_assert_eq(script.count, 4);
    cr_assert_eq(script_shrink(&script, fails_as_told, &always, 1), 1);
    cr_assert_eq(script.count, 2);
    script_shrink(&script, fails_as_told, &always, 1000);
    cr_assert_eq(script.count, 1);
    script_free(&script);
}

static bool fails_on_count(const struct script *script, void *context) {
    return script->count % *(const size_t *)context == 0;
}

Test(script, shrinks_random_scripts_to_failing_ones) {
    struct random random = random_for("shrinks_random_scripts_to_failing_ones");
    for (size_t trial = 0; trial < random_trials(100, 500); trial++) {
        struct script script = {0};
        size_t modulus = 1 + random_below(&random, 5), lines = modulus * random_below(&random, 9);
        for (size_t i = 0; i < lines; i++)
            script_add(&script, "x", 1);
        script_shrink(&script, fails_on_count, &modulus, 2000);
        cr_assert(fails_on_count(&script, &modulus));
        cr_assert_leq(script.count, lines);
        script_free(&script);
    }
}

Test(script, prints_a_command_for_the_shell) {
    struct script script = {0};
    script_add_line(&script, "{\"id\":\"50% \\n it's\"}");
    script_add(&script, "\xff\x00z", 3);
    char *text;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    script_print(file, &script);
    fclose(file);
    cr_assert_str_eq(text,
                     "printf '{\"id\":\"50%% \\\\n it\\047s\"}\\n'\\\n'\\377\\000z\\n' | eclave\n");
    free(text);
    script_free(&script);
}
