/* What an input may be: any bytes at all. Each line has its answer, and the rest goes on. */
#include "tests/support/batch.h"
#include "tests/support/lines.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const no_arguments[] = {NULL};

static const struct bad {
    const char *line, *id, *reason;
} bad_lines[] = {
    {"garbage", NULL, "not JSON, at byte 0"},
    {"{\"id\":1,\"code\":\"1\"} {}", NULL, "not JSON"},
    {"{'id':1}", NULL, "not JSON"},
    {"{\"id\":1,\"code\":\"\xFF\"}", NULL, "not well-formed UTF-8, at byte 16"},
    {"{\"id\":1,\"code\":\"1\",\"a\\u0000b\":1}", NULL, "a name with a zero byte in it"},
    {"[1]", NULL, "a line must be a JSON object"},
    {"\"text\"", NULL, "a line must be a JSON object"},
    {"{\"code\":5}", NULL, "the member code must be a string"},
    {"{\"id\":\"\\ud800\",\"code\":\"1\"}", NULL, "the id must be well-formed Unicode"},
    {"{\"id\":7}", "7", "the member code is missing"},
    {"{\"id\":7,\"code\":null}", "7", "the member code is missing"},
    {"{\"id\":7,\"code\":[\"1\"]}", "7", "the member code must be a string"},
    {"{\"id\":7,\"code\":\"1\",\"expect\":3}", "7", "the member expect must be a string"},
    {"{\"id\":7,\"code\":\"1\",\"expectStdout\":3}", "7",
     "the member expectStdout must be a string"},
    {"{\"id\":7,\"code\":\"1\",\"preload\":\"x\"}", "7", "unknown member \"preload\""},
    {"{\"id\":7,\"code\":\"1\",\"Expect\":\"x\"}", "7",
     "unknown member \"Expect\"; did you mean expect?"},
    {"{\"id\":7,\"code\":\"1\",\"timeout\":\"1\"}", "7", "the member timeout must be a number"},
    {"{\"id\":7,\"code\":\"1\",\"timeout\":0}", "7", "the member timeout must be a number"},
    {"{\"id\":7,\"code\":\"1\",\"timeout\":-1}", "7", "the member timeout must be a number"},
    {"{\"id\":7,\"code\":\"1\",\"timeout\":601}", "7", "above 0 and at most 600"},
    {"{\"id\":7,\"code\":\"1\",\"timeout\":true}", "7", "the member timeout must be a number"},
};

Test(batch_input, a_bad_line_says_why_and_the_rest_goes_on) {
    char *input = NULL;
    for (size_t i = 0; i < COUNT_OF(bad_lines); i++) {
        char *line;
        cr_assert_gt(asprintf(&line, "%s\n", bad_lines[i].line), 0);
        batch_append(&input, line);
        batch_append(&input, batch_input("\"good\"", "1", ""));
    }
    struct command_result result = batch_run(no_arguments, input);
    cr_assert_eq(result.status, 0, "%s", result.error);
    cr_assert_eq(batch_lines(result.output), 2 * COUNT_OF(bad_lines));
    for (size_t i = 0; i < COUNT_OF(bad_lines); i++) {
        struct text line = batch_line(result.output, 2 * i);
        char number[24], *reason = batch_string(line, "reason");
        snprintf(number, sizeof number, "%zu", 2 * i + 1);
        batch_expect_string(line, "outcome", "invalid");
        expect_contains(reason, bad_lines[i].reason);
        batch_expect(line, "id", bad_lines[i].id ? bad_lines[i].id : "null");
        if (bad_lines[i].id)
            cr_assert_not(batch_has(line, "line"));
        else
            batch_expect(line, "line", number);
        cr_assert_not(batch_has(line, "pass"));
        batch_expect_string(batch_line(result.output, 2 * i + 1), "outcome", "value");
        free(reason);
    }
    command_result_free(&result);
    free(input);
}

Test(batch_input, an_id_is_any_value_and_comes_back_as_it_was_written) {
    static const char *const ids[] = {
        "1",    "1.50", "-0",     "12345678901234567890123",   "\"\\u0041\\n\"", "\"\"",
        "true", "null", "[1, 2]", "{\"a\": [\"}\"], \"b\":{}}"};
    char *input = NULL;
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        batch_append(&input, batch_input(ids[i], "1", ""));
    struct command_result result = batch_run(no_arguments, input);
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        batch_expect(batch_line(result.output, i), "id", ids[i]);
    command_result_free(&result);
    free(input);
}

Test(batch_input, blank_lines_marks_and_carriage_returns_are_no_part_of_a_line) {
    struct command_result result =
        batch_run(no_arguments, "\xEF\xBB\xBF{\"code\":\"1\"}\r\n\n  \r\n\t{\"code\":\"2\"}  \n\n");
    cr_assert_eq(batch_lines(result.output), 2);
    batch_expect(batch_line(result.output, 0), "line", "1");
    batch_expect(batch_line(result.output, 1), "line", "4");
    command_result_free(&result);
}

Test(batch_input, an_unterminated_last_line_is_a_line) {
    struct command_result result = batch_run(no_arguments, "{\"id\":1,\"code\":\"1\"}");
    batch_expect_string(batch_line_of(result.output, "1"), "outcome", "value");
    command_result_free(&result);
    result = batch_run(no_arguments, "{\"id\":1,\"code\":\"1\"}\n{\"id\":2,\"co");
    cr_assert_eq(batch_lines(result.output), 2);
    batch_expect_string(batch_line(result.output, 1), "outcome", "invalid");
    command_result_free(&result);
}

Test(batch_input, nothing_in_is_nothing_out) {
    struct command_result result = batch_run(no_arguments, "");
    cr_assert_eq(result.status, 0);
    cr_assert_str_eq(result.output, "");
    expect_contains(result.error, "eclave: 0 lines; ");
    command_result_free(&result);
}

/* A line of SIZE bytes and more whose code is a comment. */
static char *long_line(const char *id, size_t size) {
    char *code = malloc(size + 1);
    cr_assert_not_null(code);
    memset(code, 'x', size);
    memcpy(code, "1 ; ", 4);
    code[size] = '\0';
    char *line = batch_input(id, code, "");
    free(code);
    return line;
}

Test(batch_input, a_line_over_the_limit_is_invalid_and_the_next_one_is_none_the_worse) {
    char *input = long_line("1", 100000);
    batch_append(&input, batch_input("2", "2", ""));
    batch_append(&input, long_line("3", 1500));
    batch_append(&input, long_line("4", 3000000));
    struct command_result result =
        batch_run((const char *const[]){"--request-max-bytes", "2000", NULL}, input);
    cr_assert_eq(batch_lines(result.output), 4);
    batch_expect(batch_line(result.output, 0), "line", "1");
    batch_expect_string(batch_line(result.output, 0), "reason",
                        "longer than request.max_bytes (2000)");
    batch_expect_string(batch_line(result.output, 1), "outcome", "value");
    batch_expect_string(batch_line(result.output, 2), "outcome", "value");
    batch_expect(batch_line(result.output, 3), "line", "4");
    command_result_free(&result);
    free(input);
}

Test(batch_input, a_huge_line_is_evaluated_where_it_is_allowed) {
    char *input = long_line("1", 15 << 20);
    batch_append(&input, batch_input("2", "2", ""));
    struct command_result result = batch_run(no_arguments, input);
    batch_expect(batch_line(result.output, 0), "values", "[\"1\"]");
    batch_expect(batch_line(result.output, 1), "values", "[\"2\"]");
    command_result_free(&result);
    free(input);
}

Test(batch_input, any_printed_bytes_come_out_as_one_json_line) {
    char *input = batch_input("1", "(princ (code-char 0)) (princ (code-char 10)) \"a\\\\b\"", "");
    batch_append(&input, batch_input("2",
                                     FOREIGN "(c \"write\" :long '(:int :cstring :unsigned-long) 1 "
                                             "(map 'base-string #'code-char '(255 254 65 10)) 4) 1",
                                     ""));
    struct command_result result = batch_run(no_arguments, input);
    cr_assert_eq(batch_lines(result.output), 2, "%s", result.output);
    batch_expect_string(batch_line_of(result.output, "2"), "stdout",
                        "\xEF\xBF\xBD\xEF\xBF\xBD"
                        "A\n");
    command_result_free(&result);
    free(input);
}

/* --- the command line --- */

static void expect_usage(const char *const *arguments, const char *named) {
    struct command_result result = command_eclave(arguments, "");
    cr_assert_eq(result.status, 2, "%s: %s", named, result.error);
    cr_assert_str_eq(result.output, "");
    expect_contains(result.error, named);
    cr_assert_eq(strchr(result.error, '\n')[1], '\0', "%s", result.error);
    command_result_free(&result);
}

Test(batch_input, mistakes_of_the_command_line_end_it_with_2) {
    expect_usage((const char *const[]){"batch", "-j", NULL}, "-j needs a whole number");
    expect_usage((const char *const[]){"batch", "-j", "0", NULL}, "from 1 to 1024");
    expect_usage((const char *const[]){"batch", "-j", "many", NULL}, "-j");
    expect_usage((const char *const[]){"batch", "-j1025", NULL}, "-j");
    expect_usage((const char *const[]){"batch", "--junit", NULL}, "--junit needs a value");
    expect_usage((const char *const[]){"batch", "--junit", "/nonexistent/x", NULL}, "No such file");
    expect_usage((const char *const[]){"batch", "--skip-done", "/nonexistent/x", NULL},
                 "No such file");
    expect_usage((const char *const[]){"batch", "--frobnicate", NULL}, "--frobnicate");
    expect_usage((const char *const[]){"batch", "-x", NULL}, "usage: eclave batch");
    expect_usage((const char *const[]){"batch", "one", "two", NULL}, "usage: eclave batch");
    expect_usage((const char *const[]){"batch", "/nonexistent/lines", NULL},
                 "/nonexistent/lines: No such file or directory");
    expect_usage((const char *const[]){"batch", "/", NULL}, "Is a directory");
    expect_usage((const char *const[]){"batch", "--call-timeout-s", "0", NULL}, "--call-timeout-s");
    expect_usage((const char *const[]){"eval", "--tap", NULL}, "unknown option --tap");
}

Test(batch_input, help_names_every_option) {
    struct command_result result =
        command_eclave((const char *const[]){"batch", "--help", NULL}, NULL);
    static const char *const names[] = {"-j N",    "--unordered", "--fail-fast",
                                        "--junit", "--skip-done", "--tap"};
    cr_assert_eq(result.status, 0);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        expect_contains(result.output, names[i]);
    command_result_free(&result);
}

Test(batch_input, comes_from_a_file_or_standard_input) {
    const char *path = batch_file("in.jsonl");
    char *line = batch_input("1", "1", "");
    batch_write(path, line);
    struct command_result named = batch_run((const char *const[]){path, NULL}, "");
    struct command_result dash = batch_run((const char *const[]){"-", NULL}, line);
    batch_expect(batch_line(named.output, 0), "id", "1");
    batch_expect(batch_line(dash.output, 0), "id", "1");
    command_result_free(&named);
    command_result_free(&dash);
    free(line);
}

Test(batch_input, the_limits_are_those_of_the_settings) {
    char *input = batch_input("1", ENDLESS, "");
    struct command_result result =
        batch_run((const char *const[]){"--call-timeout-s", "1", NULL}, input);
    batch_expect_string(batch_line(result.output, 0), "outcome", "timeout");
    command_result_free(&result);
    free(input);
}
