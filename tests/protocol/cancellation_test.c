/* notifications/cancelled: the calls that it ends, their answers, and the lines that it ignores. */
#include "tests/support/eras.h"
#include <stdio.h>

Test(cancellation, ends_a_running_call_at_once_and_is_answered_once) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate_send(client, "3", ENDLESS);
    client_busy_worker(client);
    client_send_line(client, CANCEL("3"));
    struct evaluation evaluation = client_evaluate_await(client, "3");
    cr_assert_eq(evaluation.error_code, -32001);
    expect_contains(evaluation.text, "cancelled");
    cr_assert_eq(
        client_integer(client, evaluation.line, "error", "data", "_meta", "exitCode", NULL), 130);
    cr_assert_str_eq(client_string(client, evaluation.line, "error", "data", "session", NULL),
                     "main");
    client_expect_silence(client);
    client_expect_works(client);
    client_finish(client);
}

Test(cancellation, matches_ids_by_type_and_value) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate_send(client, "7", ENDLESS);
    client_evaluate_send(client, "\"s1\"", ENDLESS);
    client_send_line(client, CANCEL("\"7\""));
    client_send_line(client, CANCEL("7.0"));
    client_send_line(client, CANCEL("\"s\""));
    client_send_line(client, CANCEL("\"S1\""));
    client_expect_silence(client);
    client_send_line(client, CANCEL("\"s1\""));
    cr_assert_eq(client_evaluate_await(client, "\"s1\"").error_code, -32001);
    client_send_line(client, CANCEL("7"));
    cr_assert_eq(client_evaluate_await(client, "7").error_code, -32001);
    client_finish(client);
}

Test(cancellation, without_the_id_of_a_call_is_ignored) {
    static const char *const lines[] = {
        CANCEL("8"),
        CANCEL("\"8\""),
        CANCEL("null"),
        CANCEL("{}"),
        CANCEL("[7]"),
        CANCEL("true"),
        CANCEL("\"\""),
        NOTIFICATION("notifications/cancelled"),
        NOTIFICATION_WITH("notifications/cancelled", "null"),
        NOTIFICATION_WITH("notifications/cancelled", "{}"),
        NOTIFICATION_WITH("notifications/cancelled", "[]"),
        NOTIFICATION_WITH("notifications/cancelled", "7"),
        NOTIFICATION_WITH("notifications/cancelled", "{\"requestid\":7}"),
        NOTIFICATION_WITH("notifications/cancelled", "{\"x\":{\"requestId\":7}}"),
        NOTIFICATION_WITH("notifications/cancelled", "[{\"requestId\":7}]"),
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"requestId\":7}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":7},"
        "\"params\":{}}",
    };
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate_send(client, "7", "(progn (sleep 0.3) 42)");
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        client_send_line(client, lines[i]);
    cr_assert_str_eq(client_evaluate_await(client, "7").text, "=> 42");
    client_expect_silence(client);
    client_finish(client);
}

Test(cancellation, of_a_finished_call_is_ignored) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate_send(client, "1", "(defvar *kept* 5)");
    client_evaluate_await(client, "1");
    client_send_line(client, CANCEL("1"));
    cr_assert_str_eq(client_evaluate(client, "*kept*").text, "=> 5");
    client_expect_silence(client);
    client_finish(client);
}

Test(cancellation, of_a_queued_call_leaves_the_others_alone) {
    EACH_KIND_STARTED(era, NULL) {
        struct evaluation first = era_evaluate(client, era, NULL, "(defvar *x* 1)");
        const char *session = era->modern ? era_handle(client, &first) : "main";
        static const char *const codes[] = {"(sleep 0.3)", "(setq *x* 2)", "*x*"};
        for (size_t i = 0; i < COUNT_OF(codes); i++) {
            char id[8], arguments[160];
            snprintf(id, sizeof id, "%zu", i + 1);
            snprintf(arguments, sizeof arguments, "{\"code\":\"%s\",\"session\":\"%s\"}", codes[i],
                     session);
            era_call_send(client, era, id, "evaluate-lisp", arguments);
        }
        client_send_line(client, CANCEL("2"));
        if (!era->modern)
            cr_assert_eq(client_evaluate_await(client, "2").error_code, -32001);
        cr_assert_eq(client_evaluate_await(client, "1").error_code, 0);
        cr_assert_str_eq(client_evaluate_await(client, "3").text, "=> 1");
        client_expect_silence(client);
    }
}

Test(cancellation, of_a_call_whose_worker_is_still_booting_works) {
    struct client *client = client_start(NULL);
    client_send_line(client, INITIALIZE("1", "\"2025-11-25\"") "\n" EVALUATE(
                                 "2", ENDLESS) "\n" CANCEL("2") "\n" EVALUATE("3", "5"));
    client_await(client, "1", NULL);
    cr_assert_eq(client_evaluate_await(client, "2").error_code, -32001);
    cr_assert_str_eq(client_evaluate_await(client, "3").text, "=> 5");
    client_finish(client);
}

/* Whether a cancelled call is answered: by the setting, the client's name and the era. The client
 * of that name closes the pipe on such an answer. */
static const struct {
    const char *reply, *client_name;
    bool legacy, modern;
} policies[] = {
    {"auto", "x", true, false},
    {"auto", "claude-code", false, false},
    {"auto", "claude-code-proxy", true, false},
    {"error", "x", true, true},
    {"error", "claude-code", true, true},
    {"silent", "x", false, false},
    {"silent", "claude-code", false, false},
};

static void expect_cancelled(struct client *client, const struct era *era, bool answered) {
    era_call_send(client, era, "7", "evaluate-lisp", "{\"code\":\"(loop)\"}");
    era_call_send(client, era, "8", "evaluate-lisp", "{\"code\":\"(loop)\"}");
    client_send_line(client, CANCEL("\"7\""));
    client_send_line(client, CANCEL("8"));
    client_send_line(client, CANCEL("7"));
    client_send_line(client, CANCEL("7"));
    if (answered) {
        cr_assert_eq(client_evaluate_await(client, "7").error_code, -32001);
        cr_assert_eq(client_evaluate_await(client, "8").error_code, -32001);
    }
    /* The id is free again, also while the cancelled call still ends. */
    client_expect_result(client, PING("7"), "7");
    cr_assert_eq(era_evaluate(client, era, NULL, "1").error_code, 0);
    client_expect_silence(client);
}

Test(cancellation, is_answered_as_setting_era_and_client_require) {
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        const char *arguments[] = {"--cancel-reply", policies[i].reply, NULL};
        struct client *client = client_start(&(struct client_options){.arguments = arguments});
        client_send_format(client,
                           REQUEST_WITH("1", "initialize",
                                        "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
                                        "\"clientInfo\":{\"name\":\"%s\",\"version\":\"1\"}}"),
                           policies[i].client_name);
        client_await(client, "1", NULL);
        expect_cancelled(client, era_legacy, policies[i].legacy);
        expect_cancelled(client, era_modern, policies[i].modern);
        client_finish(client);
    }
}

Test(cancellation, rolls_back_a_running_call_and_says_so) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate(client, "(defvar *x* 1)");
    client_evaluate_send(client, "1", "(progn (sleep 0.2) 1)");
    client_evaluate_send(client, "\"queued\"", "2");
    client_send_line(client, CANCEL("\"queued\""));
    expect_lacks(client_evaluate_await(client, "\"queued\"").text, "The session");
    client_evaluate_await(client, "1");
    client_evaluate_send(client, "2", "(progn (setq *x* 2) (loop))");
    client_busy_worker(client);
    client_send_line(client, CANCEL("2"));
    expect_contains(client_evaluate_await(client, "2").text,
                    "The session is as it was before the call.");
    cr_assert_str_eq(client_evaluate(client, "*x*").text, "=> 1");
    client_finish(client);
}

Test(cancellation, of_fifty_calls_in_a_row_leaves_a_server_that_works) {
    struct client *client = client_start_ready(NULL, NULL);
    for (int i = 0; i < 50; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        client_evaluate_send(client, id, ENDLESS);
        client_send_format(client, CANCEL("%d"), i);
        cr_assert_eq(client_evaluate_await(client, id).error_code, -32001);
    }
    client_expect_works(client);
    client_expect_silence(client);
    client_finish(client);
}
