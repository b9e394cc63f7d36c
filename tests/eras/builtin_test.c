/* The resources, the template and the prompt that a server has without a project, in every
 * revision: guide, policy, transcripts of sessions, and the prompt for work in a session. */
#include "tests/support/client_sessions.h"
#include "tests/support/command.h"
#include "tests/support/eras.h"
#include "tests/support/family.h"
#include <stdio.h>
#include <stdlib.h>

#define URI(uri)   "\"uri\":\"" uri "\""
#define TRANSCRIPT "eclave:///sessions/{name}/transcript"

/* The text of a resource; kept by the client. */
static const char *read_text(struct client *client, const struct era *era, const char *uri) {
    const char *line = era_request(client, era, client_new_id(client), "resources/read",
                                   formatted("\"uri\":\"%s\"", uri));
    struct text contents, content, text;
    cr_assert(json_at(text_of(line), &contents, "result", "contents", NULL), "%s", line);
    cr_assert_eq(json_count(contents), 1);
    cr_assert(json_element(contents, 0, &content) && json_member(content, "text", &text), "%s",
              line);
    return client_keep(client, json_decode(text, NULL));
}

static int not_found_code(const struct era *era) {
    return era->modern ? -32602 : -32002;
}

/* --- what is offered --- */

#define WITH_COMPLETIONS                                                                           \
    "{\"logging\":{},\"tools\":{},\"resources\":{},\"prompts\":{},\"completions\":{}"

Test(builtin, capabilities_name_what_is_offered) {
    EACH_ERA(era) {
        struct client *client = client_start(NULL);
        const char *line = era->modern ? era_request(client, era, "0", "server/discover", NULL)
                                       : client_initialize(client, era->revision);
        expect_member(line,
                      era == eras ? "{\"logging\":{},\"tools\":{},\"resources\":{},\"prompts\":{}}"
                      : era->modern ? WITH_COMPLETIONS
                          ",\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}"
                                    : WITH_COMPLETIONS "}",
                      "result", "capabilities", NULL);
        client_finish(client);
    }
}

Test(builtin, lists_show_what_the_revision_knows) {
    EACH_ERA_STARTED(era, NULL) {
        bool titles = era - eras >= 2;
        const char *line = era_request(client, era, "1", "resources/list", NULL);
        expect_contains(line, "\"uri\":\"eclave:///guide\",\"mimeType\":\"text/markdown\"");
        expect_contains(line, "\"uri\":\"eclave:///policy\",\"mimeType\":\"text/plain\"");
        expect_lacks(line, "transcript");
        expect_contains_if(titles, line, "\"title\":");
        expect_contains_if(era->modern, line, "\"ttlMs\":");
        line = era_request(client, era, "2", "resources/templates/list", NULL);
        expect_contains(line, "\"uriTemplate\":\"" TRANSCRIPT "\"");
        expect_contains_if(titles, line, "\"title\":");
        line = era_request(client, era, "3", "prompts/list", NULL);
        expect_contains(line, "\"name\":\"lisp-session\"");
        expect_contains(line, "\"name\":\"task\"");
        expect_contains_if(titles, line, "\"title\":");
    }
}

Test(builtin, lists_do_not_change_with_what_clients_do) {
    EACH_KIND_STARTED(era, NULL) {
        char *before = strdup(era_request(client, era, "1", "resources/list", NULL));
        era_evaluate(client, era, NULL, "(defvar *x* 1)");
        cr_assert_str_eq(era_request(client, era, "1", "resources/list", NULL), before);
        free(before);
        client_expect_silence(client);
    }
}

/* --- guide and policy --- */

Test(builtin, the_guide_states_the_limits_in_force) {
    static const char *const options[] = {"--call-timeout-s",
                                          "17",
                                          "--call-timeout-max-s",
                                          "43",
                                          "--session-memory-mb",
                                          "321",
                                          "--session-history",
                                          "5",
                                          "--timeout-reply",
                                          "result",
                                          NULL};
    static const char *const parts[] = {"17 s",   "43 s",         "321 MiB",
                                        "| 5 |",  "ECL ",         "[ERROR] TIMEOUT",
                                        "10 MiB", "no Quicklisp", "No files"};
    EACH_ERA_STARTED(era, options) {
        const char *guide = read_text(client, era, "eclave:///guide");
        cr_assert_eq(strncmp(guide, "# ", 2), 0);
        cr_assert_lt(strlen(guide), 8000, "about a page");
        for (size_t i = 0; i < COUNT_OF(parts); i++)
            expect_contains(guide, parts[i]);
        expect_contains_if(!era->modern, guide, "`main`");
        expect_contains_if(era->modern, guide, "; session NAME");
    }
}

Test(builtin, the_guide_offers_only_what_works) {
    static const char *const options[] = {"--session-history", "0", "--degraded", NULL};
    EACH_KIND_STARTED(era, options) {
        const char *guide = read_text(client, era, "eclave:///guide");
        expect_lacks(guide, "rollback-session");
        expect_lacks(guide, "\"from\"");
        expect_contains(guide, "starts afresh");
    }
}

Test(builtin, the_policy_is_what_the_command_prints) {
    struct command_result printed =
        command_eclave(STRINGS("policy", "--session-memory-mb", "99"), NULL);
    static const char *const options[] = {"--session-memory-mb", "99", NULL};
    EACH_ERA_STARTED(era, options) {
        cr_assert_str_eq(read_text(client, era, "eclave:///policy"), printed.output);
    }
    command_result_free(&printed);
}

/* --- transcripts --- */

Test(builtin, a_transcript_has_the_calls_and_their_answers) {
    EACH_ERA_STARTED(era, NULL) {
        struct evaluation first = era_evaluate(client, era, NULL, "(defvar *n* 40)\n(+ *n* 2)");
        const char *session = client_string(client, first.line, "result", "_meta", "session", NULL);
        era_evaluate(client, era, session, "(error \"no \xC3\xA9 here\")");
        era_call(client, era, "evaluate-lisp",
                 formatted("{\"code\":\"(loop)\",\"timeout\":0.2,\"session\":\"%s\"}", session));
        era_call(client, era, "rollback-session",
                 formatted("{\"session\":\"%s\",\"steps\":1}", session));
        const char *uri = formatted("eclave:///sessions/%s/transcript", session);
        const char *text = read_text(client, era, uri);
        expect_contains(text, formatted(";;; session %s: the last 4 of 4 calls", session));
        expect_contains(text, "\n;; call 1\n(defvar *n* 40)\n(+ *n* 2)\n; => 42\n");
        expect_contains(text,
                        "\n;; call 2\n(error \"no \xC3\xA9 here\")\n; [ERROR] SIMPLE-ERROR\n; no "
                        "\xC3\xA9 here\n");
        expect_contains(text, "\n;; call 3\n(loop)\n; Tool timed out.");
        expect_contains(text, "\n;; call 4\n; Session ");
        const char *line =
            era_request(client, era, "9", "resources/read", formatted("\"uri\":\"%s\"", uri));
        expect_contains(line, formatted("\"uri\":\"%s\",\"mimeType\":\"text/x-common-lisp\"", uri));
        expect_contains_if(era->modern, line, "\"ttlMs\":0,");
    }
}

Test(builtin, a_transcript_is_bounded) {
    struct client *client = client_start_ready(NULL, NULL);
    static const char uri[] = "eclave:///sessions/main/transcript";
    char *comment = nested(";", 12000, "\n(princ (make-string 9000)) 1", "");
    client_evaluate(client, comment);
    free(comment);
    const char *text = read_text(client, era_legacy, uri);
    cr_assert_lt(strlen(text), 5000);
    expect_contains(text, "characters left out");
    for (int i = 0; i < 67; i++)
        client_evaluate(client, formatted("(list %d)", i));
    text = read_text(client, era_legacy, uri);
    expect_contains(text, "the last 64 of 68 calls");
    expect_lacks(text, "(list 2)\n");
    expect_contains(text, "\n;; call 5\n(list 3)\n; => (3)\n");
    expect_contains(text, "\n;; call 68\n(list 66)\n; => (66)\n");
    client_finish(client);
}

Test(builtin, a_closed_session_leaves_no_transcript) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate(client, "(list 1 2)");
    client_tool(client, "close-session", "{\"session\":\"main\"}");
    const char *text = read_text(client, era_legacy, "eclave:///sessions/main/transcript");
    cr_assert_str_eq(text, ";;; session main: no calls yet\n");
    client_finish(client);
}

static void end_idle(struct client *client, const char *session) {
    pid_t workers[3]; /* the head, its checkpoint and the spare */
    client_session_settle(client, session);
    family_await_no_zombies(client);
    family_workers(client, COUNT_OF(workers), workers, COUNT_OF(workers));
    family_kill_together(client, workers, COUNT_OF(workers));
}

Test(builtin, a_session_that_is_opened_anew_begins_its_transcript_anew) {
    static const char uri[] = "eclave:///sessions/work/transcript";
    struct client *client = client_start_with("--session-history", "0");
    client_session_evaluate(client, "work", "(list 1)");
    end_idle(client, "work");
    client_tool(client, "open-session", "{\"name\":\"work\"}");
    cr_assert_str_eq(read_text(client, era_legacy, uri), ";;; session work: no calls yet\n");
    client_session_evaluate(client, "work", "(list 2)");
    client_session_close(client, "work");
    client_tool(client, "open-session", "{\"name\":\"work\",\"from\":\"main\"}");
    cr_assert_str_eq(read_text(client, era_legacy, uri), ";;; session work: no calls yet\n");
    client_finish(client);
}

Test(builtin, names_that_are_no_session_are_not_found) {
    static const char *const uris[] = {
        "eclave:///sessions/nobody/transcript",
        "eclave:///sessions/%00/transcript",
        "eclave:///sessions/a%2Fb/transcript",
        "eclave:///sessions/../transcript",
        "eclave:///sessions/%2e%2e/transcript",
        "eclave:///sessions//transcript",
        "eclave:///sessions/main",
        "eclave:///sessions/main/",
        "eclave:///sessions/main/transcript/",
        "eclave:///sessions/main/transcript?x",
        "eclave:///sessions/\xC3\xA4/transcript",
        "eclave:///sessions/%C3%A4/transcript",
        "eclave:///sessions/%FF/transcript",
        "eclave:///sessions/%zz/transcript",
        "eclave:///sessions/"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "/transcript",
        "eclave:///sessions/{name}/transcript",
        "eclave:///guide/",
        "eclave:///guide2",
        "eclave://host/guide",
        "eclave:/policy#x",
        "guide",
        "",
    };
    EACH_ERA_STARTED(era, NULL) {
        for (size_t i = 0; i < COUNT_OF(uris); i++) {
            const char *line = era_refused(client, era, not_found_code(era), "1", "resources/read",
                                           formatted("\"uri\":\"%s\"", uris[i]));
            cr_assert_str_eq(client_string(client, line, "error", "data", "uri", NULL), uris[i]);
        }
        era_refused(client, era, -32602, "1", "resources/read", "\"uri\":5");
        era_refused(client, era, -32602, "1", "resources/read", "\"uri\":null");
        era_refused(client, era, -32602, "1", "resources/read",
                    "\"uri\":\"eclave:///guide\\u0000\"");
        era_refused(client, era, -32602, "1", "resources/read", NULL);
    }
}

Test(builtin, equivalent_uris_are_the_same) {
    static const char *const uris[] = {"eclave:///guide", "ECLAVE:///guide", "eclave:///%67uide",
                                       "eclave:///a/../guide"};
    EACH_KIND_STARTED(era, NULL) {
        for (size_t i = 0; i < COUNT_OF(uris); i++)
            cr_assert_eq(strncmp(read_text(client, era, uris[i]), "# ", 2), 0);
        era_evaluate(client, era, "main", "(list 7)");
        expect_contains(
            read_text(client, era,
                      era->modern ? "eclave:///guide" : "Eclave:///sessions/%6Dain/transcript"),
            era->modern ? "# " : "(list 7)");
    }
}

Test(builtin, a_resource_over_its_limit_is_refused) {
    static const char *const options[] = {"--resource-max-bytes", "100", NULL};
    EACH_ERA_STARTED(era, options) {
        const char *line =
            era_refused(client, era, -32603, "1", "resources/read", URI("eclave:///guide"));
        expect_member(line, "\"resource.max_bytes\"", "error", "data", "name", NULL);
        expect_member(line, "100", "error", "data", "limit", NULL);
        if (!era->modern)
            client_await_notification(client, "notifications/message", NULL);
    }
}

Test(builtin, there_is_nothing_to_subscribe_without_a_project) {
    struct client *client = client_start_ready(NULL, NULL);
    client_expect_error(client,
                        REQUEST_WITH("1", "resources/subscribe", "{\"uri\":\"eclave:///guide\"}"),
                        -32601, "1");
    client_finish(client);
}

/* --- the prompt --- */

Test(builtin, the_prompt_has_the_task_in_it) {
    EACH_ERA_STARTED(era, NULL) {
        const char *line = era_request(
            client, era, "1", "prompts/get",
            "\"name\":\"lisp-session\",\"arguments\":{\"task\":\"sort {{task}} \\\"x\\\"\"}");
        struct text messages, message, text;
        cr_assert(json_at(text_of(line), &messages, "result", "messages", NULL), "%s", line);
        cr_assert(json_element(messages, 0, &message));
        cr_assert(json_at(message, &text, "content", "text", NULL));
        const char *said = client_keep(client, json_decode(text, NULL));
        expect_contains(said, "\n\nsort {{task}} \"x\"\n\n");
        expect_contains(said, "rollback-session");
        expect_contains(said, "open-session {\"from\": \"work\"");
        expect_contains(line, "\"role\":\"user\"");
    }
}

Test(builtin, wrong_requests_for_prompts_are_refused) {
    static const char *const members[] = {
        NULL,
        "\"name\":5",
        "\"name\":\"nope\"",
        "\"name\":\"lisp-session\\u0000\"",
        "\"name\":\"lisp-session\"",
        "\"name\":\"lisp-session\",\"arguments\":{}",
        "\"name\":\"lisp-session\",\"arguments\":[]",
        "\"name\":\"lisp-session\",\"arguments\":\"task\"",
        "\"name\":\"lisp-session\",\"arguments\":{\"task\":5}",
        "\"name\":\"lisp-session\",\"arguments\":{\"task\":null}",
        "\"name\":\"lisp-session\",\"arguments\":{\"task\":\"a\",\"more\":\"b\"}",
    };
    EACH_ERA_STARTED(era, NULL) {
        for (size_t i = 0; i < COUNT_OF(members); i++)
            era_refused(client, era, -32602, "1", "prompts/get", members[i]);
    }
}

/* --- completion --- */

#define COMPLETE(ref, name, value)                                                                 \
    "\"ref\":" ref ",\"argument\":{\"name\":\"" name "\",\"value\":\"" value "\"}"
#define OF_TEMPLATE "{\"type\":\"ref/resource\",\"uri\":\"" TRANSCRIPT "\"}"
#define OF_PROMPT   "{\"type\":\"ref/prompt\",\"name\":\"lisp-session\"}"

Test(builtin, the_names_of_sessions_are_completed) {
    EACH_ERA_STARTED(era, NULL) {
        struct evaluation first = era_evaluate(client, era, NULL, "1");
        const char *session = client_string(client, first.line, "result", "_meta", "session", NULL);
        const char *line =
            era_request(client, era, "1", "completion/complete", COMPLETE(OF_TEMPLATE, "name", ""));
        expect_contains(line, formatted("\"values\":[\"%s\"]", session));
        line = era_request(client, era, "1", "completion/complete",
                           COMPLETE(OF_TEMPLATE, "name", "zzz"));
        expect_contains(line, "\"values\":[],\"total\":0,\"hasMore\":false");
        line =
            era_request(client, era, "1", "completion/complete", COMPLETE(OF_PROMPT, "task", "x"));
        expect_contains(line, "\"values\":[]");
        line = era_request(
            client, era, "1", "completion/complete",
            COMPLETE("{\"type\":\"ref/resource\",\"uri\":\"eclave:///guide\"}", "a", ""));
        expect_contains(line, "\"values\":[]");
    }
}

Test(builtin, wrong_completions_are_refused) {
    static const char *const members[] = {
        NULL,
        COMPLETE(OF_TEMPLATE, "nope", ""),
        COMPLETE(OF_PROMPT, "nope", ""),
        COMPLETE("{\"type\":\"ref/prompt\",\"name\":\"nope\"}", "task", ""),
        COMPLETE("{\"type\":\"ref/resource\",\"uri\":\"nope\"}", "task", ""),
        COMPLETE("{\"type\":\"ref/other\",\"name\":\"lisp-session\"}", "task", ""),
        COMPLETE("{\"type\":\"ref/resource\",\"uri\":5}", "task", ""),
        COMPLETE("5", "task", ""),
        "\"ref\":" OF_TEMPLATE,
        "\"ref\":" OF_TEMPLATE ",\"argument\":{\"name\":\"name\",\"value\":5}",
    };
    EACH_ERA_STARTED(era, NULL) {
        for (size_t i = 0; i < COUNT_OF(members); i++)
            era_refused(client, era, -32602, "1", "completion/complete", members[i]);
    }
}

/* --- pages --- */

static const char *next_cursor(struct client *client, const char *line) {
    struct text value;
    return json_at(text_of(line), &value, "result", "nextCursor", NULL)
               ? client_string(client, line, "result", "nextCursor", NULL)
               : NULL;
}

Test(builtin, lists_are_paged_and_each_knows_only_its_own_cursors) {
    static const char *const options[] = {"--list-page-size", "1", NULL};
    EACH_ERA_STARTED(era, options) {
        const char *first = era_request(client, era, "1", "resources/list", NULL);
        expect_contains(first, "eclave:///guide");
        expect_lacks(first, "eclave:///policy");
        const char *cursor = next_cursor(client, first);
        const char *members = formatted("\"cursor\":\"%s\"", cursor);
        const char *second = era_request(client, era, "2", "resources/list", members);
        expect_contains(second, "eclave:///policy");
        cr_assert_null(next_cursor(client, second));
        static const char *const others[] = {"tools/list", "prompts/list",
                                             "resources/templates/list"};
        for (size_t i = 0; i < COUNT_OF(others); i++)
            era_refused(client, era, -32602, "3", others[i], members);
        cr_assert_null(next_cursor(client, era_request(client, era, "4", "prompts/list", NULL)));
        era_refused(client, era, -32602, "5", "resources/list", "\"cursor\":\"\"");
        era_refused(client, era, -32602, "5", "resources/list", "\"cursor\":5");
    }
}
