/* Hostile code within its call, below Lisp: forks, forged frames, floods, descriptors, signals. The
 * call ends as doc/contract.md says, its session is as it was before, and no other session is
 * affected. */
#include "policy/policy.h"
#include "tests/support/client_sessions.h"
#include "tests/support/family.h"
#include "tests/support/lines.h"
#include "tests/support/siege.h"
#include <stdio.h>

#define UNCHANGED "The session is as it was before the call."

static void expect_kept(struct siege *siege) {
    cr_assert_str_eq(siege_evaluate(siege, siege->victim, "*kept*", 0).text, "=> 1");
}

/* CODE ends its process with TYPE and EXIT_CODE (negative: any), and changes nothing. */
static void expect_ends(struct siege *siege, const char *code, const char *type, int exit_code) {
    struct evaluation evaluation = siege_evaluate(siege, siege->victim, code, 0);
    expect_contains(evaluation.text, formatted("[ERROR] %s\n", type));
    expect_contains(evaluation.text, UNCHANGED);
    cr_assert(exit_code < 0 || evaluation.exit_code == exit_code, "%s: %s", code, evaluation.line);
    expect_kept(siege);
    siege_expect_unharmed(siege);
}

/* Forks. */

Test(hostile, no_way_to_fork_works_at_any_moment_of_a_call) {
    static const char *const codes[] = {
        "(hostile::forks-everywhere)",
        "#.(hostile::forks-everywhere)",
        "(unwind-protect nil (setf *forks* (hostile::forks-everywhere)))",
        "(handler-case (error \"x\") (error () (hostile::forks-everywhere)))",
        "(handler-case (labels ((f () (1+ (f)))) (f))"
        "  (storage-condition () (hostile::forks-everywhere)))",
        "(progn (defclass forking () ())"
        "  (defmethod print-object ((forking forking) stream)"
        "    (format stream \"~a\" (hostile::forks-everywhere)))"
        "  (make-instance 'forking))",
    };
    struct siege siege = siege_begin(NULL);
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        struct evaluation evaluation = siege_evaluate(&siege, siege.victim, codes[i], 0);
        cr_assert_str_eq(evaluation.text, "=> NIL", "%s: %s", codes[i], evaluation.line);
    }
    expect_ends(&siege, "(push #'hostile::forks-everywhere si:*exit-hooks*) (ext:quit 9)",
                "PROCESS-EXIT", 9);
    expect_kept(&siege);
    siege_end(&siege, NULL, 0);
}

Test(hostile, a_fork_bomb_does_not_get_one_fork) {
    struct siege siege = siege_begin(NULL);
    struct evaluation evaluation = siege_evaluate(
        &siege, siege.victim, "(loop repeat 1000 always (eql (hostile::clone) -1))", 0);
    cr_assert_str_eq(evaluation.text, "=> T", "%s", evaluation.line);
    siege_end(&siege, NULL, 0);
}

/* Frames. */

#define SEND(octets)  "(hostile::send-octets 3 " octets ") (sleep 1000)"
#define FRAME(fields) SEND("(hostile::frame " fields ")")
#define PAYLOAD(text) FRAME(":result :call %lu :payload " text)

Test(hostile, a_malformed_frame_ends_the_call) {
    static const char *const codes[] = {
        FRAME(":ready"),
        FRAME(":ready :call %lu"),
        FRAME(":failed :payload (hostile::octets \"on its way\")"),
        FRAME(":evaluate :call %lu"),
        FRAME(":fork"),
        FRAME("0"),
        FRAME(":run :call %lu"),
        FRAME(":answer :call %lu"),
        FRAME(":event :call %lu :payload (hostile::octets"
              " \"{\\\"type\\\":\\\"progress\\\",\\\"progress\\\":1}\")"),
        FRAME(":ask :call %lu :payload (hostile::octets \"{}\")"),
        FRAME("13"),
        FRAME("65535"),
        FRAME(":result :call 0"),
        FRAME(":result :call 4294967295"),
        FRAME(":result :call %lu :flags 1"),
        FRAME(":result :call %lu :length 33554433"),
        FRAME(":result :call %lu :length 4294967295"),
        FRAME(":result :call %lu"),
        PAYLOAD("'(2 0 0 0)"),
        PAYLOAD("'(2 0 0 0 255 0 0 0 65)"),
        PAYLOAD("'(2 0 0 0 255 255 255 255 65)"),
        PAYLOAD("(hostile::section 3 '(65))"),
        PAYLOAD("(append (hostile::section 2 '(65)) (hostile::section 3 '(192 128)))"),
        PAYLOAD("(append (hostile::section 2 '(65)) (hostile::section 2 '(65)))"),
        PAYLOAD("(append (hostile::section 2 '(65)) (hostile::section 99 '(65)))"),
        PAYLOAD("(append (hostile::section 2 '(65)) (hostile::section 4 '(65)))"),
        PAYLOAD("(append (hostile::section 2 '(65)) (hostile::section 3 '(65))"
                " (hostile::section 4 '(65)) (hostile::section 5 '(65)))"),
        PAYLOAD("(append (hostile::section 2 '(65))"
                " (loop repeat 65 append (hostile::section 3 '(65))))"),
        SEND("(loop repeat 100000 collect 0)"),
        SEND("(loop repeat 100000 collect 255)"),
        "(hostile::send-octets 3 '(8 0 0)) (hostile::call :exit_group 0)",
        "(hostile::send-octets 3 (hostile::frame :result :call %lu :length 100))"
        "(hostile::call :exit_group 0)",
    };
    struct siege siege = siege_begin(NULL);
    for (size_t i = 0; i < COUNT_OF(codes); i++)
        expect_ends(&siege, codes[i], "MALFORMED-OUTPUT", 70);
    siege_end(&siege, NULL, 0);
}

Test(hostile, half_a_frame_is_waited_for_until_the_time_limit) {
    static const char *const codes[] = {
        SEND("'(8 0 0 0 1)"),
        FRAME(":result :call %lu :length 33554432"),
    };
    struct siege siege = siege_begin(NULL);
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        struct evaluation evaluation = siege_evaluate(&siege, siege.victim, codes[i], 0.2);
        cr_assert_eq(evaluation.error_code, -32004, "%s: %s", codes[i], evaluation.line);
        expect_kept(&siege);
    }
    siege_end(&siege, NULL, 0);
}

Test(hostile, a_second_answer_ends_the_worker) {
    struct siege siege = siege_begin(NULL);
    struct evaluation evaluation = siege_evaluate(
        &siege, siege.victim,
        "(setf *kept* 2) (hostile::answer %lu \"first\") (hostile::answer 1 \"second\")", 0);
    cr_assert_str_eq(evaluation.text, "=> first", "%s", evaluation.line);
    evaluation = siege_evaluate(&siege, siege.victim, "*kept*", 0);
    expect_contains(evaluation.text, "SESSION-LOST: ");
    expect_contains(evaluation.text, "=> 1");
    siege_end(&siege, NULL, 0);
}

Test(hostile, a_worker_that_will_not_end_at_its_time_limit_is_ended) {
    struct siege siege = siege_begin(NULL);
    struct evaluation evaluation =
        siege_evaluate(&siege, siege.victim, "(hostile::babbles-at-its-end)", 0.1);
    cr_assert_eq(evaluation.error_code, -32004, "%s", evaluation.line);
    expect_contains(evaluation.text, UNCHANGED);
    expect_kept(&siege);
    siege_end(&siege, NULL, 0);
}

/* Descriptors. */

Test(hostile, no_descriptor_can_be_passed_to_the_server) {
    struct siege siege = siege_begin(NULL);
    for (int i = 0; i < 20; i++)
        cr_assert_str_eq(
            siege_evaluate(&siege, siege.victim, "(hostile::passes-a-descriptor)", 0).text,
            "=> -1");
    siege_end(&siege, NULL, 0);
}

Test(hostile, a_worker_that_closes_its_channel_is_ended) {
    struct siege siege = siege_begin(NULL);
    expect_ends(&siege, "(hostile::closes-its-channel)", "PROCESS-EXIT", -1);
    expect_ends(&siege, "(hostile::closes-its-channel) (sleep 1000)", "MALFORMED-OUTPUT", 70);
    expect_ends(&siege, "(hostile::closes-its-channel) (ext:quit 6)", "PROCESS-EXIT", 6);
    siege_end(&siege, NULL, 0);
}

Test(hostile, closing_its_output_harms_only_what_it_prints) {
    struct siege siege = siege_begin(NULL);
    siege_evaluate(&siege, siege.victim,
                   "(dotimes (i 3) (hostile::call :close i)) (print 1) (finish-output)", 1);
    expect_kept(&siege);
    siege_end(&siege, NULL, 0);
}

/* Signals. */

Test(hostile, a_worker_cannot_kill_its_checkpoint) {
    struct siege siege = siege_begin(NULL);
    pid_t before[8], after[8], checkpoint = 0;
    /* The victim made two calls: it has a head and two checkpoints beside those of the witness. */
    size_t all = (size_t)2 * SIEGE_SESSION_WORKERS + 1;
    siege_settle(&siege, siege.victim);
    cr_assert_eq(family_workers(siege.client, all, before, 8), all);
    siege_evaluate(&siege, siege.victim, "1", 0);
    siege_settle(&siege, siege.victim);
    family_await_no_zombies(siege.client);
    cr_assert_eq(family_workers(siege.client, all, after, 8), all);
    for (size_t i = 0; i < all; i++) {
        bool old = false;
        for (size_t j = 0; j < all; j++)
            old = old || before[j] == after[i];
        if (!old)
            checkpoint = after[i];
    }
    cr_assert_gt(checkpoint, 1);
    /* Its pid in the namespace of the workers. */
    int within = (int)policy_pid_within(checkpoint);
    expect_ends(&siege, formatted("(setf *kept* 2) (hostile::kills %d)", within),
                "SANDBOX-VIOLATION", 159);
    /* It is alive: it is the head now. */
    cr_assert_str_eq(siege_evaluate(&siege, siege.victim, "(si:getpid)", 0).text,
                     formatted("=> %d", within));
    siege_end(&siege, NULL, 0);
}

/* Floods. */

Test(hostile, a_flood_of_refused_calls_ends_the_call_and_delays_no_other) {
    struct siege siege = siege_begin(NULL);
    siege_send(&siege, "\"flood\"", siege.victim, "(hostile::floods-with-refused-calls 1000000000)",
               0);
    for (int i = 0; i < 50; i++)
        siege_expect_unharmed(&siege);
    struct evaluation flood = client_evaluate_await(siege.client, "\"flood\"");
    expect_contains(flood.text, "[ERROR] SANDBOX-VIOLATION\n");
    expect_contains(flood.text, "openat");
    expect_contains(flood.text, UNCHANGED);
    expect_kept(&siege);
    siege_end(&siege, NULL, 0);
}

Test(hostile, a_thousand_refused_calls_are_allowed) {
    struct siege siege = siege_begin(NULL);
    for (int i = 0; i < 12; i++)
        cr_assert_str_eq(
            siege_evaluate(&siege, siege.victim, "(hostile::floods-with-refused-calls 1000)", 0)
                .text,
            "=> 1000");
    client_await_stderr(siege.client, "refused");
    siege_end(&siege, NULL, 0);
}

Test(hostile, a_flood_of_notified_and_allowed_calls_ends_the_call_too) {
    struct siege siege = siege_begin(NULL);
    /* In a fork the supervisor is notified of each of these. With SIGABRT blocked it has no effect.
     */
    expect_ends(&siege, "(ext:quit 1)", "PROCESS-EXIT", 1);
    expect_ends(&siege,
                "(hostile::blocks-every-signal)"
                "(let ((own (si:getpid))) (loop (hostile::call :tgkill own own 6)))",
                "SANDBOX-VIOLATION", 159);
    siege_end(&siege, NULL, 0);
}
