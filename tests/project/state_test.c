/* Tools that ask hostile clients: states replayed, altered, moved to another request and expired;
 * answers to nothing, of wrong types, huge, late or sent twice. And a project that changes while
 * its tools run. */
#include "tests/support/eras.h"
#include "tests/support/project_files.h"
#include <stdio.h>
#include <stdlib.h>

TestSuite(state, .init = project_files_begin, .fini = project_files_end);

#define ABLE     ENVELOPE_ABLE("{\"elicitation\":{}}")
#define FORM     "'(:object :type :object :properties (:object))"
#define ASK_NAME "(mcp:ref (mcp:ask :elicit \"Name?\" " FORM " :key \"k\") \"content\" \"name\")"
#define HELLO(name)                                                                                \
    "\"inputResponses\":{\"k\":{\"action\":\"accept\",\"content\":{\"name\":\"" name "\"}}},"

static void add_asker(const char *name) {
    project_files_format(
        formatted("tools/%s.lisp", name),
        "(mcp:deftool \"%s\" (&rest all) all (format nil \"Hello ~a\" " ASK_NAME "))", name);
}

/* --- modern: states --- */

/* Calls NAME by METHOD with the members MORE, each with a comma after it, and returns the answer.
 */
static const char *request_as(struct client *client, const char *method, const char *name,
                              const char *arguments, const char *more) {
    client_send_format(client,
                       REQUEST_WITH("1", "%s", "{\"name\":\"%s\",\"arguments\":%s,%s" ABLE "}"),
                       method, name, arguments, more);
    return client_await(client, "1", NULL);
}

static const char *call(struct client *client, const char *name, const char *more) {
    return request_as(client, "tools/call", name, "{}", more);
}

static const char *state_of(struct client *client, const char *line) {
    expect_member(line, "\"input_required\"", "result", "resultType", NULL);
    return client_string(client, line, "result", "requestState", NULL);
}

static const char *begin(struct client *client, const char *name) {
    return state_of(client, call(client, name, ""));
}

/* The members that return STATE with an answer to its question. */
static const char *with_state(struct client *client, const char *state) {
    char *quoted = json_quote(state, strlen(state));
    const char *more = formatted("\"requestState\":%s," HELLO("Ada"), quoted);
    free(quoted);
    return client_keep(client, strdup(more));
}

/* LINE refuses the state, or the responses, with WHY in its reason. */
static void expect_refused(const char *line, const char *why) {
    expect_member(line, "-32602", "error", "code", NULL);
    expect_contains(line, why);
}

static void expect_hello(struct client *client, const char *name, const char *state) {
    expect_contains(call(client, name, with_state(client, state)), "\"Hello Ada\"");
}

Test(state, a_state_works_once) {
    add_asker("ask");
    struct client *client = project_files_serve(NULL);
    const char *state = begin(client, "ask");
    expect_hello(client, "ask", state);
    for (int i = 0; i < 3; i++)
        expect_refused(call(client, "ask", with_state(client, state)), "used before");
    expect_hello(client, "ask", begin(client, "ask"));
    client_finish(client);
}

Test(state, a_state_of_an_earlier_round_is_refused) {
    project_files_write("tools/twice.lisp", "(mcp:deftool \"twice\" () (let ((one " ASK_NAME
                                            ")) (format nil \"~a and ~a\" one " ASK_NAME ")))");
    struct client *client = project_files_serve(NULL);
    const char *first = begin(client, "twice");
    const char *second = state_of(client, call(client, "twice", with_state(client, first)));
    cr_assert_str_neq(first, second);
    expect_refused(call(client, "twice", with_state(client, first)), "used before");
    expect_contains(call(client, "twice", with_state(client, second)), "Ada and Ada");
    expect_refused(call(client, "twice", with_state(client, second)), "used before");
    client_finish(client);
}

Test(state, a_state_altered_anywhere_is_refused_and_stays_usable) {
    add_asker("ask");
    struct client *client = project_files_serve(NULL);
    const char *state = begin(client, "ask");
    size_t length = strlen(state);
    for (size_t i = 0; i < length; i++) {
        char *altered = client_keep(client, strdup(state));
        altered[i] = altered[i] == '0' ? '1' : '0';
        expect_refused(call(client, "ask", with_state(client, altered)), "requestState");
        char *shorter = client_keep(client, strndup(state, i));
        expect_refused(call(client, "ask", with_state(client, shorter)), "requestState");
    }
    expect_hello(client, "ask", state);
    client_finish(client);
}

Test(state, a_state_with_additions_or_of_another_type_is_refused) {
    static const char *const forms[] = {"%s ",       " %s", "%s.",  ".%s",
                                        "%s\\u0000", "0%s", "%s%s", "+%s"};
    static const char *const values[] = {"5",    "null",   "true",        "[]",
                                         "{}",   "\"\"",   "\".\"",       "\"....\"",
                                         "-1.5", "\"%n\"", "\"\\ud800\"", "\"\\u0000\""};
    char dressed[1200];
    add_asker("ask");
    struct client *client = project_files_serve(NULL);
    const char *state = begin(client, "ask");
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        const char *end = strstr(forms[i], "%s") + 2;
        snprintf(dressed, sizeof dressed, "%.*s%s%s", (int)(end - forms[i] - 2), forms[i], state,
                 strcmp(end, "%s") == 0 ? state : end);
        expect_refused(
            call(client, "ask", formatted("\"requestState\":\"%s\"," HELLO("Ada"), dressed)),
            "requestState");
    }
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        expect_refused(
            call(client, "ask", formatted("\"requestState\":%s," HELLO("Ada"), values[i])),
            "requestState");
    }
    expect_refused(call(client, "ask", with_state(client, "")), "not made by this server");
    expect_hello(client, "ask", state);
    client_finish(client);
}

Test(state, a_state_belongs_to_its_own_request) {
    add_asker("ask");
    add_asker("other");
    project_files_write("prompts/ask.lisp", "(mcp:defprompt \"ask\" (&rest all) all " ASK_NAME ")");
    struct client *client = project_files_serve(NULL);
    const char *state = begin(client, "ask");
    const char *more = with_state(client, state);
    expect_refused(call(client, "other", more), "another request");
    expect_refused(request_as(client, "prompts/get", "ask", "{}", more), "another request");
    expect_refused(call(client, "evaluate-lisp", more), "another request");
    expect_refused(request_as(client, "tools/call", "ask", "{\"a\":1}", more), "another request");
    expect_hello(client, "ask", state);

    const char *with = "{\"a\":1,\"b\":{\"c\":2,\"d\":[3,\"4\"]}}";
    state = state_of(client, request_as(client, "tools/call", "ask", with, ""));
    more = with_state(client, state);
    static const char *const others[] = {
        "{}",
        "{\"a\":\"1\",\"b\":{\"c\":2,\"d\":[3,\"4\"]}}",
        "{\"a\":1.5,\"b\":{\"c\":2,\"d\":[3,\"4\"]}}",
        "{\"a\":1,\"b\":{\"c\":2,\"d\":[\"4\",3]}}",
        "{\"a\":1,\"b\":{\"c\":2},\"d\":[3,\"4\"]}",
        "{\"a\":1,\"b\":{\"c\":2,\"d\":[3,\"4\",null]}}",
        "{\"a\":1,\"b\":{\"c\":2,\"d\":[[3],\"4\"]}}",
        "{\"a\":1}",
    };
    for (size_t i = 0; i < COUNT_OF(others); i++)
        expect_refused(request_as(client, "tools/call", "ask", others[i], more), "another request");
    const char *turned = "{\"b\":{\"d\":[3,\"4\"],\"c\":2},\"a\":1}"; /* the same, reordered */
    expect_contains(request_as(client, "tools/call", "ask", turned, more), "Hello Ada");
    client_finish(client);
}

Test(state, a_state_of_another_process_is_refused) {
    add_asker("ask");
    struct client *one = project_files_serve(NULL);
    struct client *other = project_files_serve(NULL);
    const char *state = begin(one, "ask"), *own = begin(other, "ask");
    expect_refused(call(other, "ask", with_state(other, state)), "another process");
    expect_refused(call(one, "ask", with_state(one, own)), "another process");
    expect_hello(one, "ask", state);
    expect_hello(other, "ask", own);
    client_finish(one);
    client_finish(other);
}

Test(state, an_expired_state_is_refused) {
    static const char *const arguments[] = {"--call-timeout-s", "1", "--call-timeout-max-s", "1",
                                            NULL};
    add_asker("ask");
    struct client *client = project_files_serve(arguments);
    const char *state = begin(client, "ask");
    client_await_stderr(client, "timeout"); /* the call that waited has ended */
    expect_refused(call(client, "ask", with_state(client, state)), "expired");
    expect_hello(client, "ask", begin(client, "ask"));
    client_finish(client);
}

Test(state, answers_without_a_state_belong_to_their_own_call) {
    add_asker("ask");
    struct client *client = project_files_serve(NULL);
    const char *waiting = begin(client, "ask");
    expect_contains(call(client, "ask", HELLO("Eve")), "\"Hello Eve\"");
    const char *anew = state_of(client, call(client, "ask", "\"inputResponses\":{\"other\":{}},"));
    cr_assert_str_neq(anew, waiting);
    expect_hello(client, "ask", waiting);
    expect_hello(client, "ask", anew);
    client_finish(client);
}

static void expect_room(const char *running_max, size_t kept) {
    const char *const arguments[] = {"--call-running-max", running_max, NULL};
    enum { CALLS = 40 };
    struct client *client = project_files_serve(arguments);
    const char *states[CALLS];
    for (size_t i = 0; i < CALLS; i++)
        states[i] = begin(client, "ask");
    expect_contains(call(client, "plain", ""), "Plain");
    expect_refused(call(client, "ask", with_state(client, states[0])), "used before");
    for (size_t i = 1; i <= kept; i++)
        expect_hello(client, "ask", states[CALLS - i]);
    client_finish(client);
}

Test(state, calls_that_are_not_continued_make_room_for_new_ones) {
    add_asker("ask");
    project_files_write("tools/plain.lisp", "(mcp:deftool \"plain\" () \"Plain\")");
    expect_room("1", 1);
    expect_room("4", 2);
    expect_room("7", 3);
}

/* Each waits until an abandoned call has ended, and none is refused. */
Test(state, simultaneous_calls_wait_for_a_place) {
    static const char *const arguments[] = {"--call-running-max", "3", NULL};
    enum { CALLS = 3, ROUNDS = 20 };
    add_asker("ask");
    struct client *client = project_files_serve(arguments);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < CALLS; i++)
            client_send_format(
                client,
                REQUEST_WITH("%d", "tools/call", "{\"name\":\"ask\",\"arguments\":{}," ABLE "}"),
                i);
        for (int i = 0; i < CALLS; i++)
            expect_member(client_read_line(client, NULL), "\"input_required\"", "result",
                          "resultType", NULL);
    }
    client_finish(client);
}

Test(state, a_call_that_asks_without_end_is_ended) {
    project_files_write("tools/nags.lisp", "(mcp:deftool \"nags\" () (loop " ASK_NAME "))");
    add_asker("ask");
    struct client *client = project_files_serve(NULL);
    const char *line = call(client, "nags", "");
    struct text value;
    int rounds = 0;
    while (json_at(text_of(line), &value, "result", "requestState", NULL)) {
        cr_assert_lt(++rounds, 1000, "it asks without end");
        line = call(client, "nags", with_state(client, state_of(client, line)));
    }
    cr_assert_eq(client_integer(client, line, "error", "code", NULL), -32603, "%s", line);
    expect_member(line, "\"run.questions\"", "error", "data", "name", NULL);
    expect_member(line, "100", "error", "data", "limit", NULL);
    expect_hello(client, "ask", begin(client, "ask"));
    client_finish(client);
}

/* --- modern: hostile answers --- */

static const char *continued(struct client *client, const char *state, const char *responses) {
    char *more;
    if (asprintf(&more, "\"requestState\":\"%s\",\"inputResponses\":%s,", state, responses) < 0)
        abort();
    const char *line = call(client, "ask", client_keep(client, more));
    return line;
}

Test(state, malformed_responses_are_refused_and_can_be_corrected) {
    static const char *const wrong[] = {"5",          "\"k\"",        "[]",
                                        "true",       "{\"k\":5}",    "{\"k\":\"a\"}",
                                        "{\"k\":[]}", "{\"k\":true}", "{\"k\":1.5}"};
    add_asker("ask");
    struct client *client = project_files_serve(NULL);
    const char *state = begin(client, "ask");
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        expect_refused(continued(client, state, wrong[i]), "inputResponses");
    expect_hello(client, "ask", state);
    client_finish(client);
}

Test(state, a_missing_response_is_asked_for_again) {
    static const char *const missing[] = {"{}", "{\"K\":{}}", "{\"\":{},\"k \":{}}",
                                          "{\"other\":{\"action\":\"accept\"}}"};
    add_asker("ask");
    struct client *client = project_files_serve(NULL);
    const char *state = begin(client, "ask");
    for (size_t i = 0; i < COUNT_OF(missing); i++) {
        const char *next = state_of(client, continued(client, state, missing[i]));
        expect_refused(call(client, "ask", with_state(client, state)), "used before");
        state = next;
    }
    expect_hello(client, "ask", state);
    client_finish(client);
}

/* Odd answers: each is refused or is data for the tool. */
static const char *const odd[] = {
    "{}",
    "{\"action\":5}",
    "{\"action\":\"accept\"}",
    "{\"action\":\"accept\",\"content\":null}",
    "{\"action\":\"accept\",\"content\":5}",
    "{\"action\":\"accept\",\"content\":[]}",
    "{\"action\":\"accept\",\"content\":{\"name\":{\"name\":[1,2]}}}",
    "{\"action\":\"accept\",\"content\":{\"name\":1e999}}",
    "{\"action\":\"accept\",\"content\":{\"name\":\"\\\"}}\\n#.(ext:quit)\"}}",
    "{\"action\":\"accept\",\"content\":{\"name\":\"\\ud800\"}}",
    "{\"action\":\"accept\",\"content\":{\"name\":123456789012345678901234567890}}",
    "{\"error\":{\"code\":1,\"message\":\"m\"}}",
    "{\"responses\":{\"k\":5},\"error\":5}",
};

/* Any result of the tool will do. */
static void expect_result(const char *line) {
    struct text value;
    cr_assert(json_at(text_of(line), &value, "result", "content", NULL), "%s", line);
    cr_assert(json_at(text_of(line), &value, "result", "_meta", "exitCode", NULL), "%s", line);
    cr_assert(text_is(value, "0") || text_is(value, "1"), "%s", line);
}

Test(state, an_odd_answer_is_data_or_is_asked_for_again) {
    add_asker("ask");
    struct client *client = project_files_serve(NULL);
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        const char *line = continued(client, begin(client, "ask"), formatted("{\"k\":%s}", odd[i]));
        if (strstr(line, "\"requestState\""))
            expect_hello(client, "ask", state_of(client, line));
        else
            expect_result(line);
    }
    expect_hello(client, "ask", begin(client, "ask"));
    client_finish(client);
}

enum { HUGE_BYTES = 12 << 20, DEEP_LEVELS = 110 };

/* An answer whose name is HUGE_BYTES long, or nests DEEP_LEVELS. */
static const char *huge_answer(bool deep) {
    char *name = deep ? nested("[", DEEP_LEVELS, "", "]") : nested("x", HUGE_BYTES, "", "");
    const char *body = formatted(deep ? "{\"action\":\"accept\",\"content\":{\"name\":%s}}"
                                      : "{\"action\":\"accept\",\"content\":{\"name\":\"%s\"}}",
                                 name);
    free(name);
    return body;
}

Test(state, a_huge_or_deep_answer_ends_at_most_its_own_call) {
    add_asker("ask");
    struct client *client = project_files_serve(NULL);
    for (int deep = 0; deep < 2; deep++) {
        const char *line =
            continued(client, begin(client, "ask"), formatted("{\"k\":%s}", huge_answer(deep)));
        expect_member(line, "1", "id", NULL);
        expect_hello(client, "ask", begin(client, "ask"));
    }
    client_finish(client);
}

/* --- legacy: requests of the server and their answers --- */

static struct client *serve_legacy(const char *const *arguments) {
    static const char able[] = "{\"elicitation\":{},\"sampling\":{},\"roots\":{}}";
    return project_files_serve_able(era_legacy, able, arguments);
}

static void send_call(struct client *client, const char *id, const char *tool) {
    client_send_format(
        client, REQUEST_WITH("%s", "tools/call", "{\"name\":\"%s\",\"arguments\":{}}"), id, tool);
}

/* The next line that is not a log message. */
static const char *read_past_logs(struct client *client) {
    const char *line = client_read_line(client, NULL);
    while (strstr(line, "\"notifications/message\""))
        line = client_read_line(client, NULL);
    return line;
}

/* The id of the server's next request, as JSON text. */
static const char *read_question(struct client *client) {
    const char *line = read_past_logs(client);
    expect_member(line, "\"elicitation/create\"", "method", NULL);
    const char *id = client_string(client, line, "id", NULL);
    return client_keep(client, json_quote(id, strlen(id)));
}

static void answer(struct client *client, const char *id, const char *body) {
    client_send_format(client, "{\"jsonrpc\":\"2.0\",\"id\":%s,%s}", id, body);
}

#define ACCEPT "\"result\":{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}"

static void expect_legacy_hello(struct client *client) {
    send_call(client, "\"good\"", "ask");
    answer(client, read_question(client), ACCEPT);
    expect_contains(client_await(client, "\"good\"", NULL), "\"Hello Ada\"");
}

Test(state, an_answer_to_nothing_is_dropped) {
    static const char *const ids[] = {"\"ask-0\"",
                                      "\"ask-2\"",
                                      "\"ask-99999999999999999999\"",
                                      "\"ask-01\"",
                                      "\"ask\"",
                                      "\"\"",
                                      "1",
                                      "-1",
                                      "\"ask-1 \"",
                                      "\"ASK-1\"",
                                      "\"ask-1\\u0000\""};
    add_asker("ask");
    struct client *client = serve_legacy(NULL);
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        answer(client, ids[i], ACCEPT);
    client_expect_silence(client);
    send_call(client, "1", "ask");
    const char *question = read_question(client);
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        answer(client, ids[i], "\"result\":{\"content\":{\"name\":\"Eve\"}}");
        answer(client, ids[i], "\"error\":{\"code\":-1,\"message\":\"Eve\"}");
    }
    client_expect_silence(client);
    answer(client, question, ACCEPT);
    expect_contains(client_await(client, "1", NULL), "\"Hello Ada\"");
    answer(client, question, ACCEPT); /* once more */
    client_expect_silence(client);
    expect_legacy_hello(client);
    client_finish(client);
}

Test(state, a_legacy_answer_of_a_wrong_type_counts_as_no_answer) {
    static const char *const bodies[] = {
        "\"result\":5",
        "\"result\":null",
        "\"result\":[]",
        "\"result\":\"\"",
        "\"error\":5",
        "\"error\":null",
        "\"error\":[]",
        "\"error\":{}",
        "\"error\":{\"code\":\"x\",\"message\":5}",
        "\"error\":{\"code\":1e99,\"message\":\"\\ud800\\u0000\"}",
        "\"error\":{\"code\":-1,\"message\":\"\"}",
        "\"error\":{\"code\":99999999999999999999,\"message\":\"m\"}",
        "\"result\":{},\"error\":{\"code\":1,\"message\":\"m\"}",
    };
    add_asker("ask");
    struct client *client = serve_legacy(NULL);
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        send_call(client, "1", "ask");
        answer(client, read_question(client), bodies[i]);
        expect_result(client_await(client, "1", NULL));
    }
    expect_legacy_hello(client);
    client_finish(client);
}

Test(state, an_odd_legacy_answer_is_data_or_no_answer) {
    add_asker("ask");
    struct client *client = serve_legacy(NULL);
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        send_call(client, "1", "ask");
        answer(client, read_question(client), formatted("\"result\":%s", odd[i]));
        expect_result(client_await(client, "1", NULL));
    }
    expect_legacy_hello(client);
    client_finish(client);
}

Test(state, a_huge_legacy_answer_ends_at_most_its_own_call) {
    add_asker("ask");
    struct client *client = serve_legacy(NULL);
    for (int deep = 0; deep < 2; deep++) {
        send_call(client, "1", "ask");
        answer(client, read_question(client), formatted("\"result\":%s", huge_answer(deep)));
        client_await(client, "1", NULL);
        expect_legacy_hello(client);
    }
    client_finish(client);
}

Test(state, an_answer_after_the_time_out_of_its_call_is_dropped) {
    static const char *const arguments[] = {"--call-timeout-s", "1", "--call-timeout-max-s", "1",
                                            NULL};
    add_asker("ask");
    struct client *client = serve_legacy(arguments);
    send_call(client, "1", "ask");
    const char *id = read_question(client);
    expect_member(client_await(client, "1", NULL), "-32004", "error", "code", NULL);
    const char *line = client_await_notification(client, "notifications/cancelled", NULL);
    expect_member(line, id, "params", "requestId", NULL);
    answer(client, id, ACCEPT);
    client_expect_silence(client);
    client_finish(client);
}

Test(state, a_client_that_leaves_instead_of_answering_leaves_nothing_behind) {
    add_asker("ask");
    struct client *client = project_files_serve(NULL);
    begin(client, "ask");
    begin(client, "ask");
    client_finish(client);
}

/* --- a project that changes meanwhile --- */

static void await_changed(struct client *client, const char *what) {
    client_await_notification(client, formatted("notifications/%s/list_changed", what), NULL);
}

/* The next notification is about a later change of the prompts, not the tools once more. */
static void expect_notified_once(struct client *client) {
    static int count;
    project_files_write(formatted("prompts/later%d.txt", count++), "later");
    expect_member(read_past_logs(client), "\"notifications/prompts/list_changed\"", "method", NULL);
}

#define VERSIONED(version)                                                                         \
    ";;; {\"description\": \"" version "\"}\n(mcp:deftool \"ask\" (&rest all) all (format nil "    \
    "\"" version " ~a\" " ASK_NAME "))"

Test(state, a_tool_that_is_edited_while_it_runs_finishes_in_its_old_version) {
    project_files_write("tools/ask.lisp", VERSIONED("old"));
    struct client *client = serve_legacy(NULL);
    send_call(client, "1", "ask");
    const char *first = read_question(client);
    project_files_write("tools/ask.lisp", VERSIONED("new"));
    await_changed(client, "tools");
    send_call(client, "2", "ask");
    const char *second = read_question(client);
    answer(client, second, ACCEPT);
    expect_contains(client_await(client, "2", NULL), "\"new Ada\"");
    answer(client, first, ACCEPT);
    expect_contains(client_await(client, "1", NULL), "\"old Ada\"");
    client_finish(client);
}

Test(state, a_tool_that_is_removed_while_it_runs_answers_and_is_unknown_afterwards) {
    add_asker("ask");
    struct client *client = serve_legacy(NULL);
    send_call(client, "1", "ask");
    const char *question = read_question(client);
    project_files_remove("tools/ask.lisp");
    await_changed(client, "tools");
    answer(client, question, ACCEPT);
    expect_contains(client_await(client, "1", NULL), "\"Hello Ada\"");
    send_call(client, "2", "ask");
    cr_assert_eq(client_integer(client, client_await(client, "2", NULL), "error", "code", NULL),
                 -32602);
    client_finish(client);
}

Test(state, a_waiting_call_of_a_removed_tool_is_refused_or_resumed) {
    add_asker("ask");
    add_asker("keep");
    struct client *client = project_files_serve(NULL);
    const char *state = begin(client, "ask"), *kept = begin(client, "keep");
    client_send_line(client, LISTEN("\"l\"", "{\"toolsListChanged\":true}"));
    client_await_notification(client, "notifications/subscriptions/acknowledged", NULL);
    project_files_remove("tools/ask.lisp");
    await_changed(client, "tools");
    call(client, "ask", with_state(client, state));
    expect_hello(client, "keep", kept);
    client_send_line(client, CANCEL("\"l\""));
    client_finish(client);
}

Test(state, a_list_that_changed_between_two_pages_refuses_the_old_cursor) {
    static const char *const arguments[] = {"--list-page-size", "1", NULL};
    for (int i = 0; i < 5; i++)
        project_files_write(formatted("tools/t%d.lisp", i), "42");
    struct client *client = serve_legacy(arguments);
    const char *cursor = NULL, *line = client_request(client, "1", "tools/list", "{}");
    for (int pages = 0; pages < 50 && !strstr(line, "\"t1\""); pages++) {
        cursor = client_string(client, line, "result", "nextCursor", NULL);
        line = client_request(client, "1", "tools/list", formatted("{\"cursor\":\"%s\"}", cursor));
    }
    cursor = client_string(client, line, "result", "nextCursor", NULL);
    project_files_remove("tools/t3.lisp");
    await_changed(client, "tools");
    line = client_request(client, "1", "tools/list", formatted("{\"cursor\":\"%s\"}", cursor));
    cr_assert_eq(client_integer(client, line, "error", "code", NULL), -32602, "%s", line);
    client_finish(client);
}

#define REGISTER "{\"version\":1,\"tools\":[{\"name\":\"a\"}]}"

/* What it leaves out must not come back because it is half saved. */
Test(state, a_register_that_breaks_keeps_its_last_good_version_and_is_reported_once) {
    static const char *const broken[] = {
        "{",
        "[]",
        "{\"version\":2,\"tools\":[]}",
        "{\"version\":1,\"tools\":5}",
        "{\"version\":1,\"tools\":[{\"name\":\"../b\"}]}",
        REGISTER REGISTER,
    };
    project_files_write("tools/a.lisp", "42");
    project_files_write("tools/b.lisp", "42");
    project_files_write("register.json", REGISTER);
    struct client *client = serve_legacy(NULL);
    expect_lacks(client_request(client, "1", "tools/list", "{}"), "\"name\":\"b\"");
    for (size_t i = 0; i < COUNT_OF(broken); i++) {
        project_files_write("register.json", broken[i]);
        const char *event = client_await_notification(client, "notifications/message", NULL);
        expect_member(event, "\"registry-failed\"", "params", "data", "event", NULL);
        expect_contains(event, "register.json: ");
        expect_member(client_request(client, "1", "tools/list", "{}"), "-32603", "error", "code",
                      NULL);
        expect_lacks(client_request(client, "1", "tools/list", "{}"), "\"name\":\"b\"");
        project_files_write("register.json", "{\"version\":1,\"tools\":[]}");
        await_changed(client, "tools");
        expect_notified_once(client);
        project_files_write("register.json", REGISTER);
        await_changed(client, "tools");
        expect_contains(client_request(client, "1", "tools/list", "{}"), "\"name\":\"a\"");
        expect_notified_once(client);
    }
    client_finish(client);
}

Test(state, pings_and_calls_are_answered_while_the_project_is_rewritten) {
    enum { FILES = 300 };
    add_asker("ask");
    struct client *client = serve_legacy(NULL);
    for (int i = 0; i < FILES; i++) {
        project_files_format(formatted("tools/many%d.lisp", i),
                             ";;; {\"description\": \"%d\"}\n(quit)", i);
        if (i % 10 == 0)
            client_ping(client);
    }
    send_call(client, "1", "ask");
    bool asked = false;
    for (const char *line; !asked && (line = client_read_line(client, NULL));) {
        asked = strstr(line, "elicitation/create") != NULL;
        if (asked) {
            const char *id = client_string(client, line, "id", NULL);
            answer(client, client_keep(client, json_quote(id, strlen(id))), ACCEPT);
        }
    }
    expect_contains(client_await(client, "1", NULL), "Hello Ada");
    client_finish(client);
}
