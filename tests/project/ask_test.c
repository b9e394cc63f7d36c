/* Definitions that ask the client: by requests to a legacy client, by a result that asks to a
 * modern one, and never what the client did not say it can do. */
#include "tests/support/project_files.h"
#include <stdio.h>
#include <unistd.h>

#define FORM   "{\"elicitation\":{}}"
#define ACCEPT "{\"action\":\"accept\",\"content\":{\"name\":\"A\"}}"

static void begin(void) {
    project_files_begin();
    project_files_write(
        "tools/one.lisp",
        ";;; {\"description\": \"x\"}\n(mcp:deftool \"one\" (&optional x) (declare (ignore x)) "
        "(mcp:ref (mcp:ask :elicit \"Who?\" '(:object :type :object :properties (:object)) :key "
        "\"who\") \"content\" "
        "\"name\"))");
    project_files_write(
        "tools/twice.lisp",
        ";;; {\"description\": \"x\"}\n(mcp:deftool \"twice\" () (mcp:ask :elicit \"1\") (mcp:ask "
        ":elicit \"2\") \"both\")");
    project_files_write(
        "tools/tries.lisp",
        ";;; {\"description\": \"x\"}\n(mcp:deftool \"tries\" () (handler-case (mcp:ask :elicit "
        "\"?\") (mcp:unanswered (c) (format nil \"Unanswered: ~a\" c))))");
    project_files_write(
        "prompts/asks.lisp",
        ";;; {\"description\": \"x\"}\n(mcp:defprompt \"asks\" () (mcp:ref (mcp:ask :elicit \"?\" "
        "'(:object :type :object :properties (:object)) :key \"who\") \"content\" \"name\"))");
}

TestSuite(ask, .init = begin, .fini = project_files_end);

/* The next line is our request for METHOD; returns its id, quotes included. */
static const char *expect_question(struct client *client, const char *method) {
    const char *line = client_read_line(client, NULL);
    cr_assert_str_eq(client_string(client, line, "method", NULL), method, "%s", line);
    char id[64];
    snprintf(id, sizeof id, "\"%s\"", client_string(client, line, "id", NULL));
    return client_keep(client, strdup(id));
}

static void respond(struct client *client, const char *id, const char *rest) {
    client_send_format(client, "{\"jsonrpc\":\"2.0\",\"id\":%s,%s}", id, rest);
}

Test(ask, a_legacy_client_by_requests) {
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

Test(ask, fails_in_lisp_when_the_client_refuses) {
    struct client *client = project_files_serve_able(era_legacy, FORM, NULL);
    era_call_send(client, era_legacy, "1", "tries", "{}");
    respond(client, expect_question(client, "elicitation/create"),
            "\"error\":{\"code\":-1,\"message\":\"not now\"}");
    expect_contains(client_await(client, "1", NULL), "\"text\":\"Unanswered: not now\"");
    client_finish(client);
}

Test(ask, never_what_the_client_did_not_say_it_can_do) {
    EACH_ERA(era) {
        /* Forms are younger than the first two revisions. */
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
        }
        client_finish(client);
    }
}

Test(ask, is_forgotten_with_the_call) {
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

Test(ask, takes_no_answer_that_the_form_does_not_have) {
    static const struct {
        const char *result, *why;
    } cases[] = {{"{}", "action must be accept, decline or cancel"},
                 {"{\"action\":\"maybe\"}", "action must be"},
                 {"{\"action\":\"accept\"}", "an object as its content"},
                 {"{\"action\":\"accept\",\"content\":{\"n\":\"x\"}}", "/n"},
                 {"[]", "a response must be an object"}};
    project_files_write(
        "tools/form.lisp",
        ";;; {\"description\": \"x\"}\n(mcp:deftool \"form\" () (mcp:write-json (mcp:ask :elicit "
        "\"?\" '(:object :type :object :properties (:object :n (:object :type :integer))))))");
    struct client *client = project_files_serve_able(era_legacy, FORM, NULL);
    char result[200];
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        era_call_send(client, era_legacy, "1", "form", "{}");
        snprintf(result, sizeof result, "\"result\":%s", cases[i].result);
        respond(client, expect_question(client, "elicitation/create"), result);
        expect_contains(client_await(client, "1", NULL), cases[i].why);
    }
    era_call_send(client, era_legacy, "2", "form", "{}");
    respond(client, expect_question(client, "elicitation/create"),
            "\"result\":{\"action\":\"decline\"}");
    expect_contains(client_await(client, "2", NULL), "decline");
    client_finish(client);
}

/* --- modern --- */

#define META                                                                                       \
    "\"_meta\":{\"" KEY_VERSION "\":\"" MODERN_REVISION "\",\"" KEY_CLIENT                         \
    "\":{\"elicitation\":{}}}"

static const char *call(struct client *client, const char *id, const char *method,
                        const char *members) {
    client_send_format(client, REQUEST_WITH("%s", "%s", "{%s," META "}"), id, method, members);
    return client_await(client, id, NULL);
}

static const char *state_of(struct client *client, const char *line) {
    expect_member(line, "\"input_required\"", "result", "resultType", NULL);
    return client_string(client, line, "result", "requestState", NULL);
}

static const char *retry(struct client *client, const char *id, const char *members,
                         const char *responses, const char *state) {
    char text[1000];
    snprintf(text, sizeof text, "%s,\"inputResponses\":%s,\"requestState\":\"%s\"", members,
             responses, state);
    return call(client, id, "tools/call", text);
}

static void expect_refused(const char *line, const char *why) {
    expect_member(line, "-32602", "error", "code", NULL);
    expect_member(line, "\"requestState\"", "error", "data", "name", NULL);
    expect_contains(line, why);
}

#define ONE             "\"name\":\"one\""
#define WHO             "{\"who\":" ACCEPT "}"
#define ASK(client, id) state_of(client, call(client, id, "tools/call", ONE))

Test(ask, a_modern_client_by_a_result_and_go_on_with_its_next_request) {
    struct client *client = project_files_serve_in(era_modern, NULL);
    const char *line = call(client, "1", "tools/call", ONE);
    expect_contains(line, "\"inputRequests\":{\"who\":{\"method\":\"elicitation/create\"");
    const char *state = state_of(client, line);
    line = retry(client, "2", ONE, "{\"wrong\":{}}", state);
    const char *again = state_of(client, line);
    cr_assert_str_neq(again, state);
    expect_refused(retry(client, "3", ONE, WHO, state), "used before");
    line = retry(client, "4", ONE, "{\"who\":5}", again);
    expect_member(line, "-32602", "error", "code", NULL);
    again = state_of(client, retry(client, "44", ONE, "{\"who\":{\"action\":\"x\"}}", again));
    expect_contains(retry(client, "5", ONE, "{\"other\":{},\"who\":" ACCEPT "}", again),
                    "\"text\":\"A\"");
    expect_refused(retry(client, "6", ONE, WHO, again), "used before");
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
    char members[600];
    snprintf(members, sizeof members,
             "\"name\":\"asks\",\"inputResponses\":" WHO ",\"requestState\":\"%s\"", state);
    expect_contains(call(client, "5", "prompts/get", members), "\"messages\":[{\"role\":\"user\"");
    client_finish(client);
}

Test(ask, refuses_states_that_are_altered_or_of_another_request) {
    struct client *client = project_files_serve_in(era_modern, NULL);
    const char *state = ASK(client, "1");
    for (size_t i = 0; i < strlen(state); i += 7) {
        char *altered = strdup(state);
        altered[i] = altered[i] == '1' ? '2' : '1';
        expect_member(retry(client, "2", ONE, WHO, altered), "-32602", "error", "code", NULL);
        free(altered);
    }
    char longer[400];
    snprintf(longer, sizeof longer, "%s-TAMPERED", state);
    expect_refused(retry(client, "3", ONE, WHO, longer), "not made by this server");
    expect_refused(retry(client, "4", ONE, WHO, ""), "not made by this server");
    expect_refused(retry(client, "5", "\"name\":\"twice\"", WHO, state), "another request");
    expect_refused(retry(client, "6", "\"name\":\"evaluate-lisp\"", WHO, state), "another request");
    expect_refused(retry(client, "7", ONE ",\"arguments\":{\"x\":1}", WHO, state),
                   "another request");
    struct client *other = project_files_serve_in(era_modern, NULL);
    expect_refused(retry(other, "8", ONE, WHO, state), "another process");
    client_finish(other);
    expect_contains(retry(client, "9", ONE ",\"arguments\":{}", WHO, state), "\"text\":\"A\"");
    client_finish(client);
}

Test(ask, waits_for_so_long_and_for_so_many) {
    static const char *const options[] = {
        "--call-timeout-max-s", "1", "--call-timeout-s", "1", "--session-max", "8", NULL};
    struct client *client = project_files_serve_in(era_modern, options);
    ASK(client, "1");
    const char *oldest = ASK(client, "2"), *newer = ASK(client, "3");
    for (int i = 0; i < 4; i++)
        newer = ASK(client, "4");
    expect_refused(retry(client, "5", ONE, WHO, oldest), "requestState");
    expect_contains(retry(client, "6", ONE, WHO, newer), "\"text\":\"A\"");
    const char *state = ASK(client, "7");
    usleep(1500000);
    expect_refused(retry(client, "8", ONE, WHO, state), "expired");
    ASK(client, "9");
    client_finish(client);
}
