/* Code that misbehaves while its functions are compiled between calls. Only its own session is
 * affected, and no process or descriptor is left. */
#include "tests/support/client_sessions.h"
#include "tests/support/footprint.h"
#include "tests/support/lines.h"
#include "tests/support/lisp_file.h"
#include "tests/support/siege.h"
#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#define SEND(...) "(hostile::send-octets 3 (hostile::frame " __VA_ARGS__ "))"

/* What the macro does that is expanded again. */
static const struct {
    const char *code;
    bool deceives; /* the supervisor, which then sends it a call */
} deeds[] = {
    {"(hostile::answer 0 \"lie\")", false},
    {"(hostile::answer 1 \"lie\")", false},
    {SEND(":result"), false},
    {SEND(":refined :call 1"), false},
    {SEND(":refined :flags 1"), false},
    {SEND(":refined :payload '(1 1)"), false},
    {SEND(":refined :length 1") "(hostile::rest-in-sleep)", false},
    {SEND(":event :payload '(123 125)"), false},
    {SEND(":ask :payload '(123 125)"), false},
    {SEND(":ready"), false},
    {SEND(":failed"), false},
    {SEND(":refine"), false},
    {SEND("999"), false},
    {"(hostile::call :close 3) (hostile::rest-in-sleep)", false},
    {"(hostile::call :exit_group 0)", false},
    {"(hostile::forks-everywhere) (hostile::call :exit_group 0)", false},
    {"(loop (hostile::call :write 1 (hostile::address (hostile::buffer 4096)) 4096))", false},
    {"(hostile::grow 2000000000)", false},
    {SEND(":refined") SEND(":refined"), true},
    {SEND(":refined"), true},
    {SEND(":refined :payload '(1)"), true},
    {SEND(":refined") "(hostile::serve-lies 3 \"lie\")", true},
    {SEND(":refined") "(hostile::rest-in-sleep)", true},
};

static void try(struct siege *siege, const char *code, bool deceives) {
    enum { TIMEOUT_S = 1 };
    const char *victim = siege_victim(siege);
    cr_assert_str_eq(
        siege_evaluate(siege, victim, formatted(LISP_TRAP("%s") "(incf *kept*)", code), 0).text,
        "=> 2", "%s", code);
    siege_expect_unharmed(siege);
    struct evaluation evaluation = siege_evaluate(siege, victim, "(incf *kept*)", TIMEOUT_S);
    if (!deceives)
        cr_assert_str_eq(evaluation.text, "=> 3", "%s", code);
    siege_expect_unharmed(siege);
    siege_reset(siege, victim);
    cr_assert_str_eq(siege_evaluate(siege, victim, "(list (boundp '*kept*) (+ 1 2))", 0).text,
                     "=> (NIL 3)", "%s", code);
    siege_close(siege, victim);
}

Test(forged_refine, code_that_misbehaves_between_calls_harms_only_its_session) {
    static const char *const arguments[] = {"--native", "auto", NULL};
    struct siege siege = siege_begin(arguments);
    for (size_t i = 0; i < COUNT_OF(deeds); i++)
        try(&siege, deeds[i].code, deeds[i].deceives);
    siege_end(&siege, NULL, 0);
}

/* The frames in the log, of which there may be more each time. */
static size_t count_frames(struct client *client) {
    size_t count = 0;
    for (const char *at = client_stderr(client); (at = strstr(at, " sent REFINE,")) != NULL; at++)
        count++;
    return count;
}

Test(forged_refine, a_worker_that_always_has_more_to_compile_is_stopped) {
    enum { STEP_MS = 1500, STEPS = 20 };
    struct client *client = client_start_with("--native", "auto", "--log-level", "debug");
    const char *session = client_session_open(client);
    lisp_file_load_hostile(client, session);
    client_session_expect(client, session,
                          LISP_TRAP(SEND(":refined :payload '(1)") "(loop (hostile::receive) " SEND(
                              ":refined :payload '(1)") ")") "1",
                          "=> 1");
    size_t before = 0, now = count_frames(client);
    for (int steps = 0; now != before && steps < STEPS; steps++) {
        usleep(STEP_MS * 1000);
        before = now;
        now = count_frames(client);
    }
    cr_assert_gt(now, 2);
    cr_assert_eq(now, before, "it is asked for more");
    client_session_close(client, session);
    client_finish(client);
}

static const char *const unasked[] = {
    SEND(":refined"),
    SEND(":refined :payload '(1)"),
    "(hostile::send-octets 3 (hostile::frame :refined :call %lu))",
    SEND(":refine"),
};

Test(forged_refine, a_worker_that_was_not_asked_may_not_say_that_it_has_compiled) {
    struct siege siege = siege_begin(NULL);
    for (size_t i = 0; i < COUNT_OF(unasked); i++)
        expect_contains(siege_evaluate(&siege, siege.victim, unasked[i], 0).text,
                        "MALFORMED-OUTPUT");
    siege_end(&siege, NULL, 0);
}
