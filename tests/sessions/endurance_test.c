/* A thousand failures in a row over three sessions leave no process, no zombie, no descriptor and
 * no memory behind, and the sessions still hold their values. */
#include "tests/support/client_sessions.h"
#include "tests/support/footprint.h"
#include "tests/support/lines.h"
#include "tests/support/process.h"
#include "tests/support/random.h"
#include <signal.h>
#include <stdio.h>

enum {
    SESSIONS = 3,
    HISTORY = 4,
    WORKERS = SESSIONS * (1 + HISTORY + 1) + 1, /* each head, its checkpoints; and the spare */
    WARM_UP = 90,
    FAILURES = 1000,
    GROWTH_MIB = 16 /* of a session; a page touched now and then, and the collector's tables */
};

/* With the limit on descriptors a leak is fatal even where a test cannot inspect the server. */
static const struct client_options options = {
    .program = "/bin/sh",
    .arguments = STRINGS("-c",
                         "ulimit -n 200; exec \"$1\" --session-history 4 --output-max-bytes 20000 "
                         "--stderr-max-bytes 20000 --session-record off",
                         "sh", ECLAVE_BINARY),
    .watchdog_s = 120};

/* Cheap failures; after each the session is as it was before. */
static const struct failure {
    const char *code;
    double timeout_s;
    int error_code; /* of the protocol; 0: a result */
    bool cancel;
} failures[] = {
    {.code = "(error \"x\")"},
    {.code = "(labels ((f () (1+ (f)))) (f))"},
    {.code = "(((("},
    {.code = "(setf *n* 0) (ext:quit 1)"},
    {.code = "(setf *n* 0) (loop)", .timeout_s = 0.01, .error_code = -32004},
    {.code = "(setf *n* 0) " CRASH},
    {.code = "(setf *n* 0) (ash 1 999999999999)"},
    {.code = "(setf *n* 0) (loop (write-line \"a flood of output\"))", .error_code = -32603},
    {.code = "(setf *n* 0) (loop (write-line \"a flood\" *error-output*))", .error_code = -32603},
    {.code = "(setf *n* 0) " VIOLATION},
    {.code = "(setf *n* 0) " FORGERY},
    {.code = "(setf *n* 0) (loop)", .error_code = -32001, .cancel = true},
};

struct trial {
    struct client *client;
    const char *sessions[SESSIONS];
    struct random random;
    long kept[SESSIONS];
};

static void send_failure(struct trial *trial, size_t at, const struct failure *failure) {
    const char *id = formatted("%zu", at);
    client_session_send(trial->client, id, trial->sessions[at], failure->code, failure->timeout_s);
    if (failure->cancel)
        client_send_format(trial->client, CANCEL("%s"), id);
}

static void await_failure(struct trial *trial, size_t at, const struct failure *failure) {
    struct evaluation evaluation = client_evaluate_await(trial->client, formatted("%zu", at));
    cr_assert_eq(evaluation.error_code, failure->error_code, "%s: %s", failure->code,
                 evaluation.line);
    cr_assert(failure->error_code || evaluation.is_error, "%s: %s", failure->code, evaluation.line);
}

/* One failure in each session, side by side (right after a good call) or one after the other. */
static void fail_in_each(struct trial *trial) {
    const struct failure *chosen[SESSIONS];
    bool pipelined = random_percent(&trial->random, 50);
    for (size_t i = 0; i < SESSIONS; i++) {
        chosen[i] = &random_pick(&trial->random, failures);
        if (!pipelined)
            client_session_settle(trial->client, trial->sessions[i]);
        send_failure(trial, i, chosen[i]);
        if (!pipelined)
            await_failure(trial, i, chosen[i]);
    }
    for (size_t i = 0; pipelined && i < SESSIONS; i++)
        await_failure(trial, i, chosen[i]);
}

static void expect_kept(struct trial *trial) {
    for (size_t i = 0; i < SESSIONS; i++)
        client_session_expect(trial->client, trial->sessions[i], "(incf *n*)",
                              formatted("=> %ld", ++trial->kept[i]));
}

/* The resources of the idle server. */
struct footprint {
    int descriptors;
    long memory_kb;
    double session_mib[SESSIONS];
};

static struct footprint measure(struct trial *trial) {
    struct footprint footprint;
    for (size_t i = 0; i < SESSIONS; i++) {
        struct session_row row;
        client_session_settle(trial->client, trial->sessions[i]);
        cr_assert(client_session_row(trial->client, trial->sessions[i], &row));
        cr_assert_eq(row.history, HISTORY);
        footprint.session_mib[i] = row.memory_mib;
    }
    footprint.descriptors = footprint_descriptors(trial->client, WORKERS);
    footprint.memory_kb = process_status(client_pid(trial->client), "VmRSS");
    return footprint;
}

Test(endurance, a_thousand_failures_over_three_sessions_leave_nothing_behind) {
    struct trial trial = {.client = client_start_ready(&options, NULL),
                          .random = random_for("endurance")};
    for (size_t i = 0; i < SESSIONS; i++) {
        if (i > 0)
            trial.sessions[i] = client_session_open(trial.client);
        client_session_expect(trial.client, trial.sessions[i], "(defvar *n* 0)", "=> *N*");
    }
    for (size_t i = 0; i < WARM_UP; i += SESSIONS) {
        fail_in_each(&trial);
        expect_kept(&trial);
    }
    struct footprint before = measure(&trial);
    for (size_t i = 0; i < FAILURES; i += SESSIONS) {
        fail_in_each(&trial);
        if (random_percent(&trial.random, 20))
            expect_kept(&trial);
    }
    expect_kept(&trial);
    struct footprint after = measure(&trial);
    cr_assert_eq(after.descriptors, before.descriptors, "%d descriptors have become %d",
                 before.descriptors, after.descriptors);
    cr_assert_leq(after.memory_kb, before.memory_kb + ECLAVE_TEST_MEMORY_SLACK_KB,
                  "the server grew from %ld kB to %ld kB", before.memory_kb, after.memory_kb);
    for (size_t i = 0; i < SESSIONS; i++)
        cr_assert_leq(after.session_mib[i], before.session_mib[i] + GROWTH_MIB,
                      "a session grew from %.1f MiB to %.1f MiB", before.session_mib[i],
                      after.session_mib[i]);
    client_finish(trial.client);
}

Test(endurance, workers_killed_while_busy_leave_nothing_behind) {
    enum { KILLS = 30 };
    struct client *client = client_start_ready(&options, NULL);
    client_session_expect(client, NULL, "(defvar *n* 7)", "=> *N*");
    client_session_settle(client, NULL);
    int before = footprint_descriptors(client, 3);
    for (size_t i = 0; i < KILLS; i++) {
        client_evaluate_send(client, "1", "(setf *n* 0) (loop)");
        kill(client_busy_worker(client), SIGKILL);
        cr_assert_eq(client_evaluate_await(client, "1").exit_code, 137);
    }
    client_session_settle(client, NULL);
    footprint_expect_descriptors(client, 3, before);
    client_session_expect(client, NULL, "*n*", "=> 7");
    client_finish(client);
}
