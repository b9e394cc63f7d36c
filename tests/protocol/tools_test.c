/* tools/list and the checks that a call must pass before anything is evaluated. */
#include "tests/support/client.h"
#include "tests/support/lines.h"
#include <stdio.h>

/* The tool of that name in an answer to tools/list. */
static struct text find_tool(const char *answer, const char *quoted_name) {
    struct text tools, tool, name;
    cr_assert(json_at(text_of(answer), &tools, "result", "tools", NULL));
    for (size_t i = 0; json_element(tools, i, &tool); i++)
        if (json_member(tool, "name", &name) && text_is(name, quoted_name))
            return tool;
    cr_assert_fail("no tool %s in %s", quoted_name, answer);
    return tool;
}

Test(tools, the_list_is_one_page_of_tools_with_descriptions_and_schemas) {
    struct client *client = client_start_ready(NULL, NULL);
    const char *answer = client_expect_result(client, REQUEST("1", "tools/list"), "1");
    struct text result, tools, tool, value;
    cr_assert(json_member(text_of(answer), "result", &result));
    cr_assert_not(json_member(result, "nextCursor", &value));
    cr_assert(json_member(result, "tools", &tools));
    cr_assert_geq(json_count(tools), 1);
    for (size_t i = 0; json_element(tools, i, &tool); i++) {
        cr_assert(json_member(tool, "name", &value) && json_kind(value) == VALUE_STRING);
        cr_assert(json_member(tool, "description", &value) && json_kind(value) == VALUE_STRING);
        cr_assert(json_at(tool, &value, "inputSchema", "type", NULL) &&
                  text_is(value, "\"object\""));
    }
    client_finish(client);
}

Test(tools, the_schema_of_evaluate_lisp_has_its_four_arguments) {
    struct client *client = client_start_ready(NULL, NULL);
    const char *answer = client_expect_result(client, REQUEST("1", "tools/list"), "1");
    struct text tool = find_tool(answer, "\"evaluate-lisp\""), value, properties;
    cr_assert(json_at(tool, &value, "inputSchema", "required", NULL) &&
              text_is(value, "[\"code\"]"));
    cr_assert(json_at(tool, &value, "inputSchema", "additionalProperties", NULL) &&
              text_is(value, "false"));
    cr_assert(json_at(tool, &properties, "inputSchema", "properties", NULL));
    static const char *const arguments[][2] = {{"code", "\"string\""},
                                               {"package", "\"string\""},
                                               {"timeout", "\"number\""},
                                               {"session", "\"string\""}};
    cr_assert_eq(json_count(properties), COUNT_OF(arguments));
    for (size_t i = 0; i < COUNT_OF(arguments); i++)
        cr_assert(json_at(properties, &value, arguments[i][0], "type", NULL) &&
                  text_is(value, arguments[i][1]));
    client_finish(client);
}

Test(tools, the_list_is_the_same_every_time) {
    struct client *client = client_start_ready(NULL, NULL);
    const char *first = client_expect_result(client, REQUEST("1", "tools/list"), "1");
    cr_assert_str_eq(
        client_expect_result(client, REQUEST_WITH("1", "tools/list", "{\"_meta\":{}}"), "1"),
        first);
    client_finish(client);
}

Test(tools, no_cursor_is_valid_because_none_was_given_out) {
    static const char *const cursors[] = {"\"not-a-cursor\"", "\"\"", "5", "\"e30\"", "{}", "true"};
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(cursors); i++) {
        char params[64];
        snprintf(params, sizeof params, "{\"cursor\":%s}", cursors[i]);
        const char *answer = client_request(client, "1", "tools/list", params);
        cr_assert_eq(client_integer(client, answer, "error", "code", NULL), -32602);
        cr_assert_str_eq(client_string(client, answer, "error", "data", "name", NULL), "cursor");
    }
    client_finish(client);
}

Test(tools, a_call_without_a_usable_name_is_refused) {
    static const char *const params[] = {
        "{}",
        "{\"arguments\":{\"code\":\"1\"}}",
        "{\"name\":5,\"arguments\":{\"code\":\"1\"}}",
        "{\"name\":null}",
        "{\"name\":[\"evaluate-lisp\"]}",
        "{\"name\":{}}",
        "{\"Name\":\"evaluate-lisp\"}",
    };
    struct client *client = client_start_ready(NULL, NULL);
    client_expect_error(client, REQUEST("1", "tools/call"), -32602, "1");
    client_expect_error(client, REQUEST_WITH("1", "tools/call", "null"), -32602, "1");
    for (size_t i = 0; i < COUNT_OF(params); i++) {
        const char *answer = client_request(client, "1", "tools/call", params[i]);
        cr_assert_eq(client_integer(client, answer, "error", "code", NULL), -32602, "%s", answer);
        cr_assert_str_eq(client_string(client, answer, "error", "data", "name", NULL), "name");
    }
    client_finish(client);
}

Test(tools, an_unknown_tool_is_named_in_the_error) {
    static const char *const names[][2] = {
        {"nope", "nope"},
        {"", ""},
        {"Evaluate-Lisp", "Evaluate-Lisp"},
        {"evaluate-lisp ", "evaluate-lisp "},
        {"evaluate_lisp", "evaluate_lisp"},
        {"\\ud800", "\xEF\xBF\xBD"},
        {"../../etc/passwd", "../../etc/passwd"},
    };
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char params[128];
        snprintf(params, sizeof params, "{\"name\":\"%s\",\"arguments\":{\"code\":\"1\"}}",
                 names[i][0]);
        const char *answer = client_request(client, "1", "tools/call", params);
        cr_assert_eq(client_integer(client, answer, "error", "code", NULL), -32602, "%s", answer);
        cr_assert_str_eq(client_string(client, answer, "error", "data", "name", NULL), names[i][1]);
    }
    client_finish(client);
}

Test(tools, a_name_with_a_zero_byte_is_no_name_of_ours) {
    struct client *client = client_start_ready(NULL, NULL);
    const char *answer =
        client_expect_error(client,
                            REQUEST_WITH("1", "tools/call",
                                         "{\"name\":\"evaluate-lisp\\u0000\",\"arguments\":"
                                         "{\"code\":\"1\"}}"),
                            -32602, "1");
    expect_contains(answer, "\"name\":\"evaluate-lisp\\u0000\"");
    client_finish(client);
}

Test(tools, an_unknown_tool_with_a_long_name_gets_a_short_message) {
    struct client *client = client_start_ready(NULL, NULL);
    char name[3001];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    client_send_format(client, REQUEST_WITH("1", "tools/call", "{\"name\":\"%s\"}"), name);
    const char *answer = client_await(client, "1", NULL);
    cr_assert_lt(strlen(client_string(client, answer, "error", "message", NULL)), 200);
    client_finish(client);
}

Test(tools, arguments_that_are_no_object_are_refused) {
    static const char *const arguments[] = {"\"x\"", "[1]", "[]", "5", "true"};
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(arguments); i++) {
        char params[128];
        snprintf(params, sizeof params, "{\"name\":\"evaluate-lisp\",\"arguments\":%s}",
                 arguments[i]);
        const char *answer = client_request(client, "1", "tools/call", params);
        cr_assert_eq(client_integer(client, answer, "error", "code", NULL), -32602, "%s", answer);
        cr_assert_str_eq(client_string(client, answer, "error", "data", "name", NULL), "arguments");
    }
    client_finish(client);
}

Test(tools, code_that_is_missing_or_no_string_is_refused) {
    static const char *const params[] = {
        "{\"name\":\"evaluate-lisp\"}",
        "{\"name\":\"evaluate-lisp\",\"arguments\":null}",
        "{\"name\":\"evaluate-lisp\",\"arguments\":{}}",
        "{\"name\":\"evaluate-lisp\",\"arguments\":{\"Code\":\"1\"}}",
        "{\"name\":\"evaluate-lisp\",\"arguments\":{\"code\":7}}",
        "{\"name\":\"evaluate-lisp\",\"arguments\":{\"code\":null}}",
        "{\"name\":\"evaluate-lisp\",\"arguments\":{\"code\":[\"1\"]}}",
        "{\"name\":\"evaluate-lisp\",\"arguments\":{\"code\":{}}}",
        "{\"name\":\"evaluate-lisp\",\"arguments\":{\"code\":true}}",
        "{\"name\":\"evaluate-lisp\",\"arguments\":{\"code\":\"1\",\"code\":2}}",
    };
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(params); i++) {
        const char *answer = client_request(client, "1", "tools/call", params[i]);
        cr_assert_eq(client_integer(client, answer, "error", "code", NULL), -32602, "%s", answer);
        cr_assert_str_eq(client_string(client, answer, "error", "data", "name", NULL), "code");
    }
    client_finish(client);
}

Test(tools, any_other_bad_argument_is_a_tool_error_that_says_what_is_wanted) {
    static const char *const rows[][2] = {
        {"{\"code\":\"1\",\"timeout\":0}", "timeout"},
        {"{\"code\":\"1\",\"timeout\":-1}", "timeout"},
        {"{\"code\":\"1\",\"timeout\":-0.0}", "timeout"},
        {"{\"code\":\"1\",\"timeout\":600.5}", "600"},
        {"{\"code\":\"1\",\"timeout\":601}", "600"},
        {"{\"code\":\"1\",\"timeout\":1e400}", "timeout"},
        {"{\"code\":\"1\",\"timeout\":99999999999999999999}", "timeout"},
        {"{\"code\":\"1\",\"timeout\":\"5\"}", "timeout"},
        {"{\"code\":\"1\",\"timeout\":null}", "timeout"},
        {"{\"code\":\"1\",\"timeout\":true}", "timeout"},
        {"{\"code\":\"1\",\"timeout\":[1]}", "timeout"},
        {"{\"code\":\"1\",\"package\":5}", "package"},
        {"{\"code\":\"1\",\"package\":null}", "package"},
        {"{\"code\":\"1\",\"session\":5}", "session"},
        {"{\"code\":\"1\",\"session\":{}}", "session"},
        {"{\"code\":\"1\",\"timeoutSecs\":5}", "timeoutSecs"},
        {"{\"code\":\"1\",\"\":5}", "no argument"},
    };
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct evaluation evaluation = client_evaluate_with(client, rows[i][0]);
        cr_assert(evaluation.is_error, "%s", evaluation.line);
        cr_assert_eq(evaluation.exit_code, 1);
        cr_assert_eq(strncmp(evaluation.text, "[ERROR] TYPE-ERROR\n", 19), 0, "%s",
                     evaluation.text);
        expect_contains(evaluation.text, rows[i][1]);
        expect_contains(evaluation.text, "\n\n[Backtrace]\n(no frames)");
    }
    client_finish(client);
}

Test(tools, an_unknown_session_is_a_tool_error_that_says_so) {
    static const char *const arguments[] = {
        "{\"code\":\"1\",\"session\":\"nope\"}", "{\"code\":\"1\",\"session\":\"\"}",
        "{\"code\":\"1\",\"session\":\"mai\"}", "{\"code\":\"1\",\"session\":\"main\\u0000\"}"};
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(arguments); i++) {
        struct evaluation evaluation = client_evaluate_with(client, arguments[i]);
        cr_assert(evaluation.is_error);
        expect_contains(evaluation.text, "[ERROR] UNKNOWN-SESSION\n");
    }
    client_finish(client);
}

Test(tools, good_arguments_are_accepted) {
    static const char *const arguments[] = {
        "{\"code\":\"(+ 1 2)\"}",
        "{\"code\":\"(+ 1 2)\",\"timeout\":600}",
        "{\"code\":\"(+ 1 2)\",\"timeout\":59.5}",
        "{\"code\":\"(+ 1 2)\",\"package\":\"CL-USER\"}",
        "{\"code\":\"(+ 1 2)\",\"session\":\"main\"}",
        "{\"session\":\"main\",\"package\":\"COMMON-LISP-USER\",\"timeout\":6e1,"
        "\"code\":\"(+ 1 2)\"}",
        "{\"code\":\"(\\u002b 1\\n2)\"}",
    };
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(arguments); i++) {
        struct evaluation evaluation = client_evaluate_with(client, arguments[i]);
        cr_assert_not(evaluation.is_error, "%s", evaluation.line);
        cr_assert_str_eq(evaluation.text, "=> 3");
        cr_assert_eq(evaluation.exit_code, 0);
    }
    client_finish(client);
}

Test(tools, the_largest_time_limit_is_the_one_that_is_set) {
    const char *options[] = {"--call-timeout-max-s", "50", NULL};
    struct client *client =
        client_start_ready(&(struct client_options){.arguments = options}, NULL);
    expect_contains(client_evaluate_with(client, "{\"code\":\"1\",\"timeout\":51}").text,
                    "at most 50");
    cr_assert_not(client_evaluate_with(client, "{\"code\":\"1\",\"timeout\":50}").is_error);
    client_finish(client);
}

Test(tools, no_answer_has_structured_content) {
    struct client *client = client_start_ready(NULL, NULL);
    expect_lacks(client_evaluate(client, "(list 1 2)").line, "structuredContent");
    expect_lacks(client_evaluate(client, "(error \"x\")").line, "structuredContent");
    client_finish(client);
}
