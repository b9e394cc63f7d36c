/* The end of input, SIGTERM and SIGINT: whatever was accepted is answered, whole lines only, and
 * nothing is left running. */
#include "tests/support/eras.h"
#include "tests/support/family.h"
#include <signal.h>
#include <stdio.h>

static void expect_end(struct client *client) {
    cr_assert_null(client_read_line_or_end(client, NULL));
    family_expect_end(client, 0);
}

static void end_of_input(struct client *client) {
    client_close_stdin(client);
}

static void terminate(struct client *client) {
    client_ping(client); /* everything before it has been accepted */
    client_kill(client, SIGTERM);
}

static void interrupt(struct client *client) {
    client_ping(client);
    client_kill(client, SIGINT);
}

/* The three ways to the end. */
static void (*const ways[])(struct client *client) = {end_of_input, terminate, interrupt};

/* Ends servers of both eras in each way, after SEND and before EXPECT. */
static void end_each(const char *const *arguments,
                     void (*send)(struct client *client, const struct era *era),
                     void (*expect)(struct client *client)) {
    EACH_KIND(era)
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        struct client *client = era_start(era, arguments);
        if (send)
            send(client, era);
        ways[i](client);
        if (expect)
            expect(client);
        expect_end(client);
    }
}

Test(drain, an_idle_server_ends_with_status_0) {
    end_each(NULL, NULL, NULL);
}

Test(drain, a_server_that_is_still_booting_its_workers_ends_with_status_0) {
    struct client *client = client_start(NULL);
    client_send_line(client, INITIALIZE("1", "\"2025-11-25\""));
    client_close_stdin(client);
    client_await(client, "1", NULL);
    expect_end(client);
}

enum { CALLS = 5 };

static void send_calls(struct client *client, const struct era *era) {
    for (int i = 0; i < CALLS; i++) {
        char id[16], arguments[64];
        snprintf(id, sizeof id, "%d", i);
        snprintf(arguments, sizeof arguments, "{\"code\":\"(progn (sleep 0.1) %d)\"}", i);
        era_call_send(client, era, id, "evaluate-lisp", arguments);
    }
    era_send(client, era, "\"list\"", "tools/list", NULL);
    era_send(client, era, "\"unknown\"", "no/such", NULL);
}

static void expect_calls(struct client *client) {
    client_await(client, "\"list\"", NULL);
    client_await(client, "\"unknown\"", NULL);
    for (int i = 0; i < CALLS; i++) {
        char id[16], expected[16];
        snprintf(id, sizeof id, "%d", i);
        snprintf(expected, sizeof expected, "=> %d", i);
        struct evaluation evaluation = client_evaluate_await(client, id);
        cr_assert_str_eq(era_text(client, &evaluation), expected);
    }
}

Test(drain, running_and_queued_calls_are_finished_and_answered) {
    end_each(NULL, send_calls, expect_calls);
}

static void send_endless(struct client *client, const struct era *era) {
    era_call_send(client, era, "1", "evaluate-lisp", "{\"code\":\"(loop)\"}");
    era_call_send(client, era, "2", "evaluate-lisp", "{\"code\":\"(loop)\"}");
}

static void expect_cancelled(struct client *client) {
    cr_assert_eq(client_evaluate_await(client, "1").error_code, -32001);
    cr_assert_eq(client_evaluate_await(client, "2").error_code, -32001);
}

Test(drain, an_endless_call_is_cancelled_when_the_grace_time_is_over) {
    const char *arguments[] = {"--shutdown-grace-s", "1", NULL};
    end_each(arguments, send_endless, expect_cancelled);
}

Test(drain, without_grace_time_calls_are_cancelled_at_once_and_answered_even_in_silent_mode) {
    const char *arguments[] = {"--cancel-reply", "silent", "--shutdown-grace-s", "0", NULL};
    end_each(arguments, send_endless, expect_cancelled);
}

Test(drain, a_whole_conversation_in_one_write_is_answered_before_the_end) {
    struct client *client = client_start(NULL);
    client_send_line(client, INITIALIZE("1", "\"2025-11-25\"") "\n" NOTIFICATION(
                                 "notifications/initialized") "\n" EVALUATE("2", "(defvar *x* 3)"));
    client_send(client, EVALUATE("3", "(* 2 *x*)"), strlen(EVALUATE("3", "(* 2 *x*)")));
    client_close_stdin(client);
    client_await(client, "1", NULL);
    cr_assert_str_eq(client_evaluate_await(client, "2").text, "=> *X*");
    cr_assert_str_eq(client_evaluate_await(client, "3").text, "=> 6");
    expect_end(client);
}

Test(drain, lines_sent_after_the_signal_are_not_served) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate_send(client, "1", "(progn (sleep 0.5) 42)");
    terminate(client);
    cr_assert_str_eq(client_evaluate_await(client, "1").text, "=> 42");
    client_send_line(client, PING("2"));
    expect_end(client);
}

Test(drain, a_large_answer_reaches_a_late_reader) {
    enum { LENGTH = 2000000 };
    struct client *client = client_start_with("--text-max-chars", "3000000");
    client_pause_reading(client, true);
    client_evaluate_send(client, "1",
                         "(progn (dotimes (i 2000) (write-string (make-string 1000 "
                         ":initial-element #\\a))) (error \"end\"))");
    client_close_stdin(client);
    client_pause_reading(client, false);
    struct evaluation evaluation = client_evaluate_await(client, "1");
    cr_assert(evaluation.is_error);
    cr_assert_gt(strlen(evaluation.text), LENGTH);
    expect_end(client);
}

Test(drain, a_reader_that_does_not_read_does_not_keep_the_server) {
    struct client *client =
        client_start_with("--shutdown-grace-s", "1", "--text-max-chars", "3000000");
    client_evaluate(client, "1");
    client_pause_reading(client, true);
    client_evaluate_send(client, "1",
                         "(progn (dotimes (i 2000) (write-string (make-string 1000 "
                         ":initial-element #\\a))) 1)");
    client_close_stdin(client);
    family_await_nobody(client);
    client_close_stdout(client);
    family_expect_end(client, 70);
}
