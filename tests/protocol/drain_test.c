/* The end of input, SIGTERM and SIGINT: whatever was accepted is answered, whole lines only, and
 * nothing is left running. */
#include "tests/support/client.h"
#include "tests/support/family.h"
#include "tests/support/lines.h"
#include <signal.h>
#include <stdio.h>

static struct client *start_with_grace(const char *seconds) {
    const char *arguments[] = {"--shutdown-grace-s", seconds, NULL};
    return client_start_ready(&(struct client_options){.arguments = arguments}, NULL);
}

static void expect_end(struct client *client) {
    cr_assert_null(client_read_line_or_end(client, NULL));
    family_expect_end(client, 0);
}

static void end_of_input(struct client *client) {
    client_close_stdin(client);
}

static void terminate(struct client *client) {
    client_ping(client); /* what was sent before is accepted now */
    client_kill(client, SIGTERM);
}

static void interrupt(struct client *client) {
    client_ping(client);
    client_kill(client, SIGINT);
}

/* The three ways to the end; each must behave the same. */
static void (*const ways[])(struct client *client) = {end_of_input, terminate, interrupt};

Test(drain, an_idle_server_ends_with_status_0) {
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        struct client *client = client_start_ready(NULL, NULL);
        ways[i](client);
        expect_end(client);
    }
}

Test(drain, a_server_that_was_never_initialized_ends_with_status_0) {
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        struct client *client = client_start(NULL);
        ways[i](client);
        expect_end(client);
    }
}

Test(drain, a_server_that_is_still_booting_its_workers_ends_with_status_0) {
    struct client *client = client_start(NULL);
    client_send_line(client, INITIALIZE("1", "\"2025-11-25\""));
    client_close_stdin(client);
    client_await(client, "1", NULL);
    expect_end(client);
}

Test(drain, a_running_call_is_finished_and_answered) {
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        struct client *client = client_start_ready(NULL, NULL);
        client_evaluate_send(client, "1", "(progn (sleep 0.5) 42)");
        ways[i](client);
        cr_assert_str_eq(client_evaluate_await(client, "1").text, "=> 42");
        expect_end(client);
    }
}

Test(drain, queued_calls_are_finished_and_answered) {
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        struct client *client = client_start_ready(NULL, NULL);
        for (int call = 1; call <= 10; call++)
            client_send_format(client, EVALUATE("%d", "(progn (sleep 0.02) %d)"), call, call);
        ways[i](client);
        for (int call = 1; call <= 10; call++) {
            char id[16], expected[16];
            snprintf(id, sizeof id, "%d", call);
            snprintf(expected, sizeof expected, "=> %d", call);
            cr_assert_str_eq(client_evaluate_await(client, id).text, expected);
        }
        expect_end(client);
    }
}

Test(drain, an_endless_call_is_cancelled_when_the_grace_is_over) {
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        struct client *client = start_with_grace("1");
        client_evaluate_send(client, "\"running\"", ENDLESS);
        client_evaluate_send(client, "\"queued\"", ENDLESS);
        ways[i](client);
        cr_assert_eq(client_evaluate_await(client, "\"running\"").error_code, -32001);
        cr_assert_eq(client_evaluate_await(client, "\"queued\"").error_code, -32001);
        expect_end(client);
    }
}

Test(drain, without_any_grace_everything_is_cancelled_at_once) {
    struct client *client = start_with_grace("0");
    client_evaluate_send(client, "1", ENDLESS);
    client_close_stdin(client);
    cr_assert_eq(client_evaluate_await(client, "1").error_code, -32001);
    expect_end(client);
}

Test(drain, the_end_of_the_grace_is_told_even_where_cancelled_calls_are_silent) {
    const char *arguments[] = {"--cancel-reply", "silent", "--shutdown-grace-s", "0", NULL};
    struct client *client =
        client_start_ready(&(struct client_options){.arguments = arguments}, NULL);
    client_evaluate_send(client, "1", ENDLESS);
    client_close_stdin(client);
    cr_assert_eq(client_evaluate_await(client, "1").error_code, -32001);
    expect_end(client);
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

Test(drain, a_second_signal_changes_nothing) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate_send(client, "1", "(progn (sleep 0.3) 42)");
    terminate(client);
    client_kill(client, SIGTERM);
    client_kill(client, SIGINT);
    client_close_stdin(client);
    cr_assert_str_eq(client_evaluate_await(client, "1").text, "=> 42");
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

Test(drain, a_large_answer_reaches_a_reader_that_comes_late) {
    enum { LENGTH = 2000000 };
    const char *arguments[] = {"--output-shown-chars", "3000000", NULL};
    struct client *client =
        client_start_ready(&(struct client_options){.arguments = arguments}, NULL);
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

Test(drain, a_reader_that_never_comes_does_not_hold_the_server) {
    const char *arguments[] = {"--shutdown-grace-s", "1", "--output-shown-chars", "3000000", NULL};
    struct client *client =
        client_start_ready(&(struct client_options){.arguments = arguments}, NULL);
    client_evaluate(client, "1");
    client_pause_reading(client, true);
    client_evaluate_send(client, "1",
                         "(progn (dotimes (i 2000) (write-string (make-string 1000 "
                         ":initial-element #\\a))) 1)");
    client_close_stdin(client);
    family_await_nobody(client);
    client_close_stdout(client);
    family_expect_end(client, 0);
}

Test(drain, an_ending_client_takes_everything_with_it_however_it_dies) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate_send(client, "1", ENDLESS);
    client_busy_worker(client);
    client_kill(client, SIGKILL);
    family_expect_end(client, 128 + SIGKILL);
}
