/* The shrinker finds the smallest script that shows a failure. The failures here are made up: a
 * predicate over the script's text, so that the expected minimum is known. */
#include "tests/support/random.h"
#include "tests/support/script.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

struct wanted {
    const char *first, *second; /* fails when both occur, in this order of lines */
    size_t asked;
};

static bool holds(struct text line, const char *string) {
    return memmem(line.bytes, line.length, string, strlen(string)) != NULL;
}

static bool fails_with_both(const struct script *script, void *context) {
    struct wanted *wanted = context;
    wanted->asked++;
    bool first = false;
    for (size_t i = 0; i < script->count; i++) {
        if (first && holds(script->lines[i], wanted->second))
            return true;
        first = first || holds(script->lines[i], wanted->first);
    }
    return false;
}

static void expect_line(const struct script *script, size_t index, const char *line) {
    cr_assert(text_is(script->lines[index], line), "line %zu is %s", index,
              script->lines[index].bytes);
}

Test(shrink, keeps_only_the_lines_and_members_that_matter) {
    struct script script = {0};
    for (int i = 0; i < 40; i++)
        script_add_line(&script, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
    script_add_line(&script,
                    "{\"id\": 1, \"method\":\"x\", \"params\": {\"a\":[1,{\"bad\":12345}]}}");
    for (int i = 0; i < 17; i++)
        script_add_line(&script, "garbage");
    script_add_line(&script, "some words worse than these, and more of them");
    script_add_line(&script, "[]");
    struct wanted wanted = {"\"bad\":1", "worse", 0};
    size_t asked = script_shrink(&script, fails_with_both, &wanted, 10000);
    cr_assert_eq(asked, wanted.asked);
    cr_assert_eq(script.count, 2);
    expect_line(&script, 0, "{\"params\":{\"a\":[{\"bad\":1}]}}");
    expect_line(&script, 1, "worse");
    script_free(&script);
}

static bool fails_on_long_id(const struct script *script, void *context) {
    (void)context;
    for (size_t i = 0; i < script->count; i++) {
        struct text id;
        if (json_fault(script->lines[i], 10) == NULL && json_member(script->lines[i], "id", &id) &&
            json_kind(id) == VALUE_STRING && id.length >= 5)
            return true;
    }
    return false;
}

Test(shrink, shortens_strings_to_the_boundary) {
    struct script script = {0};
    script_add_line(&script, "{\"jsonrpc\":\"2.0\",\"id\":\"abcdefghijklmnopqrstuvwxyz\"}");
    script_shrink(&script, fails_on_long_id, NULL, 10000);
    cr_assert_eq(script.count, 1);
    cr_assert_eq(script.lines[0].length, strlen("{\"id\":\"abc\"}"));
    script_free(&script);
}

static bool fails_on_middle(const struct script *script, void *context) {
    (void)context;
    return script->count > 0 && holds(script->lines[0], "\\ud83d");
}

Test(shrink, shortens_strings_from_both_ends) {
    struct script script = {0};
    script_add_line(&script, "{\"id\":\"caf\\u00e9 \\\" 599 \\ud83dx\\ude00\"}");
    script_shrink(&script, fails_on_middle, NULL, 10000);
    expect_line(&script, 0, "{\"id\":\"\\ud83d\"}");
    script_free(&script);
}

static bool fails_on_big_number(const struct script *script, void *context) {
    (void)context;
    struct text number;
    return script->count && json_fault(script->lines[0], 10) == NULL &&
           json_member(script->lines[0], "n", &number) && json_kind(number) == VALUE_NUMBER &&
           strtol(number.bytes, NULL, 10) >= 1000;
}

Test(shrink, shortens_numbers_to_the_boundary) {
    struct script script = {0};
    script_add_line(&script, "{\"n\":987654321.5e1,\"m\":null}");
    script_shrink(&script, fails_on_big_number, NULL, 10000);
    expect_line(&script, 0, "{\"n\":9876}");
    script_free(&script);
}

static bool always_fails(const struct script *script, void *context) {
    (void)script, (void)context;
    return true;
}

Test(shrink, stops_at_one_empty_line_and_at_the_attempt_limit) {
    struct script script = {0};
    script_add_line(&script, "\xff\xfe\x00");
    script_add_line(&script, "abc");
    struct script copy = script_copy(&script);
    cr_assert_eq(script_shrink(&copy, always_fails, NULL, 1), 1);
    script_free(&copy);
    script_shrink(&script, always_fails, NULL, 1000);
    cr_assert_eq(script.count, 1);
    expect_line(&script, 0, "");
    script_free(&script);
}

static bool never_fails(const struct script *script, void *context) {
    (void)script, (void)context;
    return false;
}

Test(shrink, leaves_a_script_alone_that_no_edit_lets_fail) {
    const char *line = "{\"a\":[\"\\u00e9\",-1.5e3,true,null,{\"b\":\"\\\\\"}]}";
    struct script script = {0};
    script_add_line(&script, line);
    script_shrink(&script, never_fails, NULL, 1000);
    cr_assert_eq(script.count, 1);
    expect_line(&script, 0, line);
    script_free(&script);
}

/* Whatever the script and the failure, the result fails and is no longer than what was given. */
static bool fails_on_digit_sum(const struct script *script, void *context) {
    const unsigned *modulus = context;
    unsigned sum = 0;
    for (size_t i = 0; i < script->count; i++)
        for (size_t j = 0; j < script->lines[i].length; j++)
            sum += (unsigned char)script->lines[i].bytes[j];
    return sum % *modulus == 0;
}

Test(shrink, random_scripts_stay_failing) {
    struct random random = random_for("random_scripts_stay_failing");
    for (size_t trial = 0; trial < random_trials(100, 500); trial++) {
        struct script script = {0};
        size_t bytes = 0;
        for (size_t lines = 1 + random_below(&random, 5); lines > 0; lines--) {
            char line[40];
            size_t length = random_below(&random, sizeof line);
            for (size_t i = 0; i < length; i++)
                line[i] = "{}[]\":,01ab\\\xff"[random_below(&random, 13)];
            script_add(&script, line, length);
            bytes += length;
        }
        unsigned modulus = 1 + (unsigned)random_below(&random, 5);
        if (fails_on_digit_sum(&script, &modulus)) {
            script_shrink(&script, fails_on_digit_sum, &modulus, 2000);
            cr_assert(fails_on_digit_sum(&script, &modulus));
            size_t left = 0;
            for (size_t i = 0; i < script.count; i++)
                left += script.lines[i].length;
            cr_assert_leq(left, bytes);
        }
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
