/* Hostile code, time-outs, cancellations, copies, rollbacks, closes and kills from outside, in
 * random order and mostly without waiting, in four sessions beside a witness. Each call must have
 * exactly one answer, whatever it is; the server must survive, the witness must not be affected,
 * and nothing must be left at the end. */
#include "tests/support/client_sessions.h"
#include "tests/support/family.h"
#include "tests/support/lines.h"
#include "tests/support/lisp_file.h"
#include "tests/support/process.h"
#include "tests/support/random.h"
#include "tests/support/siege.h"
#include "tests/support/skip.h"
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { STEPS = 400, STEPS_THOROUGH = 5000, VICTIMS = 4, PENDING_MAX = 24 };

/* Without those that only the supervisor's time limit on forks ends. */
static const char *const functions[] = {
    "refuses-to-fork",
    "refuses-in-bad-text",
    "announces-by-a-wrong-frame",
    "announces-twice",
    "announces-untied",
    "announces-in-its-place",
    "announces-failure-in-bad-text",
    "forks-twice",
    "announces-without-forking",
    "speaks-for-its-origin",
    "checkpoint-lies",
    "closes-while-it-forks",
    "forbidden-while-it-forks",
};

static const char *const codes[] = {
    "(incf *kept*)",
    "(setf *kept* 1)",
    "(ext:quit 1)",
    ENDLESS,
    "(error \"x\")",
    "(ash 1 999999999999)",
    "#.(sleep 0.01)",
    "(hostile::closes-its-channel)",
    "(hostile::floods-with-refused-calls 2000)",
    "(hostile::send-octets 3 '(1 2 3))",
    VIOLATION,
};

struct chaos {
    struct siege siege;
    struct random random;
    const char *victims[VICTIMS];
    unsigned long pending[PENDING_MAX], ids;
    size_t pending_count;
};

static void await_some(struct chaos *chaos, size_t left) {
    while (chaos->pending_count > left) {
        client_await(chaos->siege.client, formatted("%lu", chaos->pending[0]), NULL);
        memmove(chaos->pending, chaos->pending + 1,
                --chaos->pending_count * sizeof *chaos->pending);
    }
}

/* The id of the next call, as JSON text. */
static const char *next_id(struct chaos *chaos) {
    if (chaos->pending_count == PENDING_MAX)
        await_some(chaos, PENDING_MAX / 2);
    chaos->pending[chaos->pending_count++] = ++chaos->ids;
    return formatted("%lu", chaos->ids);
}

static void evaluate(struct chaos *chaos, const char *session) {
    siege_send(&chaos->siege, next_id(chaos), session, random_pick(&chaos->random, codes), 0.2);
}

static void forge(struct chaos *chaos, const char *session) {
    siege_send(&chaos->siege, next_id(chaos), session,
               formatted("(hostile::%s %%lu)", random_pick(&chaos->random, functions)), 0.2);
}

static void use_tool(struct chaos *chaos, const char *tool, const char *session) {
    bool steps = strcmp(tool, "rollback-session") == 0;
    client_tool_send(chaos->siege.client, next_id(chaos), tool,
                     formatted("{\"session\":\"%s\"%s}", session, steps ? ",\"steps\":1" : ""));
    chaos->siege.calls++;
}

static void cancel(struct chaos *chaos) {
    if (chaos->pending_count)
        client_send_format(chaos->siege.client, CANCEL("%lu"),
                           chaos->pending[random_below(&chaos->random, chaos->pending_count)]);
}

/* Replaces a victim by a new one or by a copy of one of them. */
static void replace(struct chaos *chaos, size_t victim, bool by_copy) {
    struct siege *siege = &chaos->siege;
    const char *old = chaos->victims[victim];
    const char *from = chaos->victims[random_below(&chaos->random, VICTIMS)];
    await_some(chaos, 0);
    struct evaluation copy = {.line = NULL};
    if (by_copy) {
        siege->calls++;
        copy = client_tool(siege->client, "open-session", formatted("{\"from\":\"%s\"}", from));
    }
    chaos->victims[victim] =
        by_copy && !copy.is_error && !copy.error_code
            ? client_string(siege->client, copy.line, "result", "_meta", "session", NULL)
            : siege_victim(siege);
    use_tool(chaos, "close-session", old);
    await_some(chaos, 0); /* it must not be cancelled */
}

/* Any process but the zygote and those of the witness, which have the session id of its first. */
static void kill_any(struct chaos *chaos, pid_t witness) {
    pid_t pids[64];
    size_t count = client_descendants(chaos->siege.client, pids, 64);
    for (size_t tries = 0; count && tries < 10; tries++) {
        pid_t pid = pids[random_below(&chaos->random, count)];
        if (process_is_worker(pid) && getsid(pid) != witness) {
            kill(pid, SIGKILL);
            while (kill(pid, 0) ==
                   0) /* until it is reaped: it may be the spare of the next victim */
                client_ping(chaos->siege.client);
            return;
        }
    }
}

static void step(struct chaos *chaos, pid_t witness) {
    size_t victim = random_below(&chaos->random, VICTIMS);
    const char *session = chaos->victims[victim];
    size_t dice = random_below(&chaos->random, 100);
    if (dice < 35)
        evaluate(chaos, session);
    else if (dice < 60)
        forge(chaos, session);
    else if (dice < 72)
        use_tool(chaos, "rollback-session", session);
    else if (dice < 75)
        use_tool(chaos, "reset-session", session);
    else if (dice < 85)
        cancel(chaos);
    else if (dice < 89)
        kill_any(chaos, witness);
    else if (dice < 93)
        replace(chaos, victim, random_percent(&chaos->random, 60));
    else
        siege_expect_unharmed(&chaos->siege);
}

static void play(struct siege begun, const char *name) {
    struct chaos chaos = {.siege = begun, .random = random_for(name)};
    struct siege *siege = &chaos.siege;
    pid_t witness = getsid(family_head(siege->client, siege->witness));
    siege->calls++;
    for (size_t i = 0; i < VICTIMS; i++)
        chaos.victims[i] = siege_victim(siege);
    size_t steps = random_trials(STEPS, STEPS_THOROUGH);
    for (size_t i = 0; i < steps; i++)
        step(&chaos, witness);
    await_some(&chaos, 0);
    siege_end(siege, chaos.victims, VICTIMS);
}

Test(chaos, the_server_survives_everything_at_once) {
    play(siege_begin(NULL), "chaos");
}

Test(chaos, the_server_survives_everything_at_once_where_states_are_pages) {
    skip_without_pages();
    play(siege_begin_tracked(), "chaos of pages");
}
