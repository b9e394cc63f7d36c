/* `eclave eval`: the text of an evaluation on stdout, its outcome as the exit status. */
#include "tests/support/command.h"
#include "tests/support/lines.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 8 };

static void expect_run(const char *const *arguments, const char *input, int status,
                       const char *output) {
    struct command_result result = command_eclave(arguments, input);
    cr_assert_eq(result.status, status, "status %d: %s%s", result.status, result.output,
                 result.error);
    cr_assert_str_eq(result.output, output);
    command_result_free(&result);
}

/* The same, but the output must begin with PART. */
static void expect_start(const char *const *arguments, int status, const char *part) {
    struct command_result result = command_eclave(arguments, NULL);
    cr_assert_eq(result.status, status, "status %d: %s%s", result.status, result.output,
                 result.error);
    cr_assert_eq(strncmp(result.output, part, strlen(part)), 0, "%s", result.output);
    expect_lacks(result.output, "the state of the session");
    command_result_free(&result);
}

Test(eval_command, takes_code_from_the_command_line_a_file_or_standard_input) {
    char path[] = "/tmp/eclave-eval-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, "(+ 1 2)\n", 8), 8);
    close(fd);
    expect_run((const char *const[]){"eval", "-e", "(+ 1 2)", NULL}, NULL, 0, "=> 3\n");
    expect_run((const char *const[]){"eval", path, NULL}, NULL, 0, "=> 3\n");
    expect_run((const char *const[]){"eval", "-", NULL}, "(+ 1 2)", 0, "=> 3\n");
    expect_run((const char *const[]){"eval", NULL}, "(defvar *x* 1)\n(+ *x* 2)\n", 0, "=> 3\n");
    unlink(path);
}

Test(eval_command, takes_code_up_to_the_limit_of_a_request) {
    enum { LIMIT = 70000 };
    static const char *const arguments[] = {"eval", "--request-max-bytes", "70000", "-", NULL};
    char *code = malloc(LIMIT + 2);
    snprintf(code, LIMIT + 1, "%-*s", LIMIT, "(+ 1 2)");
    expect_run(arguments, code, 0, "=> 3\n");
    memcpy(code + LIMIT, " ", 2);
    struct command_result result = command_eclave(arguments, code);
    cr_assert_eq(result.status, 2);
    expect_contains(result.error, "- is longer than request.max_bytes (70000)");
    command_result_free(&result);
    free(code);
}

Test(eval_command, prints_the_text_of_the_contract_and_nothing_for_no_value) {
    expect_run((const char *const[]){"eval", NULL},
               "(princ \"out\") (princ \"err\" *error-output*) (values 1 2)", 0,
               "[stdout]\nout\n[stderr]\nerr\n=> 1\n=> 2\n");
    expect_run((const char *const[]){"eval", "-e", "(values)", NULL}, NULL, 0, "");
    expect_run((const char *const[]){"eval", NULL}, "", 0, "");
}

Test(eval_command, ends_with_a_status_for_each_outcome) {
    static const struct {
        const char *arguments[ARGUMENTS_MAX];
        int status;
        const char *text;
    } rows[] = {
        {{"eval", "-e", "(/ 1 0)"}, 1, "[ERROR] DIVISION-BY-ZERO\n"},
        {{"eval", "-e", "(foo"}, 1, "[ERROR] END-OF-FILE\n"},
        {{"eval", "-e", "(ext:quit 5)"}, 5, "[ERROR] PROCESS-EXIT\n"},
        {{"eval", "-e", "(ext:quit 0)"}, 0, "[ERROR] PROCESS-EXIT\n"},
        {{"eval", "--call-timeout-s", "1", "-e", ENDLESS}, 124, "[ERROR] TIMEOUT\n"},
        {{"eval", "-e", VIOLATION}, 159, "[ERROR] SANDBOX-VIOLATION\n"},
        {{"eval", "-e", CRASH}, 139, "[ERROR] WORKER-CRASH\n"},
        {{"eval", "--session-memory-mb", "64", "-e", MEMORY_HOG}, 137, "[ERROR] MEMORY-LIMIT\n"},
        {{"eval", "-e", FORGERY}, 70, "[ERROR] MALFORMED-OUTPUT\n"},
        {{"eval", "--output-max-bytes", "1000", "-e", "(loop (print 1))"},
         70,
         "[ERROR] OUTPUT-LIMIT\n"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        expect_start(rows[i].arguments, rows[i].status, rows[i].text);
}

static void expect_usage(const char *const *arguments, const char *input, size_t input_length,
                         const char *named) {
    const char *whole[ARGUMENTS_MAX] = {ECLAVE_BINARY};
    for (size_t i = 0; arguments[i]; i++)
        whole[i + 1] = arguments[i];
    struct command_result result = command_run(
        &(struct command){.arguments = whole, .input = input, .input_length = input_length});
    cr_assert_eq(result.status, 2, "%s", result.error);
    cr_assert_str_eq(result.output, "");
    expect_contains(result.error, named);
    command_result_free(&result);
}

Test(eval_command, refuses_what_it_cannot_read) {
    expect_usage((const char *const[]){"eval", "-e", NULL}, NULL, 0, "-e needs a value");
    expect_usage((const char *const[]){"eval", "-x", NULL}, NULL, 0, "usage");
    expect_usage((const char *const[]){"eval", "one", "two", NULL}, NULL, 0, "usage");
    expect_usage((const char *const[]){"eval", "-e", "1", "2", NULL}, NULL, 0, "usage");
    expect_usage((const char *const[]){"eval", "/nonexistent/code.lisp", NULL}, NULL, 0,
                 "/nonexistent/code.lisp: No such file or directory");
    expect_usage((const char *const[]){"eval", "/", NULL}, NULL, 0, "Is a directory");
    expect_usage((const char *const[]){"eval", NULL}, "(print \"\xFF\")", 0, "UTF-8");
    char *long_code = malloc(5001);
    cr_assert_not_null(long_code);
    memset(long_code, ' ', 5000);
    long_code[5000] = '\0';
    expect_usage((const char *const[]){"eval", "--request-max-bytes", "2000", NULL}, long_code, 0,
                 "request.max_bytes");
    free(long_code);
}

Test(eval_command, code_cannot_see_the_environment_or_the_arguments) {
    const char *arguments[] = {ECLAVE_BINARY, "eval", "-e", "(ext:getenv \"SECRET_OF_TEST\")",
                               NULL};
    const char *environment[] = {"SECRET_OF_TEST=hidden", NULL};
    struct command_result result =
        command_run(&(struct command){.arguments = arguments, .environment = environment});
    cr_assert_str_eq(result.output, "=> NIL\n");
    command_result_free(&result);
}

/* The status of a shell script whose $1 is the program. */
static int shell_status(const char *script) {
    const char *arguments[] = {"/bin/sh", "-c", script, "sh", ECLAVE_BINARY, NULL};
    struct command_result result = command_run(&(struct command){.arguments = arguments});
    int status = result.status;
    command_result_free(&result);
    return status;
}

Test(eval_command, a_result_that_cannot_be_written_is_an_internal_error) {
    cr_assert_eq(shell_status("exec \"$1\" eval -e 1 >/dev/full"), 70);
}

Test(eval_command, an_interrupt_ends_it_with_130) {
    cr_assert_eq(shell_status("\"$1\" eval -e '(loop)' & sleep 0.3; kill -TERM $!; wait $!"), 130);
}

Test(eval_command, works_for_an_unprivileged_user) {
    const char *arguments[] = {ECLAVE_BINARY, "eval", "-e", "(+ 1 2)", NULL};
    struct command_result result =
        command_run(&(struct command){.arguments = arguments, .unprivileged = getuid() == 0});
    cr_assert_eq(result.status, 0, "%s", result.error);
    cr_assert_str_eq(result.output, "=> 3\n");
    command_result_free(&result);
}
