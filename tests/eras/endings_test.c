/* How calls and servers end, where the eras differ: cancellation, shutdown, the end of the input,
 * and a machine that cannot evaluate. */
#include "tests/support/eras.h"
#include <signal.h>
#include <stdio.h>

/* Whether a cancelled call is answered: by the policy, the era and the client's name. */
static const struct {
    const char *reply, *client_name;
    bool legacy_answered, modern_answered;
} policies[] = {
    {"auto", "x", true, false},    {"auto", "claude-code", false, false},
    {"error", "x", true, true},    {"error", "claude-code", true, true},
    {"silent", "x", false, false}, {"silent", "claude-code", false, false},
};

static void expect_cancelled(struct client *client, const struct era *era, bool answered) {
    era_call_send(client, era, "7", "evaluate-lisp", "{\"code\":\"(loop)\"}");
    client_send_line(client, CANCEL("\"7\""));
    client_send_line(client, CANCEL("8"));
    client_send_line(client, NOTIFICATION("notifications/cancelled"));
    client_send_line(client, CANCEL("7"));
    client_send_line(client, CANCEL("7"));
    if (answered)
        cr_assert_eq(client_evaluate_await(client, "7").error_code, -32001);
    cr_assert_eq(era_evaluate(client, era, NULL, "1").error_code, 0);
    client_expect_silence(client);
}

Test(endings, a_cancelled_call_is_answered_as_policy_era_and_client_have_it) {
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        const char *arguments[] = {"--cancel-reply", policies[i].reply, NULL};
        struct client *client = client_start(&(struct client_options){.arguments = arguments});
        client_send_format(client,
                           REQUEST_WITH("1", "initialize",
                                        "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
                                        "\"clientInfo\":{\"name\":\"%s\",\"version\":\"1\"}}"),
                           policies[i].client_name);
        client_await(client, "1", NULL);
        expect_cancelled(client, &eras[3], policies[i].legacy_answered);
        expect_cancelled(client, era_modern, policies[i].modern_answered);
        client_finish(client);
    }
}

Test(endings, a_queued_modern_call_that_is_cancelled_never_runs) {
    struct client *client = client_start(NULL);
    struct evaluation first = era_evaluate(client, era_modern, NULL, "(defvar *x* 1)");
    const char *session = era_handle(client, &first);
    client_send_format(client, MODERN_CALL("1", "{\"code\":\"(sleep 0.3)\",\"session\":\"%s\"}"),
                       session);
    client_send_format(client, MODERN_CALL("2", "{\"code\":\"(setq *x* 2)\",\"session\":\"%s\"}"),
                       session);
    client_send_line(client, CANCEL("2"));
    client_evaluate_await(client, "1");
    cr_assert_str_eq(era_evaluate(client, era_modern, session, "*x*").text, "=> 1");
    client_expect_silence(client);
    client_finish(client);
}

Test(endings, a_worker_ended_from_outside_is_told_in_both_eras) {
    for (size_t i = 0; i < ERA_COUNT; i += ERA_COUNT - 1) {
        struct client *client = era_start(&eras[i], NULL);
        era_call_send(client, &eras[i], "1", "evaluate-lisp", "{\"code\":\"(loop)\"}");
        pid_t worker = client_busy_worker(client);
        cr_assert_gt(worker, 1);
        kill(worker, SIGTERM);
        cr_assert_eq(client_evaluate_await(client, "1").error_code, -32001);
        client_finish(client);
    }
}

Test(endings, shutdown_refuses_new_work_of_both_eras_and_lets_the_old_finish) {
    struct client *client = client_start_ready(NULL, NULL);
    era_call_send(client, era_modern, "1", "evaluate-lisp", "{\"code\":\"(sleep 0.3) 1\"}");
    client_expect_result(client, REQUEST("2", "shutdown"), "2");
    static const char *const refused[] = {"tools/list", "tools/call", "server/discover",
                                          "subscriptions/listen"};
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        era_refused(client, era_modern, -32003, "3", refused[i], NULL);
    client_expect_error(client, REQUEST("3", "tools/list"), -32003, "3");
    era_refused(client, era_modern, -32601, "3", "no/such", NULL);
    era_refused(client, era_modern, -32601, "3", "shutdown", NULL);
    cr_assert_eq(client_evaluate_await(client, "1").error_code, 0);
    client_expect_result(client, REQUEST("4", "exit"), "4");
    client_finish(client);
}

Test(endings, a_modern_call_beyond_the_grace_is_answered) {
    const char *arguments[] = {"--shutdown-grace-s", "1", NULL};
    struct client *client = era_start(era_modern, arguments);
    era_call_send(client, era_modern, "1", "evaluate-lisp", "{\"code\":\"(loop)\"}");
    client_close_stdin(client);
    cr_assert_eq(client_evaluate_await(client, "1").error_code, -32001);
    client_finish(client);
}

Test(endings, what_was_read_before_the_end_of_the_input_is_answered) {
    for (size_t i = 0; i < ERA_COUNT; i++) {
        struct client *client = era_start(&eras[i], NULL);
        era_call_send(client, &eras[i], "1", "evaluate-lisp", "{\"code\":\"(sleep 0.2) 1\"}");
        era_send(client, &eras[i], "2", "tools/list", NULL);
        era_send(client, &eras[i], "3", "no/such", NULL);
        client_close_stdin(client);
        cr_assert_eq(client_evaluate_await(client, "1").error_code, 0);
        client_await(client, "2", NULL);
        client_await(client, "3", NULL);
        client_finish(client);
    }
}

Test(endings, a_signal_ends_a_server_of_either_era_in_good_order) {
    static const int signals[] = {SIGTERM, SIGINT};
    for (size_t i = 0; i < ERA_COUNT; i += ERA_COUNT - 1)
        for (size_t j = 0; j < COUNT_OF(signals); j++) {
            struct client *client = era_start(&eras[i], NULL);
            era_call_send(client, &eras[i], "1", "evaluate-lisp", "{\"code\":\"(sleep 0.2) 1\"}");
            client_barrier(client);
            client_kill(client, signals[j]);
            cr_assert_eq(client_evaluate_await(client, "1").error_code, 0);
            client_finish(client);
        }
}

Test(endings, minimal_mode_says_so_and_serves_no_tool_in_either_era) {
    const char *arguments[] = {"--minimal", NULL};
    for (size_t i = 0; i < ERA_COUNT; i++) {
        struct client *client = era_start(&eras[i], arguments);
        static const char *const refused[] = {
            "tools/list",   "tools/call",  "resources/list",      "resources/read",
            "prompts/list", "prompts/get", "completion/complete", "resources/templates/list"};
        for (size_t j = 0; j < COUNT_OF(refused); j++)
            era_refused(client, &eras[i], -32601, "1", refused[j], NULL);
        if (eras[i].modern) {
            const char *line = client_expect_result(client, MODERN("1", "server/discover"), "1");
            expect_member(line, "{\"logging\":{}}", "result", "capabilities", NULL);
            expect_contains(client_string(client, line, "result", "instructions", NULL),
                            "minimal mode");
        }
        pid_t pid;
        cr_assert_eq(client_descendants(client, &pid, 1), 0);
        client_finish(client);
    }
}
