/* The checks that come before the method, in every revision and before any handshake: requests,
 * notifications and responses are distinguished, only requests are answered, and ids come back as
 * they were written. */
#include "tests/support/eras.h"
#include <stdio.h>
#include <stdlib.h>

#define VERSION(version) "{\"jsonrpc\":" version ",\"id\":1,\"method\":\"ping\"}"
#define METHOD(method)   "{\"jsonrpc\":\"2.0\",\"id\":\"m\",\"method\":" method "}"

static const struct {
    const char *id, *line;
} non_requests[] = {
    /* not an object */
    {"null", "5"},
    {"null", "-1.5e3"},
    {"null", "\"ping\""},
    {"null", "\"\""},
    {"null", "null"},
    {"null", "true"},
    {"null", "false"},
    /* no usable id */
    {"null", "{}"},
    {"null", "{\"jsonrpc\":\"2.0\"}"},
    {"null", "{\"foo\":\"bar\"}"},
    {"null", "{\"method\":\"ping\"}"},
    {"null", "{\"id\":[]}"},
    {"null", "{\"jsonrpc\":\"2.0\",\"id\":null}"},
    {"null", PING("null")},
    {"null", PING("true")},
    {"null", PING("false")},
    {"null", PING("{}")},
    {"null", PING("{\"id\":1}")},
    {"null", PING("[]")},
    {"null", PING("[1]")},
    /* a number that is not an integer */
    {"1.5", PING("1.5")},
    {"1.0", PING("1.0")},
    {"-0.0", PING("-0.0")},
    {"1e2", PING("1e2")},
    {"1E3", PING("1E3")},
    {"10e-1", PING("10e-1")},
    {"1e400", PING("1e400")},
    /* the wrong version */
    {"1", "{\"id\":1,\"method\":\"ping\"}"},
    {"1", "{\"JSONRPC\":\"2.0\",\"id\":1,\"method\":\"ping\"}"},
    {"1", VERSION("\"1.0\"")},
    {"1", VERSION("2.0")},
    {"1", VERSION("2")},
    {"1", VERSION("null")},
    {"1", VERSION("\"2.0 \"")},
    {"1", VERSION("\"2.0\\u0000\"")},
    {"1", VERSION("[\"2.0\"]")},
    /* a member name with U+0000 in it: the id comes back if the line is a request otherwise */
    {"1", "{\"\\u0000\":1,\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"},
    {"\"a\"", "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\",\"a\\u0000b\":1}"},
    {"-7", "{\"method\":\"ping\",\"jsonrpc\":\"2.0\",\"params\":{\"x\\u0000\":[]},\"id\":-7}"},
    {"1", "{\"id\\u0000\":2,\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"},
    {"1.5", "{\"\\u0000\":1,\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}"},
    {"1", "{\"\\u0000\":1,\"id\":1,\"method\":null}"},
    {"99999999999999999999999",
     "{\"id\":99999999999999999999999,\"method\":\"ping\",\"params\":{\"a\":{\"\\u0000\":1}}}"},
    {"null", "{\"\\u0000\":1,\"jsonrpc\":\"2.0\",\"method\":\"ping\"}"},
    {"null", "{\"\\u0000\":1,\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"},
    {"null", "{\"\\u0000\":1,\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}"},
    {"null", "{\"id\\u0000\":1,\"jsonrpc\":\"2.0\",\"method\":\"ping\"}"},
    /* no method */
    {"\"m\"", "{\"jsonrpc\":\"2.0\",\"id\":\"m\"}"},
    {"\"m\"", "{\"jsonrpc\":\"2.0\",\"id\":\"m\",\"params\":{}}"},
    {"\"m\"", "{\"jsonrpc\":\"2.0\",\"id\":\"m\",\"Method\":\"ping\"}"},
    {"\"m\"", METHOD("12345")},
    {"\"m\"", METHOD("null")},
    {"\"m\"", METHOD("{}")},
    {"\"m\"", METHOD("[\"ping\"]")},
    {"\"m\"", METHOD("true")},
    /* a request and a response in one */
    {"7", "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"result\":{}}"},
    {"7", "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"error\":{}}"},
    {"7", "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"error\":null}"},
};

static void send_non_requests(struct client *client) {
    for (size_t i = 0; i < COUNT_OF(non_requests); i++)
        expect_member(client_expect_error(client, non_requests[i].line, -32600, non_requests[i].id),
                      non_requests[i].id, "id", NULL);
}

Test(envelope, a_line_that_is_not_a_request_is_refused_with_its_id_as_written) {
    era_in_every_state(send_non_requests);
}

/* Two servers that answer each other's errors would never stop. */
static void send_responses(struct client *client) {
    static const char *const lines[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"no\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"no\"}}",
        "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"no\"}}",
        "{\"id\":1,\"result\":5}",
        "{\"result\":null}",
        "{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{},\"error\":{}}",
    };
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        client_send_line(client, lines[i]);
}

Test(envelope, a_response_is_never_answered) {
    era_in_every_state(send_responses);
}

static void send_notifications(struct client *client) {
    static const char *const methods[] = {
        "",
        "exit",
        "foo/bar",
        "initialize",
        "logging/setLevel",
        "notifications/cancelled",
        "notifications/initialized",
        "notifications/message",
        "notifications/no-such",
        "notifications/progress",
        "notifications/roots/list_changed",
        "ping",
        "server/discover",
        "shutdown",
        "subscriptions/listen",
        "tools/call",
        "tools/list",
    };
    static const char *const params[] = {
        "42",
        "[1]",
        "{" ENVELOPE "}",
        "{\"level\":\"debug\",\"data\":\"x\"}",
        "{\"progressToken\":1,\"progress\":1}",
        "{\"name\":\"evaluate-lisp\",\"arguments\":{\"code\":\"1\"}}",
    };
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        client_send_format(client, NOTIFICATION("%s"), methods[i]);
        for (size_t j = 0; j < COUNT_OF(params); j++)
            client_send_format(client, NOTIFICATION_WITH("%s", "%s"), methods[i], params[j]);
    }
}

Test(envelope, a_notification_is_never_answered_in_any_state) {
    era_in_every_state(send_notifications);
    struct client *client = client_start_ready(NULL, NULL);
    client_expect_result(client, REQUEST("1", "shutdown"), "1");
    client_send_line(client, NOTIFICATION("tools/list"));
    client_send_line(client, NOTIFICATION("foo/bar"));
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
    client_send_line(client,
                     NOTIFICATION_WITH("tools/call", "{\"name\":\"evaluate-lisp\",\"arguments\":"
                                                     "{\"code\":\"(defvar *ran* t)\"}}"));
    cr_assert_str_eq(client_evaluate(client, "(boundp '*ran*)").text, "=> NIL");
    client_finish(client);
}

/* Sends a request for METHOD in the form of each era. */
static void expect_unknown(struct client *client, const char *method, const char *name) {
    char line[400];
    for (int modern = 0; modern < 2; modern++) {
        if (modern)
            snprintf(line, sizeof line, MODERN("5", "%s"), method);
        else
            snprintf(line, sizeof line, REQUEST("5", "%s"), method);
        const char *answer = client_expect_error(client, line, -32601, "5");
        cr_assert_str_eq(client_string(client, answer, "error", "data", "method", NULL), name);
    }
}

static void send_unknown_methods(struct client *client) {
    static const char *const plain[] = {
        "",
        "PING",
        "__proto__",
        "constructor",
        "foo/bar",
        "notifications/cancelled",
        "notifications/initialized",
        "notifications/message",
        "notifications/progress",
        "ping ",
        "resources/subscribe",
        "roots/list",
        "rpc.discover",
        "sampling/createMessage",
        "tools",
        "tools/",
        "tools/foo",
        "tools/list ",
        "tools/list/x",
        "caf\xC3\xA9",
    };
    for (size_t i = 0; i < COUNT_OF(plain); i++)
        expect_unknown(client, plain[i], plain[i]);
    expect_unknown(client, "\\u00e9", "\xC3\xA9");
    expect_unknown(client, "\\\"\\\\\\n\\u0007", "\"\\\n\a");
}

Test(envelope, an_unknown_method_is_named_in_every_state) {
    era_in_every_state(send_unknown_methods);
}

Test(envelope, params_that_are_not_an_object_are_refused_and_null_counts_as_absent) {
    static const char *const bad[] = {"42", "\"x\"", "[1]", "[]", "true", "0"};
    static const char *const methods[] = {"ping", "tools/list", "tools/call", "logging/setLevel"};
    EACH_ERA_STARTED(era, NULL) {
        if (era->modern)
            client_initialize(client, NULL); /* without an object there is no envelope */
        for (size_t i = 0; i < COUNT_OF(methods) * COUNT_OF(bad); i++)
            expect_member(
                client_request(client, "1", methods[i / COUNT_OF(bad)], bad[i % COUNT_OF(bad)]),
                "-32602", "error", "code", NULL);
        client_expect_result(client, REQUEST_WITH("2", "ping", "null"), "2");
        client_expect_result(client, REQUEST_WITH("3", "ping", "{}"), "3");
        client_expect_result(client, REQUEST_WITH("4", "tools/list", "null"), "4");
        client_expect_result(client, REQUEST_WITH("5", "tools/list", "{}"), "5");
    }
}

Test(envelope, unknown_members_are_ignored) {
    struct client *client = client_start_ready(NULL, NULL);
    client_expect_result(client,
                         "{\"x\":[{}],\"method\":\"ping\",\"params\":{\"y\":1,\"_meta\":"
                         "{\"progressToken\":0}},\"id\":1,\"jsonrpc\":\"2.0\",\"z\":1e400}",
                         "1");
    client_finish(client);
}

Test(envelope, an_answer_has_exactly_these_members) {
    struct client *client = client_start(NULL);
    cr_assert_str_eq(client_expect_error(client, "nonsense", -32700, "null"),
                     "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,"
                     "\"message\":\"Parse error\",\"data\":{\"reason\":\"not JSON, at byte 0\"}}}");
    cr_assert_str_eq(client_expect_result(client, PING("7"), "7"),
                     "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}");
    client_finish(client);
}

Test(envelope, long_names_are_cut_between_characters) {
    struct client *client = client_start(NULL);
    for (size_t at = 50; at < 104; at++) { /* wherever a message is cut */
        char name[200];
        memset(name, 'n', at);
        snprintf(name + at, sizeof name - at, "\xF0\x9F\x98\x80\xF0\x9F\x98\x80\xF0\x9F\x98\x80");
        client_send_format(client, MODERN_WITH("1", "tools/call", "\"name\":\"%s\","), name);
        client_send_format(client, MODERN_CALL("2", "{\"code\":\"1\",\"%s\":1}"), name);
        client_send_format(client,
                           REQUEST_WITH("3", "ping",
                                        "{\"_meta\":{\"" KEY_VERSION "\":\"%s\",\"" KEY_CLIENT
                                        "\":{}}}"),
                           name);
        expect_lacks(client_await(client, "1", NULL), "\xEF\xBF\xBD");
        expect_lacks(client_await(client, "2", NULL), "\xEF\xBF\xBD");
        expect_lacks(client_await(client, "3", NULL), "\xEF\xBF\xBD");
    }
    client_finish(client);
}

/* Ids. */

static void expect_id(const char *line, const char *id) {
    expect_member(line, id, "id", NULL);
}

/* No number type holds all of these digits. */
static const char *const ids[] = {
    "0",
    "1",
    "-1",
    "-0",
    "2147483648",
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "12345678901234567890",
    "18446744073709551615",
    "-99999999999999999999999999999999",
    "\"\"",
    "\"0\"",
    "\"1\"",
    "\"null\"",
    "\"listen:0\"",
    "\"caf\\u00e9 \\\" \\\\ \\n x\"",
    "\"caf\xC3\xA9\"",
    "\"\\ud83d\\ude00\"",
    "\"\xCE\xBB\xE2\x86\x92\xF0\x9F\x98\x80\"",
    "\"\\/\\b\\f\\r\\t\"",
    "\"\\u0000\"",
    "\"\xE2\x80\xA8\"",
    "\"{\\\"id\\\":1}\"",
};

Test(envelope, ids_come_back_to_the_digit_and_to_the_escape) {
    EACH_ERA_STARTED(era, NULL) {
        for (size_t i = 0; i < COUNT_OF(ids); i++) {
            expect_id(era_request(client, era, ids[i], "tools/list", NULL), ids[i]);
            expect_id(era_refused(client, era, -32601, ids[i], "no/such", NULL), ids[i]);
            expect_id(era_refused(client, era, -32602, ids[i], "tools/call", "\"name\":5"), ids[i]);
            era_call_send(client, era, ids[i], "evaluate-lisp", "{\"code\":\"1\"}");
            struct evaluation evaluation = client_evaluate_await(client, ids[i]);
            cr_assert_str_eq(era_text(client, &evaluation), "=> 1");
            expect_id(evaluation.line, ids[i]);
        }
    }
}

Test(envelope, ids_and_numbers_may_be_long) {
    enum { DIGITS = 5000, CHARACTERS = 60000 };
    char *number = malloc(DIGITS + 1), *string = malloc(CHARACTERS + 1);
    cr_assert(number && string);
    memset(number, '7', DIGITS);
    memset(string, 'x', CHARACTERS);
    string[0] = string[CHARACTERS - 1] = '"';
    number[DIGITS] = string[CHARACTERS] = '\0';
    struct client *client = client_start(NULL);
    const char *long_ids[] = {number, string};
    for (size_t i = 0; i < COUNT_OF(long_ids); i++) {
        const char *line = client_request(client, long_ids[i], "ping", NULL);
        expect_id(line, long_ids[i]);
        expect_member(line, "{}", "result", NULL);
    }
    client_send_format(client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":%s}",
                       number);
    client_await(client, "1", NULL);
    free(number);
    free(string);
    client_finish(client);
}

Test(envelope, an_id_may_be_used_again_after_the_answer) {
    struct client *client = client_start_ready(NULL, NULL);
    for (int i = 0; i < 100; i++)
        client_expect_result(client, PING("1"), "1");
    for (int i = 0; i < 20; i++) {
        client_evaluate_send(client, "1", "(+ 1 2)");
        cr_assert_str_eq(client_evaluate_await(client, "1").text, "=> 3");
    }
    client_finish(client);
}

Test(envelope, an_id_in_flight_is_refused_and_one_of_another_type_is_another_id) {
    EACH_ERA_STARTED(era, NULL) {
        era_call_send(client, era, "1", "evaluate-lisp", "{\"code\":\"(sleep 0.3) 1\"}");
        era_call_send(client, era, "\"1\"", "evaluate-lisp", "{\"code\":\"2\"}");
        client_expect_error(client, PING("1"), -32600, "1");
        client_expect_error(client, EVALUATE("1", "3"), -32600, "1");
        client_expect_error(client, REQUEST("1", "no/such"), -32600, "1");
        client_expect_error(client, MODERN("1", "server/discover"), -32600, "1");
        struct evaluation one = client_evaluate_await(client, "1"),
                          other = client_evaluate_await(client, "\"1\"");
        cr_assert_str_eq(era_text(client, &one), "=> 1");
        cr_assert_str_eq(era_text(client, &other), "=> 2");
        client_expect_result(client, PING("1"), "1");
    }
}

Test(envelope, ids_with_other_escapes_are_the_same) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate_send(client, "\"a/b\"", ENDLESS);
    client_evaluate_send(client, "\"\xF0\x9F\x98\x80\"", ENDLESS);
    client_expect_error(client, PING("\"\\u0061\\/b\""), -32600, "\"\\u0061\\/b\"");
    client_expect_error(client, PING("\"\\ud83d\\ude00\""), -32600, "\"\\ud83d\\ude00\"");
    client_send_line(client, CANCEL("\"\\ud83d\\uDE00\""));
    cr_assert_eq(client_evaluate_await(client, "\"\xF0\x9F\x98\x80\"").error_code, -32001);
    client_send_line(client, CANCEL("\"\\u0061\\/\\u0062\""));
    cr_assert_eq(client_evaluate_await(client, "\"a/b\"").error_code, -32001);
    client_finish(client);
}

/* Names with U+0000, and the member of the error's data that holds all of them. */
Test(envelope, names_with_a_zero_are_returned_whole) {
    static const char *const methods[] = {"tools/list\\u0000", "\\u0000", "ping\\u0000x",
                                          "\\u0000tools/call", "a\\u0000\\u0000b"};
    static const char *const tools[] = {"evaluate-lisp\\u0000x", "\\u0000", "evaluate-lisp\\u0000",
                                        "x\\u0000y\\u0000"};
    EACH_ERA_STARTED(era, NULL) {
        for (size_t i = 0; i < COUNT_OF(methods); i++)
            expect_member(era_refused(client, era, -32601, "1", methods[i], NULL),
                          formatted("\"%s\"", methods[i]), "error", "data", "method", NULL);
        for (size_t i = 0; i < COUNT_OF(tools); i++) {
            const char *line =
                era_refused(client, era, -32602, "1", "tools/call",
                            formatted("\"name\":\"%s\",\"arguments\":{\"code\":\"1\"}", tools[i]));
            expect_member(line, formatted("\"%s\"", tools[i]), "error", "data", "name", NULL);
            expect_contains(line, "A tool's name has no U+0000 in it.");
        }
    }
}
