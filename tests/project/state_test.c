/* Tools of a project that ask the client, and clients that answer with malice: states replayed,
 * altered, moved and expired, answers to nothing, answers of wrong types, huge, late or twice. And
 * a project that changes under the calls that run. */
#include "tests/support/eras.h"
#include "tests/support/project_files.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

TestSuite(state, .init = project_files_begin, .fini = project_files_end);

#define ABLE_ENVELOPE                                                                              \
    "\"_meta\":{\"" KEY_VERSION "\":\"" MODERN_REVISION "\",\"" KEY_CLIENT                         \
    "\":{\"elicitation\":{}}}"
#define FORM     "'(:object :type :object :properties (:object))"
#define ASK_NAME "(mcp:ref (mcp:ask :elicit \"Name?\" " FORM " :key \"k\") \"content\" \"name\")"
#define HELLO(name)                                                                                \
    "\"inputResponses\":{\"k\":{\"action\":\"accept\",\"content\":{\"name\":\"" name "\"}}},"

static void add_asker(const char *name) {
    char file[64];
    snprintf(file, sizeof file, "tools/%s.lisp", name);
    project_files_format(
        file, "(mcp:deftool \"%s\" (&rest all) all (format nil \"Hello ~a\" " ASK_NAME "))", name);
}

/* --- modern: states --- */

/* Calls NAME by METHOD with the members MORE, each with a comma behind it, and returns the answer.
 */
static const char *request_as(struct client *client, const char *method, const char *name,
                              const char *arguments, const char *more) {
    client_send_format(
        client, REQUEST_WITH("1", "%s", "{\"name\":\"%s\",\"arguments\":%s,%s" ABLE_ENVELOPE "}"),
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

/* The members that bring STATE back with an answer to its question; kept by the client. */
static const char *with_state(struct client *client, const char *state) {
    char *more, *quoted = json_quote(state, strlen(state));
    if (asprintf(&more, "\"requestState\":%s," HELLO("Ada"), quoted) < 0)
        abort();
    free(quoted);
    return client_keep(client, more);
}

static void expect_refused(const char *line, const char *what) {
    struct text value;
    cr_assert(json_at(text_of(line), &value, "error", "code", NULL) && text_is(value, "-32602"),
              "%s: %s", what, line);
}

static void expect_hello(struct client *client, const char *name, const char *state) {
    expect_contains(call(client, name, with_state(client, state)), "\"Hello Ada\"");
}

Test(state, a_state_is_good_once) {
    add_asker("ask");
    struct client *client = project_files_serve(NULL);
    const char *state = begin(client, "ask");
    expect_hello(client, "ask", state);
    for (int i = 0; i < 3; i++)
        expect_refused(call(client, "ask", with_state(client, state)), "a replay");
    expect_hello(client, "ask", begin(client, "ask"));
    client_finish(client);
}

Test(state, an_older_round_does_not_come_back) {
    project_files_write("tools/twice.lisp", "(mcp:deftool \"twice\" () (let ((one " ASK_NAME
                                            ")) (format nil \"~a and ~a\" one " ASK_NAME ")))");
    struct client *client = project_files_serve(NULL);
    const char *first = begin(client, "twice");
    const char *second = state_of(client, call(client, "twice", with_state(client, first)));
    cr_assert_str_neq(first, second);
    expect_refused(call(client, "twice", with_state(client, first)), "the first round");
    expect_contains(call(client, "twice", with_state(client, second)), "Ada and Ada");
    expect_refused(call(client, "twice", with_state(client, second)), "the second round");
    client_finish(client);
}

Test(state, a_state_altered_anywhere_is_refused_and_harms_nothing) {
    add_asker("ask");
    struct client *client = project_files_serve(NULL);
    const char *state = begin(client, "ask");
    size_t length = strlen(state);
    for (size_t i = 0; i < length; i++) {
        char *altered = client_keep(client, strdup(state));
        altered[i] = altered[i] == '0' ? '1' : '0';
        expect_refused(call(client, "ask", with_state(client, altered)), altered);
        char *shorter = client_keep(client, strndup(state, i));
        expect_refused(call(client, "ask", with_state(client, shorter)), shorter);
    }
    expect_hello(client, "ask", state);
    client_finish(client);
}

Test(state, a_state_dressed_otherwise_is_refused) {
    static const char *const forms[] = {"%s ",       " %s", "%s.",  ".%s",
                                        "%s\\u0000", "0%s", "%s%s", "+%s"};
    static const char *const values[] = {"5",    "null",   "true",        "[]",
                                         "{}",   "\"\"",   "\".\"",       "\"....\"",
                                         "-1.5", "\"%n\"", "\"\\ud800\"", "\"\\u0000\""};
    char more[2000], dressed[1200];
    add_asker("ask");
    struct client *client = project_files_serve(NULL);
    const char *state = begin(client, "ask");
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        const char *end = strstr(forms[i], "%s") + 2;
        snprintf(dressed, sizeof dressed, "%.*s%s%s", (int)(end - forms[i] - 2), forms[i], state,
                 strcmp(end, "%s") == 0 ? state : end);
        snprintf(more, sizeof more, "\"requestState\":\"%s\"," HELLO("Ada"), dressed);
        expect_refused(call(client, "ask", more), dressed);
    }
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        snprintf(more, sizeof more, "\"requestState\":%s," HELLO("Ada"), values[i]);
        expect_refused(call(client, "ask", more), values[i]);
    }
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
    expect_refused(call(client, "other", more), "another tool");
    expect_refused(request_as(client, "prompts/get", "ask", "{}", more), "a prompt");
    expect_refused(request_as(client, "tools/call", "ask", "{\"a\":1}", more), "more arguments");
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
        expect_refused(request_as(client, "tools/call", "ask", others[i], more), others[i]);
    const char *turned = "{\"b\":{\"d\":[3,\"4\"],\"c\":2},\"a\":1}"; /* the same, in other order */
    expect_contains(request_as(client, "tools/call", "ask", turned, more), "Hello Ada");
    client_finish(client);
}

Test(state, a_state_of_another_process_is_refused) {
    add_asker("ask");
    struct client *one = project_files_serve(NULL);
    struct client *other = project_files_serve(NULL);
    const char *state = begin(one, "ask"), *own = begin(other, "ask");
    expect_refused(call(other, "ask", with_state(other, state)), "another process's state");
    expect_refused(call(one, "ask", with_state(one, own)), "another process's state");
    expect_hello(one, "ask", state);
    expect_hello(other, "ask", own);
    client_finish(one);
    client_finish(other);
}

Test(state, a_state_whose_time_is_over_is_refused) {
    static const char *const arguments[] = {"--call-timeout-s", "1", "--call-timeout-max-s", "1",
                                            NULL};
    add_asker("ask");
    struct client *client = project_files_serve(arguments);
    const char *state = begin(client, "ask");
    client_await_stderr(client, "timeout"); /* the call that waited has ended */
    expect_refused(call(client, "ask", with_state(client, state)), "an expired state");
    expect_hello(client, "ask", begin(client, "ask"));
    client_finish(client);
}

Test(state, answers_without_a_state_are_for_their_own_call_alone) {
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

static void expect_room(const char *session_max, size_t kept) {
    const char *const arguments[] = {"--session-max", session_max, NULL};
    enum { CALLS = 40 };
    struct client *client = project_files_serve(arguments);
    const char *states[CALLS];
    for (size_t i = 0; i < CALLS; i++)
        states[i] = begin(client, "ask");
    expect_contains(call(client, "plain", ""), "Plain");
    expect_refused(call(client, "ask", with_state(client, states[0])), "the oldest");
    for (size_t i = 1; i <= kept; i++)
        expect_hello(client, "ask", states[CALLS - i]);
    client_finish(client);
}

Test(state, calls_that_nobody_continues_make_room_for_new_ones) {
    add_asker("ask");
    project_files_write("tools/plain.lisp", "(mcp:deftool \"plain\" () \"Plain\")");
    expect_room("1", 1);
    expect_room("4", 2);
    expect_room("7", 3);
}

/* Each waits for the place of one that is told to end, and none is refused. */
Test(state, calls_that_come_at_once_wait_for_their_places) {
    static const char *const arguments[] = {"--session-max", "3", NULL};
    enum { CALLS = 3, ROUNDS = 20 };
    add_asker("ask");
    struct client *client = project_files_serve(arguments);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < CALLS; i++)
            client_send_format(client,
                               REQUEST_WITH("%d", "tools/call",
                                            "{\"name\":\"ask\",\"arguments\":{}," ABLE_ENVELOPE
                                            "}"),
                               i);
        for (int i = 0; i < CALLS; i++)
            expect_member(client_read_line(client, NULL), "\"input_required\"", "result",
                          "resultType", NULL);
    }
    client_finish(client);
}

Test(state, a_call_that_asks_for_ever_is_ended) {
    project_files_write("tools/nags.lisp", "(mcp:deftool \"nags\" () (loop " ASK_NAME "))");
    add_asker("ask");
    struct client *client = project_files_serve(NULL);
    const char *line = call(client, "nags", "");
    struct text value;
    int rounds = 0;
    while (json_at(text_of(line), &value, "result", "requestState", NULL)) {
        cr_assert_lt(++rounds, 1000, "it asks for ever");
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

Test(state, responses_of_a_wrong_shape_are_refused_and_may_be_mended) {
    static const char *const wrong[] = {"5",          "\"k\"",        "[]",
                                        "true",       "{\"k\":5}",    "{\"k\":\"a\"}",
                                        "{\"k\":[]}", "{\"k\":true}", "{\"k\":1.5}"};
    add_asker("ask");
    struct client *client = project_files_serve(NULL);
    const char *state = begin(client, "ask");
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        expect_refused(continued(client, state, wrong[i]), wrong[i]);
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
        expect_refused(call(client, "ask", with_state(client, state)), "the state before");
        state = next;
    }
    expect_hello(client, "ask", state);
    client_finish(client);
}

/* Answers of odd inside: none may do more than be refused or be data for the tool. */
static const char *const strange[] = {
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

/* Any one answer is right that is a result of the tool. */
static void expect_result(const char *line) {
    struct text value;
    cr_assert(json_at(text_of(line), &value, "result", "content", NULL), "%s", line);
    cr_assert(json_at(text_of(line), &value, "result", "_meta", "exitCode", NULL), "%s", line);
    cr_assert(text_is(value, "0") || text_is(value, "1"), "%s", line);
}

Test(state, a_strange_answer_is_data_or_is_asked_for_again) {
    char responses[400];
    add_asker("ask");
    struct client *client = project_files_serve(NULL);
    for (size_t i = 0; i < COUNT_OF(strange); i++) {
        snprintf(responses, sizeof responses, "{\"k\":%s}", strange[i]);
        const char *line = continued(client, begin(client, "ask"), responses);
        if (strstr(line, "\"requestState\""))
            expect_hello(client, "ask", state_of(client, line));
        else
            expect_result(line);
    }
    expect_hello(client, "ask", begin(client, "ask"));
    client_finish(client);
}

enum { HUGE_BYTES = 12 << 20, DEEP_LEVELS = 110 };

/* An answer whose name is HUGE_BYTES long, or nests DEEP_LEVELS; malloc'd. */
static char *huge_answer(bool deep) {
    static const char before[] = "{\"action\":\"accept\",\"content\":{\"name\":";
    size_t size = deep ? (size_t)2 * DEEP_LEVELS : HUGE_BYTES;
    char *huge = malloc(sizeof before + size + 16), *to = huge;
    if (!huge)
        abort();
    to = stpcpy(to, before);
    *to++ = deep ? '[' : '"';
    memset(to, deep ? '[' : 'x', size);
    if (deep)
        memset(to + DEEP_LEVELS - 1, ']', DEEP_LEVELS + 1);
    to += deep ? (size_t)2 * DEEP_LEVELS - 1 : size;
    stpcpy(to, deep ? "}}" : "\"}}");
    return huge;
}

Test(state, a_huge_or_deep_answer_ends_at_most_its_own_call) {
    add_asker("ask");
    struct client *client = project_files_serve(NULL);
    for (int deep = 0; deep < 2; deep++) {
        char *huge = huge_answer(deep), *responses;
        cr_assert_geq(asprintf(&responses, "{\"k\":%s}", huge), 0);
        const char *line = continued(client, begin(client, "ask"), responses);
        expect_member(line, "1", "id", NULL);
        free(huge);
        free(responses);
        expect_hello(client, "ask", begin(client, "ask"));
    }
    client_finish(client);
}

/* --- legacy: our requests, and their answers --- */

static struct client *serve_legacy(const char *const *arguments) {
    static const char able[] = "{\"elicitation\":{},\"sampling\":{},\"roots\":{}}";
    return project_files_serve_able(era_legacy, able, arguments);
}

static void send_call(struct client *client, const char *id, const char *tool) {
    client_send_format(
        client, REQUEST_WITH("%s", "tools/call", "{\"name\":\"%s\",\"arguments\":{}}"), id, tool);
}

/* The next line that is no line of the log. */
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

Test(state, a_legacy_answer_of_a_wrong_type_counts_as_none) {
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

Test(state, a_strange_legacy_answer_is_data_or_none) {
    char body[400];
    add_asker("ask");
    struct client *client = serve_legacy(NULL);
    for (size_t i = 0; i < COUNT_OF(strange); i++) {
        snprintf(body, sizeof body, "\"result\":%s", strange[i]);
        send_call(client, "1", "ask");
        answer(client, read_question(client), body);
        expect_result(client_await(client, "1", NULL));
    }
    expect_legacy_hello(client);
    client_finish(client);
}

Test(state, a_huge_legacy_answer_ends_at_most_its_own_call) {
    add_asker("ask");
    struct client *client = serve_legacy(NULL);
    for (int deep = 0; deep < 2; deep++) {
        char *huge = huge_answer(deep), *body;
        cr_assert_geq(asprintf(&body, "\"result\":%s", huge), 0);
        send_call(client, "1", "ask");
        answer(client, read_question(client), body);
        client_await(client, "1", NULL);
        free(huge);
        free(body);
        expect_legacy_hello(client);
    }
    client_finish(client);
}

/* Wants the server to take back the question ID. */
static void expect_taken_back(struct client *client, const char *id) {
    const char *line = client_await_notification(client, "notifications/cancelled", NULL);
    expect_member(line, id, "params", "requestId", NULL);
}

Test(state, an_answer_after_the_end_of_its_call_is_dropped) {
    static const char *const arguments[] = {"--call-timeout-s", "1", "--call-timeout-max-s", "1",
                                            NULL};
    add_asker("ask");
    struct client *client = serve_legacy(NULL);
    send_call(client, "1", "ask");
    const char *id = read_question(client);
    client_send_line(client, CANCEL("1"));
    cr_assert_eq(client_integer(client, client_await(client, "1", NULL), "error", "code", NULL),
                 -32001);
    expect_taken_back(client, id);
    answer(client, id, ACCEPT);
    client_expect_silence(client);
    expect_legacy_hello(client);
    client_finish(client);

    client = serve_legacy(arguments);
    send_call(client, "1", "ask");
    id = read_question(client);
    cr_assert_eq(client_integer(client, client_await(client, "1", NULL), "error", "code", NULL),
                 -32004);
    expect_taken_back(client, id);
    answer(client, id, ACCEPT);
    client_expect_silence(client);
    client_finish(client);
}

Test(state, a_client_that_goes_away_instead_of_answering_leaves_nothing_behind) {
    add_asker("ask");
    struct client *client = serve_legacy(NULL);
    send_call(client, "1", "ask");
    read_question(client);
    client_close_stdin(client);
    client_await(client, "1", NULL);
    client_finish(client);

    client = project_files_serve(NULL);
    begin(client, "ask");
    begin(client, "ask");
    client_finish(client);
}

Test(state, a_client_that_cannot_be_asked_is_not_asked) {
    add_asker("ask");
    EACH_ERA_SERVED(era, NULL) {
        era_call_send(client, era, "1", "ask", "{}");
        const char *line = client_read_line(client, NULL);
        expect_member(line, "1", "id", NULL);
        if (era->modern)
            cr_assert_eq(client_integer(client, line, "error", "code", NULL), -32021, "%s", line);
        else
            expect_contains(line, "[ERROR] MCP:UNANSWERED");
    }
}

/* --- a project that changes meanwhile --- */

static void await_changed(struct client *client, const char *what) {
    char method[64];
    snprintf(method, sizeof method, "notifications/%s/list_changed", what);
    client_await_notification(client, method, NULL);
}

/* Nothing more was said of the tools until a change of the prompts, which was made later. */
static void expect_told_once(struct client *client) {
    static int count;
    char name[64];
    snprintf(name, sizeof name, "prompts/later%d.txt", count++);
    project_files_write(name, "later");
    expect_member(read_past_logs(client), "\"notifications/prompts/list_changed\"", "method", NULL);
}

#define VERSIONED(version)                                                                         \
    ";;; {\"description\": \"" version "\"}\n(mcp:deftool \"ask\" (&rest all) all (format nil "    \
    "\"" version " ~a\" " ASK_NAME "))"

Test(state, a_tool_that_is_edited_while_it_runs_ends_as_it_began) {
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

Test(state, a_tool_that_is_removed_while_it_runs_still_answers_and_then_is_unknown) {
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

Test(state, a_parked_call_of_a_removed_tool_is_refused_or_goes_on) {
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

Test(state, a_list_that_changes_between_two_pages_refuses_its_old_cursor) {
    static const char *const arguments[] = {"--list-page-size", "1", NULL};
    char params[400];
    for (int i = 0; i < 5; i++) {
        char name[32];
        snprintf(name, sizeof name, "tools/t%d.lisp", i);
        project_files_write(name, "42");
    }
    struct client *client = serve_legacy(arguments);
    const char *cursor = NULL, *line = client_request(client, "1", "tools/list", "{}");
    for (int pages = 0; pages < 50 && !strstr(line, "\"t1\""); pages++) {
        cursor = client_string(client, line, "result", "nextCursor", NULL);
        snprintf(params, sizeof params, "{\"cursor\":\"%s\"}", cursor);
        line = client_request(client, "1", "tools/list", params);
    }
    cursor = client_string(client, line, "result", "nextCursor", NULL);
    project_files_remove("tools/t3.lisp");
    await_changed(client, "tools");
    snprintf(params, sizeof params, "{\"cursor\":\"%s\"}", cursor);
    line = client_request(client, "1", "tools/list", params);
    cr_assert_eq(client_integer(client, line, "error", "code", NULL), -32602, "%s", line);
    client_finish(client);
}

#define REGISTER "{\"version\":1,\"tools\":[{\"name\":\"a\"}]}"

Test(state, a_register_that_breaks_and_is_mended_is_told_once_each) {
    static const char *const broken[] = {
        "{",
        "[]",
        "{\"version\":2,\"tools\":[]}",
        "{\"version\":1,\"tools\":5}",
        "{\"version\":1,\"tools\":[{\"name\":\"../b\"}]}",
        "\xef\xbb\xbf" REGISTER,
        REGISTER REGISTER,
    };
    project_files_write("tools/a.lisp", "42");
    project_files_write("tools/b.lisp", "42");
    project_files_write("register.json", REGISTER);
    struct client *client = serve_legacy(NULL);
    expect_lacks(client_request(client, "1", "tools/list", "{}"), "\"name\":\"b\"");
    for (size_t i = 0; i < COUNT_OF(broken); i++) {
        project_files_write("register.json", broken[i]);
        await_changed(client, "tools");
        expect_contains(client_request(client, "1", "tools/list", "{}"), "\"name\":\"b\"");
        expect_told_once(client);
        project_files_write("register.json", REGISTER);
        await_changed(client, "tools");
        expect_lacks(client_request(client, "1", "tools/list", "{}"), "\"name\":\"b\"");
        expect_told_once(client);
    }
    client_finish(client);
}

Test(state, pings_and_calls_are_answered_while_the_project_is_rewritten) {
    enum { FILES = 300 };
    char name[40];
    add_asker("ask");
    struct client *client = serve_legacy(NULL);
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "tools/many%d.lisp", i);
        project_files_format(name, ";;; {\"description\": \"%d\"}\n(quit)", i);
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
