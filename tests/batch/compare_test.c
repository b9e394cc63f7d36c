/* `match` number and regex, which are compared in a process of their own, and what bounds a run. */
#include "common/buffer.h"
#include "tests/support/batch.h"
#include "tests/support/lines.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIXED = 100, MIXED_THOROUGH = 1000, LOOPS = 3 };

struct row {
    const char *code, *members; /* JSON string content; further members */
    bool passes;
};

/* Adds each row as a line, and all of them as the tests of one submission. */
static void check_rows(const struct row *rows, size_t count) {
    cleanup_buffer struct buffer tests = buffer_make(1 << 20);
    for (size_t i = 0; i < count; i++) {
        batch_add_text(
            formatted("{\"id\":%zu,\"code\":\"%s\",%s}\n", i, rows[i].code, rows[i].members));
        buffer_append_format(&tests, "%s{\"code\":\"%s\",%s}", i ? "," : "", rows[i].code,
                             rows[i].members);
    }
    buffer_append(&tests, "", 1);
    batch_add_text(
        formatted("{\"id\":\"all\",\"setup\":\"1\",\"tests\":[%s]}\n", (const char *)tests.data));
    const struct command_result *result = BATCH(1, "-j2");
    cr_assert_eq(batch_lines(result->output), count + 1);
    struct text all = batch_line(result->output, count), records, test;
    cr_assert(json_member(all, "tests", &records));
    for (size_t i = 0; i < count; i++) {
        struct text line = batch_line(result->output, i), pass;
        const char *wanted = rows[i].passes ? "true" : "false";
        cr_assert(json_member(line, "pass", &pass), "%.*s", (int)line.length, line.bytes);
        cr_assert(text_is(pass, wanted), "%zu: %.*s", i, (int)line.length, line.bytes);
        cr_assert_eq(batch_has(line, "mismatches"), !rows[i].passes, "%zu", i);
        cr_assert(json_element(records, i, &test));
        cr_assert(json_member(test, "pass", &pass));
        cr_assert(text_is(pass, wanted), "%zu: %.*s", i, (int)test.length, test.bytes);
        batch_expect(test, "points", rows[i].passes ? "1" : "0");
    }
}

Test(batch_compare, numbers_may_differ_by_the_tolerance) {
#define NUMBER(wanted, tolerance)                                                                  \
    "\"expect\":\"" wanted "\",\"match\":\"number\",\"tolerance\":" tolerance
    static const struct row rows[] = {
        {"3.1416", NUMBER("3.14159", "0.001"), true},
        {"3.1416", NUMBER("3.14159", "1e-9"), false},
        {"3.1416d0", NUMBER("3.1416", "0"), true}, /* whatever the format of the float */
        {"1/3", NUMBER("0.333", "0.001"), true},
        {"-1/3", NUMBER("0.333", "0.001"), false},
        {"-0.0", NUMBER("0", "0"), true},
        {"1.3", NUMBER("1", "0.3"), true}, /* exactly at it, as it is written */
        {"1.30001", NUMBER("1", "0.3"), false},
        {"1", NUMBER("2", "0.5"), false},
        {"'(1.0 (2.5))", NUMBER("(1 (2.5000))", "0"), true},
        {"'(1 2)", NUMBER("(1 2 3)", "9"), false},
        {"'(1 2)", NUMBER("1 2", "9"), false},
        {"'a", NUMBER("b", "9"), false},
        {"'a", NUMBER("1", "9"), false},
        {"'a", NUMBER("a", "9"), false},
        {"'a", NUMBER("A", "9"), true},
        {"(expt 10 40)",
         "\"expect\":\"10000000000000000000000000000000000000001\","
         "\"match\":\"number\"",
         false},
        {"(car 1)", NUMBER("1", "9"), false},
        {"(values)", NUMBER("1", "9"), false},
        {"(format t \\\" x = ~a~%\\\" 2/3)",
         "\"expectStdout\":\"x = 0.67\",\"match\":\"number\","
         "\"tolerance\":0.01",
         true},
        /* Text of a submission that a reader would evaluate, or that is no number. */
        {"(intern \\\"1e99999999999\\\")", NUMBER("1", "1"), false},
        {"(princ \\\"#.(ext:quit 0)\\\")", "\"expectStdout\":\"1\",\"match\":\"number\"", false},
        {"(princ \\\"1/0\\\")", "\"expectStdout\":\"1\",\"match\":\"number\"", false},
        {"(princ \\\"1e400000000\\\")", "\"expectStdout\":\"1\",\"match\":\"number\"", false},
        {"(princ \\\"+\\\")", "\"expectStdout\":\"1\",\"match\":\"number\"", false},
        {"(princ \\\"..\\\")", "\"expectStdout\":\"1\",\"match\":\"number\"", false},
        {"(princ (code-char 0))", "\"expectStdout\":\"1\",\"match\":\"number\"", false},
    };
    check_rows(rows, COUNT_OF(rows));
}

Test(batch_compare, a_regular_expression_matches_a_part) {
#define REGEX(wanted)        "\"expect\":\"" wanted "\",\"match\":\"regex\",\"timeout\":2"
#define STDOUT_REGEX(wanted) "\"expectStdout\":\"" wanted "\",\"match\":\"regex\",\"timeout\":2"
    static const struct row rows[] = {
        {"'abc", REGEX("B"), true},
        {"'abc", REGEX("^B"), false},
        {"'abc", REGEX("^A(B|X)C$"), true},
        {"'abc", REGEX("^\\\\w{3}$"), true},
        {"'abc", REGEX(""), true},
        {"\\\"a\\\\\\\"b\\\"", REGEX("^\\\"a.{2}b\\\"$"), true},
        {"'abc", REGEX("("), false},
        {"'abc", REGEX("a{2,1}"), false},
        {"'abc", REGEX("\\\") (cl:or t \\\""), false},
        {"(car 1)", REGEX(".*"), false},
        {"(values)", REGEX(".*"), false},
        {"(princ \\\"h\xc3\xa4llo\\\")", STDOUT_REGEX("^h[\xc3\xa4\xc3\xb6]llo$"), true},
        {"(princ \\\"h\xc3\xa4llo\\\")", STDOUT_REGEX("^h..llo$"), false},
        {"(princ \\\"\xe2\x82\xac\\\")", STDOUT_REGEX("^.$"), true},
        {"(format t \\\"a~%b~%\\\")", STDOUT_REGEX("^a.b.$"), true},
        {"(format t \\\"a~cb\\\" (code-char 0))", STDOUT_REGEX("b$"), true},
        {"1", STDOUT_REGEX("^$"), true},
        /* The text is a submission's; this pattern takes time without end. */
        {"(dotimes (i 40) (princ \\\"a\\\"))",
         STDOUT_REGEX("^(.*)(.*)(.*)(.*)(.*)\\\\5\\\\4\\\\3\\\\2\\\\1b$"), false},
        {"'abc", REGEX("((((((((((x{1,200}){1,200}){1,200}){1,200}))))))"), false},
    };
    check_rows(rows, COUNT_OF(rows));
}

Test(batch_compare, what_cannot_be_compared_says_why) {
    batch_add("1", "'abc", ",\"expect\":\"(\",\"match\":\"regex\"");
    batch_add("2", "'abc", ",\"expect\":\"(.*)*\\\\1$x\",\"match\":\"regex\"");
    const struct command_result *result = BATCH(1);
    expect_contains(result->output,
                    "\"came\":\"ABC (which cannot be compared: The pattern is malformed:");
}

Test(batch_compare, a_tolerance_is_a_number_for_numbers) {
    static const char *const members[] = {
        "\"expect\":\"1\",\"tolerance\":1",
        "\"expect\":\"1\",\"match\":\"trim\",\"tolerance\":1",
        "\"expect\":\"1\",\"match\":\"number\",\"tolerance\":-1",
        "\"expect\":\"1\",\"match\":\"number\",\"tolerance\":\"1\"",
        "\"expect\":\"1\",\"match\":\"number\",\"tolerance\":1e999",
        "\"expect\":\"1\",\"match\":\"number\",\"tolerance\":[]",
        "\"expect\":\"1\",\"match\":\"number\",\"tolerance\":"
        "0.00000000000000000000000000000000000000000000001",
    };
    for (size_t i = 0; i < COUNT_OF(members); i++)
        batch_add_text(formatted("{\"code\":\"1\",%s}\n", members[i]));
    const struct command_result *result = BATCH(0);
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        char *reason = batch_string(batch_line(result->output, i), "reason");
        expect_contains(reason, "tolerance");
        free(reason);
    }
}

Test(batch_compare, the_processor_time_of_a_run_has_a_limit) {
    for (int i = 0; i < 100; i++)
        batch_add(formatted("%d", i), "(loop)", ",\"timeout\":60,\"cpuTimeout\":0.3");
    const struct command_result *result = BATCH(130, "-j2", "--max-cpu-s", "1");
    cr_assert_gt(batch_lines(result->output), 1);
    cr_assert_lt(batch_lines(result->output), 100);
    expect_contains(result->error, "the processor time of --max-cpu-s 1 is used up");
    const char *done = batch_file("done.jsonl");
    batch_write(done, result->output);
    result = BATCH(130, "-j2", "--max-cpu-s", "1", "--skip-done", done);
    cr_assert_gt(batch_lines(result->output), 1);
}

Test(batch_compare, the_limit_of_a_run_ends_a_submission_too) {
    cleanup_buffer struct buffer tests = buffer_make(1 << 20);
    for (int i = 0; i < 1000; i++)
        buffer_append_text(&tests, i ? ",{\"code\":\"(loop)\"}" : "{\"code\":\"(loop)\"}");
    buffer_append(&tests, "", 1);
    batch_add_text(
        formatted("{\"id\":1,\"setup\":\"1\",\"timeout\":60,\"cpuTimeout\":0.3,\"tests\":[%s]}\n",
                  (const char *)tests.data));
    const struct command_result *result = BATCH(130, "-j2", "--max-cpu-s", "1");
    cr_assert_str_empty(result->output);
}

Test(batch_compare, a_run_below_its_limit_is_whole) {
    batch_add("1", "1", "");
    const struct command_result *result = BATCH(0, "--max-cpu-s", "1000");
    cr_assert_eq(batch_lines(result->output), 1);
    BATCH(2, "--max-cpu-s", "0");
    BATCH(2, "--max-cpu-s", "x");
}

/* Code of all kinds: what depends on the machine or on chance would show. What is printed before a
 * time-out depends on its speed, and so is not here. */
static const char *const kinds[] = {
    "(list %d (make-hash-table) (lambda (x) x) 'a #p\\\"x\\\")",
    "(defun f (n) (if (= n 0) (car 1) (list (f (1- n))))) (f (mod %d 5))",
    "(error \\\"no ~a\\\" (list %d (make-array 3)))",
    "(progn %d (loop))",
    "(defun g (n) (1+ (g (1+ n)))) (g %d)",
    "(ext:quit (mod %d 3))",
    "(list (gensym) (make-symbol \\\"s\\\") %d)",
    "(dotimes (i (+ 20000 %d)) (princ i))",
    "(values (make-instance 'standard-object) (find-class 'list) (get 'x %d) *standard-output*)",
    "(setf (values a b) (values %d",
};

static void add_mixed(int i) {
    static const char *const expectations[] = {
        ",\"expect\":\"1\",\"match\":\"number\"",
        ",\"expectStdout\":\"^x\",\"match\":\"regex\"",
        ",\"expectForm\":\"1\"",
    };
    char code[200];
    const int kind = i % (int)COUNT_OF(kinds);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(code, sizeof code, kinds[kind], i);
#pragma GCC diagnostic pop
    batch_add_text(formatted("{\"id\":%d,\"setup\":\"(defvar *x* %d)\",\"timeout\":60,\"tests\":["
                             "{\"code\":\"%s\"%s%s},{\"code\":\"*x*\",\"expect\":\"%d\"}]}\n",
                             i, i, code, expectations[i % (int)COUNT_OF(expectations)],
                             kind == LOOPS ? ",\"timeout\":0.2" : "", i));
}

/* The strings may be megabytes. */
static const char *first_difference(const char *one, const char *other) {
    enum { SHOWN = 200 };
    size_t at = 0;
    while (one[at] && one[at] == other[at])
        at++;
    size_t start = at > SHOWN ? at - SHOWN : 0;
    return formatted("%.*s\n  but then\n%.*s", 2 * SHOWN, one + start, 2 * SHOWN, other + start);
}

Test(batch_compare, two_runs_write_the_same_without_costs) {
    const int mixed = getenv("TEST_THOROUGH") ? MIXED_THOROUGH : MIXED;
    for (int i = 0; i < mixed; i++)
        add_mixed(i);
    const char *junit = batch_file("report.xml");
    const struct command_result *result = BATCH(1, "-j8", "--no-costs", "--junit", junit);
    char *output = strdup(result->output), *error = strdup(result->error);
    char *report = batch_read(junit);
    cr_assert_eq(batch_lines(output), (size_t)mixed);
    result = BATCH(1, "-j16", "--no-costs", "--junit", junit);
    char *second = batch_read(junit);
    cr_assert(strcmp(result->output, output) == 0, "%s", first_difference(output, result->output));
    cr_assert_str_eq(result->error, error);
    cr_assert(strcmp(report, second) == 0, "%s", first_difference(report, second));
    expect_lacks(output, "wallMs");
    free(second);
    free(report);
    free(error);
    free(output);
}
