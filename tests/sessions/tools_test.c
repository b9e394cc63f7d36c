/* The session tools as a client sees them: open, copy, roll back, reset, close, list; the limits;
 * the order of calls; and that sessions are independent of each other. */
#include "tests/support/client_sessions.h"
#include "tests/support/family.h"
#include "tests/support/lines.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define UNKNOWN "[ERROR] UNKNOWN-SESSION\n"

static void expect_tool_error(struct client *client, const char *tool, const char *arguments,
                              const char *type) {
    struct evaluation evaluation = client_tool(client, tool, arguments);
    cr_assert_eq(evaluation.error_code, 0, "%s", evaluation.line);
    cr_assert(evaluation.is_error, "%s %s: %s", tool, arguments, evaluation.line);
    cr_assert_eq(evaluation.exit_code, 1);
    expect_contains(evaluation.text, formatted("[ERROR] %s\n", type));
}

/* Makes *X* 1, 2, … COUNT in as many calls. */
static void count_up(struct client *client, const char *session, int count) {
    for (int i = 1; i <= count; i++)
        client_session_expect(client, session, formatted("(defparameter *x* %d)", i), "=> *X*");
}

static struct session_row row_of(struct client *client, const char *session) {
    struct session_row row = {0};
    cr_assert(client_session_row(client, session, &row));
    return row;
}

/* Opening and closing. */

Test(tools, a_made_up_name_is_short_and_new_each_time) {
    enum { SESSIONS = 10, NAME_LENGTH = 2 + 6 };
    const char *names[SESSIONS];
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < SESSIONS; i++) {
        names[i] = client_session_open(client);
        cr_assert_eq(strlen(names[i]), NAME_LENGTH, "%s", names[i]);
        cr_assert_eq(strncmp(names[i], "s-", 2), 0, "%s", names[i]);
        for (const char *sign = names[i] + 2; *sign; sign++)
            cr_assert((islower((unsigned char)*sign) || isdigit((unsigned char)*sign)) &&
                          !strchr("ilo01", *sign),
                      "%s", names[i]);
        for (size_t j = 0; j < i; j++)
            cr_assert_str_neq(names[i], names[j]);
    }
    cr_assert_eq(client_session_count(client), SESSIONS);
    client_finish(client);
}

Test(tools, an_opened_session_is_independent_of_all_others) {
    struct client *client = client_start_ready(NULL, NULL);
    const char *one = client_session_open(client), *other = client_session_open(client);
    client_session_expect(client, one, "(defvar *x* 1)", "=> *X*");
    client_session_expect(client, other, "(defvar *x* 2)", "=> *X*");
    client_session_expect(client, NULL, "(boundp '*x*)", "=> NIL");
    client_session_expect(client, one, "*x*", "=> 1");
    client_session_expect(client, other, "*x*", "=> 2");
    client_finish(client);
}

Test(tools, only_an_evaluation_opens_a_session_by_its_name) {
    static const struct {
        const char *tool, *arguments;
    } rows[] = {
        {"open-session", "{\"from\":\"nobody\"}"},
        {"rollback-session", "{\"session\":\"nobody\",\"steps\":1}"},
        {"reset-session", "{\"session\":\"nobody\"}"},
        {"close-session", "{\"session\":\"nobody\"}"},
    };
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        expect_tool_error(client, rows[i].tool, rows[i].arguments, "UNKNOWN-SESSION");
    cr_assert_eq(client_session_count(client), 0);
    client_finish(client);
}

Test(tools, wrong_arguments_are_tool_errors) {
    static const struct {
        const char *tool, *arguments;
    } rows[] = {
        {"open-session", "{\"name\":1}"},
        {"open-session", "{\"title\":\"mine\"}"},
        {"open-session", "{\"at\":1}"},
        {"open-session", "{\"from\":\"main\",\"at\":-1}"},
        {"open-session", "{\"from\":\"main\",\"at\":1.5}"},
        {"open-session", "{\"from\":\"main\",\"at\":\"1\"}"},
        {"open-session", "{\"from\":1}"},
        {"rollback-session", "{}"},
        {"rollback-session", "{\"steps\":0}"},
        {"rollback-session", "{\"steps\":-1}"},
        {"rollback-session", "{\"steps\":1.5}"},
        {"rollback-session", "{\"steps\":\"1\"}"},
        {"rollback-session", "{\"steps\":null}"},
        {"reset-session", "{\"session\":1}"},
        {"close-session", "{\"session\":[]}"},
        {"list-sessions", "{\"session\":\"main\"}"},
    };
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate(client, "1");
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        expect_tool_error(client, rows[i].tool, rows[i].arguments, "TYPE-ERROR");
    cr_assert_eq(row_of(client, NULL).number, 1);
    client_finish(client);
}

Test(tools, a_closed_session_is_gone_with_its_processes) {
    struct client *client = client_start_ready(NULL, NULL);
    const char *session = client_session_open(client);
    count_up(client, session, 3);
    client_session_close(client, session);
    expect_contains(client_session_evaluate(client, session, "*x*").text, UNKNOWN);
    cr_assert_eq(client_session_count(client), 0);
    family_workers(client, 1, NULL, 0);
    family_await_no_zombies(client);
    client_finish(client);
}

Test(tools, the_connections_own_session_begins_anew_after_it_was_closed) {
    struct client *client = client_start_ready(NULL, NULL);
    count_up(client, NULL, 2);
    client_session_close(client, NULL);
    client_session_expect(client, NULL, "(boundp '*x*)", "=> NIL");
    client_session_expect(client, "main", "(defvar *y* 1)", "=> *Y*");
    client_session_expect(client, NULL, "*y*", "=> 1");
    cr_assert_eq(row_of(client, NULL).number, 3);
    client_finish(client);
}

Test(tools, calls_queued_after_a_close_are_refused) {
    struct client *client = client_start_ready(NULL, NULL);
    const char *session = client_session_open(client);
    client_session_send(client, "1", session, "(sleep 0.2)", 0);
    client_tool_send(client, "2", "close-session", formatted("{\"session\":\"%s\"}", session));
    client_session_send(client, "3", session, "(ext:quit 1)", 0);
    client_session_send(client, "4", session, "1", 0);
    cr_assert_not(client_evaluate_await(client, "1").is_error);
    cr_assert_not(client_evaluate_await(client, "2").is_error);
    for (int i = 3; i <= 4; i++) {
        struct evaluation late = client_evaluate_await(client, formatted("%d", i));
        cr_assert(late.is_error);
        expect_contains(late.text, "was closed before this call");
    }
    client_finish(client);
}

Test(tools, a_reset_session_keeps_its_name_and_nothing_else) {
    struct client *client = client_start_ready(NULL, NULL);
    const char *session = client_session_open(client);
    client_session_expect(client, session, "(defvar *x* 1) (defpackage :mine)",
                          "=> #<\"MINE\" package>");
    client_session_evaluate(client, session, "(in-package :mine)");
    client_session_reset(client, session);
    struct session_row row = row_of(client, session);
    cr_assert(row.number == 0 && row.history == 0 && !row.busy);
    cr_assert(client_session_rollback(client, session, 1).is_error);
    client_session_expect(client, session, "(list (boundp '*x*) (package-name *package*))",
                          "=> (NIL \"COMMON-LISP-USER\")");
    client_finish(client);
}

/* Rolling back. */

Test(tools, a_rollback_goes_back_by_calls) {
    struct client *client = client_start_ready(NULL, NULL);
    count_up(client, NULL, 5);
    struct evaluation rolled = client_session_rollback(client, NULL, 2);
    cr_assert(!rolled.is_error && rolled.exit_code == 0, "%s", rolled.line);
    expect_contains(rolled.text, "as it was before its last 2 calls; state number 3");
    client_session_expect(client, NULL, "*x*", "=> 3");
    cr_assert_eq(row_of(client, NULL).number, 4);
    cr_assert_not(client_session_rollback(client, NULL, 4).is_error);
    cr_assert_eq(row_of(client, NULL).number, 0);
    client_session_expect(client, NULL, "(boundp '*x*)", "=> NIL");
    client_finish(client);
}

Test(tools, a_rollback_goes_as_far_as_the_history_and_no_further) {
    struct client *client = client_start_with("--session-history", "3");
    count_up(client, NULL, 10);
    cr_assert_eq(row_of(client, NULL).history, 3);
    struct evaluation rolled = client_session_rollback(client, NULL, 4);
    cr_assert(rolled.is_error);
    expect_contains(rolled.text, "at most 3 calls now (session.history 3)");
    client_session_expect(client, NULL, "*x*", "=> 10");
    cr_assert_not(client_session_rollback(client, NULL, 3).is_error);
    client_session_expect(client, NULL, "*x*", "=> 8");
    client_finish(client);
}

Test(tools, without_history_failures_are_still_undone) {
    struct client *client = client_start_with("--session-history", "0");
    count_up(client, NULL, 3);
    cr_assert(client_session_rollback(client, NULL, 1).is_error);
    cr_assert_eq(client_evaluate(client, "(setf *x* 0) (ext:quit 1)").exit_code, 1);
    client_session_expect(client, NULL, "*x*", "=> 3");
    client_finish(client);
}

/* After five of ten calls are undone, the states 2 to 5 remain, and state 0, which needs no process
 * to hold it; state 1 is gone. */
Test(tools, a_rollback_to_a_state_that_is_gone_is_refused) {
    struct client *client = client_start_ready(NULL, NULL);
    count_up(client, NULL, 10);
    cr_assert_not(client_session_rollback(client, NULL, 5).is_error);
    cr_assert_eq(row_of(client, NULL).history, 3);
    for (long steps = 4; steps <= 6; steps++)
        cr_assert(client_session_rollback(client, NULL, steps).is_error, "%ld", steps);
    client_session_expect(client, NULL, "*x*", "=> 5");
    cr_assert_not(client_session_rollback(client, NULL, 4).is_error);
    client_session_expect(client, NULL, "*x*", "=> 2");
    client_finish(client);
}

Test(tools, undone_failures_are_not_counted_and_conditions_are) {
    struct client *client = client_start_ready(NULL, NULL);
    count_up(client, NULL, 2);
    client_evaluate(client, "(setf *x* 0) (ext:quit 1)");
    client_evaluate(client, "(setf *x* 7) (error \"x\")");
    client_evaluate(client, "(ash 1 999999999999)");
    cr_assert_eq(row_of(client, NULL).number, 3);
    cr_assert_not(client_session_rollback(client, NULL, 1).is_error);
    client_session_expect(client, NULL, "*x*", "=> 2");
    client_finish(client);
}

Test(tools, a_rollback_waits_for_its_turn) {
    struct client *client = client_start_ready(NULL, NULL);
    count_up(client, NULL, 3);
    client_evaluate_send(client, "1", "(sleep 0.1) (setf *x* 4)");
    client_tool_send(client, "2", "rollback-session", "{\"steps\":2}");
    client_evaluate_send(client, "3", "*x*");
    cr_assert_str_eq(client_evaluate_await(client, "1").text, "=> 4");
    cr_assert_not(client_evaluate_await(client, "2").is_error);
    cr_assert_str_eq(client_evaluate_await(client, "3").text, "=> 2");
    client_finish(client);
}

/* Copies. */

Test(tools, a_copy_and_its_origin_are_independent_at_once) {
    struct client *client = client_start_ready(NULL, NULL);
    count_up(client, NULL, 2);
    client_tool_send(client, "1", "open-session", "{\"from\":\"main\"}");
    client_evaluate_send(client, "2", "(setf *x* 10)");
    client_tool_send(client, "3", "open-session", "{\"from\":\"main\"}");
    client_evaluate_send(client, "4", "(setf *x* 20)");
    const char *first = client_string(client, client_evaluate_await(client, "1").line, "result",
                                      "_meta", "session", NULL);
    const char *second = client_string(client, client_evaluate_await(client, "3").line, "result",
                                       "_meta", "session", NULL);
    client_evaluate_await(client, "2");
    client_evaluate_await(client, "4");
    client_session_expect(client, first, "(incf *x*)", "=> 3");
    client_session_expect(client, second, "(incf *x*)", "=> 11");
    client_session_expect(client, NULL, "(incf *x*)", "=> 21");
    client_session_expect(client, first, "*x*", "=> 3");
    client_finish(client);
}

Test(tools, a_copy_can_start_from_any_kept_state) {
    struct client *client = client_start_with("--session-history", "3");
    count_up(client, NULL, 6);
    for (long at = 3; at <= 6; at++) {
        const char *copy = client_session_copy(client, NULL, at);
        client_session_expect(client, copy, "*x*", formatted("=> %ld", at));
        client_session_close(client, copy);
    }
    const char *fresh = client_session_copy(client, NULL, 0);
    client_session_expect(client, fresh, "(boundp '*x*)", "=> NIL");
    expect_tool_error(client, "open-session", "{\"from\":\"main\",\"at\":2}", "SESSION-ERROR");
    expect_tool_error(client, "open-session", "{\"from\":\"main\",\"at\":7}", "SESSION-ERROR");
    expect_tool_error(client, "open-session", "{\"from\":\"main\",\"at\":9223372036854775807}",
                      "SESSION-ERROR");
    client_session_expect(client, NULL, "*x*", "=> 6");
    client_finish(client);
}

Test(tools, a_copy_has_its_own_history) {
    struct client *client = client_start_ready(NULL, NULL);
    count_up(client, NULL, 3);
    const char *copy = client_session_copy(client, NULL, -1);
    struct session_row row = row_of(client, copy);
    cr_assert(row.number == 0 && row.history == 0);
    cr_assert(client_session_rollback(client, copy, 1).is_error);
    client_session_expect(client, copy, "(setf *x* 30)", "=> 30");
    const char *second = client_session_copy(client, copy, 0);
    client_session_expect(client, second, "*x*", "=> 3");
    cr_assert_not(client_session_rollback(client, copy, 1).is_error);
    client_session_expect(client, copy, "(setf *x* 0) (ext:quit 1)",
                          "[ERROR] PROCESS-EXIT\nThe code ended its process with status 1. The "
                          "session is as it was before the call.\n\n[Backtrace]\n(no frames)");
    client_session_expect(client, copy, "*x*", "=> 3");
    client_finish(client);
}

Test(tools, a_copy_has_its_own_output) {
    struct client *client = client_start_ready(NULL, NULL);
    client_session_expect(client, NULL, "(princ \"origin\") 1", "[stdout]\norigin\n=> 1");
    const char *copy = client_session_copy(client, NULL, -1);
    client_session_send(client, "1", copy, "(loop repeat 5 do (princ 1) (sleep 0.01))", 0);
    client_session_send(client, "2", NULL, "(loop repeat 5 do (princ 2) (sleep 0.01))", 0);
    expect_contains(client_evaluate_await(client, "1").text, "[stdout]\n11111\n");
    expect_contains(client_evaluate_await(client, "2").text, "[stdout]\n22222\n");
    client_finish(client);
}

Test(tools, a_copy_outlives_its_origin) {
    struct client *client = client_start_ready(NULL, NULL);
    const char *origin = client_session_open(client);
    count_up(client, origin, 2);
    const char *copy = client_session_copy(client, origin, -1);
    client_session_close(client, origin);
    client_session_expect(client, copy, "(incf *x*)", "=> 3");
    cr_assert_eq(client_session_evaluate(client, copy, "(setf *x* 0) (ext:quit 2)").exit_code, 2);
    client_session_expect(client, copy, "*x*", "=> 3");
    client_finish(client);
}

/* Order, side by side, limits. */

Test(tools, calls_of_a_session_run_in_order_and_those_of_others_beside_it) {
    struct client *client = client_start_ready(NULL, NULL);
    const char *busy = client_session_open(client), *free = client_session_open(client);
    client_session_expect(client, free, "(defvar *x* 1)", "=> *X*");
    client_session_send(client, "1", busy, "(defvar *list* '(1)) (loop)", 0);
    client_session_send(client, "2", busy, "(push 2 *list*)", 0);
    client_session_send(client, "3", busy, "*list*", 0);
    client_busy_worker(client);
    for (int i = 2; i < 10; i++) {
        client_ping(client);
        client_session_expect(client, free, "(incf *x*)", formatted("=> %d", i));
    }
    cr_assert(row_of(client, busy).busy);
    cr_assert_not(row_of(client, free).busy);
    client_expect_silence(client);
    client_send_line(client, CANCEL("1"));
    cr_assert_eq(client_evaluate_await(client, "1").error_code, -32001);
    cr_assert(client_evaluate_await(client, "2").is_error); /* the call before it is undone */
    cr_assert(client_evaluate_await(client, "3").is_error);
    client_finish(client);
}

/* A copy is opened, and counted, when it is asked for. */
Test(tools, a_copy_that_waits_for_its_origin_takes_the_calls_that_name_it) {
    struct client *client = client_start_with("--session-max", "1");
    client_session_expect(client, NULL, "(defvar *x* 5)", "=> *X*");
    client_evaluate_send(client, "\"busy\"", "(progn (sleep 0.2) (setf *x* 6))");
    client_tool_send(client, "1", "open-session", "{\"from\":\"main\",\"name\":\"twin\"}");
    client_session_send(client, "2", "twin", "*x*", 0);
    expect_contains(client_tool(client, "open-session", "{}").text, "[ERROR] SESSION-LIMIT\n");
    expect_contains(client_tool(client, "open-session", "{\"name\":\"twin\"}").text,
                    "is open already");
    cr_assert_not(client_evaluate_await(client, "1").is_error);
    cr_assert_str_eq(client_evaluate_await(client, "2").text, "=> 6");
    client_evaluate_await(client, "\"busy\"");
    client_finish(client);
}

Test(tools, calls_on_a_copy_that_is_not_made_are_refused) {
    static const char *const ends[][2] = {{"close-session", "{}"}, {"reset-session", "{}"}};
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        struct client *client = client_start_ready(NULL, NULL);
        count_up(client, NULL, 2);
        client_evaluate_send(client, "\"busy\"", "(sleep 0.2)");
        client_tool_send(client, "0", ends[i][0], ends[i][1]);
        client_tool_send(client, "1", "open-session",
                         "{\"from\":\"main\",\"at\":2,\"name\":\"twin\"}");
        client_tool_send(client, "2", "open-session", "{\"from\":\"twin\",\"name\":\"third\"}");
        client_session_send(client, "3", "twin", "*x*", 0);
        client_session_send(client, "4", "third", "*x*", 0);
        for (int id = 1; id <= 4; id++)
            cr_assert(client_evaluate_await(client, formatted("%d", id)).is_error);
        client_evaluate_await(client, "0");
        client_evaluate_await(client, "\"busy\"");
        client_session_expect(client, "twin", "(boundp '*x*)", "=> NIL\n; session twin (new)");
        client_finish(client);
    }
}

Test(tools, a_copy_that_is_being_made_is_not_shown) {
    struct client *client = client_start_ready(NULL, NULL);
    client_session_expect(client, NULL, "(defvar *x* (make-list 1000000))", "=> *X*");
    client_session_settle(client, NULL);
    client_tool_send(client, "1", "open-session", "{\"from\":\"main\"}");
    client_tool_send(client, "2", "list-sessions", "{}");
    const char *copy = client_string(client, client_evaluate_await(client, "1").line, "result",
                                     "_meta", "session", NULL);
    struct evaluation list = client_evaluate_await(client, "2");
    cr_assert_not_null(copy);
    cr_assert(!strstr(list.text, copy) || !strstr(list.text, "busy"), "%s", list.text);
    client_finish(client);
}

/* A session is closed while it forks; another, which forks meanwhile, must keep its fork. With much
 * memory a fork takes long. */
Test(tools, a_session_closed_in_the_middle_of_a_fork_harms_no_other) {
    enum { ROUNDS = 8 };
    struct client *client = client_start_ready(NULL, NULL);
    client_session_expect(client, NULL, "(defvar *n* 0) (defvar *y* (make-list 2000000))",
                          "=> *Y*");
    for (int i = 1; i <= ROUNDS; i++) {
        const char *value = formatted("=> %d", i), *session = client_session_open(client);
        client_session_settle(client, NULL);
        client_session_send(client, "1", session, "(defvar *x* (make-list 2000000))", 0);
        cr_assert_not(client_evaluate_await(client, "1").is_error);
        client_evaluate_send(client, "2", "(incf *n*)");
        cr_assert_str_eq(client_evaluate_await(client, "2").text, value);
        client_session_close(client, session);
        client_evaluate_send(client, "3", "(setf *n* 0) (ext:quit 1)");
        expect_contains(client_evaluate_await(client, "3").text,
                        "The session is as it was before the call.");
        client_session_expect(client, NULL, "*n*", value);
    }
    client_finish(client);
}

Test(tools, queued_session_tools_can_be_cancelled) {
    static const char *const tools[][2] = {{"rollback-session", "{\"steps\":1}"},
                                           {"reset-session", "{}"},
                                           {"close-session", "{}"},
                                           {"open-session", "{\"from\":\"main\"}"}};
    struct client *client = client_start_ready(NULL, NULL);
    count_up(client, NULL, 2);
    client_evaluate_send(client, "\"busy\"", ENDLESS);
    for (size_t i = 0; i < COUNT_OF(tools); i++) {
        const char *id = formatted("%zu", i);
        client_tool_send(client, id, tools[i][0], tools[i][1]);
        client_send_format(client, CANCEL("%s"), id);
        cr_assert_eq(client_evaluate_await(client, id).error_code, -32001);
    }
    client_send_line(client, CANCEL("\"busy\""));
    cr_assert_eq(client_evaluate_await(client, "\"busy\"").error_code, -32001);
    client_session_expect(client, NULL, "*x*", "=> 2");
    cr_assert_eq(client_session_count(client), 1);
    client_finish(client);
}

Test(tools, a_copy_that_is_cancelled_is_answered_once) {
    struct client *client = client_start_ready(NULL, NULL);
    count_up(client, NULL, 2);
    for (int i = 0; i < 20; i++) {
        if (i % 2)
            client_session_settle(client, NULL);
        client_tool_send(client, "1", "open-session", "{\"from\":\"main\"}");
        client_send_line(client, CANCEL("1"));
        struct evaluation evaluation = client_evaluate_await(client, "1");
        cr_assert(evaluation.error_code == -32001 || !evaluation.is_error, "%s", evaluation.line);
        client_session_expect(client, NULL, "*x*", "=> 2");
    }
    client_finish(client);
}
