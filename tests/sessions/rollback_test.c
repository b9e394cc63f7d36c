/* Whatever way a call ends its process, the session is afterwards exactly as it was before that
 * call: when the call comes long after the one before or right after it, while the checkpoint is
 * being made; once and twice in a row; and as the first call of a session. */
#include "tests/support/client_sessions.h"
#include "tests/support/family.h"
#include "tests/support/lines.h"
#include "tests/support/lisp_file.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define UNCHANGED "The session is as it was before the call."
#define SPOIL     "(world:spoil) "
#define EXHAUST   "(let ((l nil)) (loop (push (make-array 100000) l))) "
#define FLOOD     "(write-line \"0123456789012345678901234567890123456789\" "

static const char *const arguments[] = {"--session-memory-mb",
                                        "64",
                                        "--output-max-bytes",
                                        "100000",
                                        "--stderr-max-bytes",
                                        "100000",
                                        NULL};
static const struct client_options options = {.arguments = arguments};

static void cancel(struct client *client, const char *id) {
    client_send_format(client, CANCEL("%s"), id);
}

static void cancel_when_busy(struct client *client, const char *id) {
    client_busy_worker(client);
    cancel(client, id);
}

static void kill_when_busy(struct client *client, const char *id) {
    (void)id;
    kill(client_busy_worker(client), SIGKILL);
}

static const struct ending {
    const char *name, *code;
    double timeout_s;
    int error_code;   /* of the protocol; 0: a result */
    const char *type; /* of a result */
    int exit_code;    /* of a result */
    /* Called after the call was sent as ID; may be NULL. */
    void (*act)(struct client *client, const char *id);
    bool of_world; /* needs world.lisp, and spoils the world itself */
} endings[] = {
    {"time-out", ENDLESS, .timeout_s = 0.1, .error_code = -32004},
    {"time-out asleep", "(sleep 1000)", .timeout_s = 0.1, .error_code = -32004},
    {"cancel at once", ENDLESS, .error_code = -32001, .act = cancel},
    {"cancel while running", ENDLESS, .error_code = -32001, .act = cancel_when_busy},
    {"cancel while reading", "#.(progn (world:spoil) (loop))", .error_code = -32001,
     .act = cancel_when_busy, .of_world = true},
    {"cancel while printing", "(world:hang-in-print)", .error_code = -32001,
     .act = cancel_when_busy, .of_world = true},
    {"exit 0", "(ext:quit 0)", .type = "PROCESS-EXIT", .exit_code = 0},
    {"exit 7", "(ext:quit 7)", .type = "PROCESS-EXIT", .exit_code = 7},
    {"exit while cleaning up", "(unwind-protect (error \"x\") (ext:quit 3))",
     .type = "PROCESS-EXIT", .exit_code = 3},
    {"exit through a cleanup", "(unwind-protect (ext:quit 4) (setf *package* nil))",
     .type = "PROCESS-EXIT", .exit_code = 4},
    {"SIGSEGV", CRASH, .type = "WORKER-CRASH", .exit_code = 139},
    {"SIGABRT inside GMP", "(ash 1 999999999999)", .type = "WORKER-CRASH", .exit_code = 134},
    {"heap exhausted, then memory taken from C",
     "(handler-case " EXHAUST " (storage-condition () nil)) " MEMORY_HOG, .type = "MEMORY-LIMIT",
     .exit_code = 137},
    {"heap without a limit", "(ext:set-limit 'ext:heap-size 0) " EXHAUST, .type = "MEMORY-LIMIT",
     .exit_code = 137},
    {"flood of output", "(loop " FLOOD "))", .error_code = -32603},
    {"flood of error output", "(loop " FLOOD "*error-output*))", .error_code = -32603},
    {"forbidden call", VIOLATION, .type = "SANDBOX-VIOLATION", .exit_code = 159},
    {"malformed frame", FORGERY, .type = "MALFORMED-OUTPUT", .exit_code = 70},
    {"SIGKILL from outside", ENDLESS, .type = "WORKER-CRASH", .exit_code = 137,
     .act = kill_when_busy},
};

static void expect_ended(const struct ending *ending, const struct evaluation *evaluation) {
    cr_assert_eq(evaluation->error_code, ending->error_code, "%s: %s", ending->name,
                 evaluation->line);
    if (ending->act != cancel) /* the call may still have been in the queue */
        expect_contains(evaluation->text, UNCHANGED);
    if (ending->error_code)
        return;
    expect_contains(evaluation->text, formatted("[ERROR] %s\n", ending->type));
    cr_assert_eq(evaluation->exit_code, ending->exit_code, "%s: %s", ending->name,
                 evaluation->line);
}

/* The world of a session, and the result of WORLD:PROBE in it after the mark. */
struct world {
    struct client *client;
    const char *session; /* NULL: the connection's own */
    const char *tail;
    long mark;
};

static struct world begin(struct client *client, const char *session) {
    static const char head[] = "=> \"0 ; ";
    lisp_file_load(client, session, "sessions/world.lisp");
    struct evaluation probe = client_session_evaluate(client, session, "(world:probe)");
    cr_assert_eq(strncmp(probe.text, head, sizeof head - 1), 0, "%s", probe.text);
    return (struct world){client, session, probe.text + sizeof head - 1, 0};
}

static void expect_world(const struct world *world, const struct evaluation *probe,
                         const char *after) {
    const char *wanted = formatted("=> \"%ld ; %s", world->mark, world->tail);
    cr_assert_str_eq(probe->text, wanted, "after %s:\n%s\ninstead of\n%s", after, probe->text,
                     wanted);
}

/* Sends a harmless call, ending COUNT times, and a probe. PIPELINED: all in one go. */
static void end_and_probe(struct world *world, const struct ending *ending, size_t count,
                          bool pipelined) {
    struct client *client = world->client;
    client_session_send(client, "\"mark\"", world->session,
                        formatted("(world:mark %ld)", ++world->mark), 0);
    if (!pipelined)
        client_session_settle(client, world->session);
    const char *code = formatted("%s%s", ending->of_world ? "" : SPOIL, ending->code);
    for (size_t i = 0; i < count; i++)
        client_session_send(client, formatted("%zu", i), world->session, code, ending->timeout_s);
    client_session_send(client, "\"probe\"", world->session, "(world:probe)", 0);
    client_evaluate_await(client, "\"mark\"");
    for (size_t i = 0; i < count; i++) {
        const char *id = formatted("%zu", i);
        if (ending->act)
            ending->act(client, id);
        struct evaluation evaluation = client_evaluate_await(client, id);
        expect_ended(ending, &evaluation);
    }
    struct evaluation probe = client_evaluate_await(client, "\"probe\"");
    expect_world(world, &probe, ending->name);
}

static void try_all(size_t count, bool pipelined) {
    struct client *client = client_start_ready(&options, NULL);
    struct world world = begin(client, NULL);
    for (size_t i = 0; i < COUNT_OF(endings); i++)
        end_and_probe(&world, &endings[i], count, pipelined);
    client_finish(client);
}

Test(rollback, spoiling_the_world_changes_each_thing_in_it) {
    struct client *client = client_start_ready(NULL, NULL);
    lisp_file_load(client, NULL, "sessions/world.lisp");
    char *before = strdup(client_evaluate(client, "(world:probe)").text);
    client_evaluate(client, SPOIL);
    char *after = strdup(client_evaluate(client, "(world:probe)").text);
    char *rest_before = before, *rest_after = after;
    size_t things = 0;
    while (rest_before && rest_after) {
        char *thing = strsep(&rest_before, ";"), *spoilt = strsep(&rest_after, ";");
        cr_assert_str_neq(thing, spoilt);
        things++;
    }
    cr_assert(!rest_before && !rest_after && things > 20, "%zu things", things);
    free(before);
    free(after);
    client_finish(client);
}

Test(rollback, a_failure_after_a_pause_changes_nothing) {
    try_all(1, false);
}

Test(rollback, a_failure_right_after_a_call_changes_nothing) {
    try_all(1, true);
}

Test(rollback, two_failures_in_a_row_change_nothing) {
    try_all(2, false);
}

Test(rollback, two_failures_right_after_a_call_change_nothing) {
    try_all(2, true);
}

Test(rollback, a_copy_is_rolled_back_like_its_origin) {
    struct client *client = client_start_ready(&options, NULL);
    struct world origin = begin(client, NULL), copy = origin;
    copy.session = client_session_copy(client, NULL, -1);
    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        end_and_probe(&copy, &endings[i], 1, i % 2 != 0);
        struct evaluation probe = client_session_evaluate(client, NULL, "(world:probe)");
        expect_world(&origin, &probe, endings[i].name);
    }
    client_finish(client);
}

Test(rollback, a_session_whose_first_call_fails_begins_afresh) {
    struct client *client = client_start_ready(&options, NULL);
    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        const struct ending *ending = &endings[i];
        if (ending->of_world)
            continue;
        const char *session = client_session_open(client);
        client_session_send(client, "1", session, formatted("(defvar *first* 1) %s", ending->code),
                            ending->timeout_s);
        client_session_send(client, "2", session, "(boundp '*first*)", 0);
        if (ending->act)
            ending->act(client, "1");
        struct evaluation evaluation = client_evaluate_await(client, "1");
        expect_ended(ending, &evaluation);
        cr_assert_str_eq(client_evaluate_await(client, "2").text, "=> NIL", "%s", ending->name);
        client_session_close(client, session);
    }
    client_finish(client);
}

Test(rollback, a_call_cancelled_in_the_queue_never_ran) {
    struct client *client = client_start_ready(&options, NULL);
    struct world world = begin(client, NULL);
    client_evaluate_send(client, "1", "(world:spoil) (loop)");
    client_evaluate_send(client, "2", SPOIL);
    client_evaluate_send(client, "3", "(world:probe)");
    client_busy_worker(client);
    cancel(client, "2");
    cr_assert_eq(client_evaluate_await(client, "2").error_code, -32001);
    cancel(client, "1");
    cr_assert_eq(client_evaluate_await(client, "1").error_code, -32001);
    struct evaluation probe = client_evaluate_await(client, "3");
    expect_world(&world, &probe, "cancel while queued");
    client_finish(client);
}

Test(rollback, a_reader_that_overflows_the_stack_changes_nothing) {
    enum { DEPTH = 300000 };
    struct client *client = client_start_ready(&options, NULL);
    struct world world = begin(client, NULL);
    char *code = malloc(DEPTH + 1);
    cr_assert_not_null(code);
    memset(code, '(', DEPTH);
    code[DEPTH] = '\0';
    for (int pipelined = 0; pipelined < 2; pipelined++) {
        client_evaluate_send(client, "1", formatted("(world:mark %ld)", ++world.mark));
        if (!pipelined)
            client_session_settle(client, NULL);
        client_evaluate_send(client, "2", code);
        client_evaluate_send(client, "3", "(world:probe)");
        client_evaluate_await(client, "1");
        struct evaluation evaluation = client_evaluate_await(client, "2");
        cr_assert(evaluation.is_error && evaluation.exit_code == 1, "%s", evaluation.line);
        struct evaluation probe = client_evaluate_await(client, "3");
        expect_world(&world, &probe, "a stack overflow of the reader");
    }
    free(code);
    client_finish(client);
}

static pid_t head_of(struct client *client) {
    pid_t pid = family_head(client, NULL);
    cr_assert_gt(pid, 1);
    return pid;
}

Test(rollback, a_worker_killed_while_idle_loses_nothing) {
    struct client *client = client_start_ready(&options, NULL);
    struct world world = begin(client, NULL);
    for (int i = 0; i < 3; i++) {
        pid_t head = head_of(client);
        client_session_settle(client, NULL);
        kill(head, SIGKILL);
        family_await_gone(client, head);
        struct evaluation probe = client_evaluate(client, "(world:probe)");
        expect_world(&world, &probe, "SIGKILL while idle");
    }
    client_finish(client);
}

Test(rollback, a_worker_killed_right_after_a_call_loses_at_most_that_call_and_reports_it) {
    struct client *client = client_start_ready(&options, NULL);
    struct world world = begin(client, NULL);
    for (int i = 0; i < 20; i++) {
        pid_t head = head_of(client);
        client_session_settle(client, NULL);
        client_evaluate(client, formatted("(world:mark %ld)", world.mark + 1));
        kill(head, SIGKILL);
        family_await_gone(client, head);
        struct evaluation probe = client_evaluate(client, "(world:probe)");
        char *lost = strstr(probe.text, "SESSION-LOST: ");
        world.mark += lost == NULL;
        if (lost)
            probe.text = strstr(lost, "=> ");
        cr_assert_not_null(probe.text);
        expect_world(&world, &probe, "SIGKILL right after a call");
    }
    client_finish(client);
}

Test(rollback, conditions_keep_what_completed_and_count_as_calls) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate(client, "(defvar *x* 1)");
    cr_assert_eq(client_evaluate(client, "(setf *x* 2) (error \"x\") (setf *x* 3)").exit_code, 1);
    client_session_expect(client, NULL, "*x*", "=> 2");
    struct session_row row;
    cr_assert(client_session_row(client, NULL, &row));
    cr_assert_eq(row.number, 3);
    cr_assert_eq(client_evaluate(client, "(setf *x* 4) (ext:quit 1)").exit_code, 1);
    cr_assert(client_session_row(client, NULL, &row));
    cr_assert_eq(row.number, 3);
    client_finish(client);
}

/* The variables of a read-eval-print loop belong to the state of the session. */
Test(rollback, the_last_values_and_forms_are_rolled_back_too) {
    struct client *client = client_start_ready(NULL, NULL);
    client_session_expect(client, NULL, "(floor 7 2)", "=> 3\n=> 1");
    client_session_expect(client, NULL, "(list * / +)", "=> (3 (3 1) (FLOOR 7 2))");
    client_session_rollback(client, NULL, 1);
    client_session_expect(client, NULL, "(list * (first +))", "=> (3 FLOOR)");
    client_session_evaluate_within(client, NULL, "'lost (loop)", 0.3);
    client_session_expect(client, NULL, "*", "=> (3 FLOOR)");
    const char *copy = client_session_copy(client, NULL, -1);
    client_session_expect(client, copy, "(list *)", "=> ((3 FLOOR))");
    client_session_expect(client, NULL, "(eclave::numbered-object 1)", "=> NIL\n=> NIL");
    client_session_expect(client, NULL, "(find-package :eclave)", "=> #<\"ECLAVE\" package>");
    client_finish(client);
}

/* So do the numbers of objects. */
Test(rollback, the_numbered_objects_are_those_of_the_last_answer_that_was_kept) {
    struct client *client = client_start_ready(NULL, NULL);
    client_session_expect(client, NULL, "(defclass a () ()) (make-instance 'a)", "=> #<A @1>");
    client_session_evaluate_within(client, NULL, "(print (make-hash-table)) (loop)", 0.3);
    client_session_expect(client, NULL, "(values (eclave::numbered-object 1))", "=> #<A @1>");
    client_session_expect(client, NULL, "(list (make-hash-table) (eclave::numbered-object 1))",
                          "=> (#<hash-table @1> #<A @2>)");
    client_session_rollback(client, NULL, 1);
    client_session_expect(client, NULL, "(type-of (eclave::numbered-object 1))", "=> A");
    client_finish(client);
}
