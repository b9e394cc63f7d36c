/* Request-response guarantee: every well-formed request gets exactly one response, with its id and
 * with either result or error; notifications get none. */
#include "tests/support/client.h"
#include "tests/support/generate.h"
#include "tests/support/play.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { REQUESTS = GENERATE_VALID | GENERATE_REFUSED | GENERATE_EVALUATIONS };

/* 1,000 random requests, with valid and invalid methods. */
static void thousand(const struct play *play, const char *name) {
    struct generator generator = generate_for(name);
    struct script script = {0};
    size_t requests = random_trials(1000, 5000);
    generate_handshake(NULL, &script);
    generate_lines(&generator, REQUESTS, requests, &script);
    struct played played = play_expect(play, &script);
    cr_assert_eq(played.silent, 1, "%zu requests call for no answer", played.silent - 1);
    cr_assert_eq(played.results + played.errors + played.open, requests + 1);
    cr_assert_leq(played.open, requests / 50, "%zu of %zu answers are open", played.open, requests);
    script_free(&script);
}

Test(request_response_guarantee, a_thousand_requests_in_a_stream_get_one_response_each) {
    thousand(&(struct play){0}, "a_thousand_in_a_stream");
}

Test(request_response_guarantee, a_thousand_requests_one_after_another_get_one_response_each) {
    thousand(&(struct play){.in_turn = true}, "a_thousand_one_after_another");
}

/* With or without a handshake, and with `shutdown`, `exit`, both or neither after it. */
static void generate_conversation(struct generator *generator, struct script *script) {
    struct random *random = &generator->random;
    enum { LINES = 12 };
    unsigned kinds = REQUESTS | GENERATE_SILENT;
    generate_lines(generator, kinds, random_below(random, LINES), script);
    if (random_percent(random, 70))
        generate_handshake(NULL, script);
    generate_lines(generator, kinds, random_below(random, LINES), script);
    if (random_percent(random, 60))
        script_add_line(script, "{\"jsonrpc\":\"2.0\",\"id\":\"down\",\"method\":\"shutdown\"}");
    generate_lines(generator, kinds, random_below(random, LINES), script);
    if (random_percent(random, 60))
        script_add_line(script, "{\"jsonrpc\":\"2.0\",\"id\":\"out\",\"method\":\"exit\"}");
}

Test(request_response_guarantee, holds_in_every_phase_of_the_conversation) {
    struct generator generator = generate_for("every_phase");
    size_t trials = random_trials(100, 500), open = 0, answers = 0;
    for (size_t trial = 0; trial < trials; trial++) {
        struct script script = {0};
        generate_conversation(&generator, &script);
        struct play play = {.in_turn = random_percent(&generator.random, 30)};
        struct played played = play_expect(&play, &script);
        open += played.open;
        answers += played.results + played.errors + played.open;
        script_free(&script);
    }
    cr_assert_leq(open, answers / 20, "%zu of %zu answers are open", open, answers);
}

Test(request_response_guarantee, notifications_get_no_response) {
    struct generator generator = generate_for("notifications");
    size_t trials = random_trials(100, 500);
    struct script script = {0};
    generate_handshake(NULL, &script);
    generate_lines(&generator, GENERATE_SILENT, trials, &script);
    struct played played = play_expect(&(struct play){0}, &script);
    cr_assert_eq(played.silent, trials + 1);
    script_free(&script);
}

/* The answers are read only after the end of the input. */
Test(request_response_guarantee, a_slow_reader_gets_every_answer) {
    enum { REQUESTS_IN_A_PIPE = 1200 };
    static const bool sockets[] = {false, true};
    for (size_t i = 0; i < sizeof sockets / sizeof sockets[0]; i++) {
        struct client *client =
            client_start_ready(&(struct client_options){.socket = sockets[i]}, NULL);
        client_pause_reading(client, true);
        for (int id = 0; id < REQUESTS_IN_A_PIPE; id++)
            client_send_format(client, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/list\"}",
                               id);
        client_close_stdin(client);
        client_pause_reading(client, false);
        for (int id = 0; id < REQUESTS_IN_A_PIPE; id++) {
            char number[16];
            snprintf(number, sizeof number, "%d", id);
            cr_assert_not_null(strstr(client_await(client, number, NULL), "evaluate-lisp"));
        }
        client_finish(client);
    }
}
