/* What a line must be before its method matters: the same in every revision of both eras, and
 * before any handshake. */
#include "tests/support/eras.h"
#include <stdio.h>

/* Calls BODY with a fresh server of each era, and with one that nobody has initialized. */
static void in_every_state(void (*body)(struct client *client)) {
    for (size_t i = 0; i < ERA_COUNT; i++) {
        struct client *client = era_start(&eras[i], NULL);
        if (eras[i].modern)
            client_expect_result(client, MODERN("0", "server/discover"), "0");
        body(client);
        client_expect_silence(client);
        client_finish(client);
    }
    struct client *client = client_start(NULL);
    body(client);
    client_expect_silence(client);
    client_finish(client);
}

static void send_garbage(struct client *client) {
    static const char *const lines[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":1,",
        "{\"jsonrpc\":\"2.0\",\"id\":NaN,\"method\":\"ping\"}",
        "{'jsonrpc':'2.0','id':1,'method':'ping'}",
        PING("1") PING("2"),
        PING("1") "x",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\xFFng\"}",
        "\xEF\xBB\xBF\xEF\xBB\xBF" PING("1"),
        "tools/list",
        "\"\xED\xA0\x80\"",
    };
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        const char *line = client_expect_error(client, lines[i], -32700, "null");
        client_string(client, line, "error", "data", "reason", NULL);
        client_expect_result(client, PING("\"next\""), "\"next\"");
    }
}

Test(envelope, garbage_is_answered_once_and_the_next_line_is_served) {
    in_every_state(send_garbage);
}

static void send_non_requests(struct client *client) {
    static const char *const rows[][2] = {
        {"5", "null"},
        {"\"ping\"", "null"},
        {"null", "null"},
        {"{}", "null"},
        {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", "null"},
        {"{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"ping\"}", "null"},
        {"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", "null"},
        {"{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}", "null"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", "1.5"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1e2,\"method\":\"ping\"}", "1e2"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1.0,\"method\":\"ping\"}", "1.0"},
        {"{\"jsonrpc\":\"2.0\",\"id\":\"a\"}", "\"a\""},
        {"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":7}", "7"},
        {"{\"jsonrpc\":\"1.0\",\"id\":7,\"method\":\"ping\"}", "7"},
        {"{\"jsonrpc\":2.0,\"id\":7,\"method\":\"ping\"}", "7"},
        {"{\"id\":7,\"method\":\"ping\"}", "7"},
        {"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"result\":{}}", "7"},
        {"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"error\":{}}", "7"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        client_expect_error(client, rows[i][0], -32600, rows[i][1]);
}

Test(envelope, what_is_no_request_is_refused_with_the_id_as_it_was_written) {
    in_every_state(send_non_requests);
}

static void send_responses(struct client *client) {
    client_send_line(client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    client_send_line(client, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1}}");
    client_send_line(client, "{\"result\":7}");
}

Test(envelope, a_response_is_never_answered) {
    in_every_state(send_responses);
}

static void send_notifications(struct client *client) {
    static const char *const methods[] = {
        "tools/list",
        "tools/call",
        "ping",
        "initialize",
        "server/discover",
        "shutdown",
        "no/such",
        "subscriptions/listen",
        "",
        "notifications/no-such",
        "notifications/initialized",
        "notifications/roots/list_changed",
    };
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        client_send_format(client, NOTIFICATION("%s"), methods[i]);
        client_send_format(client, NOTIFICATION_WITH("%s", "{" ENVELOPE "}"), methods[i]);
        client_send_format(client, NOTIFICATION_WITH("%s", "[1]"), methods[i]);
    }
}

Test(envelope, a_notification_is_never_answered_and_a_request_sent_as_one_is_not_run) {
    in_every_state(send_notifications);
}

static void send_notifications_with_ids(struct client *client) {
    static const char *const methods[] = {"notifications/initialized", "notifications/cancelled",
                                          "notifications/message", "notifications/progress"};
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        char line[400];
        snprintf(line, sizeof line, REQUEST("5", "%s"), methods[i]);
        client_expect_error(client, line, -32601, "5");
        snprintf(line, sizeof line, MODERN("5", "%s"), methods[i]);
        client_expect_error(client, line, -32601, "5");
    }
}

Test(envelope, a_notification_sent_as_a_request_is_no_method) {
    in_every_state(send_notifications_with_ids);
}

static void send_unknown_methods(struct client *client) {
    static const char *const methods[] = {"",
                                          "rpc.x",
                                          "constructor",
                                          "__proto__",
                                          "Ping",
                                          "tools/list ",
                                          "tools",
                                          "tools/list/x",
                                          "\\u00e9",
                                          "roots/list",
                                          "sampling/createMessage"};
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        char line[400], named[80];
        snprintf(line, sizeof line, REQUEST("5", "%s"), methods[i]);
        const char *answer = client_expect_error(client, line, -32601, "5");
        snprintf(named, sizeof named, "\"%s\"",
                 strcmp(methods[i], "\\u00e9") == 0 ? "\xC3\xA9" : methods[i]);
        expect_member(answer, named, "error", "data", "method", NULL);
        snprintf(line, sizeof line, MODERN("5", "%s"), methods[i]);
        expect_member(client_expect_error(client, line, -32601, "5"), named, "error", "data",
                      "method", NULL);
    }
}

Test(envelope, an_unknown_method_is_named_in_every_state) {
    in_every_state(send_unknown_methods);
}

/* Digits are kept as they are: no number type holds them all. */
static const char *const ids[] = {
    "0",
    "-0",
    "1",
    "-1",
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "99999999999999999999",
    "\"\"",
    "\"1\"",
    "\"null\"",
    "\"listen:0\"",
    "\"\xCE\xBB\xE2\x86\x92\xF0\x9F\x98\x80\"",
};

Test(envelope, ids_come_back_with_their_type_and_their_digits_in_both_eras) {
    for (size_t i = 0; i < ERA_COUNT; i++) {
        struct client *client = era_start(&eras[i], NULL);
        for (size_t j = 0; j < COUNT_OF(ids); j++) {
            expect_member(era_request(client, &eras[i], ids[j], "tools/list", NULL), ids[j], "id",
                          NULL);
            era_refused(client, &eras[i], -32601, ids[j], "no/such", NULL);
        }
        client_finish(client);
    }
}

Test(envelope, an_id_of_each_type_can_be_in_flight_at_once_and_an_open_one_not_twice) {
    for (size_t i = 0; i < ERA_COUNT; i++) {
        const struct era *era = &eras[i];
        struct client *client = era_start(era, NULL);
        era_call_send(client, era, "1", "evaluate-lisp", "{\"code\":\"(sleep 0.3)\"}");
        era_call_send(client, era, "\"1\"", "evaluate-lisp", "{\"code\":\"(sleep 0.3)\"}");
        client_expect_error(client, PING("1"), -32600, "1");
        client_expect_error(client, MODERN("\"1\"", "server/discover"), -32600, "\"1\"");
        cr_assert_eq(client_evaluate_await(client, "1").error_code, 0);
        cr_assert_eq(client_evaluate_await(client, "\"1\"").error_code, 0);
        client_expect_result(client, PING("1"), "1");
        client_finish(client);
    }
}

Test(envelope, params_that_are_no_object_are_refused_and_null_is_none) {
    for (size_t i = 0; i < ERA_COUNT; i++) {
        struct client *client = era_start(&eras[i], NULL);
        if (eras[i].modern)
            client_initialize(client, NULL); /* without an object there is no envelope */
        client_expect_error(client, REQUEST_WITH("1", "tools/list", "[1]"), -32602, "1");
        client_expect_error(client, REQUEST_WITH("1", "tools/list", "[]"), -32602, "1");
        client_expect_error(client, REQUEST_WITH("1", "tools/list", "\"x\""), -32602, "1");
        client_expect_error(client, REQUEST_WITH("1", "ping", "5"), -32602, "1");
        client_expect_result(client, REQUEST_WITH("1", "tools/list", "null"), "1");
        client_finish(client);
    }
}

static void send_deep(struct client *client) {
    enum { DEPTH = 100000 };
    static char brackets[DEPTH + 1];
    memset(brackets, '[', DEPTH);
    client_expect_error(client, brackets, -32700, "null");
    client_send_format(client, REQUEST_WITH("1", "ping", "{\"a\":%s"), brackets);
    client_await(client, "null", NULL);
}

Test(envelope, deep_nesting_is_a_parse_error) {
    in_every_state(send_deep);
}

static void expect_whole_characters(struct client *client, const char *id) {
    const char *line = client_await(client, id, NULL);
    expect_lacks(line, "\xEF\xBF\xBD");
}

Test(envelope, long_names_are_cut_between_characters) {
    struct client *client = client_start(NULL);
    for (size_t at = 50; at < 104; at++) { /* wherever a message is cut */
        char name[200];
        memset(name, 'n', at);
        snprintf(name + at, sizeof name - at, "\xF0\x9F\x98\x80\xF0\x9F\x98\x80\xF0\x9F\x98\x80");
        client_send_format(client, MODERN_WITH("1", "tools/call", "\"name\":\"%s\","), name);
        expect_whole_characters(client, "1");
        client_send_format(client, MODERN_CALL("2", "{\"code\":\"1\",\"%s\":1}"), name);
        expect_whole_characters(client, "2");
        client_send_format(client,
                           REQUEST_WITH("3", "ping",
                                        "{\"_meta\":{\"" KEY_VERSION "\":\"%s\",\"" KEY_CLIENT
                                        "\":{}}}"),
                           name);
        expect_whole_characters(client, "3");
    }
    client_finish(client);
}
