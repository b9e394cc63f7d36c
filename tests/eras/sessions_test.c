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
    cr_assert_eq(strlen(one), strlen("s-k3x9q2"), "%s", one);
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

Test(sessions, a_name_of_the_client_opens_one_and_the_next_call_continues_in_it) {
    struct client *client = client_start(NULL);
    expect_in(client, "main", "(defvar *x* 1)", "=> *X*\n; session main (new)");
    expect_in(client, "main", "*x*", "=> 1");
    struct evaluation lost = era_evaluate(client, era_modern, "work", "*x*");
    cr_assert(lost.is_error);
    expect_contains(lost.text, "ran in a new session, where nothing is defined yet. list-sessions");
    expect_contains(lost.text, "\n; session work (new)");
    client_finish(client);
}

Test(sessions, session_tools_require_a_name) {
    static const char *const calls[][2] = {{"close-session", "{}"},
                                           {"reset-session", "{}"},
                                           {"rollback-session", "{\"steps\":1}"},
                                           {"close-session", "{\"session\":null}"},
                                           {"reset-session", "{\"session\":\"\"}"},
                                           {"rollback-session", "{\"session\":null,\"steps\":1}"}};
    struct client *client = client_start(NULL);
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        struct evaluation evaluation = era_call(client, era_modern, calls[i][0], calls[i][1]);
        cr_assert(evaluation.is_error);
        expect_contains(evaluation.text, "The argument session is required here");
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

#define UNNAMED "Unnamed, of which only the newest"

Test(sessions, the_newest_unnamed_ones_are_kept_and_older_ones_go_without_a_word) {
    enum { CALLS = 12, KEPT = 3 };
    struct client *client = era_start(era_modern, STRINGS("--session-unnamed-max", "3"));
    const char *handles[CALLS];
    for (int i = 0; i < CALLS; i++) {
        struct evaluation evaluation =
            era_evaluate(client, era_modern, NULL, formatted("(defvar *x* %d)", i));
        handles[i] = era_handle(client, &evaluation);
    }
    struct evaluation listed = era_call(client, era_modern, "list-sessions", "{}");
    cr_assert_eq(strncmp(listed.text, UNNAMED " 3 are", strlen(UNNAMED " 3 are")), 0);
    for (int i = 0; i < CALLS; i++)
        cr_assert_eq(strstr(listed.text, handles[i]) != NULL, i >= CALLS - KEPT, "%s", listed.text);
    for (int i = 0; i < CALLS - KEPT; i++) {
        struct evaluation gone = era_evaluate(client, era_modern, handles[i], "*x*");
        cr_assert(gone.is_error);
        cr_assert_eq(strncmp(gone.text, "[ERROR] UNKNOWN-SESSION\n", 24), 0);
        expect_contains(gone.text, formatted("Session %s was dropped: only the newest 3 unnamed "
                                             "sessions are kept.",
                                             handles[i]));
        expect_contains(gone.text, "pass a name of your own");
    }
    for (int i = CALLS - KEPT; i < CALLS; i++)
        expect_in(client, handles[i], "*x*", formatted("=> %d", i));
    expect_lacks(client_stderr(client), "session");
    client_finish(client);
}

Test(sessions, one_that_a_call_continues_is_kept) {
    static const char *const tools[][2] = {
        {"evaluate-lisp", "{\"code\":\"*x*\",\"session\":\"%s\"}"},
        {"rollback-session", "{\"steps\":99,\"session\":\"%s\"}"},
        {"open-session", "{\"from\":\"%s\"}"},
    };
    struct client *client = era_start(era_modern, STRINGS("--session-unnamed-max", "1"));
    for (size_t i = 0; i < COUNT_OF(tools); i++) {
        struct evaluation first = era_evaluate(client, era_modern, NULL, "(defvar *x* 1)");
        const char *handle = era_handle(client, &first);
        const char *mark = strstr(tools[i][1], "%s");
        era_call(client, era_modern, tools[i][0],
                 formatted("%.*s%s%s", (int)(mark - tools[i][1]), tools[i][1], handle, mark + 2));
        for (int j = 0; j < 4; j++)
            era_evaluate(client, era_modern, NULL, "1");
        expect_in(client, handle, "*x*", "=> 1");
    }
    client_finish(client);
}

Test(sessions, unnamed_ones_never_close_one_that_was_opened) {
    struct client *client = era_start(era_modern, STRINGS("--session-max", "1"));
    expect_in(client, "work", "(defvar *x* 1)", "=> *X*\n; session work (new)");
    for (int i = 0; i < 20; i++)
        cr_assert_not(era_evaluate(client, era_modern, NULL, "1").is_error);
    expect_in(client, "work", "*x*", "=> 1");
    client_finish(client);
}

/* It then is unnamed still, so that a later call can continue it if it is there. */
Test(sessions, an_unnamed_one_is_not_continued_beyond_the_limit) {
    struct client *client = era_start(era_modern, STRINGS("--session-max", "1"));
    expect_in(client, "work", "1", "=> 1\n; session work (new)");
    struct evaluation first = era_evaluate(client, era_modern, NULL, "(defvar *x* 1)");
    const char *handle = era_handle(client, &first);
    struct evaluation refused = era_evaluate(client, era_modern, handle, "*x*");
    cr_assert(refused.is_error);
    expect_contains(refused.text, "[ERROR] SESSION-LIMIT\n1 sessions are open");
    expect_contains(refused.text, "Idle longest: work.");
    era_call(client, era_modern, "close-session", "{\"session\":\"work\"}");
    expect_in(client, handle, "*x*", "=> 1");
    client_finish(client);
}

Test(sessions, busy_unnamed_ones_are_not_dropped) {
    struct client *client = era_start(era_modern, STRINGS("--session-unnamed-max", "1"));
    era_call_send(client, era_modern, "1", "evaluate-lisp",
                  "{\"code\":\"(progn (sleep 0.5) (defvar *x* 5) 5)\"}");
    for (int i = 0; i < 5; i++)
        era_evaluate(client, era_modern, NULL, "1");
    struct evaluation slow = client_evaluate_await(client, "1");
    const char *handle = era_handle(client, &slow);
    cr_assert_str_eq(era_text(client, &slow), "=> 5");
    expect_in(client, handle, "*x*", "=> 5");
    client_finish(client);
}

Test(sessions, named_ones_are_listed_before_the_unnamed) {
    struct client *client = client_start(NULL);
    struct evaluation first = era_evaluate(client, era_modern, NULL, "1");
    const char *handle = era_handle(client, &first);
    expect_in(client, "work", "1", "=> 1\n; session work (new)");
    struct evaluation listed = era_call(client, era_modern, "list-sessions", "{}");
    cr_assert_eq(strncmp(listed.text, "work: state number 1,", 21), 0, "%s", listed.text);
    const char *heading = strstr(listed.text, "\n" UNNAMED " 8 are kept");
    cr_assert_not_null(heading, "%s", listed.text);
    expect_contains(heading, formatted("\n%s: state number 1,", handle));
    client_finish(client);
}

Test(sessions, calls_that_wait_for_a_new_one_are_counted_and_not_listed) {
    struct client *client = era_start(era_modern, STRINGS("--call-running-max", "1"));
    era_call_send(client, era_modern, "0", "evaluate-lisp", "{\"code\":\"(loop)\"}");
    client_busy_worker(client);
    for (int i = 1; i <= 5; i++)
        era_call_send(client, era_modern, formatted("%d", i), "evaluate-lisp", "{\"code\":\"1\"}");
    struct evaluation listed = era_call(client, era_modern, "list-sessions", "{}");
    expect_contains(listed.text, "\n5 calls wait for a new session.");
    cr_assert_eq(era_session_count(client, era_modern), 1);
    client_send_line(client, CANCEL("0"));
    for (int i = 1; i <= 5; i++)
        client_evaluate_await(client, formatted("%d", i));
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

Test(sessions, the_chosen_one_is_neither_opened_nor_counted) {
    EACH_KIND(era) {
        struct client *client =
            era_start(era, STRINGS("--default-session", "shared", "--session-max", "1"));
        cr_assert_str_eq(era_evaluate(client, era, "shared", "(defvar *x* 1)").text, "=> *X*");
        cr_assert_str_eq(era_evaluate(client, era, "work", "(boundp '*x*)").text,
                         "=> NIL\n; session work (new)");
        expect_contains(era_call(client, era, "open-session", "{\"name\":\"shared\"}").text,
                        "is open already");
        era_call(client, era, "close-session", "{}");
        cr_assert_str_eq(era_evaluate(client, era, NULL, "(boundp '*x*)").text, "=> NIL");
        client_finish(client);
    }
}
