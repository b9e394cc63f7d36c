/* Code that forges the answer to its own call and continues to run until its worker is asked to
 * fork: it refuses, forks in silence, answers for its fork, or forks and lies. Only its own session
 * is affected, until it is rolled back or reset, and no process is left. */
#include "tests/support/client_sessions.h"
#include "tests/support/family.h"
#include "tests/support/lines.h"
#include "tests/support/siege.h"
#include <signal.h>
#include <stdio.h>

#define LOST "SESSION-LOST: "

/* The first call after the forgery. */
enum sequel {
    SEQUEL_LIE,     /* the hostile worker answers it */
    SEQUEL_LOST,    /* it runs in the state before the forgery, and the answer reports the loss */
    SEQUEL_TIMEOUT, /* it times out; the next call runs in the state before the forgery */
};

static void expect_sequel(struct siege *siege, const char *session, const char *function,
                          enum sequel sequel, const char *lie) {
    enum { CALLS = 5 };
    struct evaluation evaluation =
        siege_evaluate(siege, session, "*kept*", sequel == SEQUEL_TIMEOUT ? 0.2 : 0);
    switch (sequel) {
    case SEQUEL_LIE:
        for (int i = 0; i < CALLS; i++) {
            cr_assert_str_eq(evaluation.text, lie, "%s: %s", function, evaluation.line);
            evaluation = siege_evaluate(siege, session, "*kept*", 0);
            siege_expect_unharmed(siege);
        }
        break;
    case SEQUEL_LOST:
        expect_contains(evaluation.text, LOST);
        expect_contains(evaluation.text, "=> 1");
        break;
    case SEQUEL_TIMEOUT:
        cr_assert_eq(evaluation.error_code, -32004, "%s: %s", function, evaluation.line);
        cr_assert_str_eq(siege_evaluate(siege, session, "*kept*", 0).text, "=> 1", "%s", function);
        break;
    }
}

static const struct forgery {
    const char *function;
    enum sequel sequel;
    const char *lie;
} quick[] = {
    {"refuses-to-fork", SEQUEL_LIE, "=> lie"},
    {"refuses-in-bad-text", SEQUEL_LIE, "=> lie"},
    {"announces-by-a-wrong-frame", SEQUEL_TIMEOUT, NULL},
    {"announces-failure-in-bad-text", SEQUEL_LIE, "=> lie"},
    {"announces-untied", SEQUEL_LIE, "=> lie"},
    {"announces-twice", SEQUEL_LIE, "=> lie"},
    {"announces-in-its-place", SEQUEL_LIE, "=> lie"},
    {"announces-without-forking", SEQUEL_LIE, "=> lie"},
    {"forks-twice", SEQUEL_LIE, "=> one and -1"},
    {"speaks-for-its-origin", SEQUEL_LOST, NULL},
    {"checkpoint-lies", SEQUEL_LIE, "=> lie"},
    {"forbidden-while-it-forks", SEQUEL_LOST, NULL},
};

Test(forged, a_worker_that_misbehaves_when_asked_to_fork_harms_only_its_session) {
    for (size_t i = 0; i < COUNT_OF(quick); i++) {
        struct siege siege = siege_begin(NULL);
        siege_forge(&siege, siege.victim, quick[i].function);
        siege_expect_unharmed(&siege);
        expect_sequel(&siege, siege.victim, quick[i].function, quick[i].sequel, quick[i].lie);
        siege_end(&siege, NULL, 0);
    }
}

Test(forged, a_rollback_ends_the_lies) {
    enum { STATE_BEFORE = 2 };
    for (size_t i = 0; i < COUNT_OF(quick); i++) {
        struct siege siege = siege_begin(NULL);
        struct session_row row;
        siege_forge(&siege, siege.victim, quick[i].function);
        siege_settle(&siege, siege.victim);
        cr_assert(client_session_row(siege.client, siege.victim, &row));
        if (row.number > STATE_BEFORE) /* else the forged state is lost already */
            siege_rollback(&siege, siege.victim, 1);
        struct evaluation evaluation = siege_evaluate(&siege, siege.victim, "*kept*", 0);
        expect_contains(evaluation.text, "=> 1");
        siege_end(&siege, NULL, 0);
    }
}

/* The fork is stopped when it has announced itself, most often before it can write. */
Test(forged, a_fork_that_writes_on_the_channel_of_its_origin_harms_only_its_session) {
    struct siege siege = siege_begin(NULL);
    siege_forge(&siege, siege.victim, "both-go-on");
    siege_expect_unharmed(&siege);
    struct evaluation evaluation = siege_evaluate(&siege, siege.victim, "*kept*", 0);
    cr_assert(strstr(evaluation.text, LOST) ||
                  strstr(evaluation.text, "another process sent on the channel") ||
                  strcmp(evaluation.text, "=> lie") == 0,
              "%s", evaluation.line);
    siege_expect_unharmed(&siege);
    siege_end(&siege, NULL, 0);
}

/* The supervisor's time limit ends these, so they run side by side. */
static const char *const slow[] = {
    "never-listens",
    "never-forks",
    "never-announces",
    "announces-half",
    "refused-calls-before-announcing",
};

/* Sends the call after the forgery in each session. */
static void send_next(struct siege *siege, const char *const *victims) {
    for (size_t i = 0; i < COUNT_OF(slow); i++)
        siege_send(siege, formatted("%zu", i), victims[i], "*kept*", 0);
}

Test(forged, a_worker_that_does_not_fork_when_asked_to_is_ended) {
    enum { CALLS = 4 };
    struct siege siege = siege_begin(NULL);
    const char *victims[COUNT_OF(slow)];
    bool reported[COUNT_OF(slow)] = {false};
    for (size_t i = 0; i < COUNT_OF(slow); i++) {
        victims[i] = siege_victim(&siege);
        siege_forge(&siege, victims[i], slow[i]);
    }
    send_next(&siege, victims);
    for (int i = 0; i < 20; i++)
        siege_expect_unharmed(&siege);
    /* Workers that continue to run may answer or disturb the next call before they are ended. */
    for (int calls = 0; calls < CALLS; calls++) {
        for (size_t i = 0; i < COUNT_OF(slow); i++) {
            struct evaluation evaluation = client_evaluate_await(siege.client, formatted("%zu", i));
            reported[i] = reported[i] || strstr(evaluation.text, LOST);
            if (reported[i])
                expect_contains(evaluation.text, "=> 1");
        }
        if (calls < CALLS - 1)
            send_next(&siege, victims);
    }
    for (size_t i = 0; i < COUNT_OF(slow); i++)
        cr_assert(reported[i], "%s", slow[i]);
    siege_end(&siege, victims, COUNT_OF(slow));
}

Test(forged, an_origin_that_reads_the_channel_of_its_copy_harms_only_the_copy) {
    struct siege siege = siege_begin(NULL);
    siege_forge(&siege, siege.victim, "steals-from-its-copy");
    const char *copy = siege_copy(&siege, siege.victim);
    siege_send(&siege, "\"copy\"", copy, "(boundp '*kept*)", 0);
    for (int i = 0; i < 20; i++)
        siege_expect_unharmed(&siege);
    /* The copy had no earlier state. */
    struct evaluation evaluation = client_evaluate_await(siege.client, "\"copy\"");
    cr_assert(evaluation.is_error);
    expect_contains(evaluation.text,
                    formatted("Session %s was lost before this call: its worker ended", copy));
    expect_contains(siege_evaluate(&siege, copy, "1", 0).text,
                    formatted("[ERROR] UNKNOWN-SESSION\nSession %s was lost: its worker", copy));
    siege_end(&siege, NULL, 0);
}

Test(forged, code_that_runs_on_after_its_answer_is_stopped) {
    struct siege siege = siege_begin(NULL);
    siege_forge(&siege, siege.victim, "both-flood");
    siege_settle(&siege, siege.victim);
    siege_expect_unharmed(&siege);
    /* The zygote's spare alone waits without being stopped. */
    family_await_stopped(siege.client, (size_t)2 * SIEGE_SESSION_WORKERS);
    family_expect_idle(siege.client);
    siege_rollback(&siege, siege.victim, 1);
    cr_assert_str_eq(siege_evaluate(&siege, siege.victim, "(progn (princ 2) *kept*)", 0).text,
                     "[stdout]\n2\n=> 1");
    siege_end(&siege, NULL, 0);
}

Test(forged, a_copy_that_keeps_the_output_of_its_origin_writes_nothing_into_it) {
    struct siege siege = siege_begin(NULL);
    siege_forge(&siege, siege.victim, "copy-floods-its-origin");
    const char *copy = siege_copy(&siege, siege.victim);
    siege_rollback(&siege, siege.victim, 1);
    siege_send(&siege, "\"copy\"", copy, "1", 0.5);
    cr_assert_str_eq(
        siege_evaluate(&siege, siege.victim, "(progn (sleep 0.2) (princ 2) *kept*)", 0).text,
        "[stdout]\n2\n=> 1");
    client_evaluate_await(siege.client, "\"copy\""); /* it times out, or dies of SIGPIPE */
    siege_end(&siege, &copy, 1);
}

Test(forged, a_call_answered_before_it_was_read_does_not_stop_the_server) {
    enum { CODE_BYTES = 4 << 20 };
    struct siege siege = siege_begin(NULL);
    char *code = malloc(CODE_BYTES + 1);
    cr_assert_not_null(code);
    memset(code, ' ', CODE_BYTES);
    code[CODE_BYTES] = '\0';
    siege_forge(&siege, siege.victim, "answers-before-it-reads");
    struct evaluation evaluation = siege_evaluate(&siege, siege.victim, code, 0);
    free(code);
    expect_contains(evaluation.text, "[ERROR] MALFORMED-OUTPUT\n");
    siege_expect_unharmed(&siege);
    cr_assert_str_eq(siege_evaluate(&siege, siege.victim, "*kept*", 0).text, "=> 1");
    siege_end(&siege, NULL, 0);
}

/* The same with the longest call that fits into the channel, so that the request to fork does not.
 */
Test(forged, a_full_channel_does_not_stop_the_server) {
    enum { LONGEST = 400000, SHORTEST = 50000, STEP = 8000 };
    struct siege siege = siege_begin(NULL);
    char *code = malloc(LONGEST + 1);
    cr_assert_not_null(code);
    memset(code, ' ', LONGEST);
    bool fits = false;
    for (size_t size = LONGEST; !fits && size > SHORTEST; size -= STEP) {
        code[size] = '\0';
        siege_forge(&siege, siege.victim, "answers-before-it-reads");
        struct evaluation evaluation = siege_evaluate(&siege, siege.victim, code, 0);
        siege_expect_unharmed(&siege);
        fits = strcmp(evaluation.text, "=> unread") == 0;
        if (!fits)
            expect_contains(evaluation.text, "[ERROR] MALFORMED-OUTPUT\n");
    }
    free(code);
    cr_assert(fits);
    client_await_stderr(siege.client, "cannot send a frame");
    siege_end(&siege, NULL, 0);
}

Test(forged, a_worker_that_closes_its_channel_while_it_forks_is_ended) {
    struct siege siege = siege_begin(NULL);
    siege_forge(&siege, siege.victim, "closes-while-it-forks");
    siege_settle(&siege, siege.victim);
    struct evaluation evaluation = siege_evaluate(&siege, siege.victim, "*kept*", 0);
    expect_contains(evaluation.text, "[ERROR] MALFORMED-OUTPUT\n");
    expect_contains(evaluation.text, "closed its channel");
    /* The checkpoint itself is lawful; its code is hostile. */
    cr_assert_str_eq(siege_evaluate(&siege, siege.victim, "*kept*", 0).text,
                     "=> lie of the checkpoint");
    siege_end(&siege, NULL, 0);
}

Test(forged, a_server_that_ends_leaves_no_unannounced_fork_behind) {
    static const char *const functions[] = {"never-announces", "announces-half",
                                            "announces-in-its-place", "checkpoint-lies",
                                            "both-go-on"};
    for (size_t i = 0; i < COUNT_OF(functions); i++) {
        struct siege siege = siege_begin(NULL);
        siege_forge(&siege, siege.victim, functions[i]);
        client_barrier(siege.client);
        client_finish(siege.client);
    }
}

/* A hostile checkpoint continues to sleep when its channel ends; only its death signal ends it. */
Test(forged, a_killed_server_leaves_no_hostile_checkpoint_behind) {
    static const char *const functions[] = {"checkpoint-lies", "forks-twice", "announces-untied",
                                            "closes-while-it-forks"};
    for (size_t i = 0; i < COUNT_OF(functions); i++) {
        struct siege siege = siege_begin(NULL);
        siege_forge(&siege, siege.victim, functions[i]);
        siege_settle(&siege, siege.victim);
        client_kill(siege.client, SIGKILL);
        cr_assert_eq(client_wait(siege.client), 128 + SIGKILL);
        family_await_nobody(siege.client);
        client_free(siege.client);
    }
}
