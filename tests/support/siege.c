/* See siege.h. Counts the calls, because a forged answer needs the number of its call. */
#include "tests/support/siege.h"
#include "tests/support/client_sessions.h"
#include "tests/support/footprint.h"
#include "tests/support/lines.h"
#include "tests/support/lisp_file.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SPARE = 1, CODE_MAX = 4096, ARGUMENTS_MAX = 16, WATCHDOG_S = 120, PAUSE_US = 50000 };

/* As at the end: there are pipes for the next session. */
static void open_and_close(struct siege *siege) {
    const char *session = client_session_open(siege->client);
    siege_evaluate(siege, session, "1", 0);
    siege_settle(siege, session);
    siege_close(siege, session);
}

static struct siege begin(const char *const *arguments, size_t witness_calls,
                          size_t witness_workers) {
    struct siege siege = {
        .client = client_start_ready(
            &(struct client_options){.arguments = arguments, .watchdog_s = WATCHDOG_S}, NULL),
        .workers = witness_workers + SPARE};
    siege.witness = client_session_open(siege.client);
    siege_evaluate(&siege, siege.witness, "(defvar *witness* 0)", 0);
    for (size_t i = 0; i < witness_calls; i++) {
        siege_expect_unharmed(&siege);
        usleep(PAUSE_US); /* for the weigher, which may have to start */
    }
    open_and_close(&siege);
    client_session_count(siege.client); /* starts the weigher, which has a descriptor */
    siege.descriptors = footprint_descriptors(siege.client, siege.workers);
    siege.victim = siege_victim(&siege);
    return siege;
}

struct siege siege_begin(const char *const *arguments) {
    /* Each state is a process of the hostile code. */
    const char *all[ARGUMENTS_MAX] = {"--session-history", "1", "--session-record", "off"};
    for (size_t i = 0; arguments && arguments[i] && i + 5 < ARGUMENTS_MAX; i++)
        all[i + 4] = arguments[i];
    return begin(all, 1, SIEGE_SESSION_WORKERS);
}

struct siege siege_begin_tracked(void) {
    enum { CALLS_UNTIL_TRACKED = 6 };
    static const char *const all[] = {"--session-history", "1", "--session-record", "auto", NULL};
    return begin(all, CALLS_UNTIL_TRACKED, SIEGE_TRACKED_WORKERS);
}

const char *siege_victim(struct siege *siege) {
    const char *session = client_session_open(siege->client);
    lisp_file_load_hostile(siege->client, session);
    siege->calls++;
    cr_assert_str_eq(siege_evaluate(siege, session, "(defvar *kept* 1)", 0).text, "=> *KEPT*");
    return session;
}

void siege_send(struct siege *siege, const char *id, const char *session, const char *code,
                double timeout_s) {
    char numbered[CODE_MAX];
    siege->calls++;
    const char *hole = strstr(code, "%lu");
    if (hole)
        snprintf(numbered, sizeof numbered, "%.*s%lu%s", (int)(hole - code), code, siege->calls,
                 hole + 3);
    client_session_send(siege->client, id, session, hole ? numbered : code, timeout_s);
}

struct evaluation siege_evaluate(struct siege *siege, const char *session, const char *code,
                                 double timeout_s) {
    const char *id = client_new_id(siege->client);
    siege_send(siege, id, session, code, timeout_s);
    return client_evaluate_await(siege->client, id);
}

void siege_settle(struct siege *siege, const char *session) {
    client_session_settle(siege->client, session);
    siege->calls++;
}

void siege_reset(struct siege *siege, const char *session) {
    client_session_reset(siege->client, session);
    siege->calls++;
}

void siege_close(struct siege *siege, const char *session) {
    client_session_close(siege->client, session);
    siege->calls++;
}

struct evaluation siege_rollback(struct siege *siege, const char *session, long steps) {
    siege->calls++;
    return client_session_rollback(siege->client, session, steps);
}

const char *siege_copy(struct siege *siege, const char *session) {
    siege->calls++;
    return client_session_copy(siege->client, session, -1);
}

void siege_forge(struct siege *siege, const char *session, const char *function) {
    struct evaluation evaluation =
        siege_evaluate(siege, session, formatted("(hostile::%s %%lu)", function), 0);
    if (strcmp(evaluation.text, "=> forged") != 0)
        client_fail(siege->client, "%s could not forge its answer: %.500s", function,
                    evaluation.text);
}

void siege_expect_unharmed(struct siege *siege) {
    client_ping(siege->client);
    const char *value = formatted("=> %ld", ++siege->witnessed);
    struct evaluation evaluation = siege_evaluate(siege, siege->witness, "(incf *witness*)", 0);
    if (strcmp(evaluation.text, value) != 0)
        client_fail(siege->client, "the witness is harmed: wanted %s, got %.500s", value,
                    evaluation.text);
}

static void expect_renewed(struct siege *siege, const char *session) {
    client_session_reset(siege->client, session);
    client_session_expect(siege->client, session, "(list (boundp '*kept*) (+ 1 2))", "=> (NIL 3)");
    client_session_close(siege->client, session);
}

/* No event may be about the witness. */
static void expect_no_event(struct siege *siege) {
    if (strstr(client_stderr(siege->client), formatted("session=%s", siege->witness)))
        client_fail(siege->client, "there is an event of the witness, %s", siege->witness);
}

void siege_end(struct siege *siege, const char *const *victims, size_t count) {
    siege_expect_unharmed(siege);
    for (size_t i = 0; i < count; i++)
        expect_renewed(siege, victims[i]);
    expect_renewed(siege, siege->victim);
    footprint_expect_descriptors(siege->client, siege->workers, siege->descriptors);
    expect_no_event(siege);
    client_finish(siege->client);
}
