/* `eclave grade`: submissions as people keep them, in files and directories. */
#include "common/buffer.h"
#include "common/cleanup.h"
#include "tests/support/batch.h"
#include "tests/support/junit.h"
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

/* Before the tests, which are forks, so that each finds them native. */
Test(batch_grade, functions_of_a_submission_are_compiled_once) {
    const char *native =
        write_file("native.jsonl", "{\"code\":\"(list (square 3) (nth-value 1 "
                                   "(si:bc-split #'square)))\",\"expect\":\"(9 NIL)\"}");
    const char *ada = write_file("ada.lisp", "(defun square (x) (* x x))");
    GRADE(0, "--native", "auto", native, ada);
    GRADE(1, native, ada);
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
    expect_contains(message, "the list that begins at line 1 of ben.lisp, column 1 is not closed");
    free(message);
    line = batch_line(result->output, 2);
    cr_assert(json_member(line, "tests", &records) && json_element(records, 0, &one));
    batch_expect(one, "status", "\"error\"");
    message = batch_string(one, "message");
    expect_contains(message, "error:    TYPE-ERROR\n          The value 3 is not of type LIST.");
    expect_contains(message, "in:       (SQUARE 3), line 1 of eve.lisp\n");
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
    junit_expect_valid(junit);
    char *report = batch_read(junit);
    expect_contains(report, "<testsuites tests=\"7\" failures=\"4\" errors=\"0\"");
    expect_contains(report, "<testsuite name=\"ada\" tests=\"3\" failures=\"0\" errors=\"0\"");
    expect_contains(report, "<testsuite name=\"ben\" tests=\"3\" failures=\"3\" errors=\"0\"");
    expect_contains(report, "<testcase classname=\"ben\" name=\"loud\"");
    free(report);
}

Test(batch_grade, reports_say_what_was_called_and_where_it_failed) {
    const char *ada = write_file("ada.lisp", "\n(defun square (x) (print x) (car x))");
    const char *ben = write_file("ben.lisp", "(defun square (x) (+ x x))");
    const char *junit = path_of("report.xml");
    const struct command_result *result =
        GRADE(1, "--tap", "--junit", junit, "--no-costs", tests_path(), ada, ben);
    junit_expect_valid(junit);
    static const char *const failures[][2] = {
        {"//testsuite[1]/testcase[1]/failure/text()",
         "called:   (square 3)\nexpected: 9\ncame:     [ERROR] TYPE-ERROR\nerror:    TYPE-ERROR\n"
         "          The value 3 is not of type LIST.\nIt is the argument of CAR.\n"
         "in:       (SQUARE 3), line 2 of ada.lisp\nprinted:  \n3 \n"},
        {"//testsuite[2]/testcase[2]/failure/text()",
         "called:   (print (square 4))\nexpected: 16\ncame:     8\nprinted:  \n8 \n"},
    };
    for (size_t i = 0; i < COUNT_OF(failures); i++) {
        junit_expect(junit, formatted("starts-with(%s,'%s')", failures[i][0], failures[i][1]),
                     "true");
        cleanup_buffer struct buffer message = buffer_make(1000);
        for (const char *byte = failures[i][1]; *byte; byte++)
            buffer_append(&message, *byte == '\n' ? "\\n" : byte, *byte == '\n' ? 2 : 1);
        buffer_append(&message, "", 1);
        expect_contains(result->output, formatted("\n  message: \"%s", (const char *)message.data));
    }
}

Test(batch_grade, a_failure_has_the_line_in_the_file_of_the_student) {
    static const char more[] = "{\"name\":\"%s\",\"code\":\"%s\"}\n";
    static const char *const rows[][2] = {
        {"(one 1)", "(ONE 1), line 3 of a.lisp"},
        {"(two 1)", "(ONE 1), line 3 of a.lisp"}, /* TWO calls it, and is in the other file */
        {"(three 1)", "(THREE 1), line 4 of b.lisp"},
        {"(anonymous 1)", "((LAMBDA (X)) 1), line 6 of b.lisp"},
        {"(general 1)", "(ONE 1), line 3 of a.lisp"},
        {"(macroexpand '(macro 1))", "line 11 of b.lisp"},
        {"(spread 1)", "(SPREAD 1), line 12 of b.lisp"},
        {"(car 3)", "(CAR 3)"}, /* no function of the submission */
    };
    cleanup_buffer struct buffer all = buffer_make(10000);
    const char *ada = make_directory("ada");
    write_file("ada/a.lisp", ";;; a\n#| b\n |# (defun one (x) (car x))");
    write_file("ada/b.lisp", "(in-package :cl-user)\n(defun two (x) (one x) 2)\n\n"
                             "(defun three (x) (declare (optimize (speed 3)))\n  (cdr x))\n"
                             "(defun anonymous (x)\n  (funcall (lambda (x) (car x)) x))\n"
                             "(defgeneric general (x)\n (:method ((x integer))\n  (one x) 1))\n"
                             "(defmacro macro (x) (car x))\n"
                             "(defun spread (x)\n  ; \xc3\xa9\n  (mapcar #'car (list x)) 1)\n");
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        buffer_append_format(&all, more, rows[i][0], rows[i][0]);
    buffer_append(&all, "", 1);
    const struct command_result *result =
        GRADE(1, "--tap", write_file("tests.jsonl", (const char *)all.data), ada);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *row = strstr(result->output, formatted("not ok %zu ", i + 1));
        cr_assert_not_null(row, "%s", rows[i][0]);
        const char *in = strstr(row, "in:       ");
        const char *end = in ? strstr(in, "\\n") : NULL;
        cr_assert(in && end, "%s: %s", rows[i][0], row);
        char *frame = strndup(in, (size_t)(end - in));
        expect_contains(frame, rows[i][1]);
        free(frame);
    }
    expect_lacks(result->output, "0x");
    expect_lacks(result->output, ada); /* the path */
}

Test(batch_grade, a_submission_that_does_not_load_has_the_line_too) {
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"1\n2\n(car 3)", "(car 3), line 3 of b.lisp"},
        {"(defun f (x)\n (car x))\n(f 1)", "(F 1), line 1 of b.lisp"},
        {"1\n(list", "the list that begins at line 2 of b.lisp, column 1 is not closed"},
        {"1\n(cl-usr::f)", "(read up to line 2 of b.lisp, column"},
    };
    const char *ada = make_directory("ada");
    write_file("ada/a.lisp", "1\n2\n3\n");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        write_file("ada/b.lisp", rows[i].text);
        const struct command_result *result = GRADE(1, tests_path(), ada);
        char *text = batch_string(batch_line(result->output, 0), "text");
        expect_contains(text, rows[i].why);
        free(text);
    }
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

/* Nobody passes for somebody else by the name of a file. */
Test(batch_grade, no_two_submissions_have_one_name) {
    static const char right[] = "(defun square (x) (* x x))", wrong[] = "(defun square (x) x)";
    const char *all = make_directory("all"), *more = make_directory("more");
    write_file("all/ada", right);
    write_file("all/ada-b.lisp", right);
    write_file("all/ada.lisp", wrong);
    const struct command_result *result = GRADE(1, "--each", tests_path(), all);
    batch_expect(batch_line_of(result->output, formatted("\"%s/ada\"", all)), "points", "4");
    batch_expect(batch_line_of(result->output, formatted("\"%s/ada.lisp\"", all)), "points", "0");
    unlink(path_of("all/ada.lisp"));
    write_file("more/ada.lisp", wrong);
    result = GRADE(1, "--each", tests_path(), all, more);
    batch_expect(batch_line_of(result->output, formatted("\"%s/ada\"", all)), "points", "4");
    batch_expect(batch_line_of(result->output, formatted("\"%s/ada.lisp\"", more)), "points", "0");
    /* These are not UTF-8, and the same once they are repaired. */
    write_file("more/eve\xff.lisp", right);
    write_file("more/eve\xfe.lisp", wrong);
    result = GRADE(1, "--each", tests_path(), more);
    batch_expect(batch_line_of(result->output, "\"eve\\\\xff\""), "points", "4");
    batch_expect(batch_line_of(result->output, "\"eve\\\\xfe\""), "points", "0");
    batch_expect(batch_line_of(result->output, "\"ada\""), "points", "0");
}

/* As a shell puts it in place of `*`. */
Test(batch_grade, the_name_of_a_submission_is_no_option) {
    static const char *const names[] = {
        "--for-student", "--preload=evil.lisp", "-j1", "--help", "-V", "--session-memory-mb"};
    const char *ada = write_file("ada.lisp", "(defun square (x) (* x x))");
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        expect_contains(GRADE(2, tests_path(), names[i], ada)->error,
                        formatted("%s comes after TESTS: put options before it", names[i]));
        expect_contains(
            GRADE(2, "-j", "2", "--call-timeout-s", "9", tests_path(), ada, names[i])->error,
            "comes after TESTS");
        expect_contains(GRADE(1, tests_path(), "--", ada, names[i])->output,
                        "No such file or directory");
    }
}

/* A row as wide as the terminal would go on in the next line, and could look like a row there. */
Test(batch_grade, no_row_is_wider_than_a_terminal) {
    const char *ada =
        write_file("ada.lisp", "(defun square (x) (error \"~a\" (concatenate 'string (make-string"
                               " 200 :initial-element (code-char #x5bbd)) \" zoe 4/4\")))");
    const char *wide = write_file("\xe5\xae\xbd\xe5\xae\xbd\xe5\xae\xbd\xe5\xae\xbd\xe5\xae\xbd"
                                  "\xe5\xae\xbd\xe5\xae\xbd\xe5\xae\xbd\xe5\xae\xbd\xe5\xae\xbd"
                                  "\xe5\xae\xbd\xe5\xae\xbd\xe5\xae\xbd\xe5\xae\xbd.lisp",
                                  "(defun square (x) x)");
    const struct command_result *result = GRADE(1, "--format", "table", tests_path(), ada, wide);
    expect_contains(result->output, "\xe5\xae\xbd");
    expect_lacks(result->output, "zoe");
    size_t columns = 0;
    for (const char *byte = result->output; *byte; byte++) {
        const unsigned char first = (unsigned char)*byte;
        columns = first == '\n' ? 0 : columns + (first >= 0xe5 ? 2 : (first & 0xc0) != 0x80);
        cr_assert_leq(columns, 100, "%s", result->output);
    }
    expect_contains(result->output, "\xe5\xae\xbd\xe2\x80\xa6   0/4 ");
}
