/* The states of a connection: before initialize, in session, after shutdown, ended. */
#include "tests/support/eras.h"
#include "tests/support/family.h"

/* The server must end by itself, with status 0 and nothing more on stdout. */
static void expect_end(struct client *client) {
    cr_assert_null(client_read_line_or_end(client, NULL));
    family_expect_end(client, 0);
}

Test(lifecycle, before_initialize_known_methods_are_not_initialized) {
    static const char *const lines[] = {
        REQUEST("\"pre\"", "tools/list"),
        REQUEST_WITH("\"pre\"", "tools/list", "42"),
        REQUEST("\"pre\"", "tools/call"),
        EVALUATE("\"pre\"", "1"),
        REQUEST_WITH("\"pre\"", "logging/setLevel", "{\"level\":\"info\"}"),
    };
    struct client *client = client_start(NULL);
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        client_expect_error(client, lines[i], -32002, "\"pre\"");
    client_expect_silence(client);
    client_finish(client);
}

Test(lifecycle, before_initialize_ping_is_served_and_unknown_methods_are_unknown) {
    struct client *client = client_start(NULL);
    client_expect_result(client, PING("1"), "1");
    client_expect_error(client, REQUEST("2", "foo/bar"), -32601, "2");
    client_expect_error(client, REQUEST("3", "tools/foo"), -32601, "3");
    client_finish(client);
}

Test(lifecycle, exit_before_shutdown_is_refused_and_the_server_stays) {
    struct client *client = client_start(NULL);
    client_expect_error(client, REQUEST("1", "exit"), -32005, "1");
    client_send_line(client, NOTIFICATION("exit"));
    client_initialize(client, NULL);
    client_expect_error(client, REQUEST("2", "exit"), -32005, "2");
    client_send_line(client, NOTIFICATION("exit"));
    client_expect_silence(client);
    client_finish(client);
}

Test(lifecycle, after_shutdown_everything_but_shutdown_and_exit_is_refused) {
    struct client *client = client_start_ready(NULL, NULL);
    client_expect_result(client, REQUEST("1", "shutdown"), "1");
    client_expect_error(client, REQUEST("2", "tools/list"), -32003, "2");
    client_expect_error(client, PING("3"), -32003, "3");
    client_expect_error(client, EVALUATE("4", "1"), -32003, "4");
    client_expect_error(client, INITIALIZE("5", "\"2025-11-25\""), -32003, "5");
    client_expect_error(client, REQUEST_WITH("6", "logging/setLevel", "{\"level\":\"info\"}"),
                        -32003, "6");
    client_expect_error(client, REQUEST_WITH("7", "tools/list", "[]"), -32003, "7");
    client_expect_error(client, REQUEST("8", "foo/bar"), -32601, "8");
    client_expect_result(client, REQUEST("9", "shutdown"), "9");
    client_expect_result(client, REQUEST("10", "exit"), "10");
    expect_end(client);
}

Test(lifecycle, exit_as_a_notification_ends_the_server_after_shutdown) {
    struct client *client = client_start_ready(NULL, NULL);
    client_expect_result(client, REQUEST("1", "shutdown"), "1");
    client_send_line(client, NOTIFICATION("exit"));
    expect_end(client);
}

Test(lifecycle, shutdown_and_exit_work_before_initialize) {
    struct client *client = client_start(NULL);
    client_expect_result(client, REQUEST("1", "shutdown"), "1");
    client_expect_error(client, INITIALIZE("2", "\"2025-11-25\""), -32003, "2");
    client_expect_result(client, REQUEST("3", "exit"), "3");
    expect_end(client);
}

Test(lifecycle, lines_after_exit_are_not_read) {
    struct client *client = client_start_ready(NULL, NULL);
    client_send_line(client, REQUEST("1", "shutdown") "\n" REQUEST("2", "exit") "\n" PING("3"));
    client_await(client, "1", NULL);
    client_await(client, "2", NULL);
    expect_end(client);
}

Test(lifecycle, the_server_ends_by_itself_when_no_exit_follows_shutdown) {
    struct client *client = client_start_with("--shutdown-grace-s", "0");
    client_expect_result(client, REQUEST("1", "shutdown"), "1");
    expect_end(client);
}

Test(lifecycle, shutdown_refuses_new_work_of_both_eras_and_finishes_the_old) {
    static const char *const refused[] = {"tools/list", "tools/call", "server/discover",
                                          "subscriptions/listen"};
    EACH_KIND(era) {
        struct client *client = client_start_ready(NULL, NULL);
        era_call_send(client, era, "1", "evaluate-lisp", "{\"code\":\"(progn (sleep 0.3) 42)\"}");
        client_expect_result(client, REQUEST("2", "shutdown"), "2");
        client_expect_error(client, EVALUATE("3", "1"), -32003, "3");
        for (size_t i = 0; i < COUNT_OF(refused); i++)
            era_refused(client, era_modern, -32003, "3", refused[i], NULL);
        era_refused(client, era_modern, -32601, "3", "no/such", NULL);
        era_refused(client, era_modern, -32601, "3", "shutdown", NULL);
        struct evaluation evaluation = client_evaluate_await(client, "1");
        cr_assert_str_eq(era_text(client, &evaluation), "=> 42");
        client_expect_result(client, REQUEST("4", "exit"), "4");
        expect_end(client);
    }
}

Test(lifecycle, calls_that_run_at_the_end_of_the_grace_time_are_cancelled) {
    struct client *client = client_start_with("--shutdown-grace-s", "1");
    client_evaluate_send(client, "1", ENDLESS);
    client_evaluate_send(client, "\"queued\"", "1");
    client_expect_result(client, REQUEST("2", "shutdown"), "2");
    cr_assert_eq(client_evaluate_await(client, "1").error_code, -32001);
    cr_assert_eq(client_evaluate_await(client, "\"queued\"").error_code, -32001);
    expect_end(client);
}

Test(lifecycle, exit_cancels_running_calls_and_is_answered_last) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate_send(client, "1", ENDLESS);
    client_evaluate_send(client, "2", "1");
    client_expect_result(client, REQUEST("3", "shutdown"), "3");
    client_send_line(client, REQUEST("4", "exit"));
    cr_assert_eq(client_evaluate_await(client, "1").error_code, -32001);
    cr_assert_eq(client_evaluate_await(client, "2").error_code, -32001);
    expect_contains(client_read_line(client, NULL), "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}");
    expect_end(client);
}
