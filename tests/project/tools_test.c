/* Tools that users define, in every revision: what lists show of them, what their calls come to,
 * and what never reaches a client that does not know it. */
#include "tests/project/files.h"

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

PROJECT_TEST(tools, are_listed_behind_the_built_in_ones_as_each_revision_knows_them) {
    put("tools/greet.lisp", greet);
    EACH_ERA(era) {
        struct client *client = serve(era);
        const char *line = era_request(client, era, "1", "tools/list", NULL);
        const char *tool = strstr(line, "{\"name\":\"greet\"");
        cr_assert_not_null(tool, "%s", line);
        cr_assert_lt(strstr(line, "\"name\":\"rollback-session\""), tool);
        expect_has(tool, "\"maximum\":3");
        cr_expect_eq(has(tool, "\"title\":\"Greet\""), era >= eras + 2);
        cr_expect_eq(has(tool, "\"_meta\":{\"x\":1}"), era >= eras + 2);
        cr_expect_eq(has(tool, "\"annotations\""), era >= eras + 1);
        cr_expect_eq(has(tool, "\"icons\""), era >= eras + 3);
        client_finish(client);
    }
}

PROJECT_TEST(tools, are_called_in_every_revision) {
    put("tools/greet.lisp", greet);
    EACH_ERA(era) {
        struct client *client = serve(era);
        struct evaluation call = era_call(client, era, "greet", "{\"name\":\"you\",\"count\":2}");
        cr_assert_str_eq(call.text, "Hello, you 2");
        cr_assert_not(call.is_error);
        cr_assert_eq(call.exit_code, 0);
        cr_assert_str_eq(call.stderr_text, "err");
        expect_member(call.line, "\"out\"", "result", "_meta", "stdout", NULL);
        expect_member(call.line, NULL, "result", "_meta", "session", NULL);
        client_finish(client);
    }
}

PROJECT_TEST(tools, are_called_by_a_server_of_any_user) {
    put("tools/greet.lisp", greet);
    struct client *client = serve_as(&eras[3], "{}", NULL, getuid() == 0);
    cr_assert_str_eq(era_call(client, &eras[3], "greet", "{\"name\":\"you\"}").text,
                     "Hello, you 1");
    client_finish(client);
}

PROJECT_TEST(tools, refuse_arguments_that_their_schema_refuses_and_say_which) {
    static const struct {
        const char *arguments, *what;
    } cases[] = {{"{}", "name"},
                 {"{\"name\":1}", "/name"},
                 {"{\"name\":\"x\",\"count\":4}", "/count: 4 is more than the maximum 3"}};
    put("tools/greet.lisp", greet);
    EACH_ERA(era) {
        struct client *client = serve(era);
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            struct evaluation call = era_call(client, era, "greet", cases[i].arguments);
            cr_assert(call.is_error, "%s", call.line);
            expect_contains(call.text, "[ERROR] TYPE-ERROR\nInvalid arguments for greet: ");
            expect_contains(call.text, cases[i].what);
        }
        era_refused(client, era, -32602, "1", "tools/call", "\"name\":\"greet\",\"arguments\":[1]");
        era_refused(client, era, -32602, "1", "tools/call", "\"name\":\"nobody\"");
        client_finish(client);
    }
}

PROJECT_TEST(tools, end_as_evaluations_do) {
    static const struct {
        const char *name, *body, *text;
        int exit_code, error_code;
    } cases[] = {{"fails", "(mcp:fail \"No: ~a\" 1)", "No: 1", 1, 0},
                 {"errs", "(car 1)", "[ERROR] TYPE-ERROR", 1, 0},
                 {"exits", "(ext:quit 7)", "[ERROR] PROCESS-EXIT", 7, 0},
                 {"hangs", "(loop)", "Tool timed out.", -1, -32004}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char file[64], text[400];
        snprintf(file, sizeof file, "tools/%s.lisp", cases[i].name);
        snprintf(text, sizeof text,
                 ";;; {\"description\": \"x\", \"timeout\": 1}\n(mcp:deftool \"%s\" () %s)",
                 cases[i].name, cases[i].body);
        put(file, text);
    }
    EACH_KIND(era) {
        struct client *client = serve(era);
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            struct evaluation call = era_call(client, era, cases[i].name, "{}");
            expect_contains(call.text, cases[i].text);
            cr_expect_eq(call.error_code, cases[i].error_code, "%s", call.line);
            cr_expect_eq(call.is_error, !call.error_code, "%s", call.line);
            if (!call.error_code)
                cr_expect_eq(call.exit_code, cases[i].exit_code, "%s", call.line);
        }
        client_finish(client);
    }
}

PROJECT_TEST(tools, show_contents_that_a_revision_lacks_as_text) {
    put("tools/all.lisp",
        HEAD "(mcp:deftool \"all\" () (list \"t\" (mcp:audio \"AAAA\" \"audio/wav\") "
             "(mcp:link \"x:y\" \"that\") (mcp:structured #(1 123456789012345678901234567890))))");
    EACH_ERA(era) {
        struct client *client = serve(era);
        const char *line = era_request(client, era, "1", "tools/call", "\"name\":\"all\"");
        cr_expect_eq(has(line, "\"type\":\"audio\""), era >= eras + 1, "%s", line);
        cr_expect_eq(has(line, "[audio left out: 4 characters of base64, audio/wav]"),
                     era < eras + 1);
        cr_expect_eq(has(line, "\"type\":\"resource_link\""), era >= eras + 2);
        cr_expect_eq(has(line, "[resource that: x:y]"), era < eras + 2);
        cr_expect_eq(has(line, "\"structuredContent\":[1,123456789012345678901234567890]"),
                     era->modern, "%s", line);
        cr_expect_eq(has(line, "\"text\":\"[1,123456789012345678901234567890]\""), !era->modern,
                     "%s", line);
        client_finish(client);
    }
}

PROJECT_TEST(tools, keep_the_promise_of_their_output_schema) {
    put("tools/out.lisp",
        ";;; {\"description\": \"x\", \"outputSchema\": {\"type\": \"object\", \"required\": "
        "[\"message\"]}}\n"
        "(mcp:deftool \"out\" (good) (mcp:structured (mcp:object (if good \"message\" \"msg\") "
        "1)))");
    put("tools/text.lisp", ";;; {\"description\": \"x\", \"outputSchema\": {\"type\": "
                           "\"object\"}}\n(mcp:deftool \"text\" () \"only text\")");
    EACH_ERA(era) {
        struct client *client = serve(era);
        struct evaluation call = era_call(client, era, "out", "{\"good\":true}");
        cr_expect_not(call.is_error);
        expect_member(call.line, era >= eras + 2 ? "{\"message\":1}" : NULL, "result",
                      "structuredContent", NULL);
        call = era_call(client, era, "out", "{\"good\":false}");
        cr_expect(call.is_error);
        expect_contains(call.text, "[ERROR] MALFORMED-OUTPUT\nThe result of out is not what its "
                                   "outputSchema demands");
        cr_expect_eq(call.exit_code, 70);
        expect_contains(era_call(client, era, "text", "{}").text, "it has no structured result");
        client_await_stderr(client, "tool-output");
        if (!era->modern)
            client_await_notification(client, "notifications/message", NULL);
        client_finish(client);
    }
}

PROJECT_TEST(tools, tell_progress_and_logs_to_those_who_asked) {
    put("tools/talks.lisp",
        HEAD "(mcp:deftool \"talks\" () (mcp:log :info \"quiet\") (mcp:log :error '(:object :loud "
             "t)) (mcp:progress 0 2 \"begin\") (mcp:progress 1 2) (mcp:progress 1 2) (mcp:progress "
             "2 2) \"done\")");
    EACH_ERA(era) {
        struct client *client = serve(era);
        if (era->modern)
            client_send_line(client, REQUEST_WITH("1", "tools/call",
                                                  "{\"name\":\"talks\"," ENVELOPE_WITH(
                                                      "\"progressToken\":0,\"" KEY_LOG_LEVEL
                                                      "\":\"error\",") "}"));
        else
            client_send_line(client,
                             REQUEST_WITH("1", "tools/call",
                                          "{\"name\":\"talks\",\"_meta\":{\"progressToken\":0}}"));
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
        client_finish(client);
    }
}

PROJECT_TEST(tools, run_in_a_world_of_their_own_unless_they_want_the_caller_s) {
#define ASKS " () (if (boundp 'cl-user::*x*) \"known\" \"unknown\"))"
    put("tools/fresh.lisp", HEAD "(mcp:deftool \"fresh\"" ASKS);
    put("tools/mine.lisp",
        ";;; {\"description\": \"x\", \"session\": \"caller\"}\n(mcp:deftool \"mine\"" ASKS);
    EACH_KIND(era) {
        struct client *client = serve(era);
        struct evaluation begun = era_evaluate(client, era, NULL, "(defvar *x* 1)");
        cr_assert_str_eq(era_call(client, era, "fresh", "{}").text, "unknown");
        if (!era->modern) {
            cr_assert_str_eq(era_call(client, era, "mine", "{}").text, "known");
        } else {
            client_send_format(client,
                               REQUEST_WITH("1", "tools/call",
                                            "{\"name\":\"mine\",\"_meta\":{\"session\":\"%s\","
                                            "\"" KEY_VERSION "\":\"" MODERN_REVISION
                                            "\",\"" KEY_CLIENT "\":{}}}"),
                               era_handle(client, &begun));
            expect_has(client_await(client, "1", NULL), "\"text\":\"known\"");
            const char *line = era_request(client, era, "2", "tools/call", "\"name\":\"mine\"");
            expect_has(line, "\"text\":\"unknown\"");
            expect_has(line, "\"text\":\"; session ");
        }
        client_finish(client);
    }
}

PROJECT_TEST(tools, are_paged_and_a_cursor_belongs_to_one_state_of_the_list) {
    static const char *const options[] = {"--list-page-size", "7", NULL};
    char file[32], members[100];
    for (int name = 'a'; name < 'j'; name++) {
        snprintf(file, sizeof file, "tools/%c.lisp", name);
        put(file, HEAD "1");
    }
    EACH_KIND(era) {
        put("tools/z.lisp", HEAD "1");
        struct client *client = serve_as(era, "{}", options, false);
        const char *line = era_request(client, era, "1", "tools/list", NULL);
        expect_has(line, "\"name\":\"rollback-session\"");
        expect_has(line, "\"name\":\"a\"");
        expect_has_not(line, "\"name\":\"b\"");
        snprintf(members, sizeof members, "\"cursor\":\"%s\"",
                 client_string(client, line, "result", "nextCursor", NULL));
        line = era_request(client, era, "2", "tools/list", members);
        expect_has(line, "\"name\":\"b\"");
        expect_has(line, "\"name\":\"h\"");
        expect_has(era_request(client, era, "3", "tools/list", members), "\"name\":\"b\"");
        era_refused(client, era, -32602, "4", "prompts/list", members);
        if (!era->modern) {
            put("tools/z.lisp", ";;; {\"description\": \"another\"}\n1");
            client_await_notification(client, "notifications/tools/list_changed", NULL);
            era_refused(client, era, -32602, "5", "tools/list", members);
        }
        client_finish(client);
    }
}

PROJECT_TEST(tools, may_need_what_the_client_can_do) {
    put("tools/needs.lisp", ";;; {\"description\": \"x\", \"requires\": {\"sampling\": "
                            "{}}}\n(mcp:deftool \"needs\" () \"ran\")");
    struct client *client = serve(era_modern);
    const char *line =
        era_refused(client, era_modern, -32021, "1", "tools/call", "\"name\":\"needs\"");
    expect_member(line, "{\"sampling\":{}}", "error", "data", "requiredCapabilities", NULL);
    client_finish(client);
    client = serve(&eras[3]);
    cr_assert(era_call(client, &eras[3], "needs", "{}").is_error);
    client_finish(client);
    client = serve_as(&eras[3], "{\"sampling\":{}}", NULL, false);
    cr_assert_str_eq(era_call(client, &eras[3], "needs", "{}").text, "ran");
    client_finish(client);
}

PROJECT_TEST(tools, are_none_of_a_server_without_a_project_or_in_minimal_mode) {
    static const char *const minimal[] = {"--minimal", NULL};
    static const char *const methods[] = {"resources/list",      "resources/read",
                                          "prompts/list",        "prompts/get",
                                          "completion/complete", "resources/templates/list"};
    EACH_ERA(era) {
        struct client *client = era_start(era, NULL);
        for (size_t i = 0; i < COUNT_OF(methods); i++)
            era_refused(client, era, -32601, "1", methods[i], NULL);
        client_finish(client);
        client = serve_as(era, "{}", minimal, false);
        era_refused(client, era, -32601, "1", "tools/list", NULL);
        for (size_t i = 0; i < COUNT_OF(methods); i++)
            era_refused(client, era, -32601, "1", methods[i], NULL);
        client_finish(client);
    }
}

PROJECT_TEST(tools, that_cannot_be_read_fail_one_list_and_leave_what_was_known) {
    static const char *const options[] = {"--registry-max-bytes", "400", NULL};
    EACH_KIND(era) {
        put("tools/greet.lisp", HEAD "1");
        struct client *client = serve_as(era, "{}", options, false);
        expect_has(era_request(client, era, "1", "tools/list", NULL), "\"name\":\"greet\"");
        put("tools/much.lisp", greet);
        put("tools/more.lisp", greet);
        client_await_stderr(client, "registry-failed");
        const char *line = era_refused(client, era, -32603, "2", "tools/list", NULL);
        expect_member(line, "\"registry\"", "error", "data", "name", NULL);
        expect_has(era_request(client, era, "3", "tools/list", NULL), "\"name\":\"greet\"");
        if (!era->modern)
            client_await_notification(client, "notifications/message", NULL);
        client_finish(client);
        unlink("tools/much.lisp");
        unlink("tools/more.lisp");
    }
}
