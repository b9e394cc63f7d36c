/* spec/002, structured-error-response: one test for each of its properties, with the trial counts
 * written there, and CONTRACT.md section 5 on top, which says the format exactly. */
#include "tests/support/client.h"
#include "tests/support/failure_text.h"
#include "tests/support/lisp_cases.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Case does not matter to the specification's searches. */
static bool mentions(const char *text, const char *word) {
    return strcasestr(text, word) != NULL;
}

static void expect_failure(const struct evaluation *evaluation, const char *code) {
    cr_assert_eq(evaluation->error_code, 0, "%s ended in an error response: %s", code,
                 evaluation->text);
    cr_assert(evaluation->is_error, "%s should set isError: %s", code, evaluation->text);
    cr_assert(mentions(evaluation->text, "[ERROR]"), "%s has no marker: %s", code,
              evaluation->text);
}

static struct failure_text expect_structure(const struct evaluation *evaluation, const char *code) {
    struct failure_text parts;
    expect_failure(evaluation, code);
    const char *fault = failure_text_fault(evaluation->text, &parts);
    cr_assert_null(fault, "%s: %s in %s", code, fault, evaluation->text);
    return parts;
}

/* Error Response Format, 100 trials; 500 when thorough. */
Test(structured_error_response, all_errors_follow_the_format) {
    struct random random = random_for("all_errors_follow_the_format");
    struct client *client = client_start_ready(NULL, NULL);
    size_t trials = random_trials(100, 500);
    for (size_t trial = 0; trial < trials; trial++) {
        struct lisp_failure failure = lisp_failure_make(&random);
        struct evaluation evaluation = client_evaluate(client, failure.code);
        struct failure_text parts = expect_structure(&evaluation, failure.code);
        cr_assert(lisp_type_matches(failure.types, parts.type), "%s is %s, not %s", failure.code,
                  parts.type, failure.types);
        cr_assert_eq(evaluation.exit_code, 1, "%s has exitCode %d", failure.code,
                     evaluation.exit_code);
        free(failure.code);
    }
    client_finish(client);
}

/* Every entry of the table at least once, whatever chance picks above. */
Test(structured_error_response, every_condition_family_follows_the_format) {
    struct random random = random_for("every_condition_family");
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < lisp_failure_count(); i++) {
        struct lisp_failure failure = lisp_failure_at(&random, i);
        struct evaluation evaluation = client_evaluate(client, failure.code);
        struct failure_text parts = expect_structure(&evaluation, failure.code);
        cr_expect(lisp_type_matches(failure.types, parts.type), "%s is %s, not %s", failure.code,
                  parts.type, failure.types);
        free(failure.code);
    }
    client_finish(client);
}

/* isError Flag Consistency, 50 errors and 50 successes; ids are used again, as there. */
Test(structured_error_response, is_error_is_set_for_errors_alone) {
    struct random random = random_for("is_error_is_set");
    struct client *client = client_start_ready(NULL, NULL);
    size_t trials = random_trials(50, 500);
    for (size_t trial = 0; trial < trials; trial++) {
        struct lisp_failure failure = lisp_failure_make(&random);
        client_evaluate_send(client, "1", failure.code);
        struct evaluation evaluation = client_evaluate_await(client, "1");
        expect_failure(&evaluation, failure.code);
        free(failure.code);
    }
    for (size_t trial = 0; trial < trials; trial++) {
        char *value, *code = lisp_success_make(&random, &value), *expected;
        cr_assert_geq(asprintf(&expected, "=> %s", value), 0);
        client_evaluate_send(client, "1", code);
        struct evaluation evaluation = client_evaluate_await(client, "1");
        cr_assert_eq(evaluation.error_code, 0);
        cr_assert_not(evaluation.is_error, "%s should not set isError", code);
        cr_assert_not(mentions(evaluation.text, "[ERROR]"), "%s has the marker", code);
        cr_assert_str_eq(evaluation.text, expected, "%s gives %s", code, evaluation.text);
        cr_assert_eq(evaluation.exit_code, 0);
        free(code);
        free(value);
        free(expected);
    }
    client_finish(client);
}

/* Condition Type Preservation: the table as it stands in the specification. */
Test(structured_error_response, condition_types_are_preserved) {
    static const struct {
        const char *code, *type;
    } specs[] = {
        {"(undefined-fn)", "UNDEFINED-FUNCTION"},
        {"(+ unknown-var 1)", "UNBOUND-VARIABLE"},
        {"(/ 1 0)", "DIVISION-BY-ZERO"},
        {"(+ 1 \"x\")", "TYPE-ERROR"},
        {"(+ 1 2", "END-OF-FILE"},
        {"(in-package :no-pkg)", "PACKAGE"},
    };
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        struct evaluation evaluation = client_evaluate(client, specs[i].code);
        struct failure_text parts = expect_structure(&evaluation, specs[i].code);
        cr_assert(mentions(evaluation.text, specs[i].type), "%s: %s", specs[i].code,
                  evaluation.text);
        cr_assert(mentions(parts.type, specs[i].type), "%s is %s", specs[i].code, parts.type);
    }
    client_finish(client);
}

/* Backtrace Presence, more than 70 in 100; here the section is always there. */
Test(structured_error_response, errors_have_a_backtrace) {
    struct random random = random_for("errors_have_a_backtrace");
    struct client *client = client_start_ready(NULL, NULL);
    size_t trials = random_trials(100, 500), backtraces = 0;
    for (size_t trial = 0; trial < trials; trial++) {
        struct lisp_failure failure = lisp_failure_make(&random);
        struct evaluation evaluation = client_evaluate(client, failure.code);
        expect_failure(&evaluation, failure.code);
        backtraces += mentions(evaluation.text, "Backtrace");
        free(failure.code);
    }
    cr_assert_gt(10 * backtraces, 7 * trials, "%zu of %zu", backtraces, trials);
    cr_assert_eq(backtraces, trials, "%zu of %zu", backtraces, trials);
    client_finish(client);
}

Test(structured_error_response, a_backtrace_names_the_users_functions_innermost_first) {
    struct client *client = client_start_ready(NULL, NULL);
    struct evaluation evaluation = client_evaluate(
        client, "(defun inner-one (x) (car x)) (defun outer-one (y) (list (inner-one y)))"
                "(outer-one 42)");
    struct failure_text parts = expect_structure(&evaluation, "nested functions");
    cr_assert_geq(parts.frames, 2);
    const char *inner = strstr(evaluation.text, "(INNER-ONE "),
               *outer = strstr(evaluation.text, "(OUTER-ONE 42)");
    cr_assert(inner && outer && inner < outer, "%s", evaluation.text);
    client_finish(client);
}

/* Warning vs Error Distinction, 20 trials. */
Test(structured_error_response, warnings_do_not_set_is_error) {
    struct client *client = client_start_ready(NULL, NULL);
    struct evaluation evaluation = client_evaluate(client, "(defun warn-fn () (warn \"test\") 42)");
    cr_assert_not(evaluation.is_error);
    size_t trials = random_trials(20, 500);
    for (size_t trial = 0; trial < trials; trial++) {
        evaluation = client_evaluate(client, "(warn-fn)");
        cr_assert_eq(evaluation.error_code, 0);
        cr_assert_not(evaluation.is_error, "a warning set isError in trial %zu", trial);
        cr_assert_str_eq(evaluation.text, "[warnings]\nWARNING: test\n\n=> 42");
    }
    evaluation = client_evaluate(client, "(error \"test\")");
    expect_failure(&evaluation, "(error \"test\")");
    client_finish(client);
}

/* Output Preservation in Errors, 30 trials. */
Test(structured_error_response, output_before_an_error_is_kept) {
    struct client *client = client_start_ready(NULL, NULL);
    size_t trials = random_trials(30, 500);
    for (size_t trial = 0; trial < trials; trial++) {
        char marker[48], code[128];
        snprintf(marker, sizeof marker, "MARKER-%zu", trial);
        snprintf(code, sizeof code, "(progn (format t \"%s~%%\") (/ 1 0))", marker);
        struct evaluation evaluation = client_evaluate(client, code);
        struct failure_text parts = expect_structure(&evaluation, code);
        cr_assert(mentions(evaluation.text, marker), "%s lost its output: %s", code,
                  evaluation.text);
        cr_assert(strstr(parts.rest, "[stdout]\nMARKER-") != NULL, "%s", evaluation.text);
    }
    client_finish(client);
}

/* An error leaves the session as it is: what was defined before is still there. */
Test(structured_error_response, the_session_survives_its_errors) {
    struct random random = random_for("the_session_survives");
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate(client, "(defparameter *kept* 0)");
    size_t trials = random_trials(50, 500);
    for (size_t trial = 0; trial < trials; trial++) {
        char expected[32];
        struct lisp_failure failure = lisp_failure_make(&random);
        struct evaluation evaluation = client_evaluate(client, failure.code);
        expect_failure(&evaluation, failure.code);
        evaluation = client_evaluate(client, "(incf *kept*)");
        snprintf(expected, sizeof expected, "=> %zu", trial + 1);
        cr_assert_str_eq(evaluation.text, expected, "after %s: %s", failure.code, evaluation.text);
        free(failure.code);
    }
    client_finish(client);
}
