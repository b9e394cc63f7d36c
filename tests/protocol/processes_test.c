/* Killed workers, killed zygotes, killed servers: no hang, no zombie, no orphan, no leak. A test
 * signals only processes that it has just seen below its server. */
#include "common/image_file.h"
#include "policy/policy.h"
#include "tests/support/available.h"
#include "tests/support/eras.h"
#include "tests/support/family.h"
#include "tests/support/process.h"
#include "tests/support/saved.h"
#include "tests/support/skip.h"
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* The processes of a session after a call, without history: its head, the checkpoint of the present
 * state, and the spare. */
enum { WORKERS = 3, PIDS_MAX = 16 };

static void end_process(pid_t pid, int signal) {
    cr_assert_gt(pid, 1);
    kill(pid, signal);
}

static struct client *start(void) {
    return client_start_with("--session-history", "0");
}

/* Ends the worker of a running call by SIGNAL and returns how the call ended. */
static struct evaluation kill_running(struct client *client, int signal) {
    client_evaluate_send(client, "\"killed\"", ENDLESS);
    end_process(client_busy_worker(client), signal);
    return client_evaluate_await(client, "\"killed\"");
}

Test(processes, a_worker_ended_by_sigterm_or_sigint_is_a_cancelled_call) {
    static const int signals[] = {SIGTERM, SIGINT};
    static const char *const arguments[] = {"--cancel-reply", "silent", NULL};
    EACH_KIND_STARTED(era, arguments) {
        for (size_t i = 0; i < COUNT_OF(signals); i++) {
            era_call_send(client, era, "1", "evaluate-lisp", "{\"code\":\"(loop)\"}");
            end_process(client_busy_worker(client), signals[i]);
            cr_assert_eq(client_evaluate_await(client, "1").error_code, -32001);
            cr_assert_eq(era_evaluate(client, era, NULL, "1").error_code, 0);
        }
    }
}

Test(processes, a_worker_ended_by_any_other_signal_is_a_crash_that_names_it) {
    static const struct {
        int signal, exit_code;
        const char *name;
    } rows[] = {{SIGSEGV, 139, "SIGSEGV"}, {SIGKILL, 137, "SIGKILL"}, {SIGABRT, 134, "SIGABRT"},
                {SIGHUP, 129, "SIGHUP"},   {SIGQUIT, 131, "SIGQUIT"}, {SIGALRM, 142, "SIGALRM"}};
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct evaluation evaluation = kill_running(client, rows[i].signal);
        cr_assert_eq(evaluation.error_code, 0, "%s", evaluation.line);
        cr_assert(evaluation.is_error);
        cr_assert_eq(evaluation.exit_code, rows[i].exit_code, "%s", evaluation.line);
        expect_contains(evaluation.text, "[ERROR] WORKER-CRASH\n");
        expect_contains(evaluation.text, rows[i].name);
        expect_contains(evaluation.text, "The session is as it was before the call.");
        client_expect_works(client);
    }
    client_finish(client);
}

Test(processes, a_worker_that_is_stopped_runs_into_its_time_limit) {
    struct client *client = client_start_ready(NULL, NULL);
    client_send_line(client, CALL("1", "{\"code\":\"(loop)\",\"timeout\":1}"));
    end_process(client_busy_worker(client), SIGSTOP);
    cr_assert_eq(client_evaluate_await(client, "1").error_code, -32004);
    client_expect_works(client);
    client_finish(client);
}

/* The kernel resumes the sleep by another system call, restart_syscall. */
Test(processes, a_sleep_outlasts_being_stopped_and_continued) {
    enum { STOPS = 40, PAUSE_MS = 20 };
    pid_t pids[PIDS_MAX];
    struct client *client = start();
    client_expect_works(client);
    size_t count = family_workers(client, WORKERS, pids, PIDS_MAX);
    client_evaluate_send(client, "1", "(progn (sleep 0.5) :awake)");
    for (int i = 0; i < STOPS; i++) {
        for (size_t j = 0; j < count; j++) {
            end_process(pids[j], SIGSTOP);
            end_process(pids[j], SIGCONT);
        }
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000L}, NULL);
    }
    cr_assert_str_eq(client_evaluate_await(client, "1").text, "=> :AWAKE");
    client_finish(client);
}

/* Kills every process under the server while the server is stopped, so that it cannot replace one
 * by means of another. */
static void kill_all(struct client *client) {
    pid_t pids[PIDS_MAX + 1];
    size_t count = family_workers(client, WORKERS, pids, PIDS_MAX);
    pids[count++] = family_zygote(client, WORKERS);
    family_kill_together(client, pids, count);
}

Test(processes, when_everything_is_killed_the_next_call_works) {
    struct client *client = start();
    client_expect_works(client);
    for (int round = 0; round < 3; round++) {
        kill_all(client);
        expect_contains(client_evaluate(client, "(+ 1 2)").text, "=> 3");
        client_expect_works(client);
    }
    client_finish(client);
}

Test(processes, a_zygote_killed_while_it_boots_loses_no_waiting_call) {
    for (int round = 0; round < 5; round++) {
        struct client *client = start();
        for (int i = 1; i <= 3; i++)
            client_send_format(client, EVALUATE("%d", "(* 6 7)"), i);
        client_flush(client);
        pid_t booting = family_zygote_now(client);
        if (booting)
            end_process(booting, SIGKILL);
        cr_assert_str_eq(client_evaluate_await(client, "1").text, "=> 42");
        cr_assert_str_eq(client_evaluate_await(client, "2").text, "=> 42");
        cr_assert_str_eq(client_evaluate_await(client, "3").text, "=> 42");
        client_finish(client);
    }
}

Test(processes, a_killed_server_leaves_no_process_behind) {
    struct client *client = start();
    client_expect_works(client);
    family_zygote(client, WORKERS);
    client_kill(client, SIGKILL);
    family_expect_end(client, 128 + SIGKILL);
}

Test(processes, a_server_killed_while_it_boots_leaves_no_process_behind) {
    for (int i = 0; i < 10; i++) {
        struct client *client = start();
        client_evaluate_send(client, "1", ENDLESS);
        for (int pings = 0; pings < i * 20; pings++)
            client_ping(client);
        client_kill(client, SIGKILL);
        client_wait(client);
        family_await_nobody(client);
        client_free(client);
    }
}

static pid_t process_of(struct client *client, const char *who, bool (*is_wanted)(pid_t pid)) {
    pid_t pids[PIDS_MAX];
    size_t count = client_descendants(client, pids, PIDS_MAX);
    for (size_t i = 0; i < count && i < PIDS_MAX; i++)
        if (is_wanted(pids[i]))
            return pids[i];
    cr_assert_fail("the server has no %s", who);
    return 0;
}

static pid_t launcher_of(struct client *client) {
    return process_of(client, "launcher", process_is_launcher);
}

Test(processes, a_server_whose_launcher_is_killed_answers_every_request_and_ends) {
    EACH_KIND(era) {
        struct client *client = era_start(era, NULL);
        cr_assert_eq(era_evaluate(client, era, NULL, "1").error_code, 0);
        era_call_send(client, era, "1", "evaluate-lisp", "{\"code\":\"(loop)\"}");
        client_busy_worker(client);
        end_process(launcher_of(client), SIGKILL);
        struct evaluation evaluation = client_evaluate_await(client, "1");
        cr_assert_eq(evaluation.error_code, -32603, "%s", evaluation.line);
        client_await_stderr(client, "launcher-ended");
        family_expect_end(client, 70);
    }
}

/* Capabilities by their numbers: setgid and setuid, with which each worker changes its user. */
enum { CAPABILITIES_OF_ZYGOTE = 1 << 6 | 1 << 7, CAPABILITIES_OF_WEIGHER = 1 << 19 };

static void expect_rights(pid_t pid, const char *who, uint64_t capabilities) {
    cr_expect_eq(process_capabilities(pid) & ~capabilities, 0, "%s: %llx", who,
                 (unsigned long long)process_capabilities(pid));
    cr_expect_eq(process_status(pid, "NoNewPrivs"), 1, "%s", who);
}

static bool is_keeper(pid_t pid) {
    return process_is_named(pid, "eclave-keeper");
}

static pid_t keeper_of(struct client *client) {
    return process_of(client, "keeper", is_keeper);
}

/* Socket, directory, journals, and the directories of the sessions. */
Test(processes, the_keeper_of_saved_sessions_has_no_rights_and_nothing_else_open) {
    saved_begin();
    struct client *client = saved_serve(NULL);
    client_expect_works(client);
    const pid_t keeper = keeper_of(client);
    expect_rights(keeper, "keeper", 0);
    cr_expect_eq(process_descriptors(keeper), 4);
    client_finish(client);
    saved_end();
}

/* Whether a sanitizer's leak check needs the rights of the supervisor. */
static bool is_sanitized(void) {
#ifdef __SANITIZE_ADDRESS__
    return true;
#else
    return false;
#endif
}

static bool is_imager(pid_t pid) {
    return process_is_named(pid, "eclave-imager");
}

/* As the weigher, but that it has a filter. Without it there are no images, and no call is lost. */
Test(processes, the_imager_of_saved_sessions_may_look_into_others_and_is_not_missed) {
    if (!IMAGE_SUPPORTED)
        cr_skip_test("there are no images for this processor");
    saved_begin();
    saved_use_images();
    struct client *client = saved_serve(NULL);
    client_expect_works(client);
    const pid_t imager = process_of(client, "imager", is_imager);
    expect_rights(imager, "imager", CAPABILITIES_OF_WEIGHER);
    cr_expect(geteuid() != 0 || process_descriptors(imager) == 1); /* others may not look */
    cr_expect(is_sanitized() || process_status(imager, "Seccomp") == 2);
    end_process(imager, SIGKILL);
    client_evaluate(client, "(defvar *n* 1)");
    client_evaluate(client, "(sleep 0.6)");
    usleep(600000); /* in which an image would be made */
    saved_kill(client);
    client = saved_serve(NULL);
    expect_contains(client_evaluate(client, "*n*").text, "=> 1");
    client_finish(client);
    saved_end();
}

Test(processes, a_server_whose_keeper_is_killed_answers_every_request_and_ends) {
    saved_begin();
    struct client *client = saved_serve(NULL);
    client_expect_works(client);
    client_evaluate_send(client, "1", "(loop)");
    client_busy_worker(client);
    end_process(keeper_of(client), SIGKILL);
    struct evaluation evaluation = client_evaluate_await(client, "1");
    cr_assert_eq(evaluation.error_code, -32603, "%s", evaluation.line);
    client_await_stderr(client, "the keeper of the state directory has ended");
    family_expect_end(client, 70);
    saved_end();
}

/* Capability 5 is to signal workers of another user, which Landlock confines to descendants. */
static void expect_confined_supervisor(struct client *client) {
    pid_t server = client_pid(client);
    const uint64_t most = UINT64_C(1) << 5;
    if (is_sanitized())
        return;
    cr_expect_eq(process_capabilities(server) & ~most, 0, "%llx",
                 (unsigned long long)process_capabilities(server));
    cr_expect_eq(process_status(server, "NoNewPrivs"), 1);
    cr_expect(process_is_confined(server));
}

Test(processes, the_server_confines_itself_before_it_reads_a_byte) {
    struct client *client = client_start(NULL);
    /* It has not been sent anything. */
    for (int i = 0; i < 6000 && !is_sanitized() && !process_is_confined(client_pid(client)); i++)
        usleep(10000);
    cr_expect(is_sanitized() || process_is_confined(client_pid(client)));
    client_initialize(client, NULL);
    client_expect_works(client);
    expect_confined_supervisor(client);
    cr_expect_not(process_is_confined(launcher_of(client)));
    client_finish(client);
}

Test(processes, the_launcher_sends_the_signals_where_landlock_cannot_confine_them) {
    struct client *client = client_start_with("--without", "landlock", "--call-timeout-s", "1");
    client_expect_works(client);
    cr_assert_eq(client_evaluate(client, ENDLESS).error_code, -32004);
    client_expect_works(client);
    if (available_layers() & POLICY_LAYER_BIT(POLICY_LAYER_NAMESPACES) && !is_sanitized())
        cr_expect_eq(process_capabilities(client_pid(client)), 0);
    client_finish(client);
}

Test(processes, each_process_keeps_only_the_rights_that_it_needs) {
    struct client *client = start();
    client_expect_works(client);
    pid_t workers[WORKERS], pids[PIDS_MAX];
    expect_rights(family_zygote(client, WORKERS), "zygote", CAPABILITIES_OF_ZYGOTE);
    family_workers(client, WORKERS, workers, WORKERS);
    for (size_t i = 0; i < WORKERS; i++)
        expect_rights(workers[i], "worker", 0);
    size_t count = client_descendants(client, pids, PIDS_MAX);
    for (size_t i = 0; i < count && i < PIDS_MAX; i++)
        if (process_is_named(pids[i], "eclave-weigher"))
            expect_rights(pids[i], "weigher", CAPABILITIES_OF_WEIGHER);
        else if (policy_pid_within(pids[i]) == 1 && pids[i] != 1) {
            expect_rights(pids[i], "init", 0);
            cr_expect(process_is_confined(pids[i]));
        }
    client_finish(client);
}

/* Reads the users of the head, its checkpoint and the spare. False if one of them was about to be
 * replaced and has ended. */
static bool read_users(struct client *client, long users[WORKERS]) {
    pid_t workers[WORKERS];
    bool complete = family_workers(client, WORKERS, workers, WORKERS) == WORKERS;
    for (size_t i = 0; i < WORKERS && complete; i++) {
        users[i] = process_status(workers[i], "Uid");
        complete = users[i] >= 0 && process_status(workers[i], "Gid") == users[i];
    }
    return complete;
}

Test(processes, each_session_of_root_is_a_user_of_its_own) {
    skip_unless_root();
    skip_without_separate_users();
    struct client *client = start();
    long users[WORKERS], user = process_status(family_head(client, NULL), "Uid");
    size_t sharing = 0;
    int tries = 0;
    while (!read_users(client, users))
        cr_assert_lt(++tries, 100);
    for (size_t i = 0; i < WORKERS; i++) {
        cr_expect_geq(users[i], (long)POLICY_USERS_FIRST);
        sharing += users[i] == user;
    }
    cr_expect_eq(sharing, 2, "the head and its checkpoint, and not the spare");
    client_finish(client);
}

/* The name of the control group that a program has made, "eclave-" and what no other has. In each
 * hierarchy that is in use it has one of this name. */
static char group_name[64];
static size_t groups_found;

/* Reads it from the path of the group of PID. */
static void find_group(pid_t pid) {
    static const char prefix[] = "/eclave-";
    char line[4096];
    FILE *file = fopen(formatted("/proc/%d/cgroup", pid), "re");
    cr_assert_not_null(file);
    group_name[0] = 0;
    while (!group_name[0] && fgets(line, sizeof line, file)) {
        const char *found = strstr(line, prefix);
        if (found)
            snprintf(group_name, sizeof group_name, "%.*s", (int)strcspn(found + 1, "/\n"),
                     found + 1);
    }
    fclose(file);
    cr_assert_neq(group_name[0], 0, "process %d is in no group of eclave", pid);
}

static int count_group(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status;
    const char *name = path + place->base;
    groups_found += kind == FTW_D && strcmp(name, group_name) == 0;
    return 0;
}

static size_t count_groups(void) {
    groups_found = 0;
    nftw("/sys/fs/cgroup", count_group, 16, FTW_PHYS);
    return groups_found;
}

Test(processes, a_killed_server_leaves_no_control_group_behind) {
    skip_without_layers(POLICY_LAYER_BIT(POLICY_LAYER_CGROUP), false);
    struct client *client = start();
    client_expect_works(client);
    find_group(family_zygote(client, WORKERS));
    cr_assert_gt(count_groups(), 0);
    client_kill(client, SIGKILL);
    family_expect_end(client, 128 + SIGKILL);
    cr_assert_eq(count_groups(), 0);
}

Test(processes, an_idle_server_does_not_spin) {
    struct client *client = start();
    client_expect_works(client);
    family_zygote(client, WORKERS);
    family_expect_idle(client);
    client_evaluate_send(client, "1", ENDLESS);
    client_busy_worker(client);
    family_expect_idle(client);
    client_send_line(client, CANCEL("1"));
    client_evaluate_await(client, "1");
    family_zygote(client, WORKERS);
    family_expect_idle(client);
    client_finish(client);
}
