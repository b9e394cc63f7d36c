/* Signals during the end of a server: the first one begins a drain, as the end of input does, and
 * one during a drain ends it at once. The calls would run for ten minutes and have five minutes to
 * finish, so that a server that ends at all has ended at once. */
#include "tests/support/client_sessions.h"
#include "tests/support/eras.h"
#include "tests/support/family.h"
#include "tests/support/random.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATIENT "--shutdown-grace-s", "300", "--call-timeout-s", "600", "--log-level", "debug"

static const int signals[] = {SIGTERM, SIGINT};

static void expect_end(struct client *client, int status) {
    cr_assert_null(client_read_line_or_end(client, NULL));
    family_expect_end(client, status);
}

/* Two sessions run, and one call waits. */
static void send_endless(struct client *client, const struct era *era) {
    era_call_send(client, era, "1", "evaluate-lisp", "{\"code\":\"(loop)\",\"session\":\"one\"}");
    era_call_send(client, era, "2", "evaluate-lisp", "{\"code\":\"(loop)\",\"session\":\"one\"}");
    era_call_send(client, era, "3", "evaluate-lisp", "{\"code\":\"(loop)\",\"session\":\"two\"}");
    client_barrier(client);
    client_busy_worker(client);
}

static void expect_cancelled(struct client *client) {
    for (int id = 1; id <= 3; id++) {
        struct evaluation evaluation = client_evaluate_await(client, formatted("%d", id));
        cr_assert_eq(evaluation.error_code, -32001, "%s", evaluation.line);
    }
}

/* The ways in which a drain begins; each returns once it has. */

static void end_of_input(struct client *client) {
    client_close_stdin(client);
    client_await_stderr(client, "no more input");
}

static void signalled(struct client *client) {
    client_kill(client, SIGTERM);
    client_await_stderr(client, "no more input");
}

static void interrupted(struct client *client) {
    client_kill(client, SIGINT);
    client_await_stderr(client, "no more input");
}

static void (*const ways[])(struct client *client) = {end_of_input, signalled, interrupted};

Test(signals, a_signal_during_a_drain_ends_it_at_once) {
    EACH_KIND(era)
    for (size_t way = 0; way < COUNT_OF(ways); way++)
        for (size_t i = 0; i < COUNT_OF(signals); i++) {
            struct client *client = era_start(era, STRINGS(PATIENT));
            send_endless(client, era);
            ways[way](client);
            client_kill(client, signals[i]);
            expect_cancelled(client);
            expect_end(client, 0);
        }
}

Test(signals, a_signal_after_shutdown_ends_the_grace) {
    for (size_t i = 0; i < COUNT_OF(signals); i++) {
        struct client *client = client_start_with(PATIENT);
        send_endless(client, era_legacy);
        client_expect_result(client, REQUEST("\"s\"", "shutdown"), "\"s\"");
        client_kill(client, signals[i]);
        expect_cancelled(client);
        expect_end(client, 0);
    }
}

Test(signals, exit_is_answered_after_the_calls_that_a_signal_ended) {
    struct client *client = client_start_with(PATIENT);
    send_endless(client, era_legacy);
    client_send_line(client, REQUEST("\"s\"", "shutdown") "\n" REQUEST("\"e\"", "exit"));
    client_await_stderr(client, "no more input");
    client_kill(client, SIGTERM);
    expect_cancelled(client);
    client_await(client, "\"s\"", NULL);
    client_await(client, "\"e\"", NULL);
    expect_end(client, 0);
}

Test(signals, the_first_signal_lets_running_calls_finish) {
    EACH_KIND(era)
    for (size_t i = 0; i < COUNT_OF(signals); i++) {
        struct client *client = era_start(era, STRINGS(PATIENT));
        era_call_send(client, era, "1", "evaluate-lisp", "{\"code\":\"(progn (sleep 0.3) 42)\"}");
        client_barrier(client);
        client_kill(client, signals[i]);
        expect_contains(client_evaluate_await(client, "1").text, "=> 42");
        expect_end(client, 0);
    }
}

/* Both are pending when the server looks. */
Test(signals, two_at_once_end_it_at_once) {
    struct client *client = client_start_with(PATIENT);
    send_endless(client, era_legacy);
    client_kill(client, SIGSTOP);
    client_kill(client, SIGINT);
    client_kill(client, SIGTERM);
    client_kill(client, SIGCONT);
    expect_cancelled(client);
    expect_end(client, 0);
}

Test(signals, an_idle_server_ends_with_the_first_and_survives_no_second) {
    for (int i = 0; i < 10; i++) {
        struct client *client = client_start_ready(NULL, NULL);
        client_kill(client, SIGTERM);
        client_kill(client, SIGINT);
        client_kill(client, SIGTERM);
        expect_end(client, 0);
    }
}

Test(signals, a_client_that_does_not_read_does_not_keep_a_server_that_was_told_twice) {
    struct client *client = client_start_with(PATIENT, "--output-shown-chars", "3000000");
    client_evaluate(client, "1");
    client_pause_reading(client, true);
    client_evaluate_send(client, "1",
                         "(progn (dotimes (i 2000) (write-string (make-string 1000 "
                         ":initial-element #\\a))) 1)");
    client_close_stdin(client);
    client_await_stderr(client, "no more input");
    client_await_stderr(client, "value session=main call=2");
    client_kill(client, SIGTERM);
    family_await_nobody(client);
    client_close_stdout(client);
    family_expect_end(client, 70);
}

Test(signals, a_full_pipe_and_running_calls_do_not_keep_it) {
    struct client *client = client_start_with(PATIENT, "--output-shown-chars", "3000000");
    client_session_evaluate(client, "one", "1");
    client_pause_reading(client, true);
    client_session_send(client, "1", "two", ENDLESS, 0);
    client_session_send(client, "2", "one",
                        "(progn (dotimes (i 2000) (write-string (make-string 1000 "
                        ":initial-element #\\a))) 1)",
                        0);
    client_await_stderr(client, "value session=one call=3");
    client_kill(client, SIGTERM); /* the end of input is not seen while nothing is read */
    client_await_stderr(client, "no more input");
    client_kill(client, SIGINT);
    family_await_nobody(client);
    client_close_stdout(client);
    family_expect_end(client, 70);
}

/* Everything that can be under way, and a signal at any moment of it. */
Test(signals, at_any_point_every_request_is_answered_once_and_nothing_is_left) {
    enum { TRIALS = 30, REQUESTS = 9 };
    struct random random = random_for("signals");
    for (int trial = 0; trial < TRIALS; trial++) {
        const struct era *era = trial % 2 ? era_modern : era_legacy;
        struct client *client = era_start(era, STRINGS(PATIENT));
        era_call_send(client, era, "\"a\"", "evaluate-lisp",
                      "{\"code\":\"(defvar *x* (make-list 100000))\",\"session\":\"one\"}");
        client_await(client, "\"a\"", NULL);
        for (int i = 0; i < REQUESTS; i++) {
            static const char *const calls[][2] = {
                {"open-session", "{\"from\":\"one\"}"},
                {"evaluate-lisp", "{\"code\":\"(setf *x* 1)\",\"session\":\"one\"}"},
                {"list-sessions", "{}"},
                {"rollback-session", "{\"session\":\"one\",\"steps\":1}"},
                {"evaluate-lisp", "{\"code\":\"(loop)\",\"session\":\"two\"}"},
                {"evaluate-lisp", "{\"code\":\"(ext:quit 3)\",\"session\":\"three\"}"},
                {"open-session", "{\"from\":\"two\"}"},
                {"close-session", "{\"session\":\"one\"}"},
                {"evaluate-lisp", "{\"code\":\"(loop (print 1))\",\"session\":\"four\"}"},
            };
            era_call_send(client, era, formatted("%d", i), calls[i][0], calls[i][1]);
        }
        client_flush(client);
        usleep((useconds_t)random_between(&random, 0, 30000));
        client_barrier(client);
        client_kill(client, signals[trial / 2 % 2]);
        usleep((useconds_t)random_between(&random, 0, 20000));
        client_kill(client, SIGTERM);
        client_kill(client, SIGINT);
        for (int i = 0; i < REQUESTS; i++)
            client_await(client, formatted("%d", i), NULL);
        expect_end(client, 0);
    }
}
