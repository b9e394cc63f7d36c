/* `eclave grade`: submissions as people keep them, in files and directories. */
#include "common/buffer.h"
#include "tests/support/batch.h"
#include "tests/support/lines.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GRADE(status, ...)                                                                         \
    command_expect(status, (const char *const[]){"grade", ##__VA_ARGS__, NULL}, NULL)

enum { MANY = 100, PATH_BYTES = 300 };

/* The path of NAME in the directory of the test; valid until the test ends. */
static char *path_of(const char *name) {
    static char paths[MANY + 20][PATH_BYTES];
    static size_t count;
    cr_assert_lt(count, COUNT_OF(paths));
    snprintf(paths[count], PATH_BYTES, "%s", batch_file(name));
    return paths[count++];
}

static char *write_file(const char *name, const char *text) {
    char *path = path_of(name);
    batch_write(path, text);
    return path;
}

static char *make_directory(const char *name) {
    char *path = path_of(name);
    cr_assert_eq(mkdir(path, 0700), 0, "%s", path);
    return path;
}

static const char tests[] =
    "{\"name\":\"three\",\"code\":\"(square 3)\",\"expect\":\"9\"}\n\n"
    "  {\"name\":\"loud\",\"code\":\"(print (square "
    "4))\",\"expect\":\"16\",\"points\":2,\"task\":3}\r\n"
    "{\"name\":\"secret\",\"code\":\"(square 4711)\",\"expect\":\"22193521\",\"hidden\":true}";

static char *tests_path(void) {
    return write_file("square.jsonl", tests);
}

static void expect_member(const struct command_result *result, size_t index, const char *member,
                          const char *value) {
    batch_expect_string(batch_line(result->output, index), member, value);
}

Test(batch_grade, files_and_directories_are_submissions) {
    const char *ada = write_file("ada.lisp", "(defun square (x) (* x x))");
    const char *ben = make_directory("ben");
    write_file("ben/b.lisp", "(defun square (x) (twice x))");
    write_file("ben/a.lisp", "(defun twice (x) (* 2 x)) ; without a newline");
    write_file("ben/notes.txt", "(car 1)");
    write_file("ben/.hidden.lisp", "(car 1)");
    const struct command_result *result = GRADE(1, tests_path(), ada, ben);
    cr_assert_eq(batch_lines(result->output), 2);
    expect_member(result, 0, "id", "ada");
    batch_expect(batch_line(result->output, 0), "points", "4");
    batch_expect(batch_line(result->output, 0), "pass", "true");
    expect_member(result, 1, "id", "ben");
    batch_expect(batch_line(result->output, 1), "outcome", "\"value\"");
    batch_expect(batch_line(result->output, 1), "points", "0");
    batch_expect(batch_line(result->output, 1), "pointsMax", "4");
    expect_contains(result->error, "2 lines");
}

Test(batch_grade, tests_may_be_in_a_directory) {
    const char *exercise = make_directory("exercise");
    write_file("exercise/tests.jsonl", tests);
    const char *ada = write_file("ada.lisp", "(defun square (x) (* x x))");
    GRADE(0, exercise, ada);
    GRADE(0, formatted("%s/", exercise), ada);
}

Test(batch_grade, each_entry_of_a_directory_is_a_submission) {
    const char *all = make_directory("all");
    write_file("all/ada.lisp", "(defun square (x) (* x x))");
    make_directory("all/ben");
    write_file("all/ben/x.lisp", "(defun square (x) (* x x))");
    make_directory("all/empty");
    write_file("all/.git", "");
    const struct command_result *result = GRADE(1, "--each", tests_path(), all);
    cr_assert_eq(batch_lines(result->output), 3);
    batch_expect(batch_line_of(result->output, "\"ada\""), "points", "4");
    batch_expect(batch_line_of(result->output, "\"ben\""), "points", "4");
    batch_expect(batch_line_of(result->output, "\"empty\""), "points", "0");
}

Test(batch_grade, what_cannot_be_read_gets_no_points_and_the_reason) {
    const char *ada = write_file("ada.lisp", "(defun square (x) (* x x))");
    const char *link = path_of("link.lisp"), *fifo = path_of("fifo.lisp");
    const char *directory = make_directory("directory");
    cr_assert_eq(symlink("ada.lisp", link), 0);
    cr_assert_eq(symlink("/etc/passwd", path_of("directory/a.lisp")), 0);
    cr_assert_eq(mkfifo(fifo, 0600), 0);
    const struct command_result *result =
        GRADE(1, tests_path(), link, fifo, directory, path_of("missing.lisp"), ada);
    static const char *const reasons[] = {
        "link.lisp cannot be read: it is a symbolic link",
        "fifo.lisp cannot be read: it is no regular file",
        "a.lisp cannot be read: it is a symbolic link",
        "missing.lisp cannot be read: No such file or directory",
    };
    cr_assert_eq(batch_lines(result->output), COUNT_OF(reasons) + 1);
    for (size_t i = 0; i < COUNT_OF(reasons); i++) {
        struct text line = batch_line(result->output, i);
        batch_expect(line, "outcome", "\"invalid\"");
        expect_member(result, i, "reason", reasons[i]);
        batch_expect(line, "points", "0");
        batch_expect(line, "pointsMax", "4");
        batch_expect(line, "pass", "false");
    }
    batch_expect(batch_line(result->output, COUNT_OF(reasons)), "pass", "true");
    expect_lacks(result->output, "root:");
}

Test(batch_grade, bytes_that_are_no_text_do_not_end_the_run) {
    /* The last of them turns the direction of the text that follows it. */
    static const char square[] = "(defun square (x) (* x x)) ; ";
    static const unsigned char bytes[] = {0xff, 0xfe, 1, ' ', 0xe2, 0x80, 0xae};
    char source[sizeof square + sizeof bytes];
    snprintf(source, sizeof source, "%s%.*s", square, (int)sizeof bytes, (const char *)bytes);
    const char *ada = write_file("ada.lisp", source);
    const char *odd = write_file("o\"d\\d\n\xff.lisp", "(defun square (x) (* x x))");
    const char *empty = write_file("empty.lisp", "");
    const struct command_result *result = GRADE(1, tests_path(), ada, odd, empty);
    cr_assert_eq(batch_lines(result->output), 3);
    batch_expect(batch_line(result->output, 0), "points", "4");
    batch_expect(batch_line(result->output, 1), "points", "4");
    batch_expect(batch_line(result->output, 2), "points", "0");
}

Test(batch_grade, equal_names_are_told_apart) {
    make_directory("a");
    make_directory("b");
    const char *one = write_file("a/solution.lisp", "1"), *two = write_file("b/solution.lisp", "1");
    const struct command_result *result = GRADE(1, tests_path(), one, two);
    expect_member(result, 0, "id", one);
    expect_member(result, 1, "id", two);
}

Test(batch_grade, mistakes_are_reported_before_anything_runs) {
    const char *ada = write_file("ada.lisp", "1");
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"", "it has no tests"},
        {"\n \n", "it has no tests"},
        {"{\"code\":\"1\"}\n{\"cod\":\"1\"}\n", "line 2: test 1: unknown member"},
        {"{\"code\":\"1\"},{\"code\":\"2\"}", "line 1:"}, /* two on a line */
        {"{\"code\":\"1\"}]}", "line 1:"},
        {"{\"code\":\"1\"", "line 1:"},
        {"1", "line 1: a test must be a JSON object"},
        {"{\"code\":\"1\",\"task\":0}", "task"},
        {"{\"code\":\"1\",\"task\":1.5}", "task"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *path = write_file(formatted("tests%zu.jsonl", i), cases[i].text);
        const struct command_result *result = GRADE(2, path, ada);
        expect_contains(result->error, cases[i].error);
        cr_assert_str_empty(result->output);
    }
    GRADE(2, path_of("no.jsonl"), ada);
    GRADE(2, tests_path());
    GRADE(2);
    GRADE(2, "--each", tests_path(), ada);
    GRADE(2, "--each", tests_path(), make_directory("nobody"));
    GRADE(2, "--format", "html", tests_path(), ada);
}

Test(batch_grade, csv_cannot_be_a_formula) {
    const char *bad = write_file("=cmd.lisp", "(defun square (x) (format t \"a\\\"b,~%\") 1)");
    const struct command_result *result = GRADE(1, "--format", "csv", tests_path(), bad);
    cr_assert_str_eq(result->output, "who,outcome,points,pointsMax,passed,tests,firstFailure\r\n"
                                     "\"'=cmd\",value,0,4,0,3,\"three: expected 9, came 1\"\r\n");
}

Test(batch_grade, csv_has_a_line_for_each_submission) {
    const char *bad =
        write_file("e\x1b[2J\nada.lisp", "(defun square (x) (intern (format nil \"a~%b\")))");
    const struct command_result *result = GRADE(1, "--format", "csv", tests_path(), bad);
    cr_assert_str_eq(
        result->output,
        "who,outcome,points,pointsMax,passed,tests,firstFailure\r\n"
        "\"e\\u001B[2J\\u000Aada\",value,0,4,0,3,\"three: expected 9, came |a\\u000Ab|\"\r\n");
}

Test(batch_grade, a_table_cannot_control_the_terminal) {
    const char *bad =
        write_file("e\x1b[31mvil.lisp", "(error (format nil \"a~cb\" (code-char 27)))");
    const char *ada = write_file("ada.lisp", "(defun square (x) (* x x))");
    const struct command_result *result = GRADE(1, "--format", "table", tests_path(), bad, ada);
    expect_lacks(result->output, "\x1b");
    expect_contains(result->output, "ada                       4/4");
    expect_contains(result->output, "0/4           SIMPLE-ERROR: a");
}

Test(batch_grade, results_for_exercism) {
    const char *ada =
        write_file("ada.lisp", "(defun square (x) (dotimes (i 300) (princ \"xy\")) (+ x x))");
    const char *ben = write_file("ben.lisp", "(defun square (x)");
    const char *eve = write_file("eve.lisp", "(defun square (x) (car x))");
    const char *test = tests_path();
    const struct command_result *result = GRADE(1, "--format", "exercism", test, ada, ben, eve);
    struct text line = batch_line(result->output, 0), records, one;
    batch_expect(line, "version", "3");
    batch_expect(line, "status", "\"fail\"");
    batch_expect(line, "message", "null");
    cr_assert(json_member(line, "tests", &records) && json_element(records, 1, &one));
    batch_expect(one, "name", "\"loud\"");
    batch_expect(one, "status", "\"fail\"");
    batch_expect(one, "test_code", "\"(print (square 4))\"");
    batch_expect(one, "task_id", "3");
    char *output = batch_string(one, "output"), *message = batch_string(one, "message");
    cr_assert_eq(strlen(output), 500);
    expect_contains(output, "Output was truncated. Please limit to 500 chars");
    expect_contains(message, "called:   (print (square 4))\nexpected: 16\ncame:     8\n");
    free(output);
    free(message);
    line = batch_line(result->output, 1);
    batch_expect(line, "status", "\"error\"");
    message = batch_string(line, "message");
    expect_contains(message, "the list that begins at line 1, column 1 is not closed");
    free(message);
    line = batch_line(result->output, 2);
    cr_assert(json_member(line, "tests", &records) && json_element(records, 0, &one));
    batch_expect(one, "status", "\"error\"");
    message = batch_string(one, "message");
    expect_contains(message, "error:    TYPE-ERROR\n          The value 3 is not of type LIST.");
    expect_lacks(message, "0x");
    free(message);
}

Test(batch_grade, a_student_does_not_see_hidden_tests) {
    static const char *const formats[] = {"jsonl", "table", "csv", "tap", "exercism"};
    const char *ada =
        write_file("ada.lisp", "(defun square (x) (if (> x 9) (error \"~a!\" x) (* x x)))");
    const char *junit = path_of("report.xml"), *test = tests_path();
    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        const struct command_result *result =
            GRADE(1, "--for-student", "--format", formats[i], "--junit", junit, test, ada);
        char *report = batch_read(junit);
        expect_lacks(result->output, "4711");
        expect_lacks(result->error, "4711");
        expect_lacks(report, "4711");
        expect_contains(result->output, i == 1 || i == 2 ? "secret: error" : "secret");
        free(report);
    }
}

Test(batch_grade, junit_has_a_suite_for_each_submission) {
    const char *ada = write_file("ada.lisp", "(defun square (x) (* x x))");
    const char *ben = write_file("ben.lisp", "(defun square (x) (+ x x))");
    const char *junit = path_of("report.xml");
    GRADE(1, "--junit", junit, "--no-costs", tests_path(), ada, ben, path_of("missing.lisp"));
    char *report = batch_read(junit);
    expect_contains(report, "<testsuites tests=\"7\" failures=\"4\" errors=\"0\"");
    expect_contains(report, "<testsuite name=\"ada\" tests=\"3\" failures=\"0\" errors=\"0\"");
    expect_contains(report, "<testsuite name=\"ben\" tests=\"3\" failures=\"3\" errors=\"0\"");
    expect_contains(report, "<testcase classname=\"ben\" name=\"loud\"");
    free(report);
}

Test(batch_grade, a_run_resumes) {
    const char *ada = write_file("ada.lisp", "(defun square (x) (* x x))");
    const char *ben = write_file("ben.lisp", "(defun square (x) (* x x))");
    const char *test = tests_path();
    const char *done = write_file("done.jsonl", GRADE(0, test, ada)->output);
    const struct command_result *result = GRADE(0, "--skip-done", done, test, ada, ben);
    cr_assert_eq(batch_lines(result->output), 1);
    expect_member(result, 0, "id", "ben");
    result = GRADE(0, "--skip-done", done, "--format", "csv", test, ada, ben);
    expect_contains(result->output, "\"ada\",value,4,4,3,3,\"\"\r\n\"ben\",value,4,4,3,3,\"\"\r\n");
}

Test(batch_grade, many_submissions_keep_their_order_and_disturb_nobody) {
    static const char *const kinds[] = {"(defun square (x) (* x x))", "(defun square (x) (loop))",
                                        "(ext:quit 0)", "(defun square (x) (ext:quit 0))",
                                        "(print \"{\\\"id\\\":\\\"000\\\",\\\"pass\\\":true}\")"};
    const char *all = make_directory("all");
    const char *loops =
        write_file("l.jsonl", "{\"code\":\"(square 3)\",\"expect\":\"9\",\"timeout\":0.5}");
    for (int i = 0; i < MANY; i++)
        write_file(formatted("all/%03d.lisp", i), kinds[i % (int)COUNT_OF(kinds)]);
    const struct command_result *result = GRADE(1, "-j4", "--each", loops, all);
    cr_assert_eq(batch_lines(result->output), MANY);
    for (size_t i = 0; i < MANY; i++) {
        struct text line = batch_line(result->output, i);
        batch_expect(line, "id", formatted("\"%03zu\"", i));
        batch_expect(line, "points", i % COUNT_OF(kinds) ? "0" : "1");
    }
}
