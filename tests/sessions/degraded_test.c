/* Where the kernel gives no seccomp notifications, which a switch plays: every call ends with the
 * same codes, and a session whose call ended its process starts afresh and says so. */
#include "tests/support/client_sessions.h"
#include "tests/support/lines.h"
#include "tests/support/lisp_file.h"
#include <stdio.h>

#define AFRESH "The state of the session is lost; it starts afresh."

static const char *const arguments[] = {
    "--degraded", "--session-memory-mb", "64",     "--output-max-bytes",
    "100000",     "--stderr-max-bytes",  "100000", NULL};
static const struct client_options options = {.arguments = arguments};

static const struct ending {
    const char *code;
    int error_code;   /* of the protocol; 0: a result */
    const char *type; /* of a result */
    int exit_code;
} endings[] = {
    {"(ext:quit 0)", 0, "PROCESS-EXIT", 0},
    {"(ext:quit 7)", 0, "PROCESS-EXIT", 7},
    {CRASH, 0, "WORKER-CRASH", 139},
    {"(ash 1 999999999999)", 0, "WORKER-CRASH", 134},
    {VIOLATION, 0, "SANDBOX-VIOLATION", 159},
    {MEMORY_HOG, 0, "MEMORY-LIMIT", 137},
    {FORGERY, 0, "MALFORMED-OUTPUT", 70},
    {ENDLESS, -32004, NULL, -1},
    {"(loop (write-line \"a flood\"))", -32603, NULL, -1},
    {"(loop (write-line \"a flood\" *error-output*))", -32603, NULL, -1},
};

static void expect_ended(const struct ending *ending, const struct evaluation *evaluation) {
    char marker[80];
    cr_assert_eq(evaluation->error_code, ending->error_code, "%s: %s", ending->code,
                 evaluation->line);
    expect_contains(evaluation->text, AFRESH);
    if (!ending->type)
        return;
    snprintf(marker, sizeof marker, "[ERROR] %s\n", ending->type);
    expect_contains(evaluation->text, marker);
    cr_assert_eq(evaluation->exit_code, ending->exit_code, "%s: %s", ending->code,
                 evaluation->line);
}

Test(degraded, a_call_that_ends_its_process_has_the_same_code_and_loses_the_state) {
    struct client *client = client_start_ready(&options, NULL);
    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        client_session_expect(client, NULL, "(defvar *x* 1)", "=> *X*");
        client_session_expect(client, NULL, "(incf *x*)", "=> 2");
        double timeout_s = endings[i].error_code == -32004 ? 0.1 : 0;
        struct evaluation evaluation =
            client_session_evaluate_within(client, NULL, endings[i].code, timeout_s);
        expect_ended(&endings[i], &evaluation);
        client_session_expect(client, NULL, "(boundp '*x*)", "=> NIL");
    }
    client_finish(client);
}

Test(degraded, a_cancelled_call_loses_the_state) {
    struct client *client = client_start_ready(&options, NULL);
    client_session_expect(client, NULL, "(defvar *x* 1)", "=> *X*");
    client_evaluate_send(client, "1", ENDLESS);
    client_busy_worker(client);
    client_send_line(client, CANCEL("1"));
    struct evaluation evaluation = client_evaluate_await(client, "1");
    cr_assert_eq(evaluation.error_code, -32001);
    expect_contains(evaluation.text, AFRESH);
    client_session_expect(client, NULL, "(boundp '*x*)", "=> NIL");
    client_finish(client);
}

Test(degraded, conditions_lose_nothing) {
    struct client *client = client_start_ready(&options, NULL);
    client_session_expect(client, NULL, "(defvar *x* 1)", "=> *X*");
    cr_assert_eq(client_evaluate(client, "(setf *x* 2) (error \"x\")").exit_code, 1);
    cr_assert(client_evaluate(client, "(labels ((f () (1+ (f)))) (f))").is_error);
    cr_assert(client_evaluate(client, "(open \"/etc/passwd\")").is_error);
    client_session_expect(client, NULL, "*x*", "=> 2");
    client_finish(client);
}

Test(degraded, rollback_and_copy_are_refused_with_the_reason) {
    static const char reason[] = "seccomp notifications are unavailable";
    struct client *client = client_start_ready(&options, NULL);
    for (int i = 0; i < 3; i++)
        client_evaluate(client, "(defparameter *x* 1)");
    for (long steps = 1; steps <= 2; steps++) {
        struct evaluation rolled = client_session_rollback(client, NULL, steps);
        cr_assert(rolled.is_error);
        cr_assert_eq(rolled.exit_code, 1);
        expect_contains(rolled.text, "[ERROR] SESSION-ERROR\n");
        expect_contains(rolled.text, reason);
    }
    struct evaluation copied = client_tool(client, "open-session", "{\"from\":\"main\"}");
    cr_assert(copied.is_error);
    expect_contains(copied.text, "[ERROR] SESSION-ERROR\n");
    expect_contains(copied.text, reason);
    client_session_expect(client, NULL, "*x*", "=> 1");
    client_session_reset(client, NULL);
    client_session_expect(client, NULL, "(boundp '*x*)", "=> NIL");
    client_finish(client);
}

Test(degraded, fresh_sessions_are_opened_and_kept_apart) {
    struct client *client = client_start_ready(&options, NULL);
    const char *one = client_session_open(client), *other = client_session_open(client);
    client_session_expect(client, one, "(defvar *x* 1)", "=> *X*");
    client_session_expect(client, other, "(boundp '*x*)", "=> NIL");
    cr_assert_eq(client_session_evaluate(client, other, "(ext:quit 3)").exit_code, 3);
    client_session_expect(client, one, "*x*", "=> 1");
    /* The fresh state needs no fork. */
    const char *copy = client_session_copy(client, one, 0);
    client_session_expect(client, copy, "(boundp '*x*)", "=> NIL");
    client_session_close(client, one);
    cr_assert(client_session_evaluate(client, one, "1").is_error);
    client_finish(client);
}

Test(degraded, no_way_to_fork_works) {
    struct client *client = client_start_ready(&options, NULL);
    lisp_file_load_hostile(client, NULL);
    client_session_expect(client, NULL, "(hostile::forks-everywhere)", "=> NIL");
    client_session_expect(client, NULL, "(hostile::passes-a-descriptor)", "=> -1");
    client_finish(client);
}
