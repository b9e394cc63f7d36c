/* The handshake: its versions, its answer in each revision, and the requests around it. */
#include "tests/support/eras.h"

/* The legacy revisions come first in `eras`. */
enum { LEGACY_COUNT = ERA_COUNT - 1, IN_2025_03_26 = 1, IN_2025_06_18 = 2, IN_2025_11_25 = 3 };

Test(initialize, the_answer_has_the_members_that_the_revision_knows) {
    for (size_t i = 0; i < LEGACY_COUNT; i++) {
        struct client *client = client_start(NULL);
        const char *line = client_initialize(client, eras[i].revision);
        struct text server, value;
        cr_assert(json_at(text_of(line), &server, "result", "serverInfo", NULL));
        cr_assert(json_member(server, "name", &value) && text_is(value, "\"eclave\""));
        cr_assert(json_member(server, "version", &value));
        cr_assert_eq(json_member(server, "title", &value), i >= IN_2025_06_18);
        cr_assert_eq(json_member(server, "description", &value), i >= IN_2025_11_25);
        expect_member(line,
                      i >= IN_2025_03_26 ? "{\"logging\":{},\"tools\":{},\"resources\":{},"
                                           "\"prompts\":{},\"completions\":{}}"
                                         : "{\"logging\":{},\"tools\":{},\"resources\":{},"
                                           "\"prompts\":{}}",
                      "result", "capabilities", NULL);
        const char *instructions = client_string(client, line, "result", "instructions", NULL);
        expect_contains(instructions, "evaluate-lisp");
        cr_assert_leq(strlen(instructions), 2048);
        expect_lacks(line, "resultType");
        client_finish(client);
    }
}

Test(initialize, a_later_version_is_answered_with_the_newest) {
    static const char *const lines[] = {INITIALIZE("1", "\"2025-11-26\""),
                                        INITIALIZE("1", "\"2026-07-28\""),
                                        INITIALIZE("1", "\"2099-01-01\"")};
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        struct client *client = client_start(NULL);
        expect_member(client_expect_result(client, lines[i], "1"), "\"" CLIENT_REVISION_NEWEST "\"",
                      "result", "protocolVersion", NULL);
        client_finish(client);
    }
}

Test(initialize, any_other_version_is_refused_and_a_good_one_works_afterwards) {
    static const char *const versions[] = {"\"1999-01-01\"",
                                           "\"2024-10-07\"",
                                           "\"2025-11-24\"",
                                           "\"\"",
                                           "\"1.0.0\"",
                                           "\"latest\"",
                                           "\"2026-13-01\"",
                                           "\"2026-1-1\"",
                                           "\"2099-01-01x\"",
                                           "\"2025-11-25\\u0000\"",
                                           "5",
                                           "null",
                                           "true",
                                           "20251125",
                                           "[\"2025-11-25\"]",
                                           "{\"a\":[1,2]}"};
    struct client *client = client_start(NULL);
    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        client_send_format(client, INITIALIZE("1", "%s"), versions[i]);
        const char *line = client_await(client, "1", NULL);
        expect_member(line, "-32602", "error", "code", NULL);
        expect_member(line, versions[i], "error", "data", "requested", NULL);
        expect_member(line, "[\"2025-11-25\",\"2025-06-18\",\"2025-03-26\",\"2024-11-05\"]",
                      "error", "data", "supported", NULL);
    }
    client_expect_error(client, REQUEST_WITH("2", "initialize", "[]"), -32602, "2");
    client_expect_error(client, REQUEST_WITH("2", "initialize", "\"2025-11-25\""), -32602, "2");
    client_expect_error(client, REQUEST("2", "tools/list"), -32002, "2");
    client_initialize(client, NULL);
    client_expect_result(client, REQUEST("3", "tools/list"), "3");
    client_finish(client);
}

#define VERSION      "\"protocolVersion\":\"2025-11-25\""
#define CAPABILITIES "\"capabilities\":{}"
#define CLIENT       "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}"

/* The members that MCP's schema requires in every revision. */
Test(initialize, a_missing_or_ill_typed_member_is_named_and_a_good_one_works_afterwards) {
    static const struct {
        const char *params, *name;
    } cases[] = {
        {"null", "protocolVersion"},
        {"{}", "protocolVersion"},
        {"{" CAPABILITIES "," CLIENT "}", "protocolVersion"},
        {"{" VERSION "}", "capabilities"},
        {"{" VERSION "," CLIENT "}", "capabilities"},
        {"{" VERSION ",\"capabilities\":null," CLIENT "}", "capabilities"},
        {"{" VERSION ",\"capabilities\":5," CLIENT "}", "capabilities"},
        {"{" VERSION ",\"capabilities\":\"{}\"," CLIENT "}", "capabilities"},
        {"{" VERSION ",\"capabilities\":[]," CLIENT "}", "capabilities"},
        {"{" VERSION ",\"capabilities\":true," CLIENT "}", "capabilities"},
        {"{" VERSION ",\"Capabilities\":{}," CLIENT "}", "capabilities"},
        {"{" VERSION "," CLIENT "," CAPABILITIES ",\"capabilities\":1}", "capabilities"},
        {"{" VERSION "," CAPABILITIES "}", "clientInfo"},
        {"{" VERSION "," CAPABILITIES ",\"clientInfo\":null}", "clientInfo"},
        {"{" VERSION "," CAPABILITIES ",\"clientInfo\":\"x\"}", "clientInfo"},
        {"{" VERSION "," CAPABILITIES ",\"clientInfo\":[\"x\",\"1\"]}", "clientInfo"},
        {"{" VERSION "," CAPABILITIES ",\"clientInfo\":{}}", "clientInfo.name"},
        {"{" VERSION "," CAPABILITIES ",\"clientInfo\":{\"version\":\"1\"}}", "clientInfo.name"},
        {"{" VERSION "," CAPABILITIES ",\"clientInfo\":{\"name\":5,\"version\":\"1\"}}",
         "clientInfo.name"},
        {"{" VERSION "," CAPABILITIES ",\"clientInfo\":{\"name\":null,\"version\":\"1\"}}",
         "clientInfo.name"},
        {"{" VERSION "," CAPABILITIES ",\"clientInfo\":{\"name\":\"x\"}}", "clientInfo.version"},
        {"{" VERSION "," CAPABILITIES ",\"clientInfo\":{\"name\":\"x\",\"version\":1}}",
         "clientInfo.version"},
        {"{" VERSION "," CAPABILITIES ",\"clientInfo\":{\"name\":\"x\",\"version\":{}}}",
         "clientInfo.version"},
    };
    struct client *client = client_start(NULL);
    client_expect_error(client, REQUEST("0", "initialize"), -32602, "0");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        client_send_format(client, REQUEST_WITH("1", "initialize", "%s"), cases[i].params);
        const char *line = client_await(client, "1", NULL);
        expect_member(line, "-32602", "error", "code", NULL);
        cr_assert_str_eq(client_string(client, line, "error", "data", "name", NULL), cases[i].name,
                         "%s was answered with %s", cases[i].params, line);
        expect_contains(client_string(client, line, "error", "message", NULL), cases[i].name);
        client_expect_error(client, REQUEST("2", "tools/list"), -32002, "2");
    }
    client_initialize(client, NULL);
    client_finish(client);
}

/* Other members, and empty names, are the client's business. */
Test(initialize, the_required_members_are_enough_and_others_are_allowed) {
    static const char *const params[] = {
        "{" VERSION "," CAPABILITIES "," CLIENT "}",
        "{" VERSION "," CAPABILITIES ",\"clientInfo\":{\"name\":\"\",\"version\":\"\"}}",
        "{" VERSION ",\"capabilities\":{\"roots\":5,\"x\":null}," CLIENT ",\"more\":[1]}",
        "{" VERSION "," CAPABILITIES
        ",\"clientInfo\":{\"name\":\"x\",\"version\":\"1\",\"title\":5,\"icons\":{}}}",
    };
    for (size_t i = 0; i < COUNT_OF(params); i++) {
        struct client *client = client_start(NULL);
        client_send_format(client, REQUEST_WITH("1", "initialize", "%s"), params[i]);
        expect_member(client_await(client, "1", NULL), "\"" CLIENT_REVISION_NEWEST "\"", "result",
                      "protocolVersion", NULL);
        client_finish(client);
    }
}

Test(initialize, a_second_one_is_refused_and_the_session_goes_on) {
    struct client *client = client_start_ready(NULL, "2024-11-05");
    client_expect_error(client, INITIALIZE("1", "\"2025-11-25\""), -32600, "1");
    client_expect_error(client, INITIALIZE("2", "\"nonsense\""), -32600, "2");
    const char *answer = client_expect_result(client, REQUEST("3", "tools/list"), "3");
    expect_lacks(answer, "\"annotations\"");
    client_finish(client);
}

Test(initialize, requests_are_served_between_the_answer_and_the_initialized_notification) {
    struct client *client = client_start(NULL);
    client_expect_result(client, INITIALIZE("1", "\"2025-11-25\""), "1");
    client_expect_result(client, REQUEST_WITH("2", "logging/setLevel", "{\"level\":\"error\"}"),
                         "2");
    client_expect_result(client, PING("3"), "3");
    client_expect_result(client, REQUEST("4", "tools/list"), "4");
    client_send_line(client, NOTIFICATION("notifications/initialized"));
    client_send_line(client, NOTIFICATION("notifications/initialized"));
    client_expect_silence(client);
    client_finish(client);
}

Test(initialize, the_initialized_notification_alone_initializes_nothing) {
    struct client *client = client_start(NULL);
    client_send_line(client, NOTIFICATION("notifications/initialized"));
    client_expect_error(client, REQUEST("1", "tools/list"), -32002, "1");
    client_initialize(client, NULL);
    client_finish(client);
}

Test(initialize, nothing_is_sent_before_the_answer) {
    struct client *client = client_start(NULL);
    client_send_line(client, INITIALIZE("1", "\"2025-11-25\""));
    expect_contains(client_read_line(client, NULL), "\"result\"");
    client_finish(client);
}

/* Clients probe a server with methods of later revisions, and start a conversation when the answer
 * is that there is no such method. Some give up on any other error and on silence. */
Test(initialize, a_probe_with_an_unknown_method_is_refused_and_does_no_harm) {
    struct client *client = client_start(NULL);
    client_expect_error(client, REQUEST("1", "foo/bar"), -32601, "1");
    client_initialize(client, NULL);
    client_finish(client);
}
