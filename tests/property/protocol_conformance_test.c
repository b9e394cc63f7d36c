/* Protocol conformance: every message is valid JSON-RPC 2.0; valid ones are processed, invalid ones
 * are answered with an error. As in all tests, the client checks each line that the server writes.
 */
#include "tests/support/client.h"
#include "tests/support/generate.h"
#include "tests/support/play.h"
#include <criterion/criterion.h>
#include <string.h>

static const char *const revisions[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};

enum {
    MESSAGES = GENERATE_VALID | GENERATE_REFUSED | GENERATE_ILL_FORMED | GENERATE_UNREADABLE |
               GENERATE_MUTATED | GENERATE_SILENT | GENERATE_BATCH | GENERATE_TWINS |
               GENERATE_EVALUATIONS
};

/* Random valid and invalid messages, 100 of them in a conversation, in every revision. */
static void converse(const char *revision, const char *name) {
    enum { LINES = 100 };
    struct generator generator = generate_for(name);
    size_t trials = random_trials(100, 500) / 4, open = 0, answers = 0;
    for (size_t trial = 0; trial < trials; trial++) {
        struct script script = {0};
        generate_handshake(revision, &script);
        generate_lines(&generator, MESSAGES, LINES, &script);
        struct play play = {.in_turn = random_percent(&generator.random, 20)};
        struct played played = play_expect(&play, &script);
        open += played.open;
        answers += played.results + played.errors + played.open;
        script_free(&script);
    }
    cr_assert_leq(open, answers / 20, "%zu of %zu answers are open", open, answers);
}

Test(protocol_conformance, messages_of_all_kinds_in_2024_11_05) {
    converse("2024-11-05", "messages_in_2024_11_05");
}

Test(protocol_conformance, messages_of_all_kinds_in_2025_03_26_with_batches) {
    converse("2025-03-26", "messages_in_2025_03_26");
}

Test(protocol_conformance, messages_of_all_kinds_in_2025_06_18) {
    converse("2025-06-18", "messages_in_2025_06_18");
}

Test(protocol_conformance, messages_of_all_kinds_in_2025_11_25) {
    converse("2025-11-25", "messages_in_2025_11_25");
}

Test(protocol_conformance, batches_by_option_in_every_revision) {
    const char *arguments[] = {"serve", "--batches", NULL};
    struct generator generator = generate_for("batches_by_option");
    for (size_t i = 0; i < sizeof revisions / sizeof revisions[0]; i++) {
        struct script script = {0};
        generate_handshake(revisions[i], &script);
        generate_lines(&generator, GENERATE_BATCH | GENERATE_VALID, random_trials(100, 500),
                       &script);
        play_expect(&(struct play){.arguments = arguments, .batches = true}, &script);
        script_free(&script);
    }
}

/* Random bytes: the answers are well-formed and the server survives. */
Test(protocol_conformance, random_bytes_get_well_formed_answers) {
    struct generator generator = generate_for("random_bytes");
    struct script script = {0};
    generate_handshake(NULL, &script);
    generate_lines(&generator, GENERATE_UNREADABLE, random_trials(1000, 5000), &script);
    play_expect(&(struct play){0}, &script);
    script_free(&script);
}

/* Some with members that the specification does not name. */
Test(protocol_conformance, valid_messages_are_accepted_in_every_revision) {
    struct generator generator = generate_for("valid_messages");
    for (size_t i = 0; i < sizeof revisions / sizeof revisions[0]; i++) {
        struct script script = {0};
        size_t trials = random_trials(100, 500);
        generate_handshake(revisions[i], &script);
        generate_lines(&generator, GENERATE_VALID | GENERATE_EVALUATIONS, trials, &script);
        struct played played = play_expect(&(struct play){0}, &script);
        cr_assert_eq(played.results, trials + 1);
        script_free(&script);
    }
}

Test(protocol_conformance, messages_arrive_in_pieces_of_any_size) {
    struct generator generator = generate_for("pieces");
    struct random *random = &generator.random;
    struct client *client = client_start_ready(NULL, NULL);
    size_t trials = random_trials(100, 500);
    for (size_t trial = 0; trial < trials; trial++) {
        char line[160], id[32];
        snprintf(id, sizeof id, "%zu", trial);
        int length = snprintf(
            line, sizeof line,
            "\xef\xbb\xbf "
            "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\",\"x\":\"\xf0\x9f\x90\x8d\"}\r\n",
            id);
        for (size_t sent = 0; sent < (size_t)length;) {
            size_t piece = 1 + random_below(random, (size_t)length - sent);
            client_send(client, line + sent, piece);
            client_flush(client);
            sent += piece;
        }
        cr_assert_not_null(client_await(client, id, NULL));
    }
    client_expect_silence(client);
    client_finish(client);
}

Test(protocol_conformance, messages_in_minimal_mode) {
    const char *arguments[] = {"serve", "--minimal", NULL};
    struct generator generator = generate_for("minimal_mode");
    struct script script = {0};
    generate_lines(&generator, GENERATE_VALID | GENERATE_REFUSED, 50, &script);
    generate_handshake(NULL, &script);
    generate_lines(&generator, MESSAGES & ~(GENERATE_BATCH | GENERATE_TWINS),
                   random_trials(200, 1000), &script);
    play_expect(&(struct play){.arguments = arguments, .minimal = true}, &script);
    script_free(&script);
}
