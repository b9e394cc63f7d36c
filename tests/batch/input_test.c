/* Input of any bytes: each line gets an answer, and the run continues. The command line. */
#include "tests/support/batch.h"
#include "tests/support/lines.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct bad {
    const char *line, *id, *reason;
} bad_lines[] = {
    {"garbage", NULL, "not JSON, at byte 0"},
    {"{\"id\":1,\"code\":\"1\"} {}", NULL, "not JSON"},
    {"{'id':1}", NULL, "not JSON"},
    {"{\"id\":1,\"code\":\"\xFF\"}", NULL, "not well-formed UTF-8, at byte 16"},
    {"{\"id\":1,\"code\":\"1\",\"a\\u0000b\":1}", NULL, "a member name with U+0000 in it"},
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

Test(batch_input, a_bad_line_is_answered_with_the_reason_and_the_run_continues) {
    for (size_t i = 0; i < COUNT_OF(bad_lines); i++) {
        batch_add_text(formatted("%s\n", bad_lines[i].line));
        batch_add("\"good\"", "1", "");
    }
    const struct command_result *result = BATCH(0);
    cr_assert_eq(batch_lines(result->output), 2 * COUNT_OF(bad_lines));
    for (size_t i = 0; i < COUNT_OF(bad_lines); i++) {
        struct text line = batch_line(result->output, 2 * i);
        char *reason = batch_string(line, "reason");
        batch_expect_string(line, "outcome", "invalid");
        expect_contains(reason, bad_lines[i].reason);
        batch_expect(line, "id", bad_lines[i].id ? bad_lines[i].id : "null");
        if (bad_lines[i].id)
            cr_assert_not(batch_has(line, "line"));
        else
            batch_expect(line, "line", formatted("%zu", 2 * i + 1));
        cr_assert_not(batch_has(line, "pass"));
        batch_expect_string(batch_line(result->output, 2 * i + 1), "outcome", "value");
        free(reason);
    }
}

Test(batch_input, an_id_is_any_value_and_is_returned_as_written) {
    static const char *const ids[] = {
        "1",    "1.50", "-0",     "12345678901234567890123",   "\"\\u0041\\n\"", "\"\"",
        "true", "null", "[1, 2]", "{\"a\": [\"}\"], \"b\":{}}"};
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        batch_add(ids[i], "1", "");
    const struct command_result *result = BATCH(0);
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        batch_expect(batch_line(result->output, i), "id", ids[i]);
}

Test(batch_input, blank_lines_byte_order_marks_and_carriage_returns_are_ignored) {
    batch_add_text("\xEF\xBB\xBF{\"code\":\"1\"}\r\n\n  \r\n\t{\"code\":\"2\"}  \n\n");
    const struct command_result *result = BATCH(0);
    cr_assert_eq(batch_lines(result->output), 2);
    batch_expect(batch_line(result->output, 0), "line", "1");
    batch_expect(batch_line(result->output, 1), "line", "4");
}

Test(batch_input, an_unterminated_last_line_is_a_line) {
    batch_add_text("{\"id\":1,\"code\":\"1\"}");
    const struct command_result *result = BATCH(0);
    batch_expect_string(batch_line_of(result->output, "1"), "outcome", "value");
    batch_add_text("{\"id\":1,\"code\":\"1\"}\n{\"id\":2,\"co");
    result = BATCH(0);
    cr_assert_eq(batch_lines(result->output), 2);
    batch_expect_string(batch_line(result->output, 1), "outcome", "invalid");
}

Test(batch_input, no_input_gives_no_output) {
    const struct command_result *result = BATCH(0);
    cr_assert_str_eq(result->output, "");
    expect_contains(result->error, "eclave: 0 lines; ");
}

/* A line of more than SIZE bytes, whose code is a comment after 1. */
static void add_long_line(const char *id, int size) {
    batch_add(id, formatted("1 ; %0*d", size, 0), "");
}

Test(batch_input, a_line_over_the_limit_is_invalid_and_the_next_one_is_not) {
    add_long_line("1", 100000);
    batch_add("2", "2", "");
    add_long_line("3", 1500);
    add_long_line("4", 3000000);
    const struct command_result *result = BATCH(0, "--request-max-bytes", "2000");
    cr_assert_eq(batch_lines(result->output), 4);
    batch_expect(batch_line(result->output, 0), "line", "1");
    batch_expect_string(batch_line(result->output, 0), "reason",
                        "longer than request.max_bytes (2000)");
    batch_expect_string(batch_line(result->output, 1), "outcome", "value");
    batch_expect_string(batch_line(result->output, 2), "outcome", "value");
    batch_expect(batch_line(result->output, 3), "line", "4");
}

Test(batch_input, a_huge_line_within_the_limit_is_evaluated) {
    add_long_line("1", 15 << 20);
    batch_add("2", "2", "");
    const struct command_result *result = BATCH(0);
    batch_expect(batch_line(result->output, 0), "values", "[\"1\"]");
    batch_expect(batch_line(result->output, 1), "values", "[\"2\"]");
}

Test(batch_input, any_printed_bytes_become_one_json_line) {
    batch_add("1", "(princ (code-char 0)) (princ (code-char 10)) \"a\\\\b\"", "");
    batch_add("2",
              FOREIGN "(c \"write\" :long '(:int :cstring :unsigned-long) 1 "
                      "(map 'base-string #'code-char '(255 254 65 10)) 4) 1",
              "");
    const struct command_result *result = BATCH(0);
    cr_assert_eq(batch_lines(result->output), 2, "%s", result->output);
    batch_expect_string(batch_line_of(result->output, "2"), "stdout",
                        "\xEF\xBF\xBD\xEF\xBF\xBD"
                        "A\n");
}

/* --- the command line --- */

Test(batch_input, mistakes_in_the_command_line_exit_with_2) {
    static const struct {
        const char *arguments[4], *named;
    } mistakes[] = {
        {{"batch", "-j"}, "-j needs a whole number"},
        {{"batch", "-j", "0"}, "from 1 to 1024"},
        {{"batch", "-j", "many"}, "-j"},
        {{"batch", "-j1025"}, "-j"},
        {{"batch", "--junit"}, "--junit needs a value"},
        {{"batch", "--junit", "/nonexistent/x"}, "No such file"},
        {{"batch", "--skip-done", "/nonexistent/x"}, "No such file"},
        {{"batch", "--frobnicate"}, "--frobnicate"},
        {{"batch", "-x"}, "unknown option -x"},
        {{"batch", "one", "two"}, "usage: eclave batch"},
        {{"batch", "/nonexistent/lines"}, "/nonexistent/lines: No such file or directory"},
        {{"batch", "/"}, "Is a directory"},
        {{"batch", "--call-timeout-s", "0"}, "--call-timeout-s"},
        {{"eval", "--tap"}, "unknown option --tap"},
    };
    for (size_t i = 0; i < COUNT_OF(mistakes); i++) {
        const struct command_result *result = batch_run(2, mistakes[i].arguments);
        cr_assert_str_eq(result->output, "");
        expect_contains(result->error, mistakes[i].named);
        cr_assert_eq(strchr(result->error, '\n')[1], '\0', "%s", result->error);
    }
}

/* Each script runs in a directory with IN, an input, and OUT, the output of an earlier run; hard
 * and symbolic links to them; and $1, the program. */
Test(batch_input, a_file_has_one_role) {
    static const char *const refused[] = {
        "\"$1\" batch --junit in in",
        "\"$1\" batch --junit ./in in",
        "\"$1\" batch --junit in <in",
        "\"$1\" batch --junit hard in",
        "\"$1\" batch --junit in soft",
        "\"$1\" batch --junit soft - <hard",
        "\"$1\" batch --skip-done out --junit out in",
        "\"$1\" batch --skip-done out --junit \"$PWD/out\" in >>out",
        "\"$1\" batch --junit new in >new",
        "\"$1\" batch --junit out in >>out",
        "\"$1\" batch in >>in",
        "\"$1\" batch <in >>in",
        "\"$1\" batch <in >>hard",
        "\"$1\" batch soft >>in",
        "\"$1\" batch <in 1<>in",
        "\"$1\" batch --skip-done in in",
        "\"$1\" batch --skip-done out in 1<>out",
        "\"$1\" batch --tap in >>hard",
        "mkfifo fifo; exec 3<>fifo; \"$1\" batch <fifo >fifo",
    };
    static const char *const accepted[] = {
        "\"$1\" batch --junit new in >>other",       "\"$1\" batch --skip-done out in >>out",
        "\"$1\" batch --skip-done out in >>outlink", "\"$1\" batch in >/dev/null",
        "\"$1\" batch </dev/null >/dev/null",
    };
    static const char prepare[] =
        "ulimit -f 4096; cd \"$2\" && rm -rf * && echo '{\"id\":1,\"code\":\"1\"}' >in && ln in "
        "hard && "
        "ln -s in soft && \"$1\" batch in >out 2>/dev/null && ln out outlink && cp in in.before && "
        "cp out out.before || exit 99; (%s); status=$?; "
        "cmp -s in in.before && cmp -s out out.before || exit 98; exit $status";
    const char *directory = batch_file("roles");
    cr_assert_eq(mkdir(directory, 0777), 0);
    for (size_t i = 0; i < COUNT_OF(refused) + COUNT_OF(accepted); i++) {
        bool refuses = i < COUNT_OF(refused);
        const char *script = refuses ? refused[i] : accepted[i - COUNT_OF(refused)];
        const char *arguments[] = {"/bin/sh", "-c", formatted(prepare, script), "sh", ECLAVE_BINARY,
                                   directory, NULL};
        struct command_result result = command_run(&(struct command){.arguments = arguments});
        cr_expect_eq(result.status, refuses ? 2 : 0, "%s: %d: %s", script, result.status,
                     result.error);
        if (refuses)
            cr_expect(strstr(result.error, "are the same file"), "%s: %s", script, result.error);
        command_result_free(&result);
    }
}

Test(batch_input, help_names_every_option) {
    static const char *const names[] = {"-j N",    "--unordered", "--fail-fast",
                                        "--junit", "--skip-done", "--tap"};
    const struct command_result *result = BATCH(0, "--help");
    for (size_t i = 0; i < COUNT_OF(names); i++)
        expect_contains(result->output, names[i]);
}

Test(batch_input, comes_from_a_file_or_standard_input) {
    const char *path = batch_file("in.jsonl");
    batch_add("1", "1", "");
    batch_write(path, batch_input());
    batch_expect(batch_line(BATCH(0, "-")->output, 0), "id", "1");
    batch_add_text("");
    batch_expect(batch_line(BATCH(0, path)->output, 0), "id", "1");
}

Test(batch_input, is_subject_to_the_limits_of_the_settings) {
    batch_add("1", ENDLESS, "");
    batch_expect_string(batch_line(BATCH(0, "--call-timeout-s", "1")->output, 0), "outcome",
                        "timeout");
}
