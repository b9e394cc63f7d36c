/* Progress of calls that ask for it: the token comes back as it was sent, the number grows, and
 * none comes after the answer. The first notification comes after about a second. */
#include "tests/support/eras.h"
#include <stdlib.h>

/* Sends an evaluation with a progress token. */
static void send_with_token(struct client *client, const struct era *era, const char *id,
                            const char *token, const char *code) {
    era_send_meta(client, era, id, "tools/call",
                  formatted("\"name\":\"evaluate-lisp\",\"arguments\":{\"code\":\"%s\"}", code),
                  formatted("\"progressToken\":%s", token));
}

static const char *next_beat(struct client *client, const char *token) {
    const char *line = client_await_notification(client, "notifications/progress", NULL);
    expect_member(line, token, "params", "progressToken", NULL);
    return line;
}

static double number_at(const char *line, const char *name) {
    struct text value;
    cr_assert(json_at(text_of(line), &value, "params", name, NULL), "no %s in %s", name, line);
    cr_assert_eq(json_kind(value), VALUE_NUMBER);
    return strtod(value.bytes, NULL);
}

Test(progress, reports_time_and_output_of_a_running_call_in_each_revision) {
    for (size_t i = 0; i < ERA_COUNT; i++) {
        struct client *client = era_start(&eras[i], NULL);
        send_with_token(client, &eras[i], "1", "\"t\"",
                        "(dotimes (i 200000) (write-char #\\\\x)) " ENDLESS);
        const char *line = next_beat(client, "\"t\"");
        cr_assert_geq(number_at(line, "progress"), 0);
        cr_assert_eq(number_at(line, "total"), 30);
        if (i == 0) {
            expect_member(line, NULL, "params", "message", NULL);
        } else {
            while (strstr(line, " 0 bytes printed"))
                line = next_beat(client, "\"t\"");
            expect_contains(client_string(client, line, "params", "message", NULL),
                            " bytes printed");
        }
        client_send_line(client, CANCEL("1"));
        if (!eras[i].modern)
            cr_assert_eq(client_evaluate_await(client, "1").error_code, -32001);
        client_finish(client);
    }
}

/* Reads lines up to the answer to ID 1: all others are progress of TOKEN, which grows. How many
 * there are depends on the machine; returns that. */
static size_t read_beats(struct client *client, const char *token) {
    double last = -1;
    size_t beats = 0;
    struct text id;
    for (const char *line = client_read_line(client, NULL);
         !json_at(text_of(line), &id, "id", NULL); line = client_read_line(client, NULL), beats++) {
        expect_member(line, token, "params", "progressToken", NULL);
        double now = number_at(line, "progress");
        cr_assert_gt(now, last);
        last = now;
    }
    cr_assert(text_is(id, "1"));
    return beats;
}

Test(progress, grows_until_the_call_is_answered) {
    struct client *client = client_start(NULL);
    send_with_token(client, era_modern, "1", "\"t\"", "(sleep 3.5) 1");
    cr_assert_geq(read_beats(client, "\"t\""), 1);
    client_expect_silence(client);
    client_finish(client);
}

/* Sends a slow call for each token, side by side, and returns when all are answered. */
static void run_side_by_side(struct client *client, const char *const *tokens, size_t count,
                             const char *code) {
    for (size_t i = 0; i < count; i++)
        send_with_token(client, era_modern, formatted("%zu", i), tokens[i], code);
    for (size_t i = 0; i < count; i++)
        cr_assert_eq(client_evaluate_await(client, formatted("%zu", i)).error_code, 0);
}

Test(progress, any_token_comes_back_as_it_was_sent) {
    static const char *const tokens[] = {
        "0", "-1", "\"\"", "\"0\"", "9007199254740993", "99999999999999999999", "\"\xC3\xA9\\\"\""};
    struct client *client = client_start(NULL);
    run_side_by_side(client, tokens, COUNT_OF(tokens), "(sleep 3)");
    bool seen[COUNT_OF(tokens)] = {false};
    for (const char *line; (line = client_take_line(client, NULL)) != NULL;)
        for (size_t i = 0; i < COUNT_OF(tokens); i++)
            seen[i] = seen[i] || strstr(line, formatted("\"progressToken\":%s,", tokens[i]));
    for (size_t i = 0; i < COUNT_OF(tokens); i++)
        cr_assert(seen[i], "no progress for %s", tokens[i]);
    client_finish(client);
}

Test(progress, a_token_of_another_type_is_ignored) {
    static const char *const tokens[] = {"1.5", "null", "true", "{}", "[1]"};
    struct client *client = client_start(NULL);
    run_side_by_side(client, tokens, COUNT_OF(tokens), "(sleep 1.3)");
    client_expect_silence(client);
    client_finish(client);
}

Test(progress, is_not_sent_unasked) {
    struct client *client = client_start(NULL);
    cr_assert_eq(era_evaluate(client, era_modern, NULL, "(sleep 1.3)").error_code, 0);
    client_expect_silence(client);
    client_finish(client);
}

Test(progress, a_token_can_be_used_again_once_its_call_is_answered) {
    struct client *client = client_start(NULL);
    for (int i = 0; i < 2; i++) {
        send_with_token(client, era_modern, "1", "7", "(sleep 2.5)");
        cr_assert_geq(read_beats(client, "7"), 1);
        client_expect_silence(client);
    }
    client_finish(client);
}

/* A second call must not report under the token of the first, neither beside it nor after it. */
Test(progress, a_token_in_use_belongs_to_its_first_call) {
    struct client *client = client_start(NULL);
    send_with_token(client, era_modern, "1", "7", "(sleep 2.5)");
    send_with_token(client, era_modern, "2", "7", "(sleep 5)");
    cr_assert_geq(read_beats(client, "7"), 1);
    cr_assert_eq(client_evaluate_await(client, "2").error_code, 0);
    client_expect_silence(client);
    client_finish(client);
}

Test(progress, stops_with_a_cancelled_call) {
    EACH_KIND_STARTED(era, NULL) {
        send_with_token(client, era, "1", "0", ENDLESS);
        next_beat(client, "0");
        client_send_line(client, CANCEL("1"));
        if (!era->modern)
            cr_assert_eq(client_evaluate_await(client, "1").error_code, -32001);
        cr_assert_eq(era_evaluate(client, era, NULL, "(sleep 1.3)").error_code, 0);
        client_expect_silence(client);
    }
}

Test(progress, is_not_sent_for_a_queued_call) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate_send(client, "1", "(sleep 1.5)");
    send_with_token(client, &eras[0], "2", "7", "1");
    client_evaluate_await(client, "1");
    client_evaluate_await(client, "2");
    client_expect_silence(client);
    client_finish(client);
}
