/* call.running_max: how many calls run at a time, over all sessions and in both eras; that the
 * others wait in order of arrival, and can be cancelled; and that thousands may wait. */
#include "tests/support/client_sessions.h"
#include "tests/support/eras.h"
#include "tests/support/process.h"
#include "tests/support/skip.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes a name of a session for call NUMBER: in the modern era calls name none. */
static void send_call(struct client *client, const struct era *era, int number, const char *code) {
    const char *session = era->modern ? "" : formatted(",\"session\":\"n%d\"", number);
    era_call_send(client, era, formatted("%d", number), "evaluate-lisp",
                  formatted("{\"code\":\"%s\"%s}", code, session));
}

static void cancel(struct client *client, int number) {
    client_send_format(client, CANCEL("%d"), number);
}

static void expect_cancelled(struct client *client, const struct era *era, int number) {
    if (!era->modern)
        cr_assert_eq(client_evaluate_await(client, formatted("%d", number)).error_code, -32001);
}

/* Two endless calls run; the others wait until one of them ends. */
Test(running, calls_beyond_the_limit_wait_and_start_in_order_of_arrival) {
    enum { RUNNING = 2, WAITING = 8 };
    EACH_KIND(era) {
        struct client *client = era_start(era, STRINGS("--call-running-max", "2"));
        for (int i = 0; i < RUNNING; i++)
            send_call(client, era, i, ENDLESS);
        client_busy_worker(client);
        for (int i = RUNNING; i < RUNNING + WAITING; i++)
            send_call(client, era, i, formatted("(* 2 %d)", i));
        client_expect_silence(client);
        cancel(client, 0);
        expect_cancelled(client, era, 0);
        for (int i = RUNNING; i < RUNNING + WAITING; i++) {
            const char *line = client_read_line(client, NULL);
            cr_assert_eq(client_integer(client, line, "id", NULL), i, "%s", line);
            expect_contains(line, formatted("=> %d", 2 * i));
        }
        cancel(client, 1);
        expect_cancelled(client, era, 1);
        client_expect_silence(client);
        client_finish(client);
    }
}

Test(running, the_time_of_a_waiting_call_begins_when_it_starts) {
    EACH_KIND(era) {
        struct client *client =
            era_start(era, STRINGS("--call-running-max", "1", "--call-timeout-s", "2"));
        for (int i = 0; i < 3; i++)
            send_call(client, era, i, formatted("(progn (sleep 1.2) %d)", i));
        for (int i = 0; i < 3; i++)
            expect_contains(client_evaluate_await(client, formatted("%d", i)).text,
                            formatted("=> %d", i));
        client_finish(client);
    }
}

Test(running, a_waiting_call_can_be_cancelled_and_the_others_keep_their_order) {
    EACH_KIND(era) {
        struct client *client = era_start(era, STRINGS("--call-running-max", "1"));
        send_call(client, era, 0, ENDLESS);
        client_busy_worker(client);
        for (int i = 1; i <= 4; i++)
            send_call(client, era, i, formatted("%d", i));
        cancel(client, 1);
        cancel(client, 3);
        expect_cancelled(client, era, 1);
        expect_cancelled(client, era, 3);
        cancel(client, 0);
        expect_cancelled(client, era, 0);
        for (int i = 2; i <= 4; i += 2) {
            const char *line = client_read_line(client, NULL);
            cr_assert_eq(client_integer(client, line, "id", NULL), i, "%s", line);
        }
        client_expect_silence(client);
        client_finish(client);
    }
}

/* A call that waits for its own session takes no place from others. */
Test(running, a_call_that_waits_for_a_busy_session_does_not_hold_up_others) {
    struct client *client = client_start_with("--call-running-max", "2");
    client_session_send(client, "1", "busy", ENDLESS, 0);
    client_busy_worker(client);
    for (int i = 2; i <= 5; i++)
        client_session_send(client, formatted("%d", i), "busy", "1", 0);
    for (int i = 0; i < 5; i++)
        cr_assert_not(client_session_evaluate(client, "free", "(list 1)").is_error);
    client_send_line(client, CANCEL("1"));
    for (int i = 1; i <= 5; i++)
        client_evaluate_await(client, formatted("%d", i));
    client_finish(client);
}

Test(running, the_session_tools_do_not_wait_for_a_place) {
    struct client *client = client_start_with("--call-running-max", "1");
    client_session_evaluate(client, "free", "(defvar *x* 1)");
    client_session_evaluate(client, "free", "(setf *x* 2)");
    client_session_send(client, "1", "busy", ENDLESS, 0);
    client_session_send(client, "2", "busy2", "3", 0);
    client_busy_worker(client);
    cr_assert_not(client_session_rollback(client, "free", 1).is_error);
    cr_assert_not(
        client_tool(client, "open-session", "{\"from\":\"free\",\"name\":\"twin\"}").is_error);
    client_session_close(client, "free");
    cr_assert_eq(client_session_count(client), 3);
    client_send_line(client, CANCEL("1"));
    client_evaluate_await(client, "1");
    expect_contains(client_evaluate_await(client, "2").text, "=> 3");
    client_session_expect(client, "twin", "*x*", "=> 1");
    client_finish(client);
}

Test(running, two_thousand_calls_in_one_write_are_all_answered) {
    enum { CALLS = 2000 };
    EACH_KIND(era) {
        struct client *client = era_start(era, NULL);
        bool seen[CALLS] = {false};
        for (int i = 0; i < CALLS; i++)
            era_call_send(client, era, formatted("%d", i), "evaluate-lisp",
                          formatted("{\"code\":\"(* 3 %d)\"}", i));
        for (int i = 0; i < CALLS; i++) {
            const char *line = client_read_line(client, NULL);
            const long long id = client_integer(client, line, "id", NULL);
            cr_assert(id >= 0 && id < CALLS && !seen[id], "%s", line);
            seen[id] = true;
            expect_contains(line, formatted("\"text\":\"=> %lld", 3 * id));
        }
        client_expect_silence(client);
        cr_assert_leq(era_session_count(client, era), 8);
        client_finish(client);
    }
}

/* Sessions share nothing that would keep them on one processor. */
Test(running, sixteen_sessions_use_more_than_one_processor) {
    enum { SESSIONS = 16, PIDS_MAX = 128 };
    cpu_set_t allowed, seen;
    CPU_ZERO(&seen);
    cr_assert_eq(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    if (CPU_COUNT(&allowed) < 2)
        cr_skip_test("this machine has one processor");
    struct client *client = client_start_with("--call-running-max", "16");
    for (int i = 0; i < SESSIONS; i++)
        client_session_send(client, formatted("%d", i), formatted("s%d", i), ENDLESS, 0);
    while (CPU_COUNT(&seen) < 2) {
        pid_t pids[PIDS_MAX];
        const size_t count = process_descendants(client_pid(client), pids, PIDS_MAX);
        client_barrier(client);
        for (size_t i = 0; i < count; i++) {
            const int processor = process_processor(pids[i]);
            if (process_is_worker(pids[i]) && !process_sleeps(pids[i]) && processor >= 0)
                CPU_SET((size_t)processor, &seen);
        }
    }
    for (int i = 0; i < SESSIONS; i++)
        cancel(client, i);
    for (int i = 0; i < SESSIONS; i++)
        client_evaluate_await(client, formatted("%d", i));
    client_finish(client);
}

Test(running, a_queue_that_is_full_refuses_and_names_its_limit) {
    EACH_KIND(era) {
        struct client *client =
            era_start(era, STRINGS("--call-running-max", "1", "--session-queue", "3"));
        era_call_send(client, era, "0", "evaluate-lisp", "{\"code\":\"" ENDLESS "\"}");
        client_busy_worker(client);
        for (int i = 1; i <= 3; i++)
            era_call_send(client, era, formatted("%d", i), "evaluate-lisp", "{\"code\":\"1\"}");
        const char *line = era_refused(client, era, -32603, "4", "tools/call",
                                       "\"name\":\"evaluate-lisp\",\"arguments\":{\"code\":\"1\"}");
        expect_member(line, "3", "error", "data", "limit", NULL);
        expect_member(line, "\"session.queue\"", "error", "data", "name", NULL);
        cancel(client, 0);
        expect_cancelled(client, era, 0);
        for (int i = 1; i <= 3; i++)
            expect_contains(client_evaluate_await(client, formatted("%d", i)).text, "=> 1");
        client_expect_silence(client);
        client_finish(client);
    }
}

/* 64 MiB of code may wait on a session. */
Test(running, the_bytes_that_wait_are_limited_too) {
    enum { CALLS = 9, LENGTH = 8000000 };
    char *code = malloc(LENGTH + 16);
    cr_assert_not_null(code);
    memset(code, ' ', LENGTH);
    memcpy(code + LENGTH, "(+ 1 2)", sizeof "(+ 1 2)");
    EACH_KIND(era) {
        struct client *client = era_start(era, STRINGS("--call-running-max", "1"));
        size_t refused = 0;
        era_call_send(client, era, "0", "evaluate-lisp", "{\"code\":\"" ENDLESS "\"}");
        client_busy_worker(client);
        for (int i = 1; i <= CALLS; i++)
            era_call_send(client, era, formatted("%d", i), "evaluate-lisp",
                          client_keep(client, strdup(formatted("{\"code\":\"%s\"}", code))));
        struct evaluation last = client_evaluate_await(client, formatted("%d", CALLS));
        cr_assert_eq(last.error_code, -32603, "%.300s", last.line);
        expect_contains(last.text, "64 MiB");
        cancel(client, 0);
        expect_cancelled(client, era, 0);
        for (int i = 1; i < CALLS; i++) {
            struct evaluation evaluation = client_evaluate_await(client, formatted("%d", i));
            refused += evaluation.error_code == -32603;
            if (!evaluation.error_code)
                expect_contains(evaluation.text, "=> 3");
        }
        cr_assert_eq(refused, 0);
        client_finish(client);
    }
    free(code);
}
