/* Mixed traffic: thousands of lines of both eras on one pipe, each answer held against a ledger
 * that knows the contract alone. Prints its seed; a run that fails is shrunk to the lines that
 * matter. */
#include "tests/support/eras.h"
#include "tests/support/ledger.h"
#include "tests/support/script.h"
#include "tests/support/traffic.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { DUE_MAX = 24, SHRINK_ATTEMPTS = 100000, SHRINK_SECONDS = 120, SHRINK_WATCHDOG_S = 5 };

static void receive(struct client *client, struct ledger *ledger, const char *line, size_t length) {
    if (!ledger_received(ledger, (struct text){line, length}))
        client_fail(client, "%s", ledger->fault);
}

static void take_all(struct client *client, struct ledger *ledger) {
    size_t length;
    for (const char *line; (line = client_take_line(client, &length)) != NULL;)
        receive(client, ledger, line, length);
}

/* Reads until nothing is due, and a little further: what is still unanswered then never will be. */
static void settle(struct client *client, struct ledger *ledger) {
    while (!client_failure(client) && ledger_due(ledger)) {
        size_t length;
        const char *line = client_read_line(client, &length);
        if (line)
            receive(client, ledger, line, length);
    }
    if (client_failure(client))
        return;
    client_barrier(client);
    take_all(client, ledger);
    ledger_settle(ledger);
}

static void cancel_endless(struct client *client, struct ledger *ledger) {
    for (const char *id; (id = ledger_endless(ledger)) != NULL;) {
        char line[200];
        snprintf(line, sizeof line, CANCEL("%s"), id);
        ledger_sent(ledger, text_of(line));
        client_send_line(client, line);
    }
}

static void read_to_end(struct client *client, struct ledger *ledger) {
    size_t length;
    for (const char *line; (line = client_read_line_or_end(client, &length)) != NULL;)
        receive(client, ledger, line, length);
}

/* Plays SCRIPT to a fresh server. Returns what was wrong, malloc'd, or NULL; what came is counted
 * in *ledger, which the caller frees. */
static char *play(const struct script *script, unsigned watchdog_s, struct ledger *ledger) {
    const struct client_options options = {
        .collect = true, .batches = true, .watchdog_s = watchdog_s};
    struct client *client = client_start(&options);
    for (size_t i = 0; i < script->count && !client_failure(client); i++) {
        const struct text line = script->lines[i];
        ledger_sent(ledger, line);
        client_send(client, line.bytes, line.length);
        client_send(client, "\n", 1);
        take_all(client, ledger);
        if (ledger_due(ledger) > DUE_MAX && !ledger_is_blocked(ledger))
            settle(client, ledger);
    }
    cancel_endless(client, ledger);
    settle(client, ledger);
    client_close_stdin(client);
    ledger_end(ledger);
    read_to_end(client, ledger);
    client_end(client);
    char *fault = client_failure(client) ? strdup(client_failure(client)) : NULL;
    if (!fault && (ledger_due(ledger) || ledger->end_count))
        fault = strdup("not everything was answered at the end");
    client_free(client);
    return fault;
}

struct shrinking {
    const struct script *original;
    time_t end;
};

/* Only whole lines are left out: an edited line would be one that the ledger has no account of. */
static bool fails(const struct script *script, void *context) {
    const struct shrinking *shrinking = context;
    size_t known = 0;
    for (size_t i = 0; i < shrinking->original->count && known < script->count; i++)
        known += shrinking->original->lines[i].length == script->lines[known].length &&
                 memcmp(shrinking->original->lines[i].bytes, script->lines[known].bytes,
                        script->lines[known].length) == 0;
    if (known < script->count || time(NULL) > shrinking->end)
        return false;
    struct ledger ledger = {0};
    char *fault = play(script, SHRINK_WATCHDOG_S, &ledger);
    ledger_free(&ledger);
    free(fault);
    return fault != NULL;
}

static void expect_accounted(const struct script *script) {
    struct ledger ledger = {0};
    char *fault = play(script, 0, &ledger);
    if (fault) {
        struct script small = script_copy(script);
        struct shrinking shrinking = {script, time(NULL) + SHRINK_SECONDS};
        fprintf(stderr, "%s\nshrinking it\n", fault);
        script_shrink(&small, fails, &shrinking, SHRINK_ATTEMPTS);
        script_print(stderr, &small);
        script_free(&small);
    }
    cr_assert_null(fault, "%s", fault);
    fprintf(stderr, "%zu lines: %zu answers, %zu notifications\n", script->count, ledger.answers,
            ledger.notifications);
    ledger_free(&ledger);
}

Test(mixed, every_line_of_mixed_traffic_gets_what_it_calls_for_and_nothing_else) {
    struct random random = random_for("mixed_traffic");
    size_t lines = random_trials(2000, 20000);
    struct script script = {0};
    traffic_generate(&random, CLIENT_REVISION_BATCH, lines, &script);
    expect_accounted(&script);
    script_free(&script);
}

Test(mixed, and_so_it_is_beside_a_session_of_any_revision) {
    struct random random = random_for("mixed_revisions");
    size_t lines = random_trials(200, 2000);
    for (size_t i = 0; i + 1 < ERA_COUNT; i++) {
        struct script script = {0};
        traffic_generate(&random, eras[i].revision, lines, &script);
        expect_accounted(&script);
        script_free(&script);
    }
}
