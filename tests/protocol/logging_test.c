/* logging/setLevel, the messages to the client, and the lines on stderr. */
#include "tests/support/client.h"
#include "tests/support/lines.h"
#include <stdio.h>

static const char *const levels[] = {"debug", "info",     "notice", "warning",
                                     "error", "critical", "alert",  "emergency"};

static void set_level(struct client *client, const char *level) {
    client_send_format(client, REQUEST_WITH("\"level\"", "logging/setLevel", "{\"level\":\"%s\"}"),
                       level);
    cr_assert_str_eq(client_await(client, "\"level\"", NULL),
                     "{\"jsonrpc\":\"2.0\",\"id\":\"level\",\"result\":{}}");
}

Test(logging, each_level_is_accepted_in_any_letter_case) {
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(levels); i++)
        set_level(client, levels[i]);
    set_level(client, "DEBUG");
    set_level(client, "Warning");
    client_finish(client);
}

Test(logging, any_other_level_is_refused_with_the_ones_there_are) {
    static const char *const params[] = {
        "{\"level\":\"VERBOSE\"}", "{\"level\":\"\"}",   "{\"level\":5}",
        "{\"level\":null}",        "{\"level\":{}}",     "{}",
        "{\"Level\":\"info\"}",    "{\"level\":\"in\"}", "{\"level\":\"info\\u0000\"}",
        "{\"level\":\"info \"}",
    };
    struct client *client = client_start_ready(NULL, NULL);
    client_expect_error(client, REQUEST("1", "logging/setLevel"), -32602, "1");
    for (size_t i = 0; i < COUNT_OF(params); i++) {
        const char *answer = client_request(client, "1", "logging/setLevel", params[i]);
        cr_assert_eq(client_integer(client, answer, "error", "code", NULL), -32602, "%s", answer);
        struct text supported;
        cr_assert(json_at(text_of(answer), &supported, "error", "data", "supported", NULL));
        cr_assert_eq(json_count(supported), COUNT_OF(levels));
    }
    client_finish(client);
}

/* A ping spoiled by the test switch is an event at level error. */
static struct client *start_spoiled(void) {
    const char *arguments[] = {"--inject-fault", "json", "--inject-fault-count", "1", NULL};
    return client_start_ready(&(struct client_options){.arguments = arguments}, NULL);
}

Test(logging, an_error_reaches_the_client_by_default) {
    struct client *client = start_spoiled();
    client_expect_error(client, PING("1"), -32603, "1");
    const char *line = client_await_notification(client, "notifications/message", NULL);
    cr_assert_str_eq(client_string(client, line, "params", "level", NULL), "error");
    cr_assert_str_eq(client_string(client, line, "params", "logger", NULL), "eclave");
    cr_assert_str_eq(client_string(client, line, "params", "data", "event", NULL),
                     "output-corruption");
    client_string(client, line, "params", "data", "cause", NULL);
    client_finish(client);
}

Test(logging, an_event_below_the_level_does_not_reach_the_client) {
    struct client *client = start_spoiled();
    set_level(client, "critical");
    client_expect_error(client, PING("1"), -32603, "1");
    client_expect_silence(client);
    client_finish(client);
}

Test(logging, nothing_is_sent_to_the_client_before_initialize) {
    const char *arguments[] = {"--inject-fault", "json", "--inject-fault-count", "1", NULL};
    struct client *client = client_start(&(struct client_options){.arguments = arguments});
    client_expect_error(client, PING("1"), -32603, "1");
    client_expect_silence(client);
    client_initialize(client, NULL);
    client_expect_silence(client);
    client_finish(client);
}

Test(logging, each_evaluation_is_an_event_at_the_debug_level) {
    struct client *client = client_start_ready(NULL, NULL);
    set_level(client, "debug");
    client_evaluate(client, "(+ 1 2)");
    const char *line = client_await_notification(client, "notifications/message", NULL);
    cr_assert_str_eq(client_string(client, line, "params", "data", "event", NULL), "value");
    cr_assert_str_eq(client_string(client, line, "params", "data", "session", NULL), "main");
    cr_assert_eq(client_integer(client, line, "params", "data", "call", NULL), 1);
    client_finish(client);
}

Test(logging, stderr_has_one_line_an_event_with_its_level_and_its_call) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate(client, "(ext:quit 3)");
    client_await_stderr(client, "eclave: notice: exit session=main call=1: The code ended its "
                                "process with status 3.");
    client_finish(client);
}

Test(logging, the_least_level_on_stderr_can_be_set) {
    const char *arguments[] = {"--log-level", "error", NULL};
    struct client *client =
        client_start_ready(&(struct client_options){.arguments = arguments}, NULL);
    client_evaluate(client, "(ext:quit 3)");
    client_end(client);
    cr_assert_str_eq(client_stderr(client), "");
    client_free(client);
}

Test(logging, stderr_can_be_json_one_object_a_line) {
    const char *arguments[] = {"--log-format", "json", "--log-level", "debug", NULL};
    struct client *client =
        client_start_ready(&(struct client_options){.arguments = arguments}, NULL);
    client_evaluate(client, "(+ 1 2)");
    client_evaluate(client, "(ext:quit 3)");
    client_end(client);
    const char *rest = client_stderr(client);
    size_t lines = 0;
    for (const char *end; (end = strchr(rest, '\n')) != NULL; rest = end + 1, lines++) {
        const struct text line = {rest, (size_t)(end - rest)};
        struct text value;
        cr_assert_null(json_fault(line, 10));
        cr_assert(json_member(line, "time", &value) && json_kind(value) == VALUE_STRING);
        cr_assert(json_member(line, "level", &value) && json_kind(value) == VALUE_STRING);
        cr_assert(json_member(line, "event", &value) && json_kind(value) == VALUE_STRING);
        cr_assert(json_member(line, "cause", &value) && json_kind(value) == VALUE_STRING);
    }
    cr_assert_str_eq(rest, "");
    cr_assert_geq(lines, 2);
    client_free(client);
}

Test(logging, no_event_holds_the_text_of_the_code) {
    const char *arguments[] = {"--log-level", "debug", NULL};
    struct client *client =
        client_start_ready(&(struct client_options){.arguments = arguments}, NULL);
    set_level(client, "debug");
    client_evaluate(client, "(error \"MARKWORD\")");
    client_evaluate(client, "(progn (print \"MARKWORD\") (ext:quit 3))");
    client_evaluate(client, "(MARKWORD");
    client_send_line(client, "MARKWORD {");
    client_await(client, "null", NULL);
    client_send_line(client, REQUEST("1", "MARKWORD"));
    client_await(client, "1", NULL);
    for (const char *line; (line = client_take_line(client, NULL)) != NULL;)
        expect_lacks(line, "MARKWORD");
    client_end(client);
    expect_lacks(client_stderr(client), "MARKWORD");
    client_free(client);
}
