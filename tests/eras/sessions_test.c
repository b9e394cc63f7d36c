/* Sessions in the modern era, which has none in the protocol: a call makes one and names it, and
 * the next call refers to it by that name. */
#include "tests/support/eras.h"

/* Evaluates in a session; the answer must be TEXT. */
static void expect_in(struct client *client, const char *session, const char *code,
                      const char *text) {
    struct evaluation evaluation = era_evaluate(client, era_modern, session, code);
    cr_assert_str_eq(evaluation.text, text);
}

Test(sessions, a_call_without_one_runs_in_a_new_one_and_names_it) {
    struct client *client = client_start(NULL);
    struct evaluation first = era_evaluate(client, era_modern, NULL, "(defvar *x* 1)");
    const char *one = era_handle(client, &first);
    cr_assert_str_eq(era_text(client, &first), "=> *X*");
    struct evaluation second = era_evaluate(client, era_modern, NULL, "(boundp '*x*)");
    const char *other = era_handle(client, &second);
    cr_assert_str_eq(era_text(client, &second), "=> NIL");
    cr_assert_str_neq(one, other);
    cr_assert_geq(strlen(one), 32, "%s can be guessed", one);
    client_finish(client);
}

Test(sessions, a_call_that_names_one_runs_in_it_and_its_text_does_not_repeat_the_name) {
    struct client *client = client_start(NULL);
    struct evaluation first =
        era_evaluate(client, era_modern, NULL, "(defun f (x) (* x x)) (in-package :keyword)");
    const char *session = era_handle(client, &first);
    struct evaluation next = era_evaluate(client, era_modern, session, "(cl-user::f 5)");
    cr_assert_str_eq(next.text, "=> 25");
    cr_assert_str_eq(client_string(client, next.line, "result", "_meta", "session", NULL), session);
    client_finish(client);
}

Test(sessions, no_values_are_said_before_the_name) {
    struct client *client = client_start(NULL);
    struct evaluation evaluation = era_evaluate(client, era_modern, NULL, "(values)");
    era_handle(client, &evaluation);
    cr_assert_eq(strncmp(evaluation.text, "; no values\n; session ", 22), 0);
    client_finish(client);
}

Test(sessions, a_missing_definition_in_a_new_one_is_explained) {
    static const char *const codes[] = {"(no-such-function 1)", "no-such-variable"};
    static const char hint[] = "ran in a new session";
    struct client *client = client_start(NULL);
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        struct evaluation lost = era_evaluate(client, era_modern, NULL, codes[i]);
        cr_assert(lost.is_error);
        expect_contains(lost.text, hint);
        const char *session = era_handle(client, &lost);
        struct evaluation again = era_evaluate(client, era_modern, session, codes[i]);
        cr_assert(again.is_error);
        expect_lacks(again.text, hint);
    }
    struct evaluation other = era_evaluate(client, era_modern, NULL, "(car 5)");
    cr_assert(other.is_error);
    expect_lacks(other.text, hint);
    era_handle(client, &other);
    client_finish(client);
}

Test(sessions, a_legacy_call_gets_neither_name_nor_hint) {
    struct client *client = client_start_ready(NULL, NULL);
    cr_assert_str_eq(client_evaluate(client, "(+ 1 2)").text, "=> 3");
    struct evaluation lost = client_evaluate(client, "(no-such-function)");
    expect_lacks(lost.text, "session");
    client_finish(client);
}

Test(sessions, an_unknown_name_is_a_tool_error_that_points_to_open_session) {
    static const char *const arguments[] = {
        "{\"code\":\"1\",\"session\":\"s-0123456789abcdef0123456789abcdef\"}",
        "{\"code\":\"1\",\"session\":\" \"}",
        "{\"code\":\"1\",\"session\":\"main\"}",
    };
    struct client *client = client_start(NULL);
    for (size_t i = 0; i < COUNT_OF(arguments); i++) {
        struct evaluation evaluation = era_call(client, era_modern, "evaluate-lisp", arguments[i]);
        cr_assert(evaluation.is_error);
        cr_assert_eq(strncmp(evaluation.text, "[ERROR] UNKNOWN-SESSION\n", 24), 0);
        expect_contains(evaluation.text, "open-session");
    }
    client_finish(client);
}

Test(sessions, session_tools_require_a_name) {
    static const char *const calls[][2] = {
        {"close-session", "{}"}, {"reset-session", "{}"}, {"rollback-session", "{\"steps\":1}"}};
    struct client *client = client_start(NULL);
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        struct evaluation evaluation = era_call(client, era_modern, calls[i][0], calls[i][1]);
        cr_assert(evaluation.is_error);
        expect_contains(evaluation.text, "session");
    }
    client_finish(client);
}

Test(sessions, a_timed_out_call_and_a_rollback_leave_the_state_before_them) {
    struct client *client = client_start(NULL);
    struct evaluation first = era_evaluate(client, era_modern, NULL, "(defvar *x* 1)");
    const char *session = era_handle(client, &first);
    struct evaluation late =
        era_call(client, era_modern, "evaluate-lisp",
                 formatted("{\"code\":\"(setq *x* 2) (loop)\",\"timeout\":0.3,\"session\":\"%s\"}",
                           session));
    cr_assert_eq(late.error_code, -32004);
    cr_assert_str_eq(client_string(client, late.line, "error", "data", "session", NULL), session);
    expect_in(client, session, "*x*", "=> 1");
    cr_assert_not(era_call(client, era_modern, "rollback-session",
                           formatted("{\"session\":\"%s\",\"steps\":2}", session))
                      .is_error);
    expect_in(client, session, "(boundp '*x*)", "=> NIL");
    client_finish(client);
}

Test(sessions, a_new_one_whose_first_call_times_out_can_still_be_used) {
    struct client *client = client_start(NULL);
    struct evaluation late =
        era_call(client, era_modern, "evaluate-lisp", "{\"code\":\"(loop)\",\"timeout\":0.3}");
    cr_assert_eq(late.error_code, -32004);
    const char *session = client_string(client, late.line, "error", "data", "session", NULL);
    expect_in(client, session, "(+ 1 2)", "=> 3");
    client_finish(client);
}

Test(sessions, the_least_recently_used_idle_one_is_closed_to_make_room) {
    struct client *client = era_start(era_modern, STRINGS("--session-max", "3"));
    const char *handles[3];
    for (size_t i = 0; i < 3; i++) {
        struct evaluation evaluation = era_evaluate(client, era_modern, NULL, "(defvar *x* 1)");
        handles[i] = era_handle(client, &evaluation);
    }
    expect_in(client, handles[0], "*x*", "=> 1"); /* the second is the oldest now */
    era_evaluate(client, era_modern, NULL, "1");
    expect_in(client, handles[0], "*x*", "=> 1");
    expect_in(client, handles[2], "*x*", "=> 1");
    struct evaluation gone = era_evaluate(client, era_modern, handles[1], "*x*");
    cr_assert(gone.is_error);
    expect_contains(gone.text, "UNKNOWN-SESSION");
    client_finish(client);
}

Test(sessions, busy_ones_are_not_closed_and_the_error_names_the_limit) {
    struct client *client = era_start(era_modern, STRINGS("--session-max", "2"));
    era_call_send(client, era_modern, "1", "evaluate-lisp", "{\"code\":\"(loop)\"}");
    era_call_send(client, era_modern, "2", "evaluate-lisp", "{\"code\":\"(loop)\"}");
    const char *line = era_refused(client, era_modern, -32603, "3", "tools/call",
                                   "\"name\":\"evaluate-lisp\",\"arguments\":{\"code\":\"1\"}");
    expect_member(line, "2", "error", "data", "limit", NULL);
    expect_member(line, "\"session.max\"", "error", "data", "name", NULL);
    era_refused(client, era_modern, -32603, "3", "tools/call", "\"name\":\"open-session\"");
    client_send_line(client, CANCEL("1"));
    struct evaluation evaluation;
    do /* the cancelled call ends a moment later */
        evaluation = era_evaluate(client, era_modern, NULL, "(+ 1 2)");
    while (evaluation.error_code);
    cr_assert_str_eq(era_text(client, &evaluation), "=> 3");
    client_send_line(client, CANCEL("2"));
    client_expect_silence(client);
    client_finish(client);
}

Test(sessions, the_legacy_one_is_not_closed_to_make_room) {
    struct client *client = client_start_with("--session-max", "2");
    client_evaluate(client, "(defvar *x* 7)");
    for (int i = 0; i < 4; i++)
        cr_assert_eq(era_evaluate(client, era_modern, NULL, "1").error_code, 0);
    cr_assert_str_eq(client_evaluate(client, "*x*").text, "=> 7");
    client_finish(client);
}

Test(sessions, the_eras_share_no_session_unless_it_is_named) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate(client, "(defvar *x* 7)");
    struct evaluation evaluation = era_evaluate(client, era_modern, NULL, "(boundp '*x*)");
    cr_assert_str_eq(era_text(client, &evaluation), "=> NIL");
    const char *session = era_handle(client, &evaluation);
    cr_assert_eq(era_evaluate(client, era_legacy, session, "(setq *y* 8)").error_code, 0);
    expect_in(client, session, "*y*", "=> 8");
    cr_assert_str_eq(client_evaluate(client, "(boundp '*y*)").text, "=> NIL");
    client_finish(client);
}

Test(sessions, the_operator_can_choose_one_for_both_eras) {
    struct client *client = client_start_with("--default-session", "shared");
    struct evaluation first = era_evaluate(client, era_modern, NULL, "(defvar *x* 1)");
    cr_assert_str_eq(first.text, "=> *X*");
    cr_assert_str_eq(client_string(client, first.line, "result", "_meta", "session", NULL),
                     "shared");
    cr_assert_str_eq(client_evaluate(client, "(incf *x*)").text, "=> 2");
    expect_in(client, NULL, "(incf *x*)", "=> 3");
    expect_in(client, "shared", "(incf *x*)", "=> 4");
    struct evaluation lost = era_evaluate(client, era_modern, NULL, "(no-such-function)");
    expect_lacks(lost.text, "session");
    cr_assert_not(era_call(client, era_modern, "rollback-session", "{\"steps\":1}").is_error);
    struct evaluation listed = era_call(client, era_modern, "list-sessions", "{}");
    expect_contains(listed.text, "shared: ");
    client_finish(client);
}
