/* Definitions that ask the client: with requests in the legacy era, with a result in the modern
 * era, and only for what the client has declared. What a state is good for is in state_test.c. */
#include "tests/support/project_files.h"
#include <stdio.h>

#define FORM   "{\"elicitation\":{}}"
#define ACCEPT "{\"action\":\"accept\",\"content\":{\"name\":\"A\"}}"

#define ASK_WHO                                                                                    \
    "(mcp:ref (mcp:ask :elicit \"Who?\" '(:object :type :object :properties (:object))"            \
    " :key \"who\") \"content\" \"name\")"

static void begin(void) {
    project_files_begin();
    project_files_write("tools/one.lisp",
                        "(mcp:deftool \"one\" (&optional x) (declare (ignore x)) " ASK_WHO ")");
    project_files_write("tools/twice.lisp", "(mcp:deftool \"twice\" () (mcp:ask :elicit \"1\")"
                                            " (mcp:ask :elicit \"2\") \"both\")");
    project_files_write("tools/tries.lisp",
                        "(mcp:deftool \"tries\" () (handler-case (mcp:ask :elicit \"?\")"
                        " (mcp:unanswered (c) (format nil \"Unanswered: ~a\" c))))");
    project_files_write("prompts/asks.lisp", "(mcp:defprompt \"asks\" () " ASK_WHO ")");
}

TestSuite(ask, .init = begin, .fini = project_files_end);

/* The next line is a request of the server for METHOD; returns its id, quotes included. */
static const char *expect_question(struct client *client, const char *method) {
    const char *line = client_read_line(client, NULL);
    cr_assert_str_eq(client_string(client, line, "method", NULL), method, "%s", line);
    return client_keep(client,
                       strdup(formatted("\"%s\"", client_string(client, line, "id", NULL))));
}

static void respond(struct client *client, const char *id, const char *rest) {
    client_send_format(client, "{\"jsonrpc\":\"2.0\",\"id\":%s,%s}", id, rest);
}

Test(ask, a_legacy_client_with_requests) {
    struct client *client = project_files_serve_able(era_legacy, FORM, NULL);
    era_call_send(client, era_legacy, "1", "one", "{}");
    const char *id = expect_question(client, "elicitation/create");
    respond(client, "\"ask-99\"", "\"result\":" ACCEPT);
    respond(client, "1", "\"result\":" ACCEPT);
    respond(client, "null", "\"result\":" ACCEPT);
    client_expect_silence(client);
    respond(client, id, "\"result\":" ACCEPT);
    expect_contains(client_await(client, "1", NULL), "\"text\":\"A\"");
    respond(client, id, "\"result\":" ACCEPT);
    client_expect_silence(client);
    client_finish(client);
}

Test(ask, signals_a_condition_when_the_client_refuses) {
    struct client *client = project_files_serve_able(era_legacy, FORM, NULL);
    era_call_send(client, era_legacy, "1", "tries", "{}");
    respond(client, expect_question(client, "elicitation/create"),
            "\"error\":{\"code\":-1,\"message\":\"not now\"}");
    expect_contains(client_await(client, "1", NULL), "\"text\":\"Unanswered: not now\"");
    client_finish(client);
}

Test(ask, only_for_what_the_client_declared) {
    EACH_ERA(era) {
        /* The first two revisions have no forms. */
        const char *able = era < eras + 2 ? FORM : "{}";
        struct client *client = project_files_serve_able(era, able, NULL);
        expect_contains(era_call(client, era, "tries", "{}").text, "Unanswered: ");
        if (!era->modern) {
            struct evaluation refused = era_call(client, era, "one", "{}");
            expect_contains(refused.text, "[ERROR] MCP:UNANSWERED");
        } else {
            const char *line =
                era_refused(client, era, -32021, "1", "tools/call", "\"name\":\"one\"");
            expect_contains(line, "\"requiredCapabilities\":{\"elicitation\":{");
            expect_contains(line, "did not declare a capability that this needs: elicitation");
        }
        client_finish(client);
    }
}

Test(ask, is_withdrawn_when_the_call_ends) {
    struct client *client = project_files_serve_able(era_legacy, FORM, NULL);
    era_call_send(client, era_legacy, "1", "one", "{}");
    const char *id = expect_question(client, "elicitation/create");
    client_send_line(client, CANCEL("1"));
    expect_contains(client_await(client, "1", NULL), "-32001");
    const char *line = client_await_notification(client, "notifications/cancelled", NULL);
    expect_member(line, id, "params", "requestId", NULL);
    respond(client, id, "\"result\":" ACCEPT);
    client_expect_silence(client);
    era_call_send(client, era_legacy, "2", "tries", "{}");
    expect_question(client, "elicitation/create");
    client_close_stdin(client);
    expect_contains(client_await(client, "2", NULL), "Unanswered: ");
    client_finish(client);
}

Test(ask, refuses_answers_that_do_not_match_the_form) {
    static const struct {
        const char *result, *why;
    } cases[] = {
        {"{}", "lacks the member \\\"action"},
        {"{\"action\":\"maybe\"}", "\\\"action\\\" must be \\\"accept\\\", \\\"decline\\\" or"},
        {"{\"action\":\"accept\"}", "\\\"content\\\" must be an object"},
        {"{\"action\":\"accept\",\"content\":{\"n\":\"x\"}}", "/n"},
        {"[]", "malformed: must be an object"}};
    project_files_write(
        "tools/form.lisp",
        ";;; {\"description\": \"x\"}\n(mcp:deftool \"form\" () (mcp:write-json (mcp:ask :elicit "
        "\"?\" '(:object :type :object :properties (:object :n (:object :type :integer))))))");
    struct client *client = project_files_serve_able(era_legacy, FORM, NULL);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        era_call_send(client, era_legacy, "1", "form", "{}");
        respond(client, expect_question(client, "elicitation/create"),
                formatted("\"result\":%s", cases[i].result));
        expect_contains(client_await(client, "1", NULL), cases[i].why);
    }
    era_call_send(client, era_legacy, "2", "form", "{}");
    respond(client, expect_question(client, "elicitation/create"),
            "\"result\":{\"action\":\"decline\"}");
    expect_contains(client_await(client, "2", NULL), "decline");
    client_finish(client);
}

/* --- modern --- */

static const char *call(struct client *client, const char *id, const char *method,
                        const char *members) {
    client_send_format(client,
                       REQUEST_WITH("%s", "%s", "{%s," ENVELOPE_ABLE("{\"elicitation\":{}}") "}"),
                       id, method, members);
    return client_await(client, id, NULL);
}

static const char *state_of(struct client *client, const char *line) {
    expect_member(line, "\"input_required\"", "result", "resultType", NULL);
    return client_string(client, line, "result", "requestState", NULL);
}

static const char *retry(struct client *client, const char *id, const char *members,
                         const char *responses, const char *state) {
    return call(
        client, id, "tools/call",
        formatted("%s,\"inputResponses\":%s,\"requestState\":\"%s\"", members, responses, state));
}

static void expect_used(const char *line) {
    expect_member(line, "-32602", "error", "code", NULL);
    expect_contains(line, "used before");
}

#define ONE "\"name\":\"one\""
#define WHO "{\"who\":" ACCEPT "}"

Test(ask, a_modern_client_with_a_result_and_resume_with_its_next_request) {
    struct client *client = project_files_serve_in(era_modern, NULL);
    const char *line = call(client, "1", "tools/call", ONE);
    expect_contains(line, "\"inputRequests\":{\"who\":{\"method\":\"elicitation/create\"");
    const char *state = state_of(client, line);
    line = retry(client, "2", ONE, "{\"wrong\":{}}", state);
    const char *again = state_of(client, line);
    cr_assert_str_neq(again, state);
    expect_used(retry(client, "3", ONE, WHO, state));
    line = retry(client, "4", ONE, "{\"who\":5}", again);
    expect_member(line, "-32602", "error", "code", NULL);
    again = state_of(client, retry(client, "44", ONE, "{\"who\":{\"action\":\"x\"}}", again));
    expect_contains(
        retry(client, "5", ONE ",\"arguments\":{}", "{\"other\":{},\"who\":" ACCEPT "}", again),
        "\"text\":\"A\"");
    expect_used(retry(client, "6", ONE, WHO, again));
    expect_contains(call(client, "7", "tools/call", ONE ",\"inputResponses\":" WHO),
                    "\"text\":\"A\"");
    client_finish(client);
}

Test(ask, more_than_once_and_for_prompts) {
    struct client *client = project_files_serve_in(era_modern, NULL);
#define TWICE "\"name\":\"twice\""
    const char *first = state_of(client, call(client, "1", "tools/call", TWICE));
    const char *second =
        state_of(client, retry(client, "2", TWICE, "{\"elicit\":" ACCEPT "}", first));
    cr_assert_str_neq(first, second);
    expect_contains(retry(client, "3", TWICE, "{\"elicit\":" ACCEPT "}", second), "\"both\"");
    const char *state = state_of(client, call(client, "4", "prompts/get", "\"name\":\"asks\""));
    const char *members =
        formatted("\"name\":\"asks\",\"inputResponses\":" WHO ",\"requestState\":\"%s\"", state);
    expect_contains(call(client, "5", "prompts/get", members), "\"messages\":[{\"role\":\"user\"");
    client_finish(client);
}
