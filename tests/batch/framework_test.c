/* `eclave grade --framework`: tests that are written for FiveAM or RT, as Debian packages them. */
#include "common/buffer.h"
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

enum { FILES = 20, PATH_BYTES = 300 };

static char *write_file(const char *name, const char *text) {
    static char paths[FILES][PATH_BYTES];
    static size_t count;
    cr_assert_lt(count, COUNT_OF(paths));
    snprintf(paths[count], PATH_BYTES, "%s", batch_file(name));
    batch_write(paths[count], text);
    return paths[count++];
}

static void need(const char *system) {
    static const char source[] = "/usr/share/common-lisp/source/";
    cr_assert_eq(access(formatted("%s%s", source, system), R_OK), 0,
                 "cl-%s is missing; scripts/setup test installs it", system);
}

static void begin(void) {
    need("fiveam");
    need("rt");
}

TestSuite(batch_framework, .init = begin);

static const char fiveam[] =
    "(defpackage square-tests (:use :cl :fiveam))\n"
    "(in-package :square-tests)\n"
    "(def-suite all) (in-suite all)\n"
    "(test small (is (= 4 (cl-user::square 2))) (is (= 9 (cl-user::square 3))))\n"
    "(test large \"Numbers of any size.\"\n"
    "  (is (= 10000000000 (cl-user::square 100000))))\n"
    "(test refuses (signals type-error (cl-user::square :x)))\n"
    "(test later (if (cl-user::square 0) (skip \"not taught yet\") (pass)))\n"
    "(princ \"loaded\")\n";

static struct text test_of(const struct command_result *result, size_t line, size_t test) {
    struct text tests, one;
    cr_assert(json_member(batch_line(result->output, line), "tests", &tests));
    cr_assert(json_element(tests, test, &one), "%zu", test);
    return one;
}

static void expect_test(const struct command_result *result, size_t line, size_t test,
                        const char *name, const char *outcome, const char *points) {
    const struct text one = test_of(result, line, test);
    batch_expect_string(one, "name", name);
    batch_expect_string(one, "outcome", outcome);
    batch_expect(one, "points", points);
    batch_expect(one, "pointsMax", "1");
}

static void expect_in_test(const struct command_result *result, size_t line, size_t test,
                           const char *member, const char *text) {
    const struct text one = test_of(result, line, test);
    struct text value;
    cr_assert(json_member(one, member, &value), "%.*s", (int)one.length, one.bytes);
    char *whole = strndup(value.bytes, value.length);
    expect_contains(whole, text);
    free(whole);
}

Test(batch_framework, each_test_of_fiveam_is_a_record) {
    const char *ada = write_file("ada.lisp", "(defun square (x) (* x x))");
    const char *ben = write_file("ben.lisp", "(defpackage ben (:use :cl)) (in-package :ben)\n"
                                             "(defun cl-user::square (x)\n  (+ x x))");
    const char *eve = write_file("eve.lisp", "\n(defun square (x) (if (eql x 2) (car x) (loop)))");
    const struct command_result *result = GRADE(1, "--framework", "fiveam", "--call-timeout-s", "1",
                                                write_file("t.lisp", fiveam), ada, ben, eve);
    cr_assert_eq(batch_lines(result->output), 3);
    batch_expect_string(batch_line(result->output, 0), "id", "ada");
    batch_expect_string(batch_line(result->output, 0), "stdout", "loaded");
    batch_expect(batch_line(result->output, 0), "points", "3");
    batch_expect(batch_line(result->output, 0), "pointsMax", "4");
    expect_test(result, 0, 0, "large", "value", "1");
    expect_test(result, 0, 1, "later", "value", "0");
    expect_in_test(result, 0, 1, "mismatches", "skipped: not taught yet");
    expect_test(result, 0, 2, "refuses", "value", "1");
    expect_test(result, 0, 3, "small", "value", "1");
    expect_test(result, 1, 0, "large", "value", "0");
    expect_test(result, 1, 2, "refuses", "value", "1");
    expect_in_test(result, 1, 3, "mismatches",
                   "(COMMON-LISP-USER::SQUARE 3) evaluated to 6 which is not = to 9");
    expect_test(result, 2, 0, "large", "timeout", "0");
    expect_test(result, 2, 3, "small", "error", "0");
    expect_in_test(result, 2, 3, "text", "SQUARE 2), line 2 of eve.lisp");
}

Test(batch_framework, each_test_of_rt_is_a_record) {
    const char *tests =
        write_file("t.lisp", "(rt:deftest small (square 3) 9)\n"
                             "(rt:deftest (large 1) (values (square 100) 1) 10000 1)\n"
                             "(rt:deftest \"a \\\"name\\\"\" (square 2) 4)\n");
    const char *ada = write_file("ada.lisp", "(defun square (x) (* x x))");
    const char *ben = write_file("ben.lisp", "(defun square (x) (if (> x 9) (car x) (+ x x)))");
    const struct command_result *result = GRADE(1, "--framework", "rt", tests, ada, ben);
    batch_expect(batch_line(result->output, 0), "points", "3");
    expect_test(result, 1, 0, "small", "value", "0");
    expect_in_test(result, 1, 0, "mismatches", "Expected value: 9\\nActual value: 6.");
    expect_test(result, 1, 1, "(common-lisp-user::large 1)", "error", "0");
    expect_in_test(result, 1, 1, "text", "(SQUARE 100), line 1 of ben.lisp");
    expect_test(result, 1, 2, "\"a \\\"name\\\"\"", "value", "1");
}

Test(batch_framework, reports_have_the_tests_of_the_framework) {
    const char *ben = write_file("ben.lisp", "(defun square (x) (+ x x))");
    const char *junit = write_file("report.xml", "");
    const struct command_result *result =
        GRADE(1, "--framework=fiveam", "--format", "tap", "--junit", junit, "--no-costs",
              write_file("t.lisp", fiveam), ben);
    expect_contains(result->output, "\nok 3 - ben: refuses\n");
    expect_contains(result->output, "\nnot ok 4 - ben: small\n");
    junit_expect_valid(junit);
    junit_expect(junit, "count(//testsuite[@name='ben']/testcase)", "4");
    junit_expect(junit, "count(//testcase[failure])", "3");
}

Test(batch_framework, the_tests_may_be_in_a_directory) {
    const char *ada = write_file("ada.lisp", "(defun square (x) (* x x))");
    const char *directory = batch_file("exercise");
    cr_assert_eq(mkdir(directory, 0700), 0);
    char *path = strdup(directory);
    write_file("exercise/tests.lisp", "(fiveam:test one (fiveam:is (= 1 (square 1))))");
    GRADE(0, "--framework", "fiveam", path, ada);
    free(path);
}

Test(batch_framework, what_cannot_be_tested_is_reported_before_anything_runs) {
    const char *ada = write_file("ada.lisp", "1");
    static const struct {
        const char *framework, *text, *error;
    } rows[] = {
        {"fiveam", "", "it has no tests"},
        {"rt", "(defun f () 1)", "it has no tests"},
        {"fiveam", "1\n(fiveam:test one\n", "line 2 of the tests"},
        {"fiveam", "1\n\n(car 2)",
         "TYPE-ERROR: The value 2 is not of type LIST., in (car 2), line 3 of "
         "the tests"},
        {"fiveam", "(defpackage t1 (:use :ada))", "ADA"},
        {"rt", "(ext:quit 0)", "PROCESS-EXIT"},
        {"rt", "(loop)", "TIMEOUT"},
        {"rt", "\xff\xfe", "line 1 of the tests"},
        {"prove", "1", "option --framework needs one of: fiveam rt"},
        {"", "1", "option --framework needs one of: fiveam rt"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *tests = write_file(formatted("t%zu.lisp", i), rows[i].text);
        const struct command_result *result =
            GRADE(2, "--call-timeout-s", "2", "--framework", rows[i].framework, tests, ada);
        expect_contains(result->error, rows[i].error);
        cr_assert_eq(strchr(result->error, '\n')[1], '\0', "%s", result->error);
        cr_assert_str_empty(result->output);
    }
    GRADE(2, "--framework", "rt", batch_file("missing.lisp"), ada);
}

/* Which tests there are, and what they are worth, is known before a submission is loaded. */
Test(batch_framework, a_submission_does_not_decide_which_tests_there_are) {
    const char *tests = write_file("t.lisp", fiveam);
    static const char *const submissions[] = {
        "(fiveam:test mine (fiveam:is (= 1 1)))",
        "(push (lambda (name) t) *features*) (defmacro fiveam:test (&rest r) nil)",
        "(delete-package :fiveam)",
        "(defun square (x) (ext:quit 0))",
        "(setf *package* nil)",
        "(list",
        "#|",
        "(setf *readtable* nil) ;",
        "(in-package :fiveam)",
    };
    for (size_t i = 0; i < COUNT_OF(submissions); i++) {
        const char *one = write_file("one.lisp", submissions[i]);
        const struct command_result *result =
            GRADE(1, "--framework", "fiveam", "--call-timeout-s", "5", tests, one);
        batch_expect(batch_line(result->output, 0), "pointsMax", "4");
        batch_expect(batch_line(result->output, 0), "pass", "false");
        test_of(result, 0, 3);
    }
}

/* As doc/grade.md says: what runs in the process of a submission can be changed by it. */
Test(batch_framework, a_submission_can_lie_to_a_framework_but_not_to_a_form) {
    const char *liar = write_file("liar.lisp", "(defun square (x) x)\n"
                                               "(defmethod fiveam::test-passed-p ((result t)) t)");
    const struct command_result *result =
        GRADE(0, "--framework", "fiveam", write_file("t.lisp", fiveam), liar);
    expect_test(result, 0, 3, "small", "value", "1");
    const char *forms =
        write_file("t.jsonl", "{\"code\":\"(square 3)\",\"expectForm\":\"(* 3 3)\"}");
    result = GRADE(1, "--systems", "fiveam", forms, liar);
    expect_test(result, 0, 0, "test 1", "value", "0");
}
