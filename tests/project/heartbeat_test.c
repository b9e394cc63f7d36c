/* The heartbeat of a run whose client asks for progress: a beat a second until the run reports
 * progress itself. All numbers under one token grow. */
#include "tests/support/project_files.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(heartbeat, .init = project_files_begin, .fini = project_files_end);

/* Sends a request with a token; MEMBERS is the inside of `params`. */
static void send_with_token(struct client *client, const struct era *era, const char *id,
                            const char *method, const char *members) {
    era_send_meta(client, era, id, method, members, "\"progressToken\":\"p\"");
}

static void add_tool(const char *name, const char *body) {
    project_files_format(formatted("tools/%s.lisp", name), "(mcp:deftool \"%s\" () %s \"done\")",
                         name, body);
}

static const char *next_progress(struct client *client) {
    const char *line = client_await_notification(client, "notifications/progress", NULL);
    expect_member(line, "\"p\"", "params", "progressToken", NULL);
    return line;
}

static double number_of(const char *line) {
    struct text value;
    cr_assert(json_at(text_of(line), &value, "params", "progress", NULL), "%s", line);
    cr_assert_eq(json_kind(value), VALUE_NUMBER);
    return strtod(value.bytes, NULL);
}

static void expect_beat(struct client *client, const struct era *era, double *last) {
    const char *line = next_progress(client);
    double now = number_of(line);
    cr_assert(now > *last && now < 0.000001, "%s", line);
    expect_member(line, NULL, "params", "total", NULL);
    if (era == eras)
        expect_member(line, NULL, "params", "message", NULL);
    else
        expect_contains(client_string(client, line, "params", "message", NULL), " bytes printed");
    *last = now;
}

/* All unread lines are beats, which grow from LAST on. */
static void expect_beats(struct client *client, double last) {
    for (const char *line; (line = client_take_line(client, NULL)) != NULL;) {
        cr_assert_gt(number_of(line), last, "%s", line);
        last = number_of(line);
    }
}

/* The next progress of the tool itself; beats before it grow from *LAST on. */
static const char *next_report(struct client *client, double *last) {
    const char *line = next_progress(client);
    for (; strstr(line, " bytes printed"); line = next_progress(client)) {
        cr_assert_gt(number_of(line), *last, "%s", line);
        *last = number_of(line);
    }
    return line;
}

Test(heartbeat, shows_in_each_revision_that_a_tool_runs) {
    add_tool("sleeps", "(sleep 2.5)");
    EACH_ERA_SERVED(era, NULL) {
        double last = 0;
        send_with_token(client, era, "1", "tools/call", "\"name\":\"sleeps\"");
        expect_beat(client, era, &last);
        cr_assert_str_eq(client_evaluate_await(client, "1").text, "done");
        expect_beats(client, last);
    }
}

Test(heartbeat, covers_prompts_and_resources) {
    project_files_write("prompts/slow.lisp", "(mcp:defprompt \"slow\" () (sleep 3) \"done\")");
    project_files_write("resources/slow.lisp", "(mcp:defresource \"slow://{x}\" (x) (sleep 3) x)");
    project_files_write("resources/slow.lisp.meta.json", "{\"uriTemplate\":\"slow://{x}\"}");
    struct client *client = project_files_serve_in(era_modern, NULL);
    double last = 0;
    send_with_token(client, era_modern, "1", "prompts/get", "\"name\":\"slow\"");
    expect_beat(client, era_modern, &last);
    client_await(client, "1", NULL);
    last = 0;
    send_with_token(client, era_modern, "2", "resources/read", "\"uri\":\"slow://y\"");
    expect_beat(client, era_modern, &last);
    client_await(client, "2", NULL);
    client_finish(client);
}

Test(heartbeat, is_not_sent_without_a_token) {
    add_tool("sleeps", "(sleep 1.5)");
    struct client *client = project_files_serve_in(era_modern, NULL);
    cr_assert_str_eq(era_call(client, era_modern, "sleeps", "{}").text, "done");
    client_expect_silence(client);
    client_finish(client);
}

Test(heartbeat, ends_with_the_first_progress_of_the_tool) {
    add_tool("tells", "(mcp:progress 1 3 \"begun\") (sleep 2.5) (mcp:progress 2 3)");
    for (const struct era *era = eras + 1; era < eras + ERA_COUNT; era += ERA_COUNT - 2) {
        struct client *client = project_files_serve_in(era, NULL);
        double last = 0;
        send_with_token(client, era, "1", "tools/call", "\"name\":\"tells\"");
        const char *line = next_report(client, &last);
        expect_member(line, "1", "params", "progress", NULL);
        expect_member(line, "3", "params", "total", NULL);
        expect_member(next_progress(client), "2", "params", "progress", NULL);
        cr_assert_str_eq(client_evaluate_await(client, "1").text, "done");
        client_expect_silence(client);
        client_finish(client);
    }
}

Test(heartbeat, stays_below_later_progress_of_the_tool) {
    add_tool("late", "(sleep 3) (mcp:progress 1/1000) (mcp:progress 1) (mcp:progress 2 3)");
    struct client *client = project_files_serve_in(era_modern, NULL);
    double last = 0;
    send_with_token(client, era_modern, "1", "tools/call", "\"name\":\"late\"");
    expect_beat(client, era_modern, &last);
    expect_member(next_report(client, &last), "0.001", "params", "progress", NULL);
    expect_member(next_progress(client), "1", "params", "progress", NULL);
    const char *line = next_progress(client);
    expect_member(line, "2", "params", "progress", NULL);
    expect_member(line, "3", "params", "total", NULL);
    cr_assert_str_eq(client_evaluate_await(client, "1").text, "done");
    client_finish(client);
}

/* Zero and negative progress is replaced, with its message and its total kept. */
Test(heartbeat, is_followed_by_greater_numbers_whatever_a_tool_reports) {
    add_tool("low", "(sleep 3) (mcp:progress -5 9 \"begun\") (mcp:progress -1) (mcp:progress 0)"
                    " (mcp:progress 1 9)");
    struct client *client = project_files_serve_in(era_modern, NULL);
    double last = 0;
    send_with_token(client, era_modern, "1", "tools/call", "\"name\":\"low\"");
    expect_beat(client, era_modern, &last);
    for (int i = 0; i < 3; i++) {
        const char *line = next_report(client, &last);
        double now = number_of(line);
        cr_assert(now > last && now < 0.000001, "%s", line);
        expect_member(line, i ? NULL : "\"begun\"", "params", "message", NULL);
        expect_member(line, i ? NULL : "9", "params", "total", NULL);
        last = now;
    }
    expect_member(next_progress(client), "1", "params", "progress", NULL);
    cr_assert_str_eq(client_evaluate_await(client, "1").text, "done");
    client_finish(client);
}

Test(heartbeat, continues_while_a_legacy_client_is_asked) {
    const struct era *era = era_legacy;
    add_tool("asks", "(mcp:ask :roots)");
    struct client *client = project_files_serve_able(era, "{\"roots\":{}}", NULL);
    double last = 0;
    send_with_token(client, era, "1", "tools/call", "\"name\":\"asks\"");
    expect_beat(client, era, &last);
    client_send_line(client, "{\"jsonrpc\":\"2.0\",\"id\":\"ask-1\",\"result\":{\"roots\":[]}}");
    cr_assert_str_eq(client_evaluate_await(client, "1").text, "done");
    client_finish(client);
}

/* Only the second request of the modern client has a token. */
Test(heartbeat, continues_with_the_request_that_brings_answers) {
    add_tool("asks", "(mcp:ask :roots :key \"r\") (sleep 3)");
    struct client *client = project_files_serve_in(era_modern, NULL);
    client_send_line(
        client,
        REQUEST_WITH("1", "tools/call", "{\"name\":\"asks\"," ENVELOPE_ABLE("{\"roots\":{}}") "}"));
    const char *line = client_await(client, "1", NULL);
    const char *state = client_string(client, line, "result", "requestState", NULL);
    double last = 0;
    send_with_token(client, era_modern, "2", "tools/call",
                    formatted("\"name\":\"asks\",\"requestState\":\"%s\","
                              "\"inputResponses\":{\"r\":{\"roots\":[]}}",
                              state));
    expect_beat(client, era_modern, &last);
    cr_assert_str_eq(client_evaluate_await(client, "2").text, "done");
    client_finish(client);
}

Test(heartbeat, is_sent_for_one_request_of_a_token_at_a_time) {
    add_tool("sleeps", "(sleep 3)");
    struct client *client = project_files_serve_in(era_modern, NULL);
    double last = 0;
    send_with_token(client, era_modern, "1", "tools/call", "\"name\":\"sleeps\"");
    send_with_token(client, era_modern, "2", "tools/call", "\"name\":\"sleeps\"");
    expect_beat(client, era_modern, &last);
    client_evaluate_await(client, "1");
    client_evaluate_await(client, "2");
    expect_beats(client, last);
    last = 0;
    send_with_token(client, era_modern, "3", "tools/call", "\"name\":\"sleeps\"");
    expect_beat(client, era_modern, &last);
    client_evaluate_await(client, "3");
    client_finish(client);
}
