/* Limits of processor time, and what tests and submissions cost. */
#include "common/buffer.h"
#include "tests/support/batch.h"
#include "tests/support/lines.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct text test_of(struct text line, size_t index) {
    struct text tests, test = {0};
    cr_assert(json_member(line, "tests", &tests));
    cr_assert(json_element(tests, index, &test));
    return test;
}

static void expect_processor_time(struct text record, const char *seconds) {
    char *text = batch_string(record, "text");
    batch_expect_string(record, "outcome", "timeout");
    expect_contains(text, formatted("No answer within %s s of processor time.", seconds));
    free(text);
}

Test(batch_costs, processor_time_has_a_limit_and_sleep_uses_none) {
    batch_add("1", "(loop)", ",\"timeout\":60,\"cpuTimeout\":0.2");
    batch_add("2", "(sleep 1)", ",\"timeout\":60,\"cpuTimeout\":0.2,\"expect\":\"NIL\"");
    batch_add("3", "(sleep 1000)", ",\"timeout\":0.2,\"cpuTimeout\":0.1");
    const struct command_result *result = BATCH(0, "-j2");
    expect_processor_time(batch_line(result->output, 0), "0.2");
    batch_expect(batch_line(result->output, 1), "pass", "true");
    char *text = batch_string(batch_line(result->output, 2), "text");
    expect_contains(text, "No answer within 0.2 s.");
    free(text);
}

Test(batch_costs, a_test_without_a_limit_has_that_of_its_line_and_then_of_the_options) {
    static const char tests[] = "\"tests\":[{\"code\":\"(loop)\"},{\"code\":\"(loop)\","
                                "\"cpuTimeout\":0.1},{\"code\":\"*x*\",\"expect\":\"1\"}]";
    batch_add_text(formatted("{\"id\":1,\"setup\":\"(defvar *x* 1)\",\"timeout\":60,"
                             "\"cpuTimeout\":0.2,%s}\n",
                             tests));
    batch_add_text(formatted("{\"id\":2,\"setup\":\"(defvar *x* 1)\",\"timeout\":60,%s}\n", tests));
    batch_add_text("{\"id\":3,\"setup\":\"(loop)\",\"timeout\":60,\"tests\":[{\"code\":\"1\"}]}\n");
    batch_add("4", "(loop)", ",\"timeout\":60");
    const struct command_result *result = BATCH(1, "--test-cpu-s", "1");
    for (size_t i = 0; i < 2; i++) {
        struct text line = batch_line(result->output, i);
        expect_processor_time(test_of(line, 0), i == 0 ? "0.2" : "1");
        expect_processor_time(test_of(line, 1), "0.1");
        batch_expect(line, "points", "1");
    }
    expect_processor_time(batch_line(result->output, 2), "1");
    batch_expect(batch_line(result->output, 2), "points", "0");
    expect_processor_time(batch_line(result->output, 3), "1");
}

Test(batch_costs, a_comparison_has_the_limit_of_its_test) {
    batch_add_text("{\"id\":1,\"setup\":\"1\",\"timeout\":60,\"tests\":[{\"code\":\"1\","
                   "\"cpuTimeout\":0.2,\"expectForm\":\"(loop)\"}]}\n");
    const struct command_result *result = BATCH(1);
    expect_contains(result->output, "cannot be compared: No answer within 0.2 s of processor time");
}

Test(batch_costs, a_limit_is_a_number_of_seconds) {
    static const char *const members[] = {"0", "-1", "\"1\"", "1e99", "true", "[]"};
    for (size_t i = 0; i < COUNT_OF(members); i++)
        batch_add("1", "1", formatted(",\"cpuTimeout\":%s", members[i]));
    const struct command_result *result = BATCH(0);
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        char *reason = batch_string(batch_line(result->output, i), "reason");
        expect_contains(reason, "the member cpuTimeout must be a number of seconds above 0");
        free(reason);
    }
    BATCH(2, "--test-cpu-s", "0");
    BATCH(2, "--submission-cpu-s", "0.5");
}

/* A submission that is slow in each of its tests costs no more than its limit. */
Test(batch_costs, a_submission_has_a_limit_and_the_next_one_its_own) {
    enum { TESTS = 1000 };
    cleanup_buffer struct buffer tests = buffer_make(1 << 20);
    for (int i = 0; i < TESTS; i++)
        buffer_append_text(&tests, i ? ",{\"code\":\"(f)\"}" : "{\"code\":\"(f)\"}");
    buffer_append(&tests, "", 1);
    static const char line[] = "{\"id\":%d,\"setup\":\"(defun f () %s)\",\"timeout\":60,"
                               "\"cpuTimeout\":0.4,\"tests\":[%s]}\n";
    batch_add_text(formatted(line, 1, "(loop)", (const char *)tests.data));
    batch_add_text("{\"id\":2,\"setup\":\"1\",\"tests\":[{\"code\":\"1\"}]}\n");
    batch_add_text("{\"id\":3,\"setup\":\"(loop)\",\"timeout\":60,\"tests\":[{\"code\":\"1\"}]}\n");
    const struct command_result *result = BATCH(1, "-j2", "--submission-cpu-s", "1");
    struct text slow = batch_line(result->output, 0), total;
    batch_expect(slow, "points", "0");
    batch_expect_string(slow, "outcome", "value");
    expect_processor_time(test_of(slow, 0), "0.4");
    struct text last = test_of(slow, TESTS - 1);
    batch_expect_string(last, "outcome", "timeout");
    batch_expect_string(last, "reason", "the processor time of the submission was used up");
    cr_assert(json_member(slow, "total", &total));
    cr_assert_geq(batch_number(total, "cpuMs"), 1000);
    batch_expect(batch_line(result->output, 1), "points", "1");
    expect_processor_time(batch_line(result->output, 2), "1");
}

/* Sleep uses no processor time, but would keep others waiting. */
Test(batch_costs, a_submission_that_sleeps_in_each_test_has_a_limit) {
    enum { TESTS = 1000 };
    cleanup_buffer struct buffer tests = buffer_make(1 << 20);
    for (int i = 0; i < TESTS; i++)
        buffer_append_text(&tests, i ? ",{\"code\":\"(f)\"}" : "{\"code\":\"(f)\"}");
    buffer_append(&tests, "", 1);
    batch_add_text(formatted("{\"id\":1,\"setup\":\"(defun f () (sleep 1000))\",\"timeout\":0.4,"
                             "\"tests\":[%s]}\n",
                             (const char *)tests.data));
    batch_add_text("{\"id\":2,\"setup\":\"1\",\"tests\":[{\"code\":\"1\"}]}\n");
    batch_add_text("{\"id\":3,\"setup\":\"(sleep 1000)\",\"tests\":[{\"code\":\"1\"}]}\n");
    const struct command_result *result =
        BATCH(1, "-j2", "--call-timeout-s", "60", "--submission-timeout-s", "1");
    struct text slow = batch_line(result->output, 0), last = test_of(slow, TESTS - 1);
    batch_expect(slow, "points", "0");
    batch_expect_string(test_of(slow, 0), "outcome", "timeout");
    batch_expect_string(last, "outcome", "timeout");
    batch_expect_string(last, "reason", "the time of the submission was used up");
    batch_expect(batch_line(result->output, 1), "points", "1");
    char *text = batch_string(batch_line(result->output, 2), "text");
    expect_contains(text, "No answer within 1 s.");
    free(text);
}

Test(batch_costs, what_a_submission_cost_is_the_sum_of_its_processes) {
    batch_add_text("{\"id\":1,\"setup\":\"(princ \\\"abc\\\")\",\"tests\":["
                   "{\"code\":\"(format t \\\"12345\\\")\"},"
                   "{\"code\":\"(progn (format *error-output* \\\"1234567\\\") 1)\","
                   "\"expectForm\":\"1\"},"
                   "{\"code\":\"(length (make-array 5000000 :initial-element 1))\"}]}\n");
    const struct command_result *result = BATCH(0);
    struct text line = batch_line(result->output, 0), total;
    cr_assert(json_member(line, "total", &total), "%s", result->output);
    double cpu_ms = batch_number(line, "cpuMs"), largest_kb = batch_number(line, "maxRssKb");
    static const double bytes[] = {5, 7, 0};
    for (size_t i = 0; i < COUNT_OF(bytes); i++) {
        struct text test = test_of(line, i);
        cpu_ms += batch_number(test, "cpuMs");
        cr_assert_eq(batch_number(test, "outputBytes"), bytes[i]);
        if (batch_number(test, "maxRssKb") > largest_kb)
            largest_kb = batch_number(test, "maxRssKb");
    }
    cr_assert_eq(batch_number(line, "outputBytes"), 3);
    cr_assert_eq(batch_number(total, "outputBytes"), 15);
    cr_assert_eq(batch_number(total, "maxRssKb"), largest_kb);
    cr_assert_gt(largest_kb, batch_number(line, "maxRssKb") + 30000);
    cr_assert_gt(batch_number(total, "cpuMs"), cpu_ms, "with the comparison");
    cr_assert_gt(batch_number(total, "wallMs"), batch_number(line, "wallMs"));
}

/* A sum is as good as a message about what is in it. */
Test(batch_costs, nothing_tells_a_student_what_a_hidden_test_cost) {
    static const char line[] = "{\"id\":1,\"setup\":\"1\",\"tests\":["
                               "{\"code\":\"1\",\"hidden\":%s}]}\n";
    for (int hidden = 0; hidden < 2; hidden++) {
        batch_add_text(formatted(line, hidden ? "true" : "false"));
        struct text shown = batch_line(BATCH(0, "--for-student")->output, 0);
        cr_assert_eq(batch_has(shown, "total"), !hidden);
        cr_assert_eq(batch_has(test_of(shown, 0), "outputBytes"), !hidden);
    }
    batch_add_text(formatted(line, "true"));
    cr_assert(batch_has(batch_line(BATCH(0)->output, 0), "total"));
    batch_add_text(formatted(line, "false"));
    const struct command_result *result = BATCH(0, "--no-costs");
    expect_lacks(result->output, "total");
    expect_lacks(result->output, "outputBytes");
}

/* However many tests there are, and whatever each of them prints, the record stays small enough. */
Test(batch_costs, with_many_tests_each_shows_less) {
    enum { FEW = 2, MANY = 200, PRINTED = 30000, SHARE = 4000000 / MANY };
    for (int count = FEW; count <= MANY; count += MANY - FEW) {
        cleanup_buffer struct buffer tests = buffer_make(1 << 20);
        for (int i = 0; i < count; i++)
            buffer_append_text(&tests, i ? ",{\"code\":\"(f)\"}" : "{\"code\":\"(f)\"}");
        buffer_append(&tests, "", 1);
        batch_add_text(formatted("{\"id\":1,\"setup\":\"(defun f () (dotimes (i %d) (princ 1)))\","
                                 "\"tests\":[%s]}\n",
                                 PRINTED, (const char *)tests.data));
        struct text test = test_of(batch_line(BATCH(0, "-j2")->output, 0), (size_t)count - 1);
        char *printed = batch_string(test, "stdout");
        batch_expect(test, "outputBytes", formatted("%d", PRINTED));
        if (count == FEW)
            cr_assert_eq(strlen(printed), PRINTED);
        else
            cr_assert(strlen(printed) <= SHARE + 100 && strlen(printed) > SHARE / 2, "%zu",
                      strlen(printed));
        free(printed);
    }
}
