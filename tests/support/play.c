/* See play.h. Talks through the client alone. */
#include "tests/support/play.h"
#include "tests/support/lines.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <time.h>

static void receive(struct client *client, struct oracle *oracle, const char *line, size_t length) {
    if (!oracle_received(oracle, (struct text){line, length}))
        client_fail(client, "%s", oracle->fault);
}

static void await_due(struct client *client, struct oracle *oracle) {
    while (!client_failure(client) && oracle_first_due(oracle)) {
        size_t length;
        const char *line = client_read_line(client, &length);
        if (line)
            receive(client, oracle, line, length);
    }
}

static void send_own(struct client *client, struct oracle *oracle, const char *line) {
    oracle_sent(oracle, text_of(line));
    client_send_line(client, line);
}

/* Reads until nothing is due, and the answer to a ping as well: answers that have not come by then
 * never come. */
static void settle(struct client *client, struct oracle *oracle) {
    if (oracle->phase != PHASE_ENDED)
        send_own(client, oracle, PING("\"after the script\""));
    await_due(client, oracle);
    oracle_settle(oracle);
}

static void count_answers(const struct oracle *oracle, size_t added, struct played *played) {
    played->silent += added == 0;
    for (size_t i = oracle->count - added; i < oracle->count; i++) {
        played->results += oracle->answers[i].kind == ANSWER_RESULT;
        played->errors += oracle->answers[i].kind == ANSWER_ERROR;
        played->open += oracle->answers[i].kind == ANSWER_OPEN;
    }
}

static void send_script(const struct play *play, const struct script *script, struct client *client,
                        struct oracle *oracle, struct played *played) {
    for (size_t i = 0; i < script->count && !client_failure(client); i++) {
        struct text line = script->lines[i];
        count_answers(oracle, oracle_sent(oracle, line), played);
        client_send(client, line.bytes, line.length);
        client_send(client, "\n", 1);
        size_t length;
        for (const char *answer; (answer = client_take_line(client, &length)) != NULL;)
            receive(client, oracle, answer, length);
        bool pause = play->pause_every && (i + 1) % play->pause_every == 0;
        if (play->in_turn)
            await_due(client, oracle);
        bool full = play->due_max && oracle_due(oracle) > play->due_max;
        if (pause || (full && !oracle_is_blocked(oracle)))
            settle(client, oracle);
        if (pause && !client_failure(client))
            play->at_pause(client, i + 1, play->context);
    }
    for (const char *id; (id = oracle_endless(oracle)) != NULL;) {
        char line[200];
        snprintf(line, sizeof line, CANCEL("%s"), id);
        send_own(client, oracle, line);
    }
    settle(client, oracle);
    played->open += oracle->confused;
}

static struct played play_with(const struct play *play, const struct script *script,
                               unsigned watchdog_s) {
    struct played played = {0};
    struct client_options options = {.program = play->program,
                                     .arguments = play->arguments,
                                     .batches = play->batches,
                                     .collect = true,
                                     .watchdog_s = watchdog_s};
    struct oracle oracle = oracle_make();
    oracle.batches = play->batches;
    oracle.minimal = play->minimal;
    struct client *client = client_start(&options);
    client_allow_batches(client); /* the oracle checks whether one is in place */
    send_script(play, script, client, &oracle, &played);
    client_close_stdin(client);
    oracle_end(&oracle);
    size_t length;
    for (const char *line; (line = client_read_line_or_end(client, &length)) != NULL;)
        receive(client, &oracle, line, length);
    client_end(client);
    const struct answer *due = oracle_first_due(&oracle);
    if (due && !client_failure(client))
        client_fail(client, "not everything was answered at the end");
    const char *complaint = client_stderr(client); /* each call may move the bytes */
    if (client_failure(client) &&
        asprintf(&played.fault, "%s%s%s%s%s", client_failure(client),
                 due ? "; the first answer due has id " : "", due ? due->id : "",
                 *complaint ? "; stderr: " : "", complaint) < 0)
        abort();
    client_free(client);
    oracle_free(&oracle);
    return played;
}

struct played play_once(const struct play *play, const struct script *script) {
    return play_with(play, script, 0);
}

/* Shrinking has a limit on tries, and one on time, since each try may wait for an answer that never
 * comes. Both only decide how small the printed script is. */
enum { SHRINK_ATTEMPTS = 600, SHRINK_SECONDS = 120, SHRINK_WATCHDOG_S = 5 };

struct shrinking {
    const struct play *play;
    size_t open; /* a script with more open answers than the first has proves less */
    time_t end;
};

static bool fails(const struct script *script, void *context) {
    const struct shrinking *shrinking = context;
    if (time(NULL) > shrinking->end)
        return false;
    struct played played = play_with(shrinking->play, script, SHRINK_WATCHDOG_S);
    bool failed = played.fault && played.open <= shrinking->open;
    free(played.fault);
    return failed;
}

struct played play_expect(const struct play *play, const struct script *script) {
    struct played played = play_once(play, script);
    if (!played.fault)
        return played;
    fprintf(stderr, "the script failed: %s\nshrinking it\n", played.fault);
    struct play alone = *play;
    alone.pause_every = 0;
    struct shrinking shrinking = {&alone, played.open, time(NULL) + SHRINK_SECONDS};
    struct script small = script_copy(script);
    if (fails(&small, &shrinking))
        script_shrink(&small, fails, &shrinking, SHRINK_ATTEMPTS);
    else
        fputs("it does not fail every time; this is the whole script\n", stderr);
    struct played last = play_with(&alone, &small, SHRINK_WATCHDOG_S);
    script_print(stderr, &small);
    fprintf(stderr, "which fails with: %s\n", last.fault ? last.fault : "nothing, this time");
    free(last.fault);
    script_free(&small);
    cr_assert_fail("%.1000s", played.fault);
    return played;
}
