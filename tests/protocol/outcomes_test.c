/* The outcomes of an evaluation, each with its text, its exit code and the state of the session
 * after it. */
#include "tests/support/client.h"
#include "tests/support/lines.h"
#include <stdio.h>
#include <stdlib.h>

static const char rolled_back[] = "The session is as it was before the call.";

/* Evaluates CODE, which must end in the tool error TYPE with EXIT_CODE and PART in its message. */
static struct evaluation expect_end(struct client *client, const char *code, const char *type,
                                    int exit_code, const char *part) {
    struct evaluation evaluation = client_evaluate(client, code);
    const char *marker = formatted("[ERROR] %s\n", type);
    cr_assert_eq(evaluation.error_code, 0, "%s", evaluation.line);
    cr_assert(evaluation.is_error);
    cr_assert_eq(strncmp(evaluation.text, marker, strlen(marker)), 0, "%s", evaluation.text);
    cr_assert_eq(evaluation.exit_code, exit_code, "%s", evaluation.line);
    expect_contains(evaluation.text, part);
    expect_contains(evaluation.text, "\n\n[Backtrace]\n");
    return evaluation;
}

/* The same after a definition, which must remain, and in a call that makes another, which must not.
 * The text must say so. */
static void expect_rollback(struct client *client, const char *code, const char *type,
                            int exit_code, const char *part) {
    client_evaluate(client, "(defvar *before* 1)");
    expect_contains(
        expect_end(client, formatted("(defvar *during* 1) %s", code), type, exit_code, part).text,
        rolled_back);
    cr_assert_str_eq(client_evaluate(client, "(list (boundp '*before*) (boundp '*during*))").text,
                     "=> (T NIL)");
}

Test(outcomes, a_value_is_a_result_with_exit_code_0_and_keeps_the_changes) {
    struct client *client = client_start_ready(NULL, NULL);
    struct evaluation evaluation = client_evaluate(client, "(defvar *x* 41) (incf *x*)");
    cr_assert_str_eq(evaluation.text, "=> 42");
    cr_assert_not(evaluation.is_error);
    cr_assert_eq(evaluation.exit_code, 0);
    cr_assert_null(evaluation.stderr_text);
    cr_assert_str_eq(client_evaluate(client, "*x*").text, "=> 42");
    client_finish(client);
}

Test(outcomes, each_value_has_a_line_of_its_own) {
    struct client *client = client_start_ready(NULL, NULL);
    cr_assert_str_eq(client_evaluate(client, "(values 1 2 \"c\")").text, "=> 1\n=> 2\n=> \"c\"");
    struct evaluation evaluation = client_evaluate(client, "(values)");
    cr_assert_str_eq(evaluation.text, "; no values");
    cr_assert_eq(evaluation.exit_code, 0);
    cr_assert_str_eq(client_evaluate(client, "").text, "; no values");
    client_finish(client);
}

Test(outcomes, output_and_warnings_come_before_the_value) {
    struct client *client = client_start_ready(NULL, NULL);
    struct evaluation evaluation = client_evaluate(
        client, "(princ \"out\") (princ \"err\" *error-output*) (warn \"careful\") 42");
    cr_assert_str_eq(evaluation.text, "[stdout]\nout\n[stderr]\nerr\n[warnings]\nWARNING: "
                                      "careful\n\n=> 42");
    cr_assert_not(evaluation.is_error);
    cr_assert_str_eq(evaluation.stderr_text, "err");
    client_finish(client);
}

Test(outcomes, a_condition_is_a_tool_error_with_exit_code_1_and_keeps_earlier_effects) {
    struct client *client = client_start_ready(NULL, NULL);
    struct evaluation evaluation = client_evaluate(client, "(defvar *x* 5) (/ *x* 0) (setq *x* 6)");
    cr_assert(evaluation.is_error);
    cr_assert_eq(evaluation.exit_code, 1);
    cr_assert_eq(strncmp(evaluation.text, "[ERROR] DIVISION-BY-ZERO\n", 25), 0, "%s",
                 evaluation.text);
    expect_lacks(evaluation.text, "The session");
    cr_assert_str_eq(client_evaluate(client, "*x*").text, "=> 5");
    client_finish(client);
}

Test(outcomes, output_before_a_condition_is_shown_after_it) {
    struct client *client = client_start_ready(NULL, NULL);
    struct evaluation evaluation = client_evaluate(
        client, "(progn (princ \"out\") (princ \"warn\" *error-output*) (error \"boom\"))");
    expect_contains(evaluation.text, "[ERROR] SIMPLE-ERROR\nboom\n\n[Backtrace]\n");
    expect_contains(evaluation.text, "\n\n[stdout]\nout\n[stderr]\nwarn");
    cr_assert_str_eq(evaluation.stderr_text, "warn");
    client_finish(client);
}

Test(outcomes, an_exhausted_stack_or_heap_is_a_condition_and_the_session_goes_on) {
    enum { DEPTH = 1000000 };
    char *parentheses = malloc(DEPTH + 1);
    cr_assert_not_null(parentheses);
    memset(parentheses, '(', DEPTH);
    parentheses[DEPTH] = '\0';
    const char *const codes[] = {"(defun deep (n) (1+ (deep (1+ n)))) (deep 0)", parentheses,
                                 "(let ((l '())) (loop (push (make-array 100000) l)))"};
    struct client *client = client_start_with("--session-memory-mb", "128");
    client_evaluate(client, "(defvar *kept* 5)");
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        struct evaluation evaluation = client_evaluate(client, codes[i]);
        cr_assert(evaluation.is_error);
        cr_assert_eq(evaluation.exit_code, 1, "%s", evaluation.line);
        cr_assert_str_eq(client_evaluate(client, "*kept*").text, "=> 5");
    }
    free(parentheses);
    client_finish(client);
}

Test(outcomes, an_exit_of_the_code_is_a_tool_error_with_its_status) {
    static const int statuses[] = {0, 1, 3, 70, 124, 137, 255};
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        expect_rollback(client, formatted("(ext:quit %d)", statuses[i]), "PROCESS-EXIT",
                        statuses[i], formatted("with status %d", statuses[i]));
    }
    client_finish(client);
}

Test(outcomes, output_before_an_exit_is_shown) {
    struct client *client = client_start_ready(NULL, NULL);
    struct evaluation evaluation = client_evaluate(
        client, "(progn (princ \"out\") (princ \"err\" *error-output*) (ext:quit 3))");
    expect_contains(evaluation.text, "\n\n[stdout]\nout\n[stderr]\nerr");
    cr_assert_str_eq(evaluation.stderr_text, "err");
    client_finish(client);
}

Test(outcomes, a_crash_is_a_tool_error_that_names_the_signal) {
    struct client *client = client_start_ready(NULL, NULL);
    expect_rollback(client, CRASH, "WORKER-CRASH", 139, "SIGSEGV");
    expect_rollback(client, FOREIGN "(c \"abort\" :void '())", "WORKER-CRASH", 134, "SIGABRT");
    client_finish(client);
}

Test(outcomes, a_forbidden_system_call_is_a_tool_error_that_names_it) {
    struct client *client = client_start_ready(NULL, NULL);
    expect_rollback(client, VIOLATION, "SANDBOX-VIOLATION", 159, "system call kill");
    expect_rollback(client, FOREIGN "(c \"ptrace\" :long '(:long :long :long :long) 0 0 0 0)",
                    "SANDBOX-VIOLATION", 159, "system call ptrace");
    client_finish(client);
}

Test(outcomes, memory_beyond_the_limit_outside_lisp_is_a_tool_error) {
    struct client *client = client_start_with("--session-memory-mb", "64");
    expect_rollback(client, MEMORY_HOG, "MEMORY-LIMIT", 137, "session.memory_mb");
    client_finish(client);
}

Test(outcomes, a_forged_answer_is_a_tool_error_and_an_incident) {
    struct client *client = client_start_ready(NULL, NULL);
    expect_rollback(client, FORGERY, "MALFORMED-OUTPUT", 70, "worker");
    const char *event = client_await_notification(client, "notifications/message", NULL);
    cr_assert_str_eq(client_string(client, event, "params", "level", NULL), "error");
    cr_assert_str_eq(client_string(client, event, "params", "data", "event", NULL), "malformed");
    client_finish(client);
}

Test(outcomes, a_time_out_is_an_error_with_the_output_so_far) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate(client, "(defvar *before* 1)");
    struct evaluation evaluation = client_evaluate_with(
        client, "{\"code\":\"(progn (princ \\\"out\\\") (princ \\\"err\\\" *error-output*) "
                "(loop))\",\"timeout\":0.5}");
    cr_assert_eq(evaluation.error_code, -32004);
    const char *line = evaluation.line;
    expect_contains(line, "\"timeoutSecs\":0.5,");
    cr_assert_geq(client_integer(client, line, "error", "data", "elapsedMs", NULL), 500);
    cr_assert_str_eq(client_string(client, line, "error", "data", "stdout", NULL), "out");
    cr_assert_str_eq(client_string(client, line, "error", "data", "stderr", NULL), "err");
    cr_assert_str_eq(client_string(client, line, "error", "data", "session", NULL), "main");
    cr_assert_eq(client_integer(client, line, "error", "data", "_meta", "exitCode", NULL), 124);
    expect_contains(evaluation.text, rolled_back);
    cr_assert_str_eq(client_evaluate(client, "*before*").text, "=> 1");
    client_finish(client);
}

/* What many hosts show their model of an error is the message alone. */
Test(outcomes, the_message_of_a_time_out_or_a_flood_is_enough_for_a_model) {
    struct client *client = client_start_with("--output-max-bytes", "100000");
    struct evaluation evaluation = client_evaluate_with(
        client, "{\"code\":\"(princ :first) (dotimes (i 5000) (write-char #\\\\x)) (princ \\\"the "
                "end\\\") (princ :problem *error-output*) (loop)\",\"timeout\":0.5}");
    cr_assert_eq(evaluation.error_code, -32004);
    expect_contains(evaluation.text, "Tool timed out. No answer within 0.5 s. ");
    expect_contains(evaluation.text, "The argument timeout allows up to 600 s.");
    expect_contains(evaluation.text, rolled_back);
    expect_contains(evaluation.text,
                    "\n\nThe end of [stdout], which has 5012 characters; to read them: "
                    "read-output {\"call\":1,\"session\":\"main\",\"stream\":\"stdout\"}:\nxxx");
    expect_contains(evaluation.text, "xxxthe end\n\nThe end of [stderr]:\nPROBLEM");
    expect_lacks(evaluation.text, "FIRST");
    evaluation = client_evaluate(client, "(loop for i from 0 do (print i))");
    cr_assert_eq(evaluation.error_code, -32603);
    expect_contains(evaluation.text, "more than 100000 bytes");
    expect_contains(evaluation.text, rolled_back);
    expect_contains(evaluation.text, "\n\nThe end of [stdout], which has 100000 characters; ");
    client_finish(client);
}

Test(outcomes, timeout_reply_result_sends_a_time_out_and_a_flood_as_results) {
    struct client *client =
        client_start_with("--output-max-bytes", "100000", "--timeout-reply", "result");
    client_evaluate(client, "(defvar *before* 1)");
    struct evaluation evaluation = client_evaluate_with(
        client, "{\"code\":\"(setf *before* (princ 2)) (loop)\",\"timeout\":0.5}");
    cr_assert(evaluation.is_error, "%s", evaluation.line);
    cr_assert_eq(evaluation.exit_code, 124);
    expect_contains(evaluation.text, "[ERROR] TIMEOUT\nNo answer within 0.5 s. ");
    expect_contains(evaluation.text, "The argument timeout allows up to 600 s.");
    expect_contains(evaluation.text, rolled_back);
    expect_contains(evaluation.text, "[stdout]\n2");
    evaluation = client_evaluate(client, "(loop for i from 0 do (print i))");
    cr_assert(evaluation.is_error, "%s", evaluation.line);
    cr_assert_eq(evaluation.exit_code, 70);
    expect_contains(evaluation.text, "[ERROR] OUTPUT-LIMIT\n");
    cr_assert_str_eq(client_evaluate(client, "*before*").text, "=> 1");
    client_finish(client);
}

Test(outcomes, a_time_out_ends_any_code) {
    static const char *const codes[] = {
        "{\"code\":\"(sleep 1000)\",\"timeout\":0.2}",
        "{\"code\":\"(loop (ignore-errors (error \\\"x\\\")))\",\"timeout\":0.2}",
        "{\"code\":\"(unwind-protect (loop) (loop))\",\"timeout\":0.2}",
        "{\"code\":\"(mp:without-interrupts (loop))\",\"timeout\":0.2}",
        "{\"code\":\"(expt 7 (expt 7 (expt 7 7)))\",\"timeout\":0.2}",
        "{\"code\":\"(defstruct s) (defmethod print-object ((s s) o) (loop)) (make-s)\","
        "\"timeout\":0.3}",
    };
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        struct evaluation evaluation = client_evaluate_with(client, codes[i]);
        cr_assert(evaluation.error_code == -32004 || evaluation.is_error, "%s", evaluation.line);
        client_expect_works(client);
    }
    client_finish(client);
}

Test(outcomes, code_may_hold_a_zero_byte_and_a_lone_surrogate_which_is_replaced) {
    struct client *client = client_start_ready(NULL, NULL);
    cr_assert_str_eq(
        client_evaluate_with(client, "{\"code\":\"(char-code (char \\\"\\ud800\\\" 0))\"}").text,
        "=> 65533");
    cr_assert_str_eq(client_evaluate_with(client, "{\"code\":\"(length \\\"a\\u0000b\\\")\"}").text,
                     "=> 3");
    client_finish(client);
}

Test(outcomes, the_package_argument_is_for_one_call_and_in_package_for_the_session) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate(client, "(defpackage :elsewhere (:use :cl))");
    struct evaluation evaluation =
        client_evaluate_with(client, "{\"code\":\"(package-name *package*)\",\"package\":"
                                     "\"ELSEWHERE\"}");
    cr_assert_str_eq(evaluation.text, "=> \"ELSEWHERE\"");
    cr_assert_str_eq(client_evaluate(client, "(package-name *package*)").text,
                     "=> \"COMMON-LISP-USER\"");
    client_evaluate(client, "(in-package :elsewhere)");
    cr_assert_str_eq(client_evaluate(client, "(package-name *package*)").text, "=> \"ELSEWHERE\"");
    client_finish(client);
}

Test(outcomes, an_unknown_package_is_a_tool_error_that_says_package) {
    struct client *client = client_start_ready(NULL, NULL);
    struct evaluation evaluation =
        client_evaluate_with(client, "{\"code\":\"1\",\"package\":\"NO-SUCH\"}");
    cr_assert(evaluation.is_error);
    expect_contains(evaluation.text, "[ERROR] PACKAGE");
    evaluation = client_evaluate(client, "(in-package :no-such)");
    cr_assert(evaluation.is_error);
    expect_contains(evaluation.text, "PACKAGE");
    client_finish(client);
}

Test(outcomes, the_answer_holds_its_session_and_its_duration) {
    struct client *client = client_start_ready(NULL, NULL);
    const char *line = client_evaluate(client, "(sleep 0.1)").line;
    cr_assert_str_eq(client_string(client, line, "result", "_meta", "session", NULL), "main");
    cr_assert_geq(client_integer(client, line, "result", "_meta", "elapsedMs", NULL), 100);
    client_finish(client);
}
