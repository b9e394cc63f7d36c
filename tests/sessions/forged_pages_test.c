/* Code that misbehaves when its writes are to be tracked, and states of such code that are kept as
 * pages. Only its own session is affected, and no process or descriptor is left. */
#include "tests/support/client_sessions.h"
#include "tests/support/family.h"
#include "tests/support/footprint.h"
#include "tests/support/lines.h"
#include "tests/support/lisp_file.h"
#include "tests/support/process.h"
#include "tests/support/siege.h"
#include "tests/support/skip.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TIMEOUT_S = 1 };

/* A session with hostile.lisp, whose next call is its second. */
static const char *make_victim(struct siege *siege) {
    const char *victim = client_session_open(siege->client);
    lisp_file_load_hostile(siege->client, victim);
    siege->calls++;
    return victim;
}

/* The witness can be rolled back still, and is tracked again. */
static void end(struct siege *siege) {
    enum { CALLS_UNTIL_TRACKED = 6 };
    siege_expect_unharmed(siege);
    cr_assert_not(siege_rollback(siege, siege->witness, 1).is_error);
    siege->witnessed--;
    for (int i = 0; i < CALLS_UNTIL_TRACKED; i++)
        siege_expect_unharmed(siege);
    siege_end(siege, NULL, 0);
}

static const char *const functions[] = {
    "(hostile::says-nothing %lu)",
    "(hostile::says-descriptor %lu 0)",
    "(hostile::says-descriptor %lu 1)",
    "(hostile::says-descriptor %lu 3)",
    "(hostile::says-descriptor %lu 1000)",
    "(hostile::says-descriptor %lu #x7fffffff)",
    "(hostile::says-descriptor %lu #x80000000)",
    "(hostile::says-descriptor %lu #xffffffff)",
    "(hostile::says-it-twice %lu)",
    "(hostile::says-it-again-later %lu)",
    "(hostile::says-it-at-length %lu 0)",
    "(hostile::says-it-at-length %lu 4)",
    "(hostile::says-it-at-length %lu 23)",
    "(hostile::says-it-at-length %lu 25)",
    "(hostile::says-it-at-length %lu 4096)",
    "(hostile::says-half %lu)",
    "(hostile::makes-it-twice %lu)",
    "(hostile::makes-another %lu 0)",
    "(hostile::makes-another %lu 1)",
    "(hostile::makes-it-late %lu)",
    "(hostile::closes-it %lu)",
    "(hostile::says-unused %lu 0 0)",
    "(hostile::says-unused %lu 1 4097)",
    "(hostile::says-unused %lu #x7ffff0000000 #x1000)",
    "(hostile::says-unused %lu 0 #xffffffffffffffff)",
    "(hostile::says-unused %lu #x10000 #x7ffffffff000)",
    "(hostile::says-unused %lu #x11000 #x7fffffffe000)",
    "(hostile::says-unused %lu #x8000000000000000 #x8000000000001000)",
};

/* Whatever it answers, a return to the state before ends the lies. */
static void try(struct siege *siege, const char *code) {
    enum { CALLS = 6 };
    const char *victim = make_victim(siege);
    cr_assert_str_eq(siege_evaluate(siege, victim, code, 0).text, "=> forged", "%s", code);
    for (int i = 0; i < CALLS; i++)
        expect_lacks(siege_evaluate(siege, victim, "*kept*", TIMEOUT_S).text, "untracked");
    siege_expect_unharmed(siege);
    for (int i = 0; i < CALLS; i++) {
        siege_rollback(siege, victim, 1);
        siege_evaluate(siege, victim, "*kept*", TIMEOUT_S);
    }
    siege_expect_unharmed(siege);
    siege_reset(siege, victim);
    cr_assert_str_eq(siege_evaluate(siege, victim, "(list (boundp '*kept*) (+ 1 2))", 0).text,
                     "=> (NIL 3)", "%s", code);
    siege_close(siege, victim);
}

Test(forged_pages, a_worker_that_misbehaves_when_it_is_to_be_tracked_harms_only_its_session) {
    skip_without_pages();
    struct siege siege = siege_begin_tracked();
    for (size_t i = 0; i < COUNT_OF(functions); i++)
        try(&siege, functions[i]);
    end(&siege);
}

/* The descriptors of the server with a victim that has forged by CODE. */
static int count_with(struct siege *siege, const char *code) {
    enum { VICTIMS_WORKERS = 2 * SIEGE_SESSION_WORKERS }; /* they have made two calls each */
    const char *victim = make_victim(siege);
    cr_assert_str_eq(siege_evaluate(siege, victim, code, 0).text, "=> forged", "%s", code);
    cr_assert_str_eq(siege_evaluate(siege, victim, "1", 0).text, "=> lie", "%s", code);
    const int count = footprint_descriptors(siege->client, siege->workers + VICTIMS_WORKERS);
    siege_close(siege, victim);
    return count;
}

/* The control: a worker that does all by itself as the runtime would is tracked. */
Test(forged_pages, a_worker_that_makes_its_userfaultfd_itself_is_tracked) {
    enum { PARTS = 3 };
    skip_without_pages();
    struct siege siege = siege_begin_tracked();
    const int without = count_with(&siege, "(hostile::says-nothing %lu)");
    cr_assert_eq(count_with(&siege, "(hostile::says-unused %lu 0 0)"), without + PARTS);
    end(&siege);
}

/* Those of forged_test.c, in a session whose states are kept as pages. They wait for a request to
 * fork, which comes when they cannot be tracked any more, or never. */
static const char *const forgeries[] = {
    "refuses-to-fork",
    "refuses-in-bad-text",
    "announces-by-a-wrong-frame",
    "announces-failure-in-bad-text",
    "announces-untied",
    "announces-twice",
    "announces-in-its-place",
    "announces-without-forking",
    "forks-twice",
    "speaks-for-its-origin",
    "checkpoint-lies",
    "forbidden-while-it-forks",
    "both-go-on",
    "closes-while-it-forks",
    "both-flood",
    "grows-while-it-forks",
    "answers-before-it-reads",
};

Test(forged_pages, code_that_forges_in_a_session_that_is_tracked_harms_only_it) {
    enum { CALLS = 6, AFTERWARDS = 3 };
    skip_without_pages();
    struct siege siege = siege_begin_tracked();
    for (size_t i = 0; i < COUNT_OF(forgeries); i++) {
        const char *victim = siege_victim(&siege);
        for (int j = 2; j < CALLS; j++)
            cr_assert_str_eq(siege_evaluate(&siege, victim, "(incf *kept*)", 0).text,
                             formatted("=> %d", j));
        siege_forge(&siege, victim, forgeries[i]);
        for (int j = 0; j < AFTERWARDS; j++)
            siege_evaluate(&siege, victim, "*kept*", TIMEOUT_S);
        siege_expect_unharmed(&siege);
        siege_rollback(&siege, victim, 1);
        siege_evaluate(&siege, victim, "*kept*", TIMEOUT_S);
        siege_reset(&siege, victim);
        cr_assert_str_eq(siege_evaluate(&siege, victim, "(boundp '*kept*)", 0).text, "=> NIL", "%s",
                         forgeries[i]);
        siege_close(&siege, victim);
    }
    end(&siege);
}

static const struct {
    const char *code, *text;
} calls[] = {
    {"(hostile::make-userfaultfd)", "userfaultfd"},
    {"(hostile::make-userfaultfd 0)", "userfaultfd"},
    {"(hostile::send-octets 3 (hostile::tracked 5))", "MALFORMED-OUTPUT"},
    {"(hostile::send-octets 3 (hostile::tracked #xffffffff))", "MALFORMED-OUTPUT"},
    {"(hostile::send-octets 3 (hostile::frame :track))", "MALFORMED-OUTPUT"},
    {"(hostile::send-octets 3 (hostile::frame :pages))", "MALFORMED-OUTPUT"},
};

/* In a session that is tracked, and in one that is not yet. */
Test(forged_pages, a_worker_that_was_not_asked_may_neither_make_a_userfaultfd_nor_speak_of_it) {
    enum { CALLS = 6 };
    skip_without_pages();
    struct siege siege = siege_begin_tracked();
    const char *victim = make_victim(&siege);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < COUNT_OF(calls); i++) {
            struct evaluation evaluation = siege_evaluate(&siege, victim, calls[i].code, TIMEOUT_S);
            cr_assert(strstr(evaluation.text, calls[i].text), "%s: %s", calls[i].code,
                      evaluation.text);
            expect_contains(evaluation.text, "as it was before the call");
        }
        for (int i = 0; i < CALLS; i++)
            siege_evaluate(&siege, victim, "(+ 1 2)", 0);
    }
    siege_close(&siege, victim);
    end(&siege);
}
