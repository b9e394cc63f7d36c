/* Random calls, failures, copies, rollbacks, closes and cancellations, held against a model of
 * plain tables. A script that fails is shrunk to the lines that are necessary. */
#include "tests/support/session_play.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    STEPS = 5000,
    STEPS_THOROUGH = 50000,
    STEPS_OF_ONE_SERVER = 250,
    SHRINK_ATTEMPTS = 400,
    SHRINK_SECONDS = 120
};

static bool fails(const struct script *script, void *context) {
    if (time(NULL) > *(const time_t *)context)
        return false;
    char *fault = session_play(script);
    free(fault);
    return fault != NULL;
}

/* Shrinks SCRIPT, which failed for FAULT, prints it and fails; frees both. */
static void report(struct script *script, char *fault) {
    char text[1024];
    fprintf(stderr, "failed: %s\nshrinking…\n", fault);
    time_t end = time(NULL) + SHRINK_SECONDS;
    size_t attempts = script_shrink(script, fails, &end, SHRINK_ATTEMPTS);
    char *last = session_play(script);
    fprintf(stderr, "the script after %zu attempts:\n", attempts);
    for (size_t i = 0; i < script->count; i++)
        fprintf(stderr, "%.*s\n", (int)script->lines[i].length, script->lines[i].bytes);
    snprintf(text, sizeof text, "%s", last ? last : fault);
    free(last);
    free(fault);
    script_free(script);
    cr_assert_fail("%s", text);
}

Test(model, sessions_agree_with_the_model_after_random_calls) {
    struct random random = random_for("model");
    size_t steps = random_trials(STEPS, STEPS_THOROUGH);
    for (size_t done = 0; done < steps; done += STEPS_OF_ONE_SERVER) {
        struct script script = session_play_make(&random, STEPS_OF_ONE_SERVER);
        char *fault = session_play(&script);
        if (fault)
            report(&script, fault);
        script_free(&script);
    }
}
