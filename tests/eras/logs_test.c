/* Log messages to clients that ask for them request by request, and to the legacy session beside
 * them: each hears of its own calls only. */
#include "tests/support/eras.h"
#include <stdio.h>

/* Evaluates CODE with LEVEL wanted for this request; NULL: none. */
static void send_with_level(struct client *client, const char *id, const char *level,
                            const char *code) {
    if (level)
        client_send_format(
            client,
            REQUEST_WITH("%s", "tools/call",
                         "{\"name\":\"evaluate-lisp\",\"arguments\":{\"code\":\"%s\"}"
                         "," ENVELOPE_WITH("\"" KEY_LOG_LEVEL "\":\"%s\",") "}"),
            id, code, level);
    else
        client_send_format(client, MODERN_EVALUATE("%s", "%s"), id, code);
}

static const char *await_event(struct client *client, const char *event, const char *level) {
    const char *line = client_await_notification(client, "notifications/message", NULL);
    expect_member(line, event, "params", "data", "event", NULL);
    expect_member(line, level, "params", "level", NULL);
    expect_member(line, "\"eclave\"", "params", "logger", NULL);
    return line;
}

#define QUIT "(ext:quit 3)"

Test(logs, a_request_hears_what_it_asked_for_before_its_answer) {
    struct client *client = client_start(NULL);
    send_with_level(client, "1", "debug", QUIT);
    const char *line = client_read_line(client, NULL);
    expect_member(line, "\"notifications/message\"", "method", NULL);
    expect_member(line, "\"exit\"", "params", "data", "event", NULL);
    expect_member(line, "\"notice\"", "params", "level", NULL);
    expect_member(client_read_line(client, NULL), "1", "id", NULL);
    client_expect_silence(client);
    client_finish(client);
}

Test(logs, a_level_is_the_least_one) {
    static const struct {
        const char *level, *code;
        bool heard;
    } rows[] = {
        {"debug", "(+ 1 2)", true}, {"info", "(+ 1 2)", false}, {"notice", QUIT, true},
        {"warning", QUIT, false},   {"emergency", QUIT, false}, {NULL, QUIT, false},
        {NULL, "(+ 1 2)", false},
    };
    struct client *client = client_start(NULL);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        send_with_level(client, "1", rows[i].level, rows[i].code);
        if (rows[i].heard)
            client_await_notification(client, "notifications/message", NULL);
        client_evaluate_await(client, "1");
        client_expect_silence(client);
    }
    client_finish(client);
}

Test(logs, the_level_of_one_request_is_not_that_of_another) {
    struct client *client = client_start(NULL);
    send_with_level(client, "1", "debug", "(sleep 0.5)"); /* may be open while the others end */
    send_with_level(client, "2", NULL, QUIT);
    send_with_level(client, "3", "error", QUIT);
    send_with_level(client, "4", NULL, "(+ 1 2)");
    client_evaluate_await(client, "2");
    client_evaluate_await(client, "3");
    client_evaluate_await(client, "4");
    client_evaluate_await(client, "1");
    await_event(client, "\"value\"", "\"debug\"");
    client_expect_silence(client);
    client_finish(client);
}

Test(logs, the_level_of_the_session_is_not_that_of_a_modern_request) {
    struct client *client = client_start_ready(NULL, NULL);
    client_request(client, "1", "logging/setLevel", "{\"level\":\"debug\"}");
    send_with_level(client, "2", NULL, QUIT);
    client_evaluate_await(client, "2");
    send_with_level(client, "3", "critical", QUIT);
    client_evaluate_await(client, "3");
    client_expect_silence(client);
    client_evaluate(client, "(+ 1 2)");
    const char *line = await_event(client, "\"value\"", "\"debug\"");
    expect_member(line, "\"main\"", "params", "data", "session", NULL);
    client_expect_silence(client);
    client_finish(client);
}

Test(logs, the_level_of_a_modern_request_is_not_that_of_the_session) {
    struct client *client = client_start_ready(NULL, NULL);
    client_request(client, "1", "logging/setLevel", "{\"level\":\"emergency\"}");
    send_with_level(client, "2", "debug", "(sleep 0.3)");
    client_evaluate(client, QUIT);
    client_evaluate_await(client, "2");
    await_event(client, "\"value\"", "\"debug\"");
    client_expect_silence(client);
    client_finish(client);
}

Test(logs, nothing_comes_for_a_cancelled_request) {
    struct client *client = client_start(NULL);
    send_with_level(client, "1", "debug", ENDLESS);
    client_busy_worker(client);
    client_send_line(client, CANCEL("1"));
    cr_assert_eq(era_evaluate(client, era_modern, NULL, "1").error_code, 0);
    client_expect_silence(client);
    client_finish(client);
}

Test(logs, a_spoiled_line_is_no_modern_requests_business) {
    const char *arguments[] = {"--inject-fault", "json", NULL};
    struct client *client = era_start(era_modern, arguments);
    send_with_level(client, "1", "emergency", "(sleep 0.3)");
    client_expect_error(client, PING("2"), -32603, "2");
    client_evaluate_await(client, "1");
    client_expect_silence(client);
    client_finish(client);
}

Test(logs, a_flood_of_events_is_thinned_out_and_every_call_is_answered) {
    enum { CALLS = 300 };
    struct client *client = client_start(NULL);
    struct evaluation opened = era_call(client, era_modern, "open-session", "{}");
    const char *session = client_string(client, opened.line, "result", "_meta", "session", NULL);
    for (int i = 0; i < CALLS; i++) {
        client_send_format(client,
                           REQUEST_WITH("1", "tools/call",
                                        "{\"name\":\"evaluate-lisp\",\"arguments\":{\"code\":\"1\","
                                        "\"session\":\"%s\"}," ENVELOPE_WITH("\"" KEY_LOG_LEVEL
                                                                             "\":\"debug\",") "}"),
                           session);
        client_evaluate_await(client, "1");
    }
    size_t events = 0;
    client_barrier(client);
    while (client_take_line(client, NULL))
        events++;
    cr_assert(events > 0 && events < CALLS, "%zu", events);
    client_finish(client);
}
