/* The cheating suite: submissions that try to get points without solving the exercise, each with
 * neighbours that solve it. None may get a point or cost a neighbour one, in no form of the
 * results. Runs in its own pid namespace; `confined nobody` gives up root first. Exit status 77: no
 * such namespace. */
#include "tests/support/confined.h"
#include "common/buffer.h"
#include "common/cleanup.h"
#include "tests/cheats/cheats.h"
#include "tests/support/batch.h"
#include "tests/support/lines.h"
#include "tests/support/lisp_file.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { WATCHDOG_S = 580, TESTS_BYTES = 8192 };

/* A cheat that hangs costs this time; a neighbour never needs its own. */
struct limits {
    int setup_s, test_s;
};
static const struct limits of_a_cheat = {10, 3}, of_a_search = {60, 60}, of_a_neighbour = {60, 60};

/* --- the batch --- */

static void append_test(struct buffer *tests, const struct exercise_test *test, int seconds) {
    char *code = json_quote(test->code, strlen(test->code));
    char *wanted = json_quote(test->wanted, strlen(test->wanted));
    buffer_append_format(tests,
                         "%s{\"name\":\"%s\",\"points\":%d,\"timeout\":%d,\"code\":%s,\"%s\":%s%s}",
                         tests->length ? "," : "", test->name, test->points, seconds, code,
                         test->kind, wanted, test->more);
    free(code);
    free(wanted);
}

static void submit(const char *id, const char *source, struct limits limits) {
    cleanup_buffer struct buffer line = buffer_make(LISP_FILE_MAX),
                                 tests = buffer_make(TESTS_BYTES);
    for (size_t i = 0; i < exercise_count; i++)
        append_test(&tests, &exercise[i], limits.test_s);
    char *setup = json_quote(source, strlen(source));
    buffer_append_format(&line, "{\"id\":\"%s\",\"timeout\":%d,\"setup\":", id, limits.setup_s);
    buffer_append_text(&line, setup);
    buffer_append_text(&line, ",\"tests\":[");
    buffer_append(&line, tests.data, tests.length);
    buffer_append_text(&line, "]}\n");
    buffer_append(&line, "", 1);
    cr_assert_not(line.failed);
    batch_add_text((const char *)line.data);
    free(setup);
}

static void submit_neighbour(void) {
    submit("neighbour", neighbour, of_a_neighbour);
}

static bool searches(const struct cheat *cheat) {
    return strcmp(cheat->class, "look") == 0;
}

static void submit_cheat(const struct cheat *cheat) {
    char *source = cheat_source(cheat);
    submit(formatted("%s/%s", cheat->class, cheat->name), source,
           searches(cheat) ? of_a_search : of_a_cheat);
    free(source);
}

/* --- the results --- */

static void check_cheat(struct text line, const struct cheat *cheat) {
    struct text points;
    char *outcome = batch_string(line, "outcome");
    cr_assert(json_member(line, "points", &points));
    cr_expect(text_is(points, "0"), "CHEAT %s/%s succeeds: %.*s", cheat->class, cheat->name,
              (int)line.length, line.bytes);
    cr_expect(!cheat->outcome || strcmp(outcome, cheat->outcome) == 0,
              "CHEAT %s/%s ends as %s: %.*s", cheat->class, cheat->name, outcome,
              (int)(line.length < 2000 ? line.length : 2000), line.bytes);
    free(outcome);
}

/* The neighbour has no condition of eclave's own words to offer, and meets the rest. */
static void check_neighbour(struct text line, const char *beside) {
    struct text points;
    cr_assert(json_member(line, "points", &points));
    cr_expect(text_is(points, "8"), "CHEAT %s harms its neighbour: %.*s", beside, (int)line.length,
              line.bytes);
}

static size_t count(const char *text, const char *part) {
    size_t found = 0;
    for (; (text = strstr(text, part)) != NULL; text += strlen(part))
        found++;
    return found;
}

/* No control character but the newline, in either of their forms: a terminal would obey it. */
static void check_bytes(const char *text) {
    for (const unsigned char *byte = (const unsigned char *)text; *byte; byte++)
        cr_assert((*byte >= ' ' || *byte == '\n') && *byte != 0x7f &&
                      !(byte[0] == 0xc2 && byte[1] >= 0x80 && byte[1] < 0xa0),
                  "a control character, %02x, in: %.200s", *byte, text);
}

static void check_xpath(const char *path, const char *expression, size_t wanted) {
    const char *arguments[] = {"/usr/bin/xmllint", "--huge", "--xpath", expression, path, NULL};
    struct command_result result = command_run(&(struct command){.arguments = arguments});
    cr_expect_eq(strtoul(result.output, NULL, 10), wanted, "%s: %s%s, not %zu", expression,
                 result.output, result.error, wanted);
    command_result_free(&result);
}

/* The other forms of the same results, made from the lines of the run. */
static void check_reports(const char *lines, size_t passed, size_t failed) {
    const char *done = batch_file("done.jsonl"), *junit = batch_file("junit.xml");
    batch_write(done, lines);
    const struct command_result *result = BATCH(1, "--skip-done", done, "--tap", "--junit", junit);
    check_bytes(result->output);
    check_bytes(result->error);
    cr_expect_eq(count(result->output, "\nok "), passed, "TAP: %s", result->output);
    cr_expect_eq(count(result->output, "\nnot ok "), failed);
    cr_expect_eq(count(result->output, "\n1.."), 1);
    check_xpath(junit, "count(//testcase)", passed + failed);
    check_xpath(junit, "count(//testcase[failure or error])", failed);
    char *report = batch_read(junit);
    check_bytes(report);
    free(report);
    result = BATCH(1, "--skip-done", done, "--format", "csv");
    cr_expect_eq(count(result->output, "\r\n"), count(lines, "\n") + 1, "CSV: %s", result->output);
    cr_expect_eq(count(result->output, "\n"), count(lines, "\n") + 1, "CSV: %s", result->output);
    result = BATCH(1, "--skip-done", done);
    cr_assert_str_empty(result->output, "a line of the run passes for that of another");
}

static size_t count_passed(struct text line) {
    struct text tests, test, pass;
    size_t passed = 0;
    cr_assert(json_member(line, "tests", &tests));
    for (size_t i = 0; json_element(tests, i, &test); i++)
        passed += json_member(test, "pass", &pass) && text_is(pass, "true");
    return passed;
}

static void check_run(const struct cheat *first, size_t cheat_count, size_t neighbours) {
    const struct command_result *result = BATCH(1, "-j2", "--session-memory-mb", "128");
    const size_t lines = batch_lines(result->output);
    size_t passed = 0, next = 0;
    cr_assert_eq(lines, cheat_count + neighbours);
    check_bytes(result->output);
    check_bytes(result->error);
    for (size_t i = 0; i < lines; i++) {
        struct text line = batch_line(result->output, i);
        char *id = batch_string(line, "id");
        passed += count_passed(line);
        if (strcmp(id, "neighbour") == 0)
            check_neighbour(line, first[next ? next - 1 : 0].name);
        else
            check_cheat(line, &first[next++]);
        free(id);
    }
    cr_assert_eq(next, cheat_count);
    char *output = strdup(result->output);
    check_reports(output, passed, lines * exercise_count - passed);
    free(output);
}

/* A neighbour comes before each cheat, and one after the last. */
static void check_together(const struct cheat *first, size_t size) {
    for (size_t i = 0; i < size; i++) {
        submit_neighbour();
        submit_cheat(&first[i]);
    }
    submit_neighbour();
    check_run(first, size, size + 1);
}

static void check_confined(const char *class) {
    size_t size;
    const struct cheat *first = cheats_of(class, &size);
    const size_t together = searches(first) ? 1 : size; /* a search takes its time */
    for (size_t i = 0; i < size; i += together)
        check_together(&first[i], together);
}

#define CLASS(class)                                                                               \
    Test(confined, class) {                                                                        \
        check_confined(#class);                                                                    \
    }
#include "tests/cheats/classes.def"

/* Each is alone in its run, which makes its setup the first call; they forge the numbers of calls.
 */
Test(confined, frames) {
    size_t size;
    const struct cheat *first = cheats_of("frames", &size);
    for (size_t i = 0; i < size; i++) {
        submit_cheat(&first[i]);
        check_run(&first[i], 1, 0);
    }
}

int main(int argument_count, char **arguments) {
    confined_in_own_pid_namespace(WATCHDOG_S);
    putenv((char *)answer_in_environment);
    bool nobody = argument_count > 1 && strcmp(arguments[1], "nobody") == 0;
    if (nobody)
        confined_become_nobody();
    struct criterion_test_set *tests = criterion_initialize();
    int failed =
        criterion_handle_args(argument_count, arguments, true) && !criterion_run_all_tests(tests);
    criterion_finalize(tests);
    return failed;
}
