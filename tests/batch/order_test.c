/* Output lines come in the order of the input lines, or, unordered, as they finish. */
#include "tests/support/batch.h"
#include "tests/support/lines.h"
#include "tests/support/random.h"

enum { LINES = 120, LINES_THOROUGH = 2000, DELAY_MS = 40 };

static void add_random_lines(size_t count) {
    struct random random = random_for("batch_order");
    for (size_t i = 0; i < count; i++) {
        long delay = random_percent(&random, 70) ? 0 : random_between(&random, 1, DELAY_MS);
        if (random_percent(&random, 5))
            batch_add_text("garbage\n");
        else
            batch_add(formatted("%zu", i), formatted("(sleep %ld/1000) %zu", delay, i), "");
    }
}

Test(batch_order, output_follows_input_under_random_delays) {
    size_t count = random_trials(LINES, LINES_THOROUGH);
    static const char *const jobs[] = {"1", "2", "8"};
    add_random_lines(count);
    for (size_t j = 0; j < COUNT_OF(jobs); j++) {
        const struct command_result *result = BATCH(0, "-j", jobs[j]);
        cr_assert_eq(batch_lines(result->output), count);
        for (size_t i = 0; i < count; i++) {
            struct text line = batch_line(result->output, i), id;
            cr_assert(json_member(line, "id", &id));
            bool garbage = json_kind(id) == VALUE_NULL;
            batch_expect(line, garbage ? "line" : "id", formatted("%zu", garbage ? i + 1 : i));
        }
    }
}

Test(batch_order, unordered_writes_a_quick_line_before_a_slow_one) {
    batch_add("\"slow\"", "(sleep 2)", "");
    batch_add("\"quick\"", "1", "");
    const struct command_result *result = BATCH(0, "--unordered", "-j", "2");
    batch_expect(batch_line(result->output, 0), "id", "\"quick\"");
    batch_expect(batch_line(result->output, 1), "id", "\"slow\"");
}

Test(batch_order, unordered_writes_each_line_once) {
    for (int i = 0; i < LINES; i++)
        batch_add(formatted("%d", i), i % 7 ? "1" : "(sleep 1/50)", "");
    const struct command_result *result = BATCH(0, "--unordered", "-j4");
    cr_assert_eq(batch_lines(result->output), LINES);
    for (int i = 0; i < LINES; i++)
        batch_line_of(result->output, formatted("%d", i));
}

Test(batch_order, fail_fast_stops_at_the_first_line_that_fails) {
    batch_add("1", "(sleep 1/5) 1", ",\"expect\":\"1\"");
    batch_add("2", "(car 1)", ",\"expectCondition\":\"TYPE-ERROR\"");
    batch_add("3", "3", ",\"expect\":\"4\"");
    batch_add("4", "(sleep 100)", "");
    for (int i = 0; i < LINES; i++)
        batch_add("5", "(sleep 100)", "");
    const struct command_result *result = BATCH(1, "--fail-fast", "-j", "4");
    cr_assert_eq(batch_lines(result->output), 3, "%s", result->output);
    batch_expect(batch_line(result->output, 2), "pass", "false");
    expect_contains(result->error, "--skip-done");
}

Test(batch_order, fail_fast_stops_at_a_line_without_a_value_or_an_expectation) {
    batch_add("1", "(car 1)", "");
    batch_add("2", "(sleep 100)", "");
    const struct command_result *result = BATCH(1, "--fail-fast");
    cr_assert_eq(batch_lines(result->output), 1);
}
