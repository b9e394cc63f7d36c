/* The handshake: versions, what each revision is told, and what is served around it. */
#include "tests/support/client.h"
#include "tests/support/lines.h"
#include <json-c/json.h>

static const char *const revisions[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};

Test(initialize, each_served_version_is_echoed) {
    for (size_t i = 0; i < COUNT_OF(revisions); i++)
        client_finish(client_start_ready(NULL, revisions[i]));
}

Test(initialize, a_later_version_is_answered_with_the_newest) {
    static const char *const later[] = {INITIALIZE("1", "\"2025-11-26\""),
                                        INITIALIZE("1", "\"2026-07-28\""),
                                        INITIALIZE("1", "\"2099-01-01\"")};
    for (size_t i = 0; i < COUNT_OF(later); i++) {
        struct client *client = client_start(NULL);
        const char *answer = client_expect_result(client, later[i], "1");
        cr_assert_str_eq(client_string(client, answer, "result", "protocolVersion", NULL),
                         CLIENT_REVISION_NEWEST);
        client_finish(client);
    }
}

Test(initialize, a_missing_version_is_answered_with_the_newest) {
    static const char *const lines[] = {
        REQUEST("1", "initialize"), REQUEST_WITH("1", "initialize", "{}"),
        REQUEST_WITH("1", "initialize", "null"),
        REQUEST_WITH("1", "initialize", "{\"capabilities\":5,\"clientInfo\":[]}")};
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        struct client *client = client_start(NULL);
        const char *answer = client_expect_result(client, lines[i], "1");
        cr_assert_str_eq(client_string(client, answer, "result", "protocolVersion", NULL),
                         CLIENT_REVISION_NEWEST);
        client_finish(client);
    }
}

Test(initialize, any_other_version_is_refused_and_a_good_one_works_afterwards) {
    static const char *const lines[] = {
        INITIALIZE("1", "\"1999-01-01\""),
        INITIALIZE("1", "\"2024-10-07\""),
        INITIALIZE("1", "\"2025-11-24\""),
        INITIALIZE("1", "\"\""),
        INITIALIZE("1", "\"1.0.0\""),
        INITIALIZE("1", "\"latest\""),
        INITIALIZE("1", "\"2026-13-01\""),
        INITIALIZE("1", "\"2026-1-1\""),
        INITIALIZE("1", "\"2099-01-01x\""),
        INITIALIZE("1", "\"2025-11-25\\u0000\""),
        INITIALIZE("1", "5"),
        INITIALIZE("1", "null"),
        INITIALIZE("1", "20251125"),
        INITIALIZE("1", "[\"2025-11-25\"]"),
    };
    struct client *client = client_start(NULL);
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        client_expect_error(client, lines[i], -32602, "1");
    client_expect_error(client, REQUEST("2", "tools/list"), -32002, "2");
    client_initialize(client, NULL);
    client_expect_result(client, REQUEST("3", "tools/list"), "3");
    client_finish(client);
}

Test(initialize, a_refusal_says_what_was_asked_for_and_what_is_supported) {
    struct client *client = client_start(NULL);
    const char *answer =
        client_expect_error(client, INITIALIZE("1", "\"1999-01-01\""), -32602, "1");
    cr_assert_str_eq(client_string(client, answer, "error", "data", "requested", NULL),
                     "1999-01-01");
    struct text supported, element;
    cr_assert(json_at(text_of(answer), &supported, "error", "data", "supported", NULL));
    cr_assert_eq(json_count(supported), COUNT_OF(revisions));
    cr_assert(json_element(supported, 0, &element));
    cr_assert(text_is(element, "\"" CLIENT_REVISION_NEWEST "\""));
    answer = client_expect_error(client, INITIALIZE("2", "{\"a\":[1,2]}"), -32602, "2");
    expect_contains(answer, "\"requested\":{\"a\":[1,2]}");
    client_finish(client);
}

Test(initialize, a_second_one_is_refused_and_the_session_goes_on) {
    struct client *client = client_start_ready(NULL, "2024-11-05");
    client_expect_error(client, INITIALIZE("1", "\"2025-11-25\""), -32600, "1");
    client_expect_error(client, INITIALIZE("2", "\"nonsense\""), -32600, "2");
    const char *answer = client_expect_result(client, REQUEST("3", "tools/list"), "3");
    expect_lacks(answer, "\"annotations\"");
    client_finish(client);
}

Test(initialize, params_that_are_no_object_are_refused) {
    struct client *client = client_start(NULL);
    client_expect_error(client, REQUEST_WITH("1", "initialize", "[]"), -32602, "1");
    client_expect_error(client, REQUEST_WITH("2", "initialize", "\"2025-11-25\""), -32602, "2");
    client_initialize(client, NULL);
    client_finish(client);
}

Test(initialize, the_answer_announces_logging_and_tools_and_nothing_else) {
    struct client *client = client_start(NULL);
    const char *answer = client_initialize(client, NULL);
    struct text capabilities;
    cr_assert(json_at(text_of(answer), &capabilities, "result", "capabilities", NULL));
    cr_assert(text_is(capabilities, "{\"logging\":{},\"tools\":{}}"));
    cr_assert_str_eq(client_string(client, answer, "result", "serverInfo", "name", NULL), "eclave");
    client_string(client, answer, "result", "serverInfo", "version", NULL);
    expect_contains(client_string(client, answer, "result", "instructions", NULL), "evaluate-lisp");
    client_finish(client);
}

Test(initialize, a_revision_is_not_told_what_it_does_not_know) {
    static const struct {
        const char *revision;
        bool title, description, annotations;
    } rows[] = {{"2024-11-05", false, false, false},
                {"2025-03-26", false, false, true},
                {"2025-06-18", true, false, true},
                {"2025-11-25", true, true, true}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct client *client = client_start(NULL);
        const char *answer = client_initialize(client, rows[i].revision);
        struct text info, tools, tool, value;
        cr_assert(json_at(text_of(answer), &info, "result", "serverInfo", NULL));
        cr_assert_eq(json_member(info, "title", &value), rows[i].title);
        cr_assert_eq(json_member(info, "description", &value), rows[i].description);
        answer = client_expect_result(client, REQUEST("1", "tools/list"), "1");
        cr_assert(json_at(text_of(answer), &tools, "result", "tools", NULL));
        cr_assert(json_element(tools, 0, &tool));
        cr_assert_eq(json_member(tool, "title", &value), rows[i].title);
        cr_assert_eq(json_member(tool, "annotations", &value), rows[i].annotations);
        cr_assert_not(json_member(tool, "outputSchema", &value));
        client_finish(client);
    }
}

Test(initialize, everything_is_served_between_the_answer_and_the_initialized_notification) {
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
 * is that there is no such method. Any other error or silence makes some of them give up. */
Test(initialize, a_probe_with_an_unknown_method_is_refused_and_does_no_harm) {
    struct client *client = client_start(NULL);
    client_expect_error(client, REQUEST("1", "foo/bar"), -32601, "1");
    client_initialize(client, NULL);
    client_finish(client);
}

Test(initialize, requests_sent_without_waiting_for_the_answer_are_served_in_order) {
    struct client *client = client_start(NULL);
    client_send_line(client, INITIALIZE("1", "\"2025-06-18\"") "\n" NOTIFICATION(
                                 "notifications/initialized") "\n" REQUEST("2", "tools/list"));
    client_await(client, "1", NULL);
    client_expect_result(client, PING("3"), "3");
    expect_contains(client_await(client, "2", NULL), "evaluate-lisp");
    client_finish(client);
}
