/* `eclave eval`: the text of an evaluation on stdout, its outcome as the exit status. */
#include "tests/support/command.h"
#include "tests/support/project_files.h"
#include <stdlib.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 8 };

Test(eval_command, takes_code_from_the_command_line_a_file_or_standard_input) {
    project_files_begin();
    project_files_write("code.lisp", "(+ 1 2)\n");
    const char *path = formatted("%s/code.lisp", project_files_path());
    cr_assert_str_eq(command_expect(0, STRINGS("eval", "-e", "(+ 1 2)"), NULL)->output, "=> 3\n");
    cr_assert_str_eq(command_expect(0, STRINGS("eval", path), NULL)->output, "=> 3\n");
    cr_assert_str_eq(command_expect(0, STRINGS("eval", "-"), "(+ 1 2)")->output, "=> 3\n");
    cr_assert_str_eq(command_expect(0, STRINGS("eval"), "(defvar *x* 1)\n(+ *x* 2)\n")->output,
                     "=> 3\n");
    project_files_end();
}

Test(eval_command, takes_code_up_to_the_limit_of_a_request) {
    enum { LIMIT = 70000 };
    static const char *const arguments[] = {"eval", "--request-max-bytes", "70000", "-", NULL};
    const char *fits = formatted("%-*s", LIMIT, "(+ 1 2)");
    cr_assert_str_eq(command_expect(0, arguments, fits)->output, "=> 3\n");
    expect_contains(command_expect(2, arguments, formatted("%s ", fits))->error,
                    "- is longer than request.max_bytes (70000)");
}

Test(eval_command, prints_the_text_of_an_answer) {
    static const char *const rows[][2] = {
        {"(princ \"out\") (princ \"err\" *error-output*) (values 1 2)",
         "[stdout]\nout\n[stderr]\nerr\n=> 1\n=> 2\n"},
        {"(values)", "; no values\n"},
        {"", "; no values\n"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        cr_assert_str_eq(command_expect(0, STRINGS("eval"), rows[i][0])->output, rows[i][1]);
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
        {{"eval", "-e", "(ext:quit 0)"}, 3, "[ERROR] PROCESS-EXIT\n"},
        {{"eval", "--call-timeout-s", "1", "-e", ENDLESS}, 124, "[ERROR] TIMEOUT\n"},
        {{"eval", "-e", VIOLATION}, 159, "[ERROR] SANDBOX-VIOLATION\n"},
        {{"eval", "-e", CRASH}, 139, "[ERROR] WORKER-CRASH\n"},
        {{"eval", "--session-memory-mb", "64", "-e", MEMORY_HOG}, 137, "[ERROR] MEMORY-LIMIT\n"},
        {{"eval", "-e", FORGERY}, 70, "[ERROR] MALFORMED-OUTPUT\n"},
        {{"eval", "--output-max-bytes", "1000", "-e", "(loop (print 1))"},
         70,
         "[ERROR] OUTPUT-LIMIT\n"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *output = command_expect(rows[i].status, rows[i].arguments, NULL)->output;
        cr_assert_eq(strncmp(output, rows[i].text, strlen(rows[i].text)), 0, "%s", output);
        expect_lacks(output, "the state of the session");
    }
}

Test(eval_command, refuses_unusable_arguments_and_code) {
    static const struct {
        const char *arguments[ARGUMENTS_MAX];
        const char *input, *named;
    } rows[] = {
        {{"eval", "-e"}, NULL, "-e needs a value"},
        {{"eval", "-x"}, NULL, "unknown option -x"},
        {{"eval", "one", "two"}, NULL, "usage"},
        {{"eval", "-e", "1", "2"}, NULL, "either -e CODE or a file"},
        {{"eval", "/nonexistent/code.lisp"},
         NULL,
         "/nonexistent/code.lisp: No such file or directory"},
        {{"eval", "/"}, NULL, "Is a directory"},
        {{"eval"}, "(print \"\xFF\")", "UTF-8"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct command_result *result = command_expect(2, rows[i].arguments, rows[i].input);
        cr_assert_str_eq(result->output, "");
        expect_contains(result->error, rows[i].named);
    }
}

/* As a NUL after a blank. */
Test(eval_command, a_null_character_after_a_form_is_an_error_of_the_reader) {
#define ROW(text)                                                                                  \
    { (text), sizeof(text) - 1 }
    static const struct {
        const char *code;
        size_t length;
    } rows[] = {
        ROW("(+ 1 2)\0"),    ROW("(+ 1 2) \0"), ROW("42\0"),         ROW("\"a\"\0"),
        ROW("'x\0"),         ROW("#(1)\0"),     ROW("nil\0"),        ROW("#\\a\0"),
        ROW(":k\0"),         ROW("\0"),         ROW(";c\n\0"),       ROW("#|c|#\0"),
        ROW("(list 1 \0)"),  ROW("1\n\0"),      ROW("(list 1)\0\0"), ROW("|a|\0"),
        ROW("(list 1)\0 2"), ROW("`(1)\0"),
    };
#undef ROW
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct command_result result =
            command_run(&(struct command){.arguments = STRINGS(ECLAVE_BINARY, "eval", "-"),
                                          .input = rows[i].code,
                                          .input_length = rows[i].length});
        cr_expect_eq(result.status, 1, "row %zu", i);
        cr_expect(strstr(result.output, "[ERROR] READER-ERROR\n") == result.output, "row %zu: %s",
                  i, result.output);
        command_result_free(&result);
    }
}

Test(eval_command, code_cannot_see_the_environment_or_the_arguments) {
    struct command_result result = command_run(&(struct command){
        .arguments = STRINGS(ECLAVE_BINARY, "eval", "-e", "(ext:getenv \"SECRET_OF_TEST\")"),
        .environment = STRINGS("SECRET_OF_TEST=hidden")});
    cr_assert_str_eq(result.output, "=> NIL\n");
    command_result_free(&result);
}

/* The status of a shell script whose $1 is the program. */
static int shell_status(const char *script) {
    struct command_result result = command_run(
        &(struct command){.arguments = STRINGS("/bin/sh", "-c", script, "sh", ECLAVE_BINARY)});
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
    struct command_result result =
        command_run(&(struct command){.arguments = STRINGS(ECLAVE_BINARY, "eval", "-e", "(+ 1 2)"),
                                      .unprivileged = getuid() == 0});
    cr_assert_eq(result.status, 0, "%s", result.error);
    cr_assert_str_eq(result.output, "=> 3\n");
    command_result_free(&result);
}
