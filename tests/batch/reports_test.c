/* Reports besides the lines: JUnit that is valid for the schema of Jenkins' xUnit plugin
 * (junit-10.xsd), TAP, a summary, and a progress bar on a terminal. */
#include "tests/support/batch.h"
#include "tests/support/junit.h"
#include "tests/support/lines.h"
#include <fcntl.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Lines that pass, fail, signal and are invalid; names and output that XML and TAP must escape. */
static void add_lines(void) {
    batch_add("\"good\"", "(princ \"<&>\\\"]]>\") 3", ",\"expect\":\"3\"");
    batch_add("\"wrong # SKIP <x>\"", "\"a\\nb\"", ",\"expect\":\"3\"");
    batch_add("\"new\\nline\\u0001\\uffff\"", "(car 1)", "");
    batch_add("[1]",
              "(princ (code-char 0)) (princ (code-char 27))"
              " (princ (code-char 65535)) 1",
              ",\"expectStdout\":\"x\"");
    batch_add_text("garbage <>&\"'\n");
    batch_add("6", VIOLATION, ",\"expectCondition\":\"SANDBOX-VIOLATION\"");
}

Test(batch_reports, junit_is_valid_and_matches_the_lines) {
    const char *path = batch_file("report.xml");
    add_lines();
    const struct command_result *result = BATCH(1, "--junit", path);
    cr_assert_eq(batch_lines(result->output), 6);
    junit_expect_valid(path);
    junit_expect(path, "string(/testsuites/testsuite/@tests)", "6");
    junit_expect(path, "string(/testsuites/@failures)", "2");
    junit_expect(path, "string(/testsuites/testsuite/@errors)", "2");
    junit_expect(path, "count(//testcase)", "6");
    junit_expect(path, "count(//testcase[failure])", "2");
    junit_expect(path, "string(//testcase[1]/@name)", "good");
    junit_expect(path, "string(//testcase[1]/system-out)", "<&>\"]]>");
    junit_expect(path, "string(//testcase[2]/@name)", "wrong # SKIP <x>");
    junit_expect(path, "string(//testcase[2]/failure/@type)", "expect");
    junit_expect(path, "string(//testcase[3]/error/@type)", "error");
    junit_expect(path, "string(//testcase[5]/@name)", "line 5");
    junit_expect(path, "string(//testcase[5]/error/@message)", "not JSON, at byte 0");
    junit_expect(path, "count(//testcase[6]/*)", "0");
}

Test(batch_reports, junit_of_no_lines_is_valid) {
    const char *path = batch_file("report.xml");
    BATCH(0, "--junit", path);
    junit_expect_valid(path);
}

Test(batch_reports, a_resumed_run_reports_the_earlier_lines_too) {
    const char *path = batch_file("report.xml"), *path_done = batch_file("earlier.jsonl");
    add_lines();
    char *output = BATCH(1)->output;
    struct text third = batch_line(output, 2);
    output[third.bytes + third.length + 1 - output] = '\0';
    batch_write(path_done, output);
    const struct command_result *rest = BATCH(1, "--skip-done", path_done, "--junit", path);
    cr_assert_eq(batch_lines(rest->output), 3);
    junit_expect_valid(path);
    junit_expect(path, "count(//testcase)", "6");
    junit_expect(path, "string(/testsuites/@failures)", "2");
    expect_contains(rest->error, "6 lines (3 of them earlier)");
}

Test(batch_reports, junit_to_a_full_disk_is_an_error) {
    batch_add("1", "1", "");
    expect_contains(BATCH(70, "--junit", "/dev/full")->error, "JUnit");
}

Test(batch_reports, tap_replaces_the_lines) {
    static const char start[] = "TAP version 13\nok 1 - good\nnot ok 2 - wrong \\# SKIP <x>\n";
    add_lines();
    const struct command_result *result = BATCH(1, "--tap");
    cr_assert_eq(strncmp(result->output, start, sizeof start - 1), 0, "%s", result->output);
    expect_contains(result->output, "\nnot ok 3 - new\\\\u000Aline\\\\u0001\xEF\xBF\xBF\n");
    expect_contains(result->output, "\nnot ok 4 - [1]\n  ---\n  outcome: value\n  message: "
                                    "\"expected: x\\ncame:     ");
    expect_contains(result->output, "  mismatches:\n    - expectation: \"expectStdout\"\n      "
                                    "wanted: \"x\"\n");
    expect_contains(result->output,
                    "\nnot ok 5 - line 5\n  ---\n  outcome: invalid\n  message: \"outcome:  "
                    "invalid\\nreason:   not JSON, at byte 0\\n\"\n  reason: \"not JSON, at byte "
                    "0\"\n  ...\n");
    expect_contains(result->output, "\nok 6 - 6\n1..6\n");
    expect_lacks(result->output, "{\"id\"");
}

Test(batch_reports, tap_of_a_run_that_stopped_early_bails_out) {
    batch_add("1", "1", ",\"expect\":\"2\"");
    batch_add("2", "(sleep 100)", "");
    const struct command_result *result = BATCH(1, "--tap", "--fail-fast");
    expect_contains(result->output, "not ok 1 - 1\n");
    expect_contains(result->output, "Bail out!");
    expect_lacks(result->output, "1..");
}

Test(batch_reports, the_summary_is_one_line_without_controls) {
    add_lines();
    const struct command_result *result = BATCH(1);
    expect_contains(result->error, "eclave: 6 lines: 3 value, 1 error, 1 invalid, 1 violation; "
                                   "expectations: 2 met, 2 not met; ");
    cr_assert_eq(strchr(result->error, '\n')[1], '\0', "%s", result->error);
    cr_assert_null(strpbrk(result->error, "\r\x1b"));
}

/* What `eclave ARGUMENTS...` on the input in PATH shows on a terminal as standard error. */
static char *on_terminal(const char *type, const char *const *arguments, const char *path) {
    enum { ROOM = 65536 };
    int ours, theirs, in = open(path, O_RDONLY | O_CLOEXEC),
                      null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    char *text = calloc(1, ROOM);
    size_t length = 0;
    cr_assert(text && in >= 0 && null >= 0 && openpty(&ours, &theirs, NULL, NULL, NULL) == 0);
    setenv("TERM", type, 1);
    pid_t pid = batch_start_command(arguments, in, null, theirs);
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

Test(batch_reports, a_progress_bar_is_shown_on_a_capable_terminal) {
    const char *path = batch_file("in.jsonl");
    batch_write(path, "{\"code\":\"(sleep 1)\"}\n");
    static const char *const batch[] = {"batch", NULL};
    char *shown = on_terminal("xterm", batch, path), *plain = on_terminal("dumb", batch, path);
    expect_contains(shown, "[########################] 100% read  0 lines");
    expect_contains(shown, "\r\x1b[Keclave: 1 line: 1 value");
    expect_lacks(plain, "\x1b");
    expect_contains(plain, "eclave: 1 line: 1 value");
    free(shown);
    free(plain);
}

Test(batch_reports, a_progress_bar_of_submissions_says_how_long_the_rest_takes) {
    const char *all = batch_file("all");
    char tests[300], first[300], second[300];
    cr_assert_eq(mkdir(all, 0700), 0);
    snprintf(tests, sizeof tests, "%s", batch_file("tests.jsonl"));
    snprintf(first, sizeof first, "%s", batch_file("all/a.lisp"));
    snprintf(second, sizeof second, "%s", batch_file("all/b.lisp"));
    batch_write(tests, "{\"code\":\"1\"}");
    batch_write(first, "1");
    batch_write(second, "(sleep 1)");
    const char *const arguments[] = {"grade", "-j1", tests, first, second, NULL};
    char *shown = on_terminal("xterm", arguments, "/dev/null");
    const char *half = strstr(shown, "[############------------]  50%  1 lines, ");
    cr_assert_not_null(half, "%s", shown);
    size_t length = strcspn(half, "\x1b");
    cr_assert_not_null(memmem(half, length, ", 0 failed, about ", 18), "%.*s", (int)length, half);
    cr_assert_not_null(memmem(half, length, " s left", 7), "%.*s", (int)length, half);
    const char *begun = strstr(shown, "  0%  0 lines, "); /* nothing is known yet */
    if (begun)
        cr_assert_null(memmem(begun, strcspn(begun, "\x1b"), "left", 4), "%s", begun);
    free(shown);
}
