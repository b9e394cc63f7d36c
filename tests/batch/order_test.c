/* Output lines come in the order of the input lines, whatever each takes; or as they are done. */
#include "tests/support/batch.h"
#include "tests/support/lines.h"
#include "tests/support/random.h"
#include <stdio.h>
#include <stdlib.h>

enum { LINES = 120, LINES_THOROUGH = 2000, DELAY_MS = 40 };

static char *random_lines(size_t count) {
    struct random random = random_for("batch_order");
    char *input = NULL, code[80], id[24];
    for (size_t i = 0; i < count; i++) {
        long delay = random_percent(&random, 70) ? 0 : random_between(&random, 1, DELAY_MS);
        snprintf(code, sizeof code, "(sleep %ld/1000) %zu", delay, i);
        snprintf(id, sizeof id, "%zu", i);
        batch_append(&input,
                     random_percent(&random, 5) ? strdup("garbage\n") : batch_input(id, code, ""));
    }
    return input;
}

static void expect_order(const char *output, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char id[24];
        struct text line = batch_line(output, i), value;
        cr_assert(json_member(line, "id", &value));
        snprintf(id, sizeof id, "%zu", json_kind(value) == VALUE_NULL ? i + 1 : i);
        batch_expect(line, json_kind(value) == VALUE_NULL ? "line" : "id", id);
    }
}

Test(batch_order, output_follows_input_under_random_delays) {
    size_t count = random_trials(LINES, LINES_THOROUGH);
    char *input = random_lines(count);
    static const char *const jobs[] = {"1", "2", "8"};
    for (size_t i = 0; i < COUNT_OF(jobs); i++) {
        struct command_result result = batch_run((const char *const[]){"-j", jobs[i], NULL}, input);
        cr_assert_eq(result.status, 0, "%s", result.error);
        cr_assert_eq(batch_lines(result.output), count);
        expect_order(result.output, count);
        command_result_free(&result);
    }
    free(input);
}

Test(batch_order, unordered_writes_a_quick_line_before_a_slow_one) {
    char *input = batch_input("\"slow\"", "(sleep 2)", "");
    batch_append(&input, batch_input("\"quick\"", "1", ""));
    struct command_result result =
        batch_run((const char *const[]){"--unordered", "-j", "2", NULL}, input);
    batch_expect(batch_line(result.output, 0), "id", "\"quick\"");
    batch_expect(batch_line(result.output, 1), "id", "\"slow\"");
    command_result_free(&result);
    free(input);
}

Test(batch_order, unordered_writes_each_line_once) {
    char *input = NULL, id[16];
    for (int i = 0; i < LINES; i++) {
        snprintf(id, sizeof id, "%d", i);
        batch_append(&input, batch_input(id, i % 7 ? "1" : "(sleep 1/50)", ""));
    }
    struct command_result result =
        batch_run((const char *const[]){"--unordered", "-j4", NULL}, input);
    cr_assert_eq(batch_lines(result.output), LINES);
    for (int i = 0; i < LINES; i++) {
        snprintf(id, sizeof id, "%d", i);
        batch_line_of(result.output, id);
    }
    command_result_free(&result);
    free(input);
}

Test(batch_order, fail_fast_ends_with_the_first_line_that_fails) {
    char *input = NULL;
    batch_append(&input, batch_input("1", "(sleep 1/5) 1", ",\"expect\":\"1\""));
    batch_append(&input, batch_input("2", "(car 1)", ",\"expectCondition\":\"TYPE-ERROR\""));
    batch_append(&input, batch_input("3", "3", ",\"expect\":\"4\""));
    batch_append(&input, batch_input("4", "(sleep 100)", ""));
    for (int i = 0; i < LINES; i++)
        batch_append(&input, batch_input("5", "(sleep 100)", ""));
    struct command_result result =
        batch_run((const char *const[]){"--fail-fast", "-j", "4", NULL}, input);
    cr_assert_eq(result.status, 1, "%s", result.error);
    cr_assert_eq(batch_lines(result.output), 3, "%s", result.output);
    batch_expect(batch_line(result.output, 2), "pass", "false");
    expect_contains(result.error, "--skip-done");
    command_result_free(&result);
    free(input);
}

Test(batch_order, fail_fast_counts_a_line_that_expects_nothing_and_has_no_value) {
    char *input = batch_input("1", "(car 1)", "");
    batch_append(&input, batch_input("2", "(sleep 100)", ""));
    struct command_result result = batch_run((const char *const[]){"--fail-fast", NULL}, input);
    cr_assert_eq(result.status, 1);
    cr_assert_eq(batch_lines(result.output), 1);
    command_result_free(&result);
    free(input);
}
