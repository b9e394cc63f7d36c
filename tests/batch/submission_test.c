/* Lines with a setup and tests: the setup is loaded once, and each test runs in a fork after it. */
#include "common/buffer.h"
#include "tests/support/batch.h"
#include "tests/support/lines.h"
#include "tests/support/lisp_file.h"
#include <criterion/criterion.h>
#include <stdlib.h>

enum { MANY_TESTS = 200, TEST_BYTES = 64, CHECK_BYTES = 300, SUBMISSIONS = 30 };

/* Adds a submission; SETUP is Lisp, TESTS the elements of the array as JSON, MORE further members.
 */
static void submit(const char *id, const char *setup, const char *tests, const char *more) {
    char *quoted = json_quote(setup, strlen(setup));
    batch_add_text(
        formatted("{\"id\":%s,\"setup\":%s,\"tests\":[%s]%s}\n", id, quoted, tests, more));
    free(quoted);
}

/* Test number INDEX, from 0, of a line. */
static struct text test_of(struct text line, size_t index) {
    struct text tests, test;
    cr_assert(json_member(line, "tests", &tests));
    cr_assert(json_element(tests, index, &test), "there is no test %zu", index);
    return test;
}

static struct text only_line(int status) {
    const struct command_result *result = BATCH(status, "-j2");
    cr_assert_eq(batch_lines(result->output), 1, "%s", result->output);
    return batch_line(result->output, 0);
}

Test(batch_submission, each_test_has_the_state_after_the_setup) {
    submit("1", "(princ :loaded) (defvar *n* 0) (defun f (x) (* x x))",
           "{\"name\":\"square\",\"code\":\"(incf *n*) (f 3)\",\"expect\":\"9\"},"
           "{\"code\":\"(incf *n*)\",\"expect\":\"1\",\"points\":2.5},"
           "{\"code\":\"(incf *n*)\",\"expect\":\"1\"}",
           "");
    struct text line = only_line(0);
    batch_expect(line, "stdout", "\"LOADED\"");
    batch_expect(line, "pass", "true");
    batch_expect(line, "points", "4.5");
    batch_expect(line, "pointsMax", "4.5");
    batch_expect(test_of(line, 0), "name", "\"square\"");
    batch_expect(test_of(line, 0), "stdout", "\"\"");
    batch_expect(test_of(line, 1), "name", "\"test 2\"");
    batch_expect(test_of(line, 1), "points", "2.5");
}

Test(batch_submission, the_setup_is_loaded_once) {
    cleanup_buffer struct buffer tests = buffer_make((size_t)MANY_TESTS * TEST_BYTES);
    for (int i = 0; i < MANY_TESTS; i++)
        buffer_append_format(&tests, "%s{\"code\":\"*loaded*\",\"expect\":\"T\"}", i ? "," : "");
    buffer_append(&tests, "", 1);
    submit("1", "(sleep 1) (defvar *loaded* t)", (const char *)tests.data, ",\"timeout\":20");
    struct text line = only_line(0);
    batch_expect(line, "points", formatted("%d", MANY_TESTS));
    double total = 0;
    for (size_t i = 0; i < MANY_TESTS; i++)
        total += batch_number(test_of(line, i), "wallMs");
    cr_assert_lt(total, 1000.0 * MANY_TESTS, "each test slept");
}

Test(batch_submission, a_test_cannot_disturb_the_others) {
    submit("1", "(defun answer () 42)",
           "{\"code\":\"(defun answer () 0)\"},"
           "{\"code\":\"(loop)\",\"timeout\":0.2},"
           "{\"code\":\"(ext:quit 0)\"},"
           "{\"code\":\"(ffi:c-inline () () :void \\\"*(volatile int*)0=1;\\\")\"},"
           "{\"code\":\"(fmakunbound 'answer) (unintern 'answer)\"},"
           "{\"code\":\"(answer)\",\"expect\":\"42\"}",
           "");
    struct text line = only_line(1);
    batch_expect(test_of(line, 1), "outcome", "\"timeout\"");
    batch_expect(test_of(line, 2), "outcome", "\"exit\"");
    batch_expect(test_of(line, 2), "pass", "false");
    batch_expect(test_of(line, 5), "pass", "true");
    batch_expect(line, "pass", "false");
}

Test(batch_submission, a_setup_that_fails_gives_each_test_its_outcome) {
    static const char tests[] = "{\"code\":\"1\",\"expect\":\"1\"},{\"code\":\"2\"}";
    submit("\"error\"", "(car 1)", tests, "");
    submit("\"exit\"", "(ext:quit 0)", tests, "");
    submit("\"timeout\"", "(loop)", tests, ",\"timeout\":0.2");
    submit("\"error\" ", "(princ \"x\") (error \"no\")", tests, "");
    const struct command_result *result = BATCH(1);
    cr_assert_eq(batch_lines(result->output), 4);
    static const char *const outcomes[] = {"\"error\"", "\"exit\"", "\"timeout\"", "\"error\""};
    for (size_t i = 0; i < COUNT_OF(outcomes); i++) {
        struct text line = batch_line(result->output, i);
        batch_expect(line, "outcome", outcomes[i]);
        batch_expect(line, "points", "0");
        batch_expect(line, "pointsMax", "2");
        for (size_t test = 0; test < 2; test++) {
            batch_expect(test_of(line, test), "outcome", outcomes[i]);
            batch_expect(test_of(line, test), "pass", "false");
            cr_assert_not(batch_has(test_of(line, test), "text"), "the reason is on the line");
        }
    }
}

/* Answers the call of the setup, the first of the run. */
#define FORGE "(defun f () 1) (hostile::answer 1 \"42\") "

/* The first is the control: the same file, without an attack. */
Test(batch_submission, what_the_process_of_the_setup_does_after_its_answer_counts) {
    static const struct {
        const char *code;
        bool passes;
        const char *outcome; /* of the line; NULL: depends on when the end of the process is seen */
    } setups[] = {
        {"(defun f () 1)", true, "value"},
        {FORGE "(loop)", false, "crash"},
        {FORGE "(hostile::call :exit_group 0)", false, NULL},
        {FORGE "(hostile::call :execve 0 0 0)", false, NULL},
        {FORGE "(hostile::call :tgkill (hostile::call :getpid) (hostile::call :gettid) 6)", false,
         "crash"},
        {FORGE "7", false, "crash"}, /* the worker sends the true result too */
        {FORGE "(hostile::send-octets 3 '(5 0 0))", false, "crash"},
    };
    for (size_t i = 0; i < COUNT_OF(setups); i++) {
        submit("1", lisp_file_hostile(setups[i].code),
               "{\"code\":\"(sleep 0.1) (f)\",\"expect\":\"1\"}", ",\"timeout\":2");
        batch_add("2", "2", ",\"expect\":\"2\"");
        const struct command_result *result = BATCH(setups[i].passes ? 0 : 1, "-j1");
        struct text line = batch_line(result->output, 0);
        batch_expect(line, "pass", setups[i].passes ? "true" : "false");
        if (setups[i].outcome)
            batch_expect_string(line, "outcome", setups[i].outcome);
        batch_expect(line, "points", setups[i].passes ? "1" : "0");
        batch_expect(batch_line(result->output, 1), "pass", "true"); /* disturbs nobody */
    }
}

/* It has the time of its test, or what a busy machine may need, and not the 10 s that any worker
 * has: it ends before what takes 6 s. */
Test(batch_submission, a_process_that_does_not_fork_is_ended_before_long) {
    submit("1", lisp_file_hostile(FORGE "(loop)"), "{\"code\":\"(f)\"}", ",\"timeout\":0.5");
    batch_add("2", "(sleep 6) 2", ",\"expect\":\"2\"");
    const struct command_result *result = BATCH(1, "-j2", "--unordered");
    cr_assert_eq(batch_lines(result->output), 2);
    batch_expect(batch_line(result->output, 0), "id", "1");
    batch_expect(batch_line(result->output, 1), "pass", "true");
}

Test(batch_submission, the_files_of_a_setup_name_its_lines) {
    static const struct {
        const char *files, *place; /* JSON; of the function, in line 3 of the setup */
    } rows[] = {
        {"null", ", line 3 of the setup"},
        {"\"1 a\"", ", line 3 of a"},
        {"\"1 a\\n3 b\\n\"", ", line 1 of b"},
        {"\"1 a\\n3 b\\n3 c\\n4 d\"", ", line 1 of c"},
        {"\"2 a b, line 9 of c\\n\"", ", line 2 of a b, line 9 of c"},
        {"\"4 a\"", ""},
        /* What is malformed, and what follows it, is no file. */
        {"\"\"", ""},
        {"\"a\"", ""},
        {"\"1\"", ""},
        {"\"1 \"", ""},
        {"\"0 a\"", ""},
        {"\"-1 a\"", ""},
        {"\"1 a\\n99999999999999999999999999 b\"", ", line 3 of a"},
        {"\"1 \\u0000\\ud83d\\ude00\"", ", line 3 of "},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        submit("1", "\n\n(defun f () (car 1))", "{\"code\":\"(f)\"}",
               formatted(",\"files\":%s", rows[i].files));
        struct text line = batch_line(BATCH(1)->output, 0);
        batch_expect_string(line, "outcome", "value");
        char *text = batch_string(test_of(line, 0), "text");
        expect_contains(text, formatted("1: (F)%s", rows[i].place));
        if (!rows[i].place[0])
            expect_lacks(text, ", line");
        free(text);
    }
    batch_add_text("{\"setup\":\"\",\"tests\":[{\"code\":\"1\"}],\"files\":[1]}\n");
    batch_add_text("{\"code\":\"1\",\"files\":\"1 a\"}\n");
    const struct command_result *result = BATCH(0);
    batch_expect(batch_line(result->output, 0), "reason", "\"the member files must be a string\"");
    batch_expect(batch_line(result->output, 1), "reason", "\"the member tests is missing\"");
}

Test(batch_submission, submissions_and_lines_keep_their_order) {
    for (int i = 0; i < SUBMISSIONS; i++) {
        if (i % 3 == 0)
            batch_add(formatted("%d", i), formatted("%d", i), "");
        else
            submit(formatted("%d", i), formatted("(sleep 0.0%d) (defvar *i* %d)", i % 7, i),
                   formatted("{\"code\":\"*i*\",\"expect\":\"%d\"},"
                             "{\"code\":\"(sleep 0.02) *i*\",\"expect\":\"%d\"}",
                             i, i),
                   "");
    }
    const struct command_result *result = BATCH(0, "-j3");
    cr_assert_eq(batch_lines(result->output), SUBMISSIONS);
    for (size_t i = 0; i < SUBMISSIONS; i++)
        batch_expect(batch_line(result->output, i), "id", formatted("%zu", i));
}

Test(batch_submission, fail_fast_ends_running_tests) {
    submit("1", "1", "{\"code\":\"1\",\"expect\":\"2\"}", "");
    submit("2", "1", "{\"code\":\"(sleep 100)\"},{\"code\":\"(sleep 100)\"}", "");
    submit("3", "(sleep 100)", "{\"code\":\"1\"}", "");
    const struct command_result *result = BATCH(1, "--fail-fast", "-j4");
    cr_assert_eq(batch_lines(result->output), 1);
}

Test(batch_submission, values_can_be_compared_without_regard_to_blanks) {
    submit("1", "(defun out (x) (princ x) 1)",
           "{\"code\":\"(out \\\" a  b \\n\\\")\",\"expectStdout\":\"a  b\",\"match\":\"trim\"},"
           "{\"code\":\"(out \\\" a  b \\\")\",\"expectStdout\":\"a b\",\"match\":\"words\"},"
           "{\"code\":\"(out \\\"ab\\\")\",\"expectStdout\":\"a b\",\"match\":\"words\"},"
           "{\"code\":\"(out \\\"a b c\\\")\",\"expectStdout\":\"a b\",\"match\":\"words\"},"
           "{\"code\":\"(out \\\"a  b\\\")\",\"expectStdout\":\"a b\",\"match\":\"trim\"},"
           "{\"code\":\"(out \\\" a\\\")\",\"expectStdout\":\"a\"},"
           "{\"code\":\"(out \\\" \\\")\",\"expectStdout\":\"\",\"match\":\"words\"}",
           "");
    static const char *const passes[] = {"true",  "true",  "false", "false",
                                         "false", "false", "true"};
    struct text line = only_line(1);
    for (size_t i = 0; i < COUNT_OF(passes); i++)
        batch_expect(test_of(line, i), "pass", passes[i]);
}

/* The value of each test is compared with the form in another process. */
struct checked {
    const char *code, *form, *pass;
};

/* Cheats: each would pass if the comparison ran beside the submission, or trusted its text. */
static const struct checked checks[] = {
    {"(f 1)", "(list (- 2 1) \\\"a\\\" #(1 2))", "true"}, /* EQUALP: letters of either case */
    {"'(1 . #.(+ 1 1))", "'(1 . 2)", "true"},
    {"nil", "nil", "true"},
    {"(f 1)", "2", "false"},
    {"(defun equalp (a b) t)", "2", "false"},
    {"(si::package-lock :cl nil) (setf (fdefinition 'equalp) (constantly t)) 1", "2", "false"},
    {"(throw 'x 1)", "1", "false"},
    {"(ext:quit 0)", "1", "false"},
    {"(values)", "nil", "false"},
    {"(shows \\\"\\\")", "nil", "false"},
    {"(shows \\\"1 1\\\")", "1", "false"},
    {"(shows \\\"#.(+ 0 1)\\\")", "1", "false"},
    {"(shows \\\"#.(ext:quit 0)\\\")", "1", "false"},
    {"(shows \\\"1)))) (cl:or t\\\")", "2", "false"},
    {"(shows \\\"%end\\\")", "1", "false"},
    {"(shows \\\"#\\\\\\\"\\\")", "1", "false"},
    {"(shows \\\"#1=(1 . #1#)\\\")", "1", "false"},
    {"(shows \\\"q::x\\\")", "1", "false"},
    {"(make-instance 'shown)", "1", "false"},
    {"1", "1 2)", "false"}, /* a malformed form is met by nothing */
    {"1", "(loop)", "false"},
    {"1", "(ext:quit 0)", "false"},
    {"1", "(error \\\"no\\\")", "false"},
};

Test(batch_submission, a_form_is_compared_where_the_submission_has_no_part) {
    cleanup_buffer struct buffer tests = buffer_make(COUNT_OF(checks) * CHECK_BYTES);
    for (size_t i = 0; i < COUNT_OF(checks); i++)
        buffer_append_format(&tests, "%s{\"code\":\"%s\",\"expectForm\":\"%s\",\"timeout\":0.5}",
                             i ? "," : "", checks[i].code, checks[i].form);
    buffer_append(&tests, "", 1);
    submit("1",
           "(defpackage q) (defun f (x) (list x \"A\" (vector 1 2)))"
           "(defclass shown () ((text :initform \"#<shown>\" :initarg :text)))"
           "(defun shows (text) (make-instance 'shown :text text))"
           "(defmethod print-object ((x shown) s) (write-string (slot-value x 'text) s))",
           (const char *)tests.data, ",\"timeout\":5");
    struct text line = only_line(1);
    for (size_t i = 0; i < COUNT_OF(checks); i++) {
        struct text test = test_of(line, i), pass;
        cr_assert(json_member(test, "pass", &pass));
        cr_assert(text_is(pass, checks[i].pass), "%s: %.*s", checks[i].code, (int)test.length,
                  test.bytes);
        bool met = strcmp(checks[i].pass, "true") == 0;
        batch_expect(test, "points", met ? "1" : "0");
        cr_assert_eq(batch_has(test, "mismatches"), !met, "%s", checks[i].code);
    }
}

Test(batch_submission, standard_input_is_what_the_test_gives) {
    submit(
        "1", "(defun sum () (+ (read) (read)))",
        "{\"code\":\"(sum)\",\"stdin\":\"1 2\",\"expect\":\"3\"},"
        "{\"code\":\"(sum)\",\"stdin\":\"1\",\"expectCondition\":\"END-OF-FILE\"},"
        "{\"code\":\"(sum)\",\"expectCondition\":\"END-OF-FILE\"},"
        "{\"code\":\"(read-line)\",\"stdin\":\"\xc3\xa4\\u0000\\n\",\"expect\":"
        "\"\\\"\xc3\xa4\\u0000\\\"\"},"
        "{\"code\":\"(read-char *terminal-io*)\",\"stdin\":\"x\",\"expect\":\"#\\\\x\"},"
        "{\"code\":\"(read-line *standard-input* nil :end)\",\"stdin\":\"\",\"expect\":\":END\"}",
        "");
    batch_add("2", "(list (read-line) (read-line))",
              ",\"stdin\":\"a\\nb\",\"expect\":\"(\\\"a\\\" \\\"b\\\")\"");
    batch_add("3", "1", ",\"stdin\":1");
    const struct command_result *result = BATCH(0);
    batch_expect(batch_line(result->output, 0), "pass", "true");
    batch_expect(batch_line(result->output, 1), "pass", "true");
    batch_expect(batch_line(result->output, 2), "outcome", "\"invalid\"");
}

Test(batch_submission, for_a_student_a_hidden_test_shows_name_outcome_and_points) {
    submit("1", "(defun f (x) (print x) 0)",
           "{\"name\":\"open\",\"code\":\"(f 1)\",\"expect\":\"1\"},"
           "{\"name\":\"secret\",\"code\":\"(f 4711)\",\"expect\":\"4711\",\"hidden\":true}",
           "");
    const struct command_result *result = BATCH(1);
    expect_contains(result->output, "4711"); /* the teacher sees it */
    result = BATCH(1, "--for-student");
    expect_lacks(result->output, "4711");
    expect_lacks(result->error, "4711");
    struct text line = batch_line(result->output, 0);
    batch_expect(test_of(line, 1), "name", "\"secret\"");
    batch_expect(test_of(line, 1), "outcome", "\"value\"");
    batch_expect(test_of(line, 1), "points", "0");
    cr_assert(batch_has(test_of(line, 0), "mismatches"));
    result = BATCH(1, "--for-student", "--tap");
    expect_lacks(result->output, "4711");
}

Test(batch_submission, tap_and_junit_have_a_case_for_each_test) {
    submit("\"ada\"", "(defun f () 1)",
           "{\"name\":\"good\",\"code\":\"(f)\",\"expect\":\"1\"},"
           "{\"name\":\"bad\",\"code\":\"(f)\",\"expect\":\"2\"},"
           "{\"name\":\"none\",\"code\":\"(car 1)\"}",
           "");
    batch_add("\"line\"", "1", "");
    const char *junit = batch_file("junit.xml");
    const struct command_result *result = BATCH(1, "--tap", "--junit", junit);
    expect_contains(result->output, "ok 1 - ada: good\nnot ok 2 - ada: bad\n");
    expect_contains(result->output, "not ok 3 - ada: none\n");
    expect_contains(result->output, "ok 4 - line\n1..4\n");
    char *report = batch_read(junit);
    expect_contains(report, "tests=\"4\" failures=\"2\" errors=\"0\"");
    expect_contains(report, "<testcase classname=\"ada\" name=\"bad\"");
    expect_contains(report, "<failure type=\"error\" message=\"error\">");
    free(report);
}

Test(batch_submission, an_interrupted_run_resumes) {
    submit("1", "1", "{\"code\":\"1\",\"expect\":\"1\"}", "");
    submit("2", "1", "{\"code\":\"1\",\"expect\":\"2\"}", "");
    const struct command_result *result = BATCH(1);
    const char *done = batch_file("done.jsonl");
    batch_write(done, result->output);
    result = BATCH(1, "--skip-done", done);
    cr_assert_str_empty(result->output);
}

Test(batch_submission, malformed_submissions_are_invalid) {
    static const struct {
        const char *members, *reason;
    } cases[] = {
        {"\"setup\":\"1\"", "the member tests is missing"},
        {"\"setup\":\"1\",\"tests\":null", "the member tests is missing"},
        {"\"tests\":[{\"code\":\"1\"}]", "the member setup is missing"},
        {"\"setup\":\"1\",\"tests\":[]", "the member tests must have"},
        {"\"setup\":\"1\",\"tests\":{}", "the member tests must be an array"},
        {"\"setup\":\"1\",\"tests\":[1]", "test 1: it must be a JSON object"},
        {"\"setup\":\"1\",\"tests\":[null]", "test 1: it must be a JSON object"},
        {"\"setup\":\"1\",\"tests\":[{\"code\":\"1\"},{}]", "test 2: the member code is missing"},
        {"\"setup\":\"1\",\"tests\":[{\"cod\":\"1\"}]", "test 1: unknown member"},
        {"\"setup\":\"1\",\"tests\":[{\"code\":\"1\",\"id\":1}]", "test 1: unknown member"},
        {"\"setup\":\"1\",\"tests\":[{\"code\":\"1\",\"points\":-1}]", "points"},
        {"\"setup\":\"1\",\"tests\":[{\"code\":\"1\",\"points\":1e99}]", "points"},
        {"\"setup\":\"1\",\"tests\":[{\"code\":\"1\",\"points\":\"1\"}]", "points"},
        {"\"setup\":\"1\",\"tests\":[{\"code\":\"1\",\"hidden\":1}]", "hidden"},
        {"\"setup\":\"1\",\"tests\":[{\"code\":\"1\",\"match\":\"x\"}]", "match"},
        {"\"setup\":\"1\",\"tests\":[{\"code\":\"1\",\"timeout\":0}]", "timeout"},
        {"\"setup\":\"1\",\"code\":\"1\",\"tests\":[{\"code\":\"1\"}]", "members of each test"},
        {"\"setup\":\"1\",\"expect\":\"1\",\"tests\":[{\"code\":\"1\"}]", "members of each test"},
        {"\"code\":\"1\",\"points\":1", "unknown member"},
        {"\"expect\":\"1\"", "the member code is missing"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        batch_add_text(formatted("{%s}\n", cases[i].members));
    const struct command_result *result = BATCH(0);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct text line = batch_line(result->output, i);
        batch_expect(line, "outcome", "\"invalid\"");
        char *reason = batch_string(line, "reason");
        expect_contains(reason, cases[i].reason);
        free(reason);
    }
}
