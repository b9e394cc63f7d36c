/* Every outcome of a line, expectations, and resource usage. */
#include "tests/support/batch.h"
#include "tests/support/lines.h"
#include "tests/support/skip.h"
#include <stdlib.h>
#include <unistd.h>

static const struct ending {
    const char *code, *more, *outcome, *exit_code, *text;
} endings[] = {
    {"(values 1 2)", "", "value", "0", "=> 1\n=> 2"},
    {"(values)", "", "value", "0", "; no values"},
    {"(error \"mine\")", "", "error", "1", "[ERROR] SIMPLE-ERROR\nmine"},
    {"(car 1", "", "error", "1", "[ERROR] END-OF-FILE"},
    {"(labels ((f (n) (1+ (f n)))) (f 1))", "", "error", "1", "[ERROR] "},
    {"(ext:quit 9)", "", "exit", "9", "[ERROR] PROCESS-EXIT"},
    {"(ext:quit 0)", "", "exit", "0", "[ERROR] PROCESS-EXIT"},
    {CRASH, "", "crash", "139", "[ERROR] WORKER-CRASH"},
    {VIOLATION, "", "violation", "159", "[ERROR] SANDBOX-VIOLATION"},
    {MEMORY_HOG, "", "memory", "137", "[ERROR] MEMORY-LIMIT"},
    {ENDLESS, ",\"timeout\":0.2", "timeout", "124", "[ERROR] TIMEOUT"},
    {"(loop (print 1))", "", "output", "70", "[ERROR] OUTPUT-LIMIT"},
    {"(loop (print 1 *error-output*))", "", "output", "70", "[ERROR] OUTPUT-LIMIT"},
    {FORGERY, "", "malformed", "70", "[ERROR] MALFORMED-OUTPUT"},
};

static void check_ending(struct text line, const struct ending *ending) {
    char *text = batch_string(line, "text");
    batch_expect_string(line, "outcome", ending->outcome);
    batch_expect(line, "exitCode", ending->exit_code);
    cr_assert_eq(strncmp(text, ending->text, strlen(ending->text)), 0, "%s", text);
    expect_lacks(text, "the session");
    cr_assert_not(batch_has(line, "pass"));
    static const char *const members[] = {"values", "stdout",   "stderr", "wallMs",
                                          "cpuMs",  "maxRssKb", "id"};
    for (size_t i = 0; i < COUNT_OF(members); i++)
        cr_assert(batch_has(line, members[i]), "%s", members[i]);
    free(text);
}

Test(batch_outcomes, each_has_its_name_text_and_exit_code) {
    for (size_t i = 0; i < COUNT_OF(endings); i++)
        batch_add(formatted("%zu", i), endings[i].code, endings[i].more);
    const struct command_result *result = BATCH(
        0, "--session-memory-mb", "64", "--output-max-bytes", "1000", "--stderr-max-bytes", "1000");
    cr_assert_eq(batch_lines(result->output), COUNT_OF(endings));
    for (size_t i = 0; i < COUNT_OF(endings); i++)
        check_ending(batch_line(result->output, i), &endings[i]);
    expect_contains(result->error, "eclave: 14 lines: 2 value, 3 error, 2 exit, 1 crash");
}

Test(batch_outcomes, are_the_same_for_an_unprivileged_user) {
    skip_unless_root(); /* else the test above has shown it */
    const char *arguments[] = {ECLAVE_BINARY, "batch", NULL};
    batch_add("1", "(+ 1 2)", "");
    batch_add("2", VIOLATION, "");
    struct command_result result = command_run(
        &(struct command){.arguments = arguments, .input = batch_input(), .unprivileged = true});
    batch_expect_string(batch_line_of(result.output, "1"), "outcome", "value");
    batch_expect_string(batch_line_of(result.output, "2"), "outcome", "violation");
    command_result_free(&result);
}

Test(batch_outcomes, the_parts_of_the_text_are_members_too) {
    batch_add("1", "(princ \"out\") (princ \"err\" *error-output*) (values 1 \"two\" #\\3)", "");
    const struct command_result *result = BATCH(0);
    struct text line = batch_line(result->output, 0);
    batch_expect(line, "values", "[\"1\",\"\\\"two\\\"\",\"#\\\\3\"]");
    batch_expect_string(line, "stdout", "out");
    batch_expect_string(line, "stderr", "err");
    batch_expect_string(line, "text", "[stdout]\nout\n[stderr]\nerr\n=> 1\n=> \"two\"\n=> #\\3");
}

/* --- expectations --- */

static const struct expectation {
    const char *code, *more;
    const char *mismatches; /* NULL: met */
} expectations[] = {
    {"(+ 1 2)", ",\"expect\":\"3\"", NULL},
    {"(values 3 4)", ",\"expect\":\"3\"", NULL},
    {"(+ 1 2)", ",\"expect\":\"4\"",
     "[{\"expectation\":\"expect\",\"wanted\":\"4\",\"came\":\"3\"}]"},
    {"(values)", ",\"expect\":\"NIL\"",
     "[{\"expectation\":\"expect\",\"wanted\":\"NIL\",\"came\":\"no value\"}]"},
    {"(car 1)", ",\"expect\":\"1\"",
     "[{\"expectation\":\"expect\",\"wanted\":\"1\",\"came\":\"[ERROR] TYPE-ERROR\"}]"},
    {"(ext:quit 3)", ",\"expect\":\"1\"",
     "[{\"expectation\":\"expect\",\"wanted\":\"1\",\"came\":\"[ERROR] PROCESS-EXIT\"}]"},
    {"(princ \"a\")", ",\"expectStdout\":\"a\"", NULL},
    {"(values)", ",\"expectStdout\":\"\"", NULL},
    {"(princ \"a\")", ",\"expectStdout\":\"b\"",
     "[{\"expectation\":\"expectStdout\",\"wanted\":\"b\",\"came\":\"a\"}]"},
    {"(princ \"a\") (car 1)", ",\"expectStdout\":\"a\"",
     "[{\"expectation\":\"outcome\",\"wanted\":\"value\",\"came\":\"[ERROR] TYPE-ERROR\"}]"},
    {"(princ \"a\") (car 1)", ",\"expectStdout\":\"a\",\"expectCondition\":\"TYPE-ERROR\"", NULL},
    {"(car 1)", ",\"expectCondition\":\"type-error\"", NULL},
    {"(define-condition ärger (error) ()) (error 'ärger)", ",\"expectCondition\":\"ärger\"", NULL},
    {"(define-condition ärger (error) ()) (error 'ärger)", ",\"expectCondition\":\"ÄRGER\"", NULL},
    {"(define-condition жук (error) ()) (error 'жук)", ",\"expectCondition\":\"Жук\"", NULL},
    {"(define-condition mine (error) ()) (error 'mine)", ",\"expectCondition\":\"MINE\"", NULL},
    {VIOLATION, ",\"expectCondition\":\"SANDBOX-VIOLATION\"", NULL},
    {"(/ 1 0)", ",\"expectCondition\":\"TYPE-ERROR\"",
     "[{\"expectation\":\"expectCondition\",\"wanted\":\"TYPE-ERROR\","
     "\"came\":\"[ERROR] DIVISION-BY-ZERO\"}]"},
    {"5", ",\"expectCondition\":\"TYPE-ERROR\"",
     "[{\"expectation\":\"expectCondition\",\"wanted\":\"TYPE-ERROR\",\"came\":\"5\"}]"},
    {"(princ \"a\") 1", ",\"expect\":\"2\",\"expectStdout\":\"b\"",
     "[{\"expectation\":\"expect\",\"wanted\":\"2\",\"came\":\"1\"},"
     "{\"expectation\":\"expectStdout\",\"wanted\":\"b\",\"came\":\"a\"}]"},
    {"(princ \"a\")", ",\"expect\":null,\"expectStdout\":\"a\",\"timeout\":null", NULL},
};

Test(batch_outcomes, each_expectation_is_met_or_reported_with_both_values) {
    for (size_t i = 0; i < COUNT_OF(expectations); i++) {
        const struct expectation *row = &expectations[i];
        batch_add("1", row->code, row->more);
        const struct command_result *result = BATCH(row->mismatches ? 1 : 0);
        struct text line = batch_line(result->output, 0);
        batch_expect(line, "pass", row->mismatches ? "false" : "true");
        if (row->mismatches)
            batch_expect(line, "mismatches", row->mismatches);
        else
            cr_assert_not(batch_has(line, "mismatches"));
    }
}

Test(batch_outcomes, expectations_are_compared_with_the_whole_output) {
    static char wanted[6001];
    memset(wanted, 'x', sizeof wanted - 1);
    batch_add("1", "(princ (make-string 6000 :initial-element #\\x)) 1",
              formatted(",\"expectStdout\":\"%s\"", wanted));
    struct text line = batch_line(BATCH(0, "--output-shown-chars", "4000")->output, 0);
    batch_expect(line, "pass", "true");
    char *shown = batch_string(line, "stdout");
    expect_contains(shown, "2000 characters left out");
    free(shown);
}

/* --- resource usage --- */

Test(batch_outcomes, resource_usage_is_that_of_the_process_of_the_line) {
    batch_add("1", "1", "");
    batch_add("2", "(length (make-array 5000000 :initial-element 1))", "");
    batch_add("3", ENDLESS, ",\"timeout\":0.2");
    batch_add("4", "1", "");
    const struct command_result *result = BATCH(0, "-j", "1");
    struct text small = batch_line(result->output, 0), large = batch_line(result->output, 1),
                last = batch_line(result->output, 3);
    for (size_t i = 0; i < 4; i++) {
        struct text line = batch_line(result->output, i);
        cr_assert_gt(batch_number(line, "cpuMs"), 0);
        cr_assert_gt(batch_number(line, "wallMs"), 0);
    }
    /* The array of 40 MB counts in its own process only. */
    cr_assert_gt(batch_number(large, "maxRssKb"), batch_number(small, "maxRssKb") + 30000);
    cr_assert_gt(batch_number(large, "maxRssKb"), batch_number(last, "maxRssKb") + 30000);
}
