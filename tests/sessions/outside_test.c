/* Processes killed from outside: checkpoints, the zygote, and the server. Sessions keep the states
 * that remain, answers report losses, and nothing is left running. A test signals only processes
 * that it has just seen below its server. */
#include "tests/support/client_sessions.h"
#include "tests/support/family.h"
#include "tests/support/lines.h"
#include "tests/support/random.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define UNCHANGED "The session is as it was before the call."
#define EARLIER   "The session is back at an earlier state; the effects of the calls since are lost."
#define AFRESH    "The state of the session is lost; it starts afresh."

enum { PIDS_MAX = 32, SPARE_AND_HEAD = 2 };

static int by_pid(const void *one, const void *other) {
    return *(const pid_t *)one - *(const pid_t *)other;
}

/* The checkpoints of the only session, which keeps COUNT of them, oldest first. All forks of one
 * worker have its session id, and the spare has another. */
static void find_checkpoints(struct client *client, size_t count, pid_t *checkpoints) {
    pid_t workers[PIDS_MAX];
    pid_t head = family_head(client, NULL);
    client_session_settle(client, NULL);
    family_await_no_zombies(client);
    size_t all = family_workers(client, count + SPARE_AND_HEAD, workers, PIDS_MAX), found = 0;
    for (size_t i = 0; i < all; i++)
        if (workers[i] != head && getsid(workers[i]) == getsid(head)) {
            cr_assert_lt(found, count);
            checkpoints[found++] = workers[i];
        }
    cr_assert_eq(found, count);
    qsort(checkpoints, count, sizeof *checkpoints, by_pid);
}

static void kill_one(struct client *client, pid_t pid) {
    cr_assert_gt(pid, 1);
    kill(pid, SIGKILL);
    family_await_gone(client, pid);
}

enum { CHECKPOINTS = 3 }; /* of a session with a history of 2 after as many calls */

static struct client *start(void) {
    struct client *client = client_start_with("--session-history", "2", "--session-record", "off");
    client_session_expect(client, NULL, "(defvar *x* 1)", "=> *X*");
    for (int i = 2; i <= 4; i++)
        client_session_expect(client, NULL, "(incf *x*)", formatted("=> %d", i));
    return client;
}

Test(outside, a_checkpoint_killed_while_idle_is_made_again) {
    struct client *client = start();
    pid_t checkpoints[CHECKPOINTS];
    find_checkpoints(client, CHECKPOINTS, checkpoints);
    for (size_t i = 0; i < CHECKPOINTS; i++)
        kill_one(client, checkpoints[i]);
    struct evaluation failure = client_evaluate(client, "(setf *x* 0) (ext:quit 1)");
    expect_contains(failure.text, UNCHANGED);
    client_session_expect(client, NULL, "*x*", "=> 4");
    client_finish(client);
}

/* Kills COUNT checkpoints while a call runs; then ends the call. */
static struct evaluation end_without(struct client *client, const pid_t *checkpoints,
                                     size_t count) {
    client_evaluate_send(client, "\"running\"", "(setf *x* 0) (loop)");
    client_busy_worker(client);
    for (size_t i = 0; i < count; i++)
        kill_one(client, checkpoints[i]);
    client_send_line(client, CANCEL("\"running\""));
    return client_evaluate_await(client, "\"running\"");
}

Test(outside, without_its_newest_checkpoints_a_session_goes_further_back_and_reports_it) {
    struct client *client = start();
    pid_t checkpoints[CHECKPOINTS];
    client_evaluate(client, "(error \"x\")");
    client_session_expect(client, NULL, "(incf *x*)", "=> 5");
    find_checkpoints(client, CHECKPOINTS, checkpoints);
    struct evaluation failure = end_without(client, checkpoints + 1, CHECKPOINTS - 1);
    cr_assert_eq(failure.error_code, -32001);
    expect_contains(failure.text, EARLIER);
    client_session_expect(client, NULL, "*x*", "=> 4");
    struct session_row row;
    cr_assert(client_session_row(client, NULL, &row));
    cr_assert_eq(row.number, 6); /* five calls remain, and the one just made */
    client_finish(client);
}

Test(outside, without_any_checkpoint_a_session_starts_afresh_and_reports_it) {
    struct client *client = start();
    pid_t checkpoints[CHECKPOINTS];
    find_checkpoints(client, CHECKPOINTS, checkpoints);
    struct evaluation failure = end_without(client, checkpoints, CHECKPOINTS);
    cr_assert_eq(failure.error_code, -32001);
    expect_contains(failure.text, AFRESH);
    client_session_expect(client, NULL, "(boundp '*x*)", "=> NIL");
    struct session_row row;
    cr_assert(client_session_row(client, NULL, &row));
    cr_assert_eq(row.number, 1);
    client_finish(client);
}

Test(outside, a_session_is_not_rolled_back_past_a_missing_state) {
    struct client *client = start();
    pid_t checkpoints[CHECKPOINTS];
    find_checkpoints(client, CHECKPOINTS, checkpoints); /* of the states 3, 4 and 5 */
    kill_one(client, checkpoints[1]);
    struct session_row row;
    cr_assert(client_session_row(client, NULL, &row));
    cr_assert_eq(row.history, 0);
    for (long steps = 1; steps <= 2; steps++) {
        struct evaluation rolled = client_session_rollback(client, NULL, steps);
        cr_assert(rolled.is_error);
        expect_contains(rolled.text, "at most 0 calls");
    }
    client_session_expect(client, NULL, "(incf *x*)", "=> 5");
    cr_assert_not(client_session_rollback(client, NULL, 1).is_error);
    client_session_expect(client, NULL, "*x*", "=> 4");
    client_finish(client);
}

Test(outside, a_loss_is_reported_in_the_next_result) {
    struct client *client = start();
    pid_t workers[PIDS_MAX];
    client_session_settle(client, NULL);
    family_await_no_zombies(client);
    size_t count = family_workers(client, CHECKPOINTS + SPARE_AND_HEAD, workers, PIDS_MAX);
    /* All while the server is stopped, or it would make another checkpoint in between. */
    family_kill_together(client, workers, count);
    struct evaluation evaluation =
        client_evaluate_with(client, "{\"code\":\"(loop)\",\"timeout\":0.1}");
    cr_assert_eq(evaluation.error_code, -32004);
    expect_lacks(evaluation.text, "SESSION-LOST");
    evaluation = client_evaluate(client, "(boundp '*x*)");
    expect_contains(evaluation.text, "SESSION-LOST: ");
    expect_contains(evaluation.text, "it started afresh");
    expect_contains(evaluation.text, "=> NIL");
    client_session_expect(client, NULL, "(boundp '*x*)", "=> NIL");
    client_finish(client);
}

Test(outside, without_the_zygote_a_session_continues_and_can_be_rolled_back) {
    struct client *client = start();
    client_session_settle(client, NULL);
    family_await_no_zombies(client);
    kill_one(client, family_zygote(client, CHECKPOINTS + SPARE_AND_HEAD));
    expect_contains(client_evaluate(client, "(setf *x* 0) (ext:quit 1)").text, UNCHANGED);
    client_session_expect(client, NULL, "*x*", "=> 4");
    const char *copy = client_session_copy(client, NULL, -1);
    client_session_expect(client, copy, "(incf *x* 10)", "=> 14");
    for (int i = 0; i < 3; i++)
        client_session_expect(client, client_session_open(client), "(boundp '*x*)", "=> NIL");
    client_session_expect(client, NULL, "*x*", "=> 4");
    client_finish(client);
}

enum { SESSIONS = 3 };

/* Another program of the same user has sent descriptors that are not received yet. The kernel
 * counts them against the user's limit when the server sends one. */
Test(outside, descriptors_in_flight_of_other_programs_do_no_harm) {
    enum { IN_FLIGHT = 200 };
    int pair[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    struct iovec part = {.iov_base = (char[1]){0}, .iov_len = 1};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))] = {0};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    *rights = (struct cmsghdr){
        .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(8 * sizeof(int))};
    for (size_t i = 0; i < 8; i++)
        memcpy(CMSG_DATA(rights) + i * sizeof(int), &(int){STDERR_FILENO}, sizeof(int));
    size_t sent = 0;
    while (sent < IN_FLIGHT && sendmsg(pair[0], &message, 0) == 1)
        sent += 8;
    cr_assert_geq(sent, 64);
    struct client *client = client_start_ready(NULL, NULL);
    client_session_expect(client, NULL, "(+ 1 2)", "=> 3");
    client_finish(client);
    close(pair[0]);
    close(pair[1]);
}

/* Sends calls to the sessions and waits for no answer. */
static void send_traffic(struct client *client, const char *const *sessions,
                         struct random *random) {
    static const char *const codes[] = {
        "(+ 1 2)",      "(setf *y* (make-list 100000))", ENDLESS,
        "(ext:quit 1)", "(ash 1 999999999999)",          "(error \"x\")"};
    for (int i = 0; i < 12; i++)
        client_session_send(client, formatted("%d", i), sessions[random_below(random, SESSIONS)],
                            random_pick(random, codes), random_percent(random, 50) ? 0.02 : 0);
    client_tool_send(client, "\"copy\"", "open-session", "{\"from\":\"main\"}");
}

/* Starts a server with some traffic and returns after a random number of pings. */
static struct client *start_traffic(struct random *random, size_t pings_max) {
    struct client *client = client_start_with("--shutdown-grace-s", "0");
    const char *sessions[SESSIONS] = {NULL, client_session_open(client),
                                      client_session_open(client)};
    send_traffic(client, sessions, random);
    for (size_t pings = random_below(random, pings_max); pings > 0; pings--)
        client_ping(client);
    return client;
}

Test(outside, a_server_killed_at_any_moment_leaves_no_process_behind) {
    struct random random = random_for("outside");
    for (size_t round = 0; round < random_trials(25, 200); round++) {
        struct client *client = start_traffic(&random, 200);
        client_kill(client, SIGKILL);
        cr_assert_eq(client_wait(client), 128 + SIGKILL);
        family_await_nobody(client);
        client_free(client);
    }
}

Test(outside, a_server_ended_at_any_moment_leaves_no_process_behind) {
    struct random random = random_for("outside");
    for (size_t round = 0; round < random_trials(10, 100); round++) {
        struct client *client = start_traffic(&random, 100);
        if (random_percent(&random, 50))
            client_close_stdin(client);
        else
            client_kill(client, SIGTERM);
        cr_assert_eq(client_wait(client), 0);
        family_await_nobody(client);
        client_free(client);
    }
}
