/* Tools of a project in every revision: how they are listed, what their calls return, and what is
 * withheld from clients of revisions that do not have it. */
#include "tests/support/project_files.h"
#include "tests/support/user.h"
#include <stdio.h>
#include <unistd.h>

TestSuite(tools, .init = project_files_begin, .fini = project_files_end);

#define HEAD ";;; {\"description\": \"x\"}\n"

static const char greet[] =
    ";;; {\"description\": \"Greets.\", \"title\": \"Greet\", \"annotations\": {\"readOnlyHint\": "
    "true},\n"
    ";;;  \"icons\": [{\"src\": \"data:,\"}], \"_meta\": {\"x\": 1},\n"
    ";;;  \"inputSchema\": {\"type\": \"object\", \"properties\": {\"name\": {\"type\": "
    "\"string\"}, \"count\": {\"type\": \"integer\", \"maximum\": 3}}, \"required\": "
    "[\"name\"]}}\n"
    "(mcp:deftool \"greet\" (name &optional (count 1)) (format t \"out\") (format *error-output* "
    "\"err\")\n (format nil \"Hello, ~a ~d\" name count))";

Test(tools, are_listed_after_the_built_in_ones_with_the_members_of_each_revision) {
    project_files_write("tools/greet.lisp", greet);
    EACH_ERA_SERVED(era, NULL) {
        const char *line = era_request(client, era, "1", "tools/list", NULL);
        const char *tool = strstr(line, "{\"name\":\"greet\"");
        cr_assert_not_null(tool, "%s", line);
        cr_assert_lt(strstr(line, "\"name\":\"rollback-session\""), tool);
        expect_contains(tool, "\"maximum\":3");
        expect_contains_if(era >= eras + 2, tool, "\"title\":\"Greet\"");
        expect_contains_if(era >= eras + 2, tool, "\"_meta\":{\"x\":1}");
        expect_contains_if(era >= eras + 1, tool, "\"annotations\"");
        expect_contains_if(era >= eras + 3, tool, "\"icons\"");
    }
}

Test(tools, are_called_in_every_revision) {
    project_files_write("tools/greet.lisp", greet);
    EACH_ERA_SERVED(era, NULL) {
        struct evaluation call = era_call(client, era, "greet", "{\"name\":\"you\",\"count\":2}");
        cr_assert_str_eq(call.text, "Hello, you 2");
        cr_assert_not(call.is_error);
        cr_assert_eq(call.exit_code, 0);
        cr_assert_str_eq(call.stderr_text, "err");
        expect_member(call.line, "\"out\"", "result", "_meta", "stdout", NULL);
        expect_member(call.line, NULL, "result", "_meta", "session", NULL);
    }
}

Test(tools, are_found_in_the_current_directory) {
    static const char *const arguments[] = {"--project", ".", NULL};
    project_files_write("tools/greet.lisp", greet);
    cr_assert_eq(chdir(project_files_path()), 0);
    struct client *client = era_start(era_legacy, arguments);
    cr_assert_str_eq(era_call(client, era_legacy, "greet", "{\"name\":\"you\"}").text,
                     "Hello, you 1");
    client_finish(client);
}

Test(tools, that_the_server_may_not_read_are_refused) {
    const bool readable = !user_nobody_wanted(false);
    project_files_write("tools/greet.lisp", greet);
    project_files_write("tools/secret.lisp", HEAD "(mcp:deftool \"secret\" () \"told\")");
    project_files_hide("tools/secret.lisp");
    struct client *client = project_files_serve_in(era_legacy, NULL);
    const char *line = era_request(client, era_legacy, "1", "tools/list", NULL);
    expect_contains(line, "\"name\":\"greet\"");
    expect_contains_if(readable, line, "\"name\":\"secret\"");
    if (readable) {
        cr_assert_str_eq(era_call(client, era_legacy, "secret", "{}").text, "told");
    } else {
        era_refused(client, era_legacy, -32602, "2", "tools/call", "\"name\":\"secret\"");
        client_await_stderr(client, "Permission denied");
    }
    client_finish(client);
}

Test(tools, refuse_arguments_that_violate_their_schema_by_name) {
    static const struct {
        const char *arguments, *what;
    } cases[] = {{"{}", "name"},
                 {"{\"name\":1}", "/name"},
                 {"{\"name\":\"x\",\"count\":4}", "/count: 4 is more than the maximum 3"}};
    project_files_write("tools/greet.lisp", greet);
    EACH_ERA_SERVED(era, NULL) {
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            struct evaluation call = era_call(client, era, "greet", cases[i].arguments);
            cr_assert(call.is_error, "%s", call.line);
            expect_contains(call.text, "[ERROR] TYPE-ERROR\nInvalid arguments for greet: ");
            expect_contains(call.text, cases[i].what);
        }
        era_refused(client, era, -32602, "1", "tools/call", "\"name\":\"greet\",\"arguments\":[1]");
        era_refused(client, era, -32602, "1", "tools/call", "\"name\":\"nobody\"");
    }
}

/* Names that differ in case, hyphens and underscores are one parameter. */
Test(tools, take_one_argument_for_each_parameter) {
    static const struct {
        const char *arguments, *part;
    } cases[] = {
        {"{\"city-name\":1,\"CityName\":2}", "The arguments CityName and city-name are the same"},
        {"{\"cityName\":1,\"city_name\":2}", "cityName and city_name"},
        {"{\"cityName\":1,\"cityname\":1}", "cityName and cityname"},
        {"{\"CITYNAME\":1,\"CITY-NAME\":1}", "CITY-NAME and CITYNAME"},
        {"{\"cityName\":1,\"city_name\":2,\"CITYNAME\":3}", "give cityName only"},
        {"{\"cityName\":1,\"N\":1,\"n\":2}", "The arguments N and n are the same"},
        {"{\"cityName\":1,\"K_ey\":1,\"key\":2}", "K_ey and key"},
        {"{\"cityName\":1,\"n\":1,\"-n\":2}", "-n and n"},
        {"{\"cityName\":1,\"city-name\":null}", "1 NIL NIL"},
        {"{\"cityName\":null,\"city-name\":2,\"n\":3}", "2 3 NIL"},
        {"{\"CityName\":1,\"N\":3,\"key\":4}", "1 3 4"},
    };
    project_files_write("tools/where.lisp",
                        "(mcp:deftool \"where\" (city-name &optional n &key key)"
                        " (format nil \"~a ~a ~a\" city-name n key))");
    EACH_KIND_SERVED(era, NULL) {
        for (size_t i = 0; i < COUNT_OF(cases); i++)
            expect_contains(era_call(client, era, "where", cases[i].arguments).text, cases[i].part);
    }
}

Test(tools, end_as_evaluations_do) {
    static const struct {
        const char *name, *body, *text;
        int exit_code, error_code;
    } cases[] = {{"fails", "(mcp:fail \"No: ~a\" 1)", "No: 1", 1, 0},
                 {"errs", "(car 1)", "[ERROR] TYPE-ERROR", 1, 0},
                 {"exits", "(ext:quit 7)", "[ERROR] PROCESS-EXIT", 7, 0},
                 {"hangs", "(loop)", "Tool timed out.", -1, -32004}};
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        project_files_format(formatted("tools/%s.lisp", cases[i].name),
                             ";;; {\"timeout\": 1}\n(mcp:deftool \"%s\" () %s)", cases[i].name,
                             cases[i].body);
    EACH_KIND_SERVED(era, NULL) {
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            struct evaluation call = era_call(client, era, cases[i].name, "{}");
            expect_contains(call.text, cases[i].text);
            cr_expect_eq(call.error_code, cases[i].error_code, "%s", call.line);
            cr_expect_eq(call.is_error, !call.error_code, "%s", call.line);
            if (!call.error_code)
                cr_expect_eq(call.exit_code, cases[i].exit_code, "%s", call.line);
        }
    }
}

Test(tools, replace_contents_that_a_revision_lacks_by_text) {
    project_files_write(
        "tools/all.lisp",
        HEAD "(mcp:deftool \"all\" () (list \"t\" (mcp:audio \"AAAA\" \"audio/wav\") "
             "(mcp:link \"x:y\" \"that\") (mcp:structured #(1 123456789012345678901234567890))))");
    EACH_ERA_SERVED(era, NULL) {
        const char *line = era_request(client, era, "1", "tools/call", "\"name\":\"all\"");
        expect_contains_if(era >= eras + 1, line, "\"type\":\"audio\"");
        expect_contains_if(era < eras + 1, line,
                           "[audio left out: 4 characters of base64, audio/wav]");
        expect_contains_if(era >= eras + 2, line, "\"type\":\"resource_link\"");
        expect_contains_if(era < eras + 2, line, "[resource that: x:y]");
        expect_contains_if(era->modern, line,
                           "\"structuredContent\":[1,123456789012345678901234567890]");
        expect_contains_if(!era->modern, line, "\"text\":\"[1,123456789012345678901234567890]\"");
    }
}

Test(tools, match_their_output_schema) {
    project_files_write(
        "tools/out.lisp",
        ";;; {\"description\": \"x\", \"outputSchema\": {\"type\": \"object\", \"required\": "
        "[\"message\"]}}\n"
        "(mcp:deftool \"out\" (good) (mcp:structured (mcp:object (if good \"message\" \"msg\") "
        "1)))");
    project_files_write("tools/text.lisp",
                        ";;; {\"description\": \"x\", \"outputSchema\": {\"type\": "
                        "\"object\"}}\n(mcp:deftool \"text\" () \"only text\")");
    EACH_ERA_SERVED(era, NULL) {
        struct evaluation call = era_call(client, era, "out", "{\"good\":true}");
        cr_expect_not(call.is_error);
        expect_member(call.line, era >= eras + 2 ? "{\"message\":1}" : NULL, "result",
                      "structuredContent", NULL);
        call = era_call(client, era, "out", "{\"good\":false}");
        cr_expect(call.is_error);
        expect_contains(call.text, "[ERROR] MALFORMED-OUTPUT\nThe result of out does not match "
                                   "its outputSchema: ");
        cr_expect_eq(call.exit_code, 70);
        expect_contains(era_call(client, era, "text", "{}").text, "it has no structured result");
        client_await_stderr(client, "tool-output");
        if (!era->modern)
            client_await_notification(client, "notifications/message", NULL);
    }
}

Test(tools, send_progress_and_logs_to_clients_that_asked) {
    project_files_write(
        "tools/talks.lisp",
        HEAD "(mcp:deftool \"talks\" () (mcp:log :info \"quiet\") (mcp:log :error '(:object :loud "
             "t)) (mcp:progress 0 2 \"begin\") (mcp:progress 1 2) (mcp:progress 1 2) (mcp:progress "
             "2 2) \"done\")");
    EACH_ERA_SERVED(era, NULL) {
        era_send_meta(client, era, "1", "tools/call", "\"name\":\"talks\"",
                      "\"progressToken\":0,\"" KEY_LOG_LEVEL "\":\"error\"");
        const char *line = client_await_notification(client, "notifications/message", NULL);
        expect_member(line, "{\"loud\":true}", "params", "data", NULL);
        expect_member(line, "\"talks\"", "params", "logger", NULL);
        for (int i = 0; i < 3; i++) {
            char number[2] = {(char)('0' + i), 0};
            line = client_await_notification(client, "notifications/progress", NULL);
            expect_member(line, "0", "params", "progressToken", NULL);
            expect_member(line, number, "params", "progress", NULL);
            expect_member(line, i == 0 && era >= eras + 1 ? "\"begin\"" : NULL, "params", "message",
                          NULL);
        }
        client_await(client, "1", NULL);
        cr_assert_str_eq(era_call(client, era, "talks", "{}").text, "done");
        if (!era->modern)
            client_await_notification(client, "notifications/message", NULL);
        cr_assert_null(client_take_line(client, NULL));
    }
}

Test(tools, run_in_a_fresh_session_or_in_the_session_of_the_caller) {
#define ASKS " () (if (boundp 'cl-user::*x*) \"known\" \"unknown\"))"
    project_files_write("tools/fresh.lisp", HEAD "(mcp:deftool \"fresh\"" ASKS);
    project_files_write(
        "tools/mine.lisp",
        ";;; {\"description\": \"x\", \"session\": \"caller\"}\n(mcp:deftool \"mine\"" ASKS);
    EACH_KIND_SERVED(era, NULL) {
        struct evaluation begun = era_evaluate(client, era, NULL, "(defvar *x* 1)");
        cr_assert_str_eq(era_call(client, era, "fresh", "{}").text, "unknown");
        if (!era->modern) {
            cr_assert_str_eq(era_call(client, era, "mine", "{}").text, "known");
        } else {
            era_send_meta(client, era, "1", "tools/call", "\"name\":\"mine\"",
                          formatted("\"session\":\"%s\"", era_handle(client, &begun)));
            expect_contains(client_await(client, "1", NULL), "\"text\":\"known\"");
            const char *line = era_request(client, era, "2", "tools/call", "\"name\":\"mine\"");
            expect_contains(line, "\"text\":\"unknown\"");
            expect_contains(line, "\"text\":\"; session ");
        }
    }
}

/* As with the built-in tools, so that a model can continue in the session that an answer named. */
Test(tools, that_run_in_the_session_of_the_caller_take_it_as_an_argument) {
    project_files_write("tools/count.lisp",
                        ";;; {\"session\": \"caller\", \"inputSchema\": {\"type\": \"object\",\n"
                        ";;; \"properties\": {\"by\": {\"type\": \"integer\"}}, "
                        "\"additionalProperties\": false}}\n"
                        "(defvar *n* 0) (mcp:deftool \"count\" (&key (by 1)) "
                        "(princ-to-string (incf *n* by)))");
    project_files_write("tools/own.lisp",
                        ";;; {\"session\": \"caller\", \"inputSchema\": {\"type\": \"object\",\n"
                        ";;; \"properties\": {\"session\": {\"type\": \"integer\"}}}}\n1");
    EACH_KIND_SERVED(era, NULL) {
        client_await_stderr(client, "declares an argument \"session\"");
        expect_contains(era_request(client, era, "1", "tools/list", NULL),
                        "{\"by\":{\"type\":\"integer\"},\"session\":{\"type\":\"string\"");
        struct evaluation opened = era_call(client, era, "open-session", "{}");
        const char *arguments =
            formatted("{\"by\":2,\"session\":\"%s\"}",
                      client_string(client, opened.line, "result", "_meta", "session", NULL));
        cr_assert_str_eq(era_call(client, era, "count", arguments).text, "2");
        cr_assert_str_eq(era_call(client, era, "count", arguments).text, "4");
        const char *line =
            era_request(client, era, "9", "tools/call",
                        "\"name\":\"count\",\"arguments\":{\"by\":3,\"session\":\"work\"}");
        expect_contains(line, "\"text\":\"3\"");
        expect_contains(line, "\"text\":\"; session work (new)\"");
        cr_assert_str_eq(era_call(client, era, "count", "{\"session\":\"work\"}").text, "4");
        era_call(client, era, "close-session", "{\"session\":\"work\"}");
        struct evaluation other = era_call(client, era, "count", "{\"session\":\"work\"}");
        expect_contains(other.text, "[ERROR] UNKNOWN-SESSION\nSession work was closed");
        other = era_call(client, era, "count", "{\"session\":5}");
        expect_contains(other.text, "Invalid arguments for count");
    }
}

Test(tools, are_paged_with_cursors_for_one_version_of_the_list) {
    static const char *const options[] = {"--list-page-size", "9", NULL};
    for (int name = 'a'; name < 'j'; name++)
        project_files_write(formatted("tools/%c.lisp", name), HEAD "1");
    EACH_KIND(era) {
        project_files_write("tools/z.lisp", HEAD "1");
        struct client *client = project_files_serve_in(era, options);
        const char *line = era_request(client, era, "1", "tools/list", NULL);
        expect_contains(line, "\"name\":\"rollback-session\"");
        expect_contains(line, "\"name\":\"a\"");
        expect_lacks(line, "\"name\":\"b\"");
        const char *cursor = client_string(client, line, "result", "nextCursor", NULL);
        const char *members = formatted("\"cursor\":\"%s\"", cursor);
        line = era_request(client, era, "2", "tools/list", members);
        expect_contains(line, "\"name\":\"b\"");
        expect_contains(line, "\"name\":\"h\"");
        expect_contains(era_request(client, era, "3", "tools/list", members), "\"name\":\"b\"");
        era_refused(client, era, -32602, "4", "prompts/list", members);
        if (!era->modern) {
            project_files_write("tools/z.lisp", ";;; {\"description\": \"another\"}\n1");
            client_await_notification(client, "notifications/tools/list_changed", NULL);
            era_refused(client, era, -32602, "5", "tools/list", members);
        }
        client_finish(client);
    }
}

Test(tools, may_require_capabilities_of_the_client) {
    project_files_write("tools/needs.lisp",
                        ";;; {\"description\": \"x\", \"requires\": {\"sampling\": "
                        "{}}}\n(mcp:deftool \"needs\" () \"ran\")");
    struct client *client = project_files_serve_in(era_modern, NULL);
    const char *line =
        era_refused(client, era_modern, -32021, "1", "tools/call", "\"name\":\"needs\"");
    expect_member(line, "{\"sampling\":{}}", "error", "data", "requiredCapabilities", NULL);
    expect_member(line, "\"The client did not declare a capability that this needs: sampling.\"",
                  "error", "message", NULL);
    client_finish(client);
    client = project_files_serve_in(era_legacy, NULL);
    cr_assert(era_call(client, era_legacy, "needs", "{}").is_error);
    client_finish(client);
    client = project_files_serve_able(era_legacy, "{\"sampling\":{}}", NULL);
    cr_assert_str_eq(era_call(client, era_legacy, "needs", "{}").text, "ran");
    client_finish(client);
}

Test(tools, are_unknown_without_a_project_and_in_minimal_mode) {
    static const char *const minimal[] = {"--minimal", NULL};
    static const char *const methods[] = {"resources/list",      "resources/read",
                                          "prompts/list",        "prompts/get",
                                          "completion/complete", "resources/templates/list"};
    EACH_ERA(era) {
        struct client *client = era_start(era, NULL);
        era_refused(client, era, -32602, "1", "tools/call", "\"name\":\"greet\"");
        client_finish(client);
        client = project_files_serve_in(era, minimal);
        era_refused(client, era, -32601, "1", "tools/list", NULL);
        for (size_t i = 0; i < COUNT_OF(methods); i++)
            era_refused(client, era, -32601, "1", methods[i], NULL);
        client_finish(client);
    }
}

Test(tools, that_cannot_be_read_fail_one_list_and_leave_the_known_ones) {
    static const char *const options[] = {"--registry-max-bytes", "1500", NULL};
    EACH_KIND(era) {
        project_files_write("tools/greet.lisp", HEAD "1");
        struct client *client = project_files_serve_in(era, options);
        expect_contains(era_request(client, era, "1", "tools/list", NULL), "\"name\":\"greet\"");
        project_files_write("tools/much.lisp", greet);
        project_files_write("tools/more.lisp", greet);
        client_await_stderr(client, "registry-failed");
        const char *line = era_refused(client, era, -32603, "2", "tools/list", NULL);
        expect_member(line, "\"registry\"", "error", "data", "name", NULL);
        expect_contains(era_request(client, era, "3", "tools/list", NULL), "\"name\":\"greet\"");
        if (!era->modern)
            client_await_notification(client, "notifications/message", NULL);
        client_finish(client);
        project_files_remove("tools/much.lisp");
        project_files_remove("tools/more.lisp");
    }
}
