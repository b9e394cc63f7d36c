/* Thousands of lines of both eras on one pipe: requests, evaluations, subscriptions, cancellations,
 * batches and nonsense. The oracle checks each answer. */
#include "tests/support/eras.h"
#include "tests/support/generate.h"
#include "tests/support/play.h"

enum {
    LINES_BEFORE_HANDSHAKE = 40,
    KINDS = GENERATE_REFUSED | GENERATE_ILL_FORMED | GENERATE_UNREADABLE | GENERATE_SILENT |
            GENERATE_BATCH | GENERATE_BOTH_ERAS | GENERATE_IN_FLIGHT
};

static void expect_accounted(struct generator *generator, const char *revision, size_t lines) {
    struct script script = {0};
    generate_lines(generator, GENERATE_BOTH_ERAS,
                   random_below(&generator->random, LINES_BEFORE_HANDSHAKE), &script);
    generate_handshake(revision, &script);
    generate_lines(generator, KINDS, lines, &script);
    struct played played = play_expect(&(struct play){.due_max = 24}, &script);
    cr_assert_leq(played.open, lines / 100, "%zu answers are open", played.open);
    script_free(&script);
}

Test(mixed, traffic_of_both_eras_gets_every_answer_and_no_other) {
    struct generator generator = generate_for("mixed_traffic");
    expect_accounted(&generator, CLIENT_REVISION_BATCH, random_trials(2000, 20000));
}

Test(mixed, traffic_of_both_eras_beside_a_session_of_each_revision) {
    struct generator generator = generate_for("mixed_revisions");
    for (size_t i = 0; i + 1 < ERA_COUNT; i++)
        expect_accounted(&generator, eras[i].revision, random_trials(200, 2000));
}
