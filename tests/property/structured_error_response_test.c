/* Structured error response: its properties, and the exact format of doc/contract.md. */
#include "tests/support/client.h"
#include "tests/support/failure_text.h"
#include "tests/support/lisp_cases.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The parts of the text of a failure; the test fails when it is not one. */
static struct failure_text expect_failure(const struct evaluation *evaluation, const char *code) {
    struct failure_text parts;
    cr_assert_eq(evaluation->error_code, 0, "%s ended in an error response: %s", code,
                 evaluation->text);
    cr_assert(evaluation->is_error, "%s should set isError: %s", code, evaluation->text);
    const char *fault = failure_text_fault(evaluation->text, &parts);
    cr_assert_null(fault, "%s: %s in %s", code, fault, evaluation->text);
    cr_assert(parts.frames, "%s: no frame in %s", code, evaluation->text);
    return parts;
}

/* Fails unless the failure has the right type, exit code and structure. */
static void expect_conforming(struct client *client, const struct lisp_failure *failure) {
    struct evaluation evaluation = client_evaluate(client, failure->code);
    struct failure_text parts = expect_failure(&evaluation, failure->code);
    cr_expect(lisp_type_matches(failure->types, parts.type), "%s is %s, not %s", failure->code,
              parts.type, failure->types);
    cr_expect_eq(evaluation.exit_code, 1, "%s has exitCode %d", failure->code,
                 evaluation.exit_code);
}

/* Error Response Format, isError Flag Consistency and Backtrace Presence; and after each error the
 * session still holds what was defined before. */
Test(structured_error_response, random_errors_follow_the_format_and_the_session_survives_them) {
    struct random random = random_for("random_errors");
    struct client *client = client_start_ready(NULL, NULL);
    size_t trials = random_trials(200, 1000);
    client_evaluate(client, "(defparameter *kept* 0)");
    for (size_t trial = 0; trial < trials; trial++) {
        char expected[32];
        struct lisp_failure failure = lisp_failure_make(&random);
        expect_conforming(client, &failure);
        snprintf(expected, sizeof expected, "=> %zu", trial + 1);
        cr_assert_str_eq(client_evaluate(client, "(incf *kept*)").text, expected, "after %s",
                         failure.code);
        free(failure.code);
    }
    client_finish(client);
}

Test(structured_error_response, every_condition_family_follows_the_format) {
    struct random random = random_for("every_condition_family");
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < lisp_failure_count(); i++) {
        struct lisp_failure failure = lisp_failure_at(&random, i);
        expect_conforming(client, &failure);
        free(failure.code);
    }
    client_finish(client);
}

/* isError Flag Consistency, the successes. */
Test(structured_error_response, is_error_is_not_set_for_values) {
    struct random random = random_for("is_error_is_not_set");
    struct client *client = client_start_ready(NULL, NULL);
    size_t trials = random_trials(50, 500);
    for (size_t trial = 0; trial < trials; trial++) {
        char *value, *code = lisp_success_make(&random, &value), *expected;
        cr_assert_geq(asprintf(&expected, "=> %s", value), 0);
        struct evaluation evaluation = client_evaluate(client, code);
        cr_assert_eq(evaluation.error_code, 0);
        cr_assert_not(evaluation.is_error, "%s should not set isError", code);
        cr_assert_str_eq(evaluation.text, expected, "%s gives %s", code, evaluation.text);
        cr_assert_eq(evaluation.exit_code, 0);
        free(code);
        free(value);
        free(expected);
    }
    client_finish(client);
}

/* Condition Type Preservation, with the specification's own table. */
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
        struct failure_text parts = expect_failure(&evaluation, specs[i].code);
        cr_assert(strstr(evaluation.text, specs[i].type) != NULL, "%s: %s", specs[i].code,
                  evaluation.text);
        cr_assert(strstr(parts.type, specs[i].type) != NULL, "%s is %s", specs[i].code, parts.type);
    }
    client_finish(client);
}

Test(structured_error_response, a_backtrace_names_the_users_functions_innermost_first) {
    struct client *client = client_start_ready(NULL, NULL);
    struct evaluation evaluation = client_evaluate(
        client, "(defun inner-one (x) (car x)) (defun outer-one (y) (list (inner-one y)))"
                "(outer-one 42)");
    struct failure_text parts = expect_failure(&evaluation, "nested functions");
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
        snprintf(marker, sizeof marker, "[stdout]\nMARKER-%zu", trial);
        snprintf(code, sizeof code, "(progn (format t \"MARKER-%zu~%%\") (/ 1 0))", trial);
        struct evaluation evaluation = client_evaluate(client, code);
        struct failure_text parts = expect_failure(&evaluation, code);
        cr_assert_not_null(strstr(parts.rest, marker), "%s", evaluation.text);
    }
    client_finish(client);
}
