/* What a message must look like before its method is looked at: requests, notifications and
 * responses are told apart, and only requests are ever answered. */
#include "tests/support/client.h"
#include "tests/support/lines.h"

Test(envelope, a_request_without_the_right_version_is_refused_with_its_id) {
    static const char *const lines[] = {
        "{\"id\":1,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
        "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"ping\"}",
        "{\"jsonrpc\":2,\"id\":1,\"method\":\"ping\"}",
        "{\"jsonrpc\":null,\"id\":1,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0 \",\"id\":1,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\\u0000\",\"id\":1,\"method\":\"ping\"}",
        "{\"jsonrpc\":[\"2.0\"],\"id\":1,\"method\":\"ping\"}",
        "{\"JSONRPC\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
    };
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        client_expect_error(client, lines[i], -32600, "1");
        client_expect_silence(client);
    }
    client_finish(client);
}

Test(envelope, a_request_whose_method_is_no_string_is_refused_with_its_id) {
    static const char *const lines[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":\"m\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":\"m\",\"params\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":\"m\",\"method\":12345}",
        "{\"jsonrpc\":\"2.0\",\"id\":\"m\",\"method\":null}",
        "{\"jsonrpc\":\"2.0\",\"id\":\"m\",\"method\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":\"m\",\"method\":[\"ping\"]}",
        "{\"jsonrpc\":\"2.0\",\"id\":\"m\",\"method\":true}",
        "{\"jsonrpc\":\"2.0\",\"id\":\"m\",\"Method\":\"ping\"}",
    };
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        client_expect_error(client, lines[i], -32600, "\"m\"");
        client_expect_silence(client);
    }
    client_finish(client);
}

Test(envelope, an_invalid_message_without_a_usable_id_is_refused_with_null) {
    static const char *const lines[] = {
        "{}",
        "{\"jsonrpc\":\"2.0\"}",
        "{\"foo\":\"bar\"}",
        "{\"method\":\"ping\"}",
        "{\"id\":[]}",
        "{\"jsonrpc\":\"2.0\",\"id\":null}",
    };
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        client_expect_error(client, lines[i], -32600, "null");
        client_expect_silence(client);
    }
    client_finish(client);
}

Test(envelope, a_line_that_is_json_but_no_object_is_refused_with_null) {
    static const char *const lines[] = {"1", "-1.5e3", "\"ping\"", "null", "true", "false", "\"\""};
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        client_expect_error(client, lines[i], -32600, "null");
        client_expect_silence(client);
    }
    client_finish(client);
}

Test(envelope, a_message_that_is_both_request_and_response_is_refused) {
    struct client *client = client_start_ready(NULL, NULL);
    client_expect_error(client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"result\":{}}",
                        -32600, "1");
    client_expect_error(client, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\",\"error\":null}",
                        -32600, "2");
    client_finish(client);
}

/* Two servers that answer each other's errors would never stop. */
Test(envelope, a_response_is_never_answered_however_it_looks) {
    static const char *const lines[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"no\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"no\"}}",
        "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"no\"}}",
        "{\"id\":1,\"result\":5}",
        "{\"result\":null}",
        "{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{},\"error\":{}}",
    };
    struct client *client = client_start(NULL);
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        client_send_line(client, lines[i]);
    client_expect_silence(client);
    client_initialize(client, NULL);
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        client_send_line(client, lines[i]);
    client_expect_silence(client);
    client_finish(client);
}

static const char *const notifications[] = {
    NOTIFICATION("ping"),
    NOTIFICATION("foo/bar"),
    NOTIFICATION(""),
    NOTIFICATION("tools/list"),
    NOTIFICATION_WITH("tools/list", "42"),
    NOTIFICATION_WITH("tools/call", "{\"name\":\"evaluate-lisp\",\"arguments\":{\"code\":\"1\"}}"),
    NOTIFICATION("tools/call"),
    NOTIFICATION_WITH("logging/setLevel", "{\"level\":\"debug\"}"),
    NOTIFICATION_WITH("notifications/message", "{\"level\":\"info\",\"data\":\"x\"}"),
    NOTIFICATION_WITH("notifications/progress", "{\"progressToken\":1,\"progress\":1}"),
    NOTIFICATION("notifications/roots/list_changed"),
    NOTIFICATION("notifications/cancelled"),
    NOTIFICATION_WITH("notifications/cancelled", "[]"),
    NOTIFICATION("initialize"),
    NOTIFICATION("shutdown"),
};

static void send_notifications(struct client *client) {
    for (size_t i = 0; i < COUNT_OF(notifications); i++)
        client_send_line(client, notifications[i]);
}

Test(envelope, a_notification_is_never_answered_in_any_state) {
    struct client *client = client_start(NULL);
    send_notifications(client);
    client_send_line(client, NOTIFICATION("exit"));
    client_expect_silence(client);
    client_initialize(client, NULL);
    send_notifications(client);
    client_send_line(client, NOTIFICATION("exit"));
    client_expect_silence(client);
    client_expect_result(client, REQUEST("1", "shutdown"), "1");
    send_notifications(client);
    client_expect_error(client, PING("2"), -32003, "2");
    cr_assert_null(client_take_line(client, NULL));
    client_finish(client);
}

Test(envelope, a_request_method_sent_as_a_notification_is_not_run) {
    struct client *client = client_start(NULL);
    client_send_line(client, NOTIFICATION("initialize"));
    client_send_line(client, NOTIFICATION("shutdown"));
    client_expect_error(client, REQUEST("1", "tools/list"), -32002, "1");
    client_initialize(client, NULL);
    client_send_line(client, NOTIFICATION("shutdown"));
    client_expect_result(client, REQUEST("2", "tools/list"), "2");
    client_finish(client);
}

Test(envelope, code_sent_as_a_notification_is_not_evaluated) {
    struct client *client = client_start_ready(NULL, NULL);
    client_send_line(client,
                     NOTIFICATION_WITH("tools/call", "{\"name\":\"evaluate-lisp\",\"arguments\":"
                                                     "{\"code\":\"(defvar *ran* t)\"}}"));
    cr_assert_str_eq(client_evaluate(client, "(boundp '*ran*)").text, "=> NIL");
    client_finish(client);
}

Test(envelope, an_unknown_method_is_named_in_the_error) {
    static const char *const methods[][2] = {
        {"foo/bar", "foo/bar"},
        {"", ""},
        {"rpc.discover", "rpc.discover"},
        {"constructor", "constructor"},
        {"PING", "PING"},
        {"ping ", "ping "},
        {"tools/", "tools/"},
        {"tools/foo", "tools/foo"},
        {"tools/list/x", "tools/list/x"},
        {"resources/list", "resources/list"},
        {"prompts/get", "prompts/get"},
        {"completion/complete", "completion/complete"},
        {"sampling/createMessage", "sampling/createMessage"},
        {"\\\"\\\\\\n\\u0007", "\"\\\n\a"},
        {"caf\xC3\xA9", "caf\xC3\xA9"},
    };
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        const char *answer = client_request(client, "1", methods[i][0], NULL);
        cr_assert_eq(client_integer(client, answer, "error", "code", NULL), -32601);
        cr_assert_str_eq(client_string(client, answer, "error", "data", "method", NULL),
                         methods[i][1]);
    }
    client_finish(client);
}

Test(envelope, a_notification_sent_as_a_request_is_an_unknown_method) {
    struct client *client = client_start_ready(NULL, NULL);
    client_expect_error(
        client, REQUEST_WITH("3", "notifications/message", "{\"level\":\"info\",\"data\":\"x\"}"),
        -32601, "3");
    client_expect_error(client, REQUEST("4", "notifications/initialized"), -32601, "4");
    client_expect_error(client, REQUEST("5", "notifications/cancelled"), -32601, "5");
    client_expect_silence(client);
    client_finish(client);
}

Test(envelope, params_that_are_no_object_are_refused_and_null_counts_as_absent) {
    static const char *const bad[] = {"42", "\"x\"", "[1]", "[]", "true", "0"};
    static const char *const methods[] = {"ping", "tools/list", "tools/call", "logging/setLevel"};
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(methods); i++)
        for (size_t j = 0; j < COUNT_OF(bad); j++) {
            const char *answer = client_request(client, "1", methods[i], bad[j]);
            cr_assert_eq(client_integer(client, answer, "error", "code", NULL), -32602, "%s",
                         answer);
        }
    client_expect_result(client, REQUEST_WITH("2", "ping", "null"), "2");
    client_expect_result(client, REQUEST_WITH("3", "ping", "{}"), "3");
    client_expect_result(client, REQUEST_WITH("4", "tools/list", "null"), "4");
    client_expect_result(client, REQUEST_WITH("5", "tools/list", "{}"), "5");
    client_finish(client);
}

Test(envelope, members_that_nobody_knows_are_ignored) {
    struct client *client = client_start_ready(NULL, NULL);
    client_expect_result(client,
                         "{\"x\":[{}],\"method\":\"ping\",\"params\":{\"y\":1,\"_meta\":"
                         "{\"progressToken\":0}},\"id\":1,\"jsonrpc\":\"2.0\",\"z\":1e400}",
                         "1");
    client_finish(client);
}

Test(envelope, each_answer_carries_the_error_shape_that_the_protocol_asks_for) {
    struct client *client = client_start(NULL);
    const char *answer = client_expect_error(client, "nonsense", -32700, "null");
    cr_assert_str_eq(answer, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,"
                             "\"message\":\"Parse error\",\"data\":{\"reason\":\"not JSON, at byte "
                             "0\"}}}");
    answer = client_expect_result(client, PING("7"), "7");
    cr_assert_str_eq(answer, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}");
    client_finish(client);
}
