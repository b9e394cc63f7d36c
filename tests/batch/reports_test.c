/* What a run says beside its lines: JUnit that Jenkins' own schema accepts (junit-10.xsd is that of
 * its xUnit plugin), TAP, a summary, and a bar for a terminal alone. */
#include "tests/support/batch.h"
#include "tests/support/lines.h"
#include <fcntl.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCHEMA ECLAVE_SOURCE_DIR "/tests/batch/junit-10.xsd"

/* Passed, failed, broken, invalid; names and output that are no friends of XML or TAP. */
static char *lines(void) {
    char *input = batch_input("\"good\"", "(princ \"<&>\\\"]]>\") 3", ",\"expect\":\"3\"");
    batch_append(&input, batch_input("\"wrong # SKIP <x>\"", "\"a\\nb\"", ",\"expect\":\"3\""));
    batch_append(&input, batch_input("\"new\\nline\\u0001\\uffff\"", "(car 1)", ""));
    batch_append(&input, batch_input("[1]",
                                     "(princ (code-char 0)) (princ (code-char 27))"
                                     " (princ (code-char 65535)) 1",
                                     ",\"expectStdout\":\"x\""));
    batch_append(&input, strdup("garbage <>&\"'\n"));
    batch_append(&input, batch_input("6", VIOLATION, ",\"expectCondition\":\"SANDBOX-VIOLATION\""));
    return input;
}

static struct command_result tool(const char *const *arguments) {
    return command_run(&(struct command){.arguments = arguments});
}

static void expect_valid(const char *path) {
    struct command_result result =
        tool((const char *const[]){"/usr/bin/xmllint", "--noout", "--schema", SCHEMA, path, NULL});
    cr_assert_eq(result.status, 0, "%s", result.error);
    command_result_free(&result);
}

static void expect_xpath(const char *path, const char *expression, const char *value) {
    struct command_result result =
        tool((const char *const[]){"/usr/bin/xmllint", "--xpath", expression, path, NULL});
    result.output[strcspn(result.output, "\n")] = '\0';
    cr_assert_str_eq(result.output, value, "%s", expression);
    command_result_free(&result);
}

Test(batch_reports, junit_is_valid_and_says_what_the_lines_say) {
    const char *path = batch_file("report.xml");
    char *input = lines();
    struct command_result result = batch_run((const char *const[]){"--junit", path, NULL}, input);
    cr_assert_eq(result.status, 1);
    cr_assert_eq(batch_lines(result.output), 6);
    expect_valid(path);
    expect_xpath(path, "string(/testsuites/testsuite/@tests)", "6");
    expect_xpath(path, "string(/testsuites/@failures)", "2");
    expect_xpath(path, "string(/testsuites/testsuite/@errors)", "2");
    expect_xpath(path, "count(//testcase)", "6");
    expect_xpath(path, "count(//testcase[failure])", "2");
    expect_xpath(path, "string(//testcase[1]/@name)", "good");
    expect_xpath(path, "string(//testcase[1]/system-out)", "<&>\"]]>");
    expect_xpath(path, "string(//testcase[2]/@name)", "wrong # SKIP <x>");
    expect_xpath(path, "string(//testcase[2]/failure/@type)", "expect");
    expect_xpath(path, "string(//testcase[3]/error/@type)", "error");
    expect_xpath(path, "string(//testcase[5]/@name)", "line 5");
    expect_xpath(path, "string(//testcase[5]/error/@message)", "not JSON, at byte 0");
    expect_xpath(path, "count(//testcase[6]/*)", "0");
    command_result_free(&result);
    free(input);
}

Test(batch_reports, junit_of_nothing_is_valid) {
    const char *path = batch_file("report.xml");
    struct command_result result = batch_run((const char *const[]){"--junit", path, NULL}, "");
    cr_assert_eq(result.status, 0);
    expect_valid(path);
    command_result_free(&result);
}

Test(batch_reports, a_resumed_run_reports_the_earlier_lines_too) {
    const char *path = batch_file("report.xml"), *path_done = batch_file("earlier.jsonl");
    char *input = lines();
    struct command_result whole = batch_run((const char *const[]){NULL}, input);
    struct text third = batch_line(whole.output, 2);
    char *first_lines =
        strndup(whole.output, (size_t)(third.bytes + third.length + 1 - whole.output));
    batch_write(path_done, first_lines);
    struct command_result rest =
        batch_run((const char *const[]){"--skip-done", path_done, "--junit", path, NULL}, input);
    cr_assert_eq(rest.status, 1); /* an expectation of the earlier lines was not met */
    cr_assert_eq(batch_lines(rest.output), 3);
    expect_valid(path);
    expect_xpath(path, "count(//testcase)", "6");
    expect_xpath(path, "string(/testsuites/@failures)", "2");
    expect_contains(rest.error, "6 lines (3 of them earlier)");
    command_result_free(&whole);
    command_result_free(&rest);
    free(input);
    free(first_lines);
}

Test(batch_reports, junit_to_a_full_disk_is_an_error) {
    struct command_result result =
        batch_run((const char *const[]){"--junit", "/dev/full", NULL}, "{\"code\":\"1\"}\n");
    cr_assert_eq(result.status, 70);
    expect_contains(result.error, "JUnit");
    command_result_free(&result);
}

Test(batch_reports, tap_takes_the_place_of_the_lines) {
    static const char start[] = "TAP version 13\nok 1 - good\nnot ok 2 - wrong \\# SKIP <x>\n";
    char *input = lines();
    struct command_result result = batch_run((const char *const[]){"--tap", NULL}, input);
    cr_assert_eq(result.status, 1);
    cr_assert_eq(strncmp(result.output, start, sizeof start - 1), 0, "%s", result.output);
    expect_contains(result.output, "\nnot ok 3 - new line \xEF\xBF\xBF\n");
    expect_contains(result.output, "\nnot ok 4 - [1]\n  ---\n  outcome: value\n  mismatches:\n"
                                   "    - expectation: \"expectStdout\"\n      wanted: \"x\"\n");
    expect_contains(result.output,
                    "\nnot ok 5 - line 5\n  ---\n  outcome: invalid\n  reason: \"not "
                    "JSON, at byte 0\"\n  ...\n");
    expect_contains(result.output, "\nok 6 - 6\n1..6\n");
    expect_lacks(result.output, "{\"id\"");
    command_result_free(&result);
    free(input);
}

Test(batch_reports, tap_that_was_cut_short_bails_out) {
    struct command_result result = batch_run(
        (const char *const[]){"--tap", "--fail-fast", NULL},
        "{\"id\":1,\"code\":\"1\",\"expect\":\"2\"}\n{\"id\":2,\"code\":\"(sleep 100)\"}\n");
    expect_contains(result.output, "not ok 1 - 1\n");
    expect_contains(result.output, "Bail out!");
    expect_lacks(result.output, "1..");
    command_result_free(&result);
}

Test(batch_reports, the_summary_is_one_plain_line) {
    char *input = lines();
    struct command_result result = batch_run((const char *const[]){NULL}, input);
    expect_contains(result.error, "eclave: 6 lines: 3 value, 1 error, 1 invalid, 1 violation; "
                                  "expectations: 2 met, 2 not met; ");
    cr_assert_eq(strchr(result.error, '\n')[1], '\0', "%s", result.error);
    cr_assert_null(strpbrk(result.error, "\r\x1b"));
    command_result_free(&result);
    free(input);
}

/* What a terminal on standard error shows of a run. */
static char *on_terminal(const char *type, const char *path) {
    enum { ROOM = 65536 };
    int ours, theirs, in = open(path, O_RDONLY | O_CLOEXEC),
                      null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    char *text = calloc(1, ROOM);
    size_t length = 0;
    cr_assert(text && in >= 0 && null >= 0 && openpty(&ours, &theirs, NULL, NULL, NULL) == 0);
    setenv("TERM", type, 1);
    pid_t pid = batch_start((const char *const[]){NULL}, in, null, theirs);
    close(theirs);
    for (ssize_t got;
         length < ROOM - 1 && (got = read(ours, text + length, ROOM - 1 - length)) > 0;)
        length += (size_t)got;
    cr_assert_eq(batch_wait(pid), 0);
    close(ours);
    close(in);
    close(null);
    return text;
}

Test(batch_reports, a_bar_is_shown_on_a_terminal_that_can_show_it) {
    const char *path = batch_file("in.jsonl");
    batch_write(path, "{\"code\":\"(sleep 1)\"}\n");
    char *shown = on_terminal("xterm", path), *plain = on_terminal("dumb", path);
    expect_contains(shown, "[########################] 100% read  0 lines");
    expect_contains(shown, "\r\x1b[Keclave: 1 line: 1 value");
    expect_lacks(plain, "\x1b");
    expect_contains(plain, "eclave: 1 line: 1 value");
    free(shown);
    free(plain);
}
