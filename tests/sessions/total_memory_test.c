/* The memory of a session with all its states is bounded, whether its processes run or not; what
 * the kernel does when memory runs out is reported as that. */
#include "policy/policy.h"
#include "tests/support/client_sessions.h"
#include "tests/support/family.h"
#include "tests/support/lines.h"
#include "tests/support/process.h"
#include "tests/support/siege.h"
#include "tests/support/skip.h"
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { WATCHDOG_S = 60, LOOK_MS = 50, CALLS = 9, PIDS_MAX = 32 };

static time_t now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* Lists the sessions until IS_SO holds for SESSION. */
static struct session_row await_row(struct client *client, const char *session,
                                    bool (*is_so)(const struct session_row *row),
                                    const char *what) {
    struct session_row row = {0};
    for (time_t end = now_s() + WATCHDOG_S; now_s() < end; usleep(LOOK_MS * 1000)) {
        cr_assert(client_session_row(client, session, &row));
        if (is_so(&row))
            return row;
    }
    client_fail(client, "waited in vain until %s", what);
    return row;
}

static bool has_dropped(const struct session_row *row) {
    return row->dropped > 0;
}

static bool has_lost_history(const struct session_row *row) {
    return row->dropped > 0 && row->history < 8;
}

/* Each call changes the 40 MB that *BIG* holds, so that each state has its own. */
static struct client *start_changing(const char *total_mb) {
    const char *const arguments[] = {"--session-memory-mb", "128", "--session-total-mb", total_mb,
                                     NULL};
    struct client *client =
        client_start_ready(&(struct client_options){.arguments = arguments}, NULL);
    client_session_expect(client, NULL,
                          "(defvar *big* (make-array 40000000 :element-type '(unsigned-byte 8)))",
                          "=> *BIG*");
    for (int i = 1; i <= CALLS; i++) {
        client_session_expect(client, NULL, formatted("(aref (fill *big* %d) 0)", i),
                              formatted("=> %d", i));
        client_session_settle(client, NULL);
    }
    return client;
}

Test(total_memory, the_oldest_states_are_dropped_and_the_others_remain) {
    struct client *client = start_changing("200");
    struct session_row row = await_row(client, NULL, has_lost_history, "a state was dropped");
    cr_assert_eq(row.number, CALLS + 1);
    cr_assert_geq(row.history, 1, "it kept no earlier state");
    expect_contains(client_stderr(client), "memory session=main: state number 2 is dropped");
    cr_assert_not(client_session_rollback(client, NULL, 1).is_error);
    client_session_expect(client, NULL, "(aref *big* 0)", formatted("=> %d", CALLS - 1));
    client_finish(client);
}

/* The control: the same calls use more than that, and lose nothing under a higher limit. */
Test(total_memory, below_the_limit_no_state_is_dropped) {
    struct client *client = start_changing("1000");
    for (int looks = 0; looks < 10; looks++) {
        struct session_row row;
        usleep(LOOK_MS * 1000);
        cr_assert(client_session_row(client, NULL, &row));
        cr_assert_eq(row.dropped, 0);
        cr_assert_eq(row.history, 8);
        cr_assert_gt(row.memory_mib, 300, "the states do not hold memory of their own");
    }
    client_finish(client);
}

/* Ordinary use at the default settings. */
Test(total_memory, a_session_of_a_hundred_megabytes_keeps_all_its_states_by_default) {
    struct client *client = client_start_ready(NULL, NULL);
    client_session_expect(client, NULL,
                          "(defvar *big* (make-array 100000000 :element-type '(unsigned-byte 8)))",
                          "=> *BIG*");
    for (int i = 1; i <= CALLS; i++) {
        client_session_expect(client, NULL, formatted("(aref (fill *big* %d) 0)", i),
                              formatted("=> %d", i));
        client_session_settle(client, NULL);
    }
    struct session_row row;
    usleep(1000 * 1000);
    cr_assert(client_session_row(client, NULL, &row));
    cr_expect_eq(row.dropped, 0);
    cr_expect_eq(row.history, 8);
    client_finish(client);
}

Test(total_memory, a_call_that_alone_exceeds_the_limit_ends_and_changes_nothing) {
    struct client *client = client_start_with("--session-total-mb", "100");
    client_session_expect(client, NULL, "(defvar *kept* 1)", "=> *KEPT*");
    client_session_expect(client, NULL, "(incf *kept*)", "=> 2");
    struct evaluation evaluation = client_evaluate(
        client, "(setf *kept* (make-array 200000000 :element-type '(unsigned-byte 8) "
                ":initial-element 1)) (loop)");
    expect_contains(evaluation.text, "[ERROR] MEMORY-LIMIT\n");
    expect_contains(evaluation.text, "session.total_mb (100 MiB)");
    expect_contains(evaluation.text, "The session is as it was before the call.");
    cr_assert_eq(evaluation.exit_code, 137);
    client_session_expect(client, NULL, "*kept*", "=> 2");
    client_finish(client);
}

/* --- between calls --- */

static const char *const small[] = {"--session-memory-mb", "64", NULL};

static bool is_back(const struct session_row *row) {
    return row->number < 3;
}

Test(total_memory, a_process_that_grows_between_calls_is_killed_and_the_loss_reported) {
    struct siege siege = siege_begin(small);
    siege_forge(&siege, siege.victim, "grows-while-it-forks");
    await_row(siege.client, siege.victim, is_back, "the session returned to the state before");
    struct evaluation evaluation = siege_evaluate(&siege, siege.victim, "*kept*", 0);
    expect_contains(evaluation.text, "SESSION-LOST: the worker ended between calls because it used "
                                     "more memory than session.memory_mb allows");
    expect_contains(evaluation.text, "=> 1");
    siege_end(&siege, NULL, 0);
}

Test(total_memory, a_parked_process_that_grows_is_killed) {
    struct siege siege = siege_begin(small);
    siege_forge(&siege, siege.victim, "checkpoint-grows");
    struct session_row row =
        await_row(siege.client, siege.victim, has_dropped, "the state was dropped");
    cr_assert_eq(row.dropped, 1);
    cr_assert_eq(row.number, 3, "the session lost its present state");
    siege_end(&siege, NULL, 0);
}

/* --- list-sessions --- */

static pid_t find_weigher(struct client *client) {
    pid_t pids[PIDS_MAX];
    size_t count = client_descendants(client, pids, PIDS_MAX);
    for (size_t i = 0; i < count; i++)
        if (process_is_named(pids[i], "eclave-weigher"))
            return pids[i];
    client_fail(client, "there is no weigher");
    return 0;
}

/* The kernel visits each mapping of a process that is weighed. The control is the processor time
 * that this takes, in another process than the server. */
Test(total_memory, a_list_of_hostile_sessions_does_not_stall_the_server) {
    enum { VICTIMS = 3, ROUNDS = 8, SHARE = 4 };
    skip_without_inspection();
    struct siege siege = siege_begin(NULL);
    const char *victims[VICTIMS];
    for (size_t i = 0; i < VICTIMS; i++) {
        victims[i] = siege_victim(&siege);
        cr_assert_str_eq(
            siege_evaluate(&siege, victims[i], "(hostile::map-in-pieces 64000)", 60).text,
            "=> 64000");
        siege_settle(&siege, victims[i]);
    }
    client_session_count(siege.client);
    const pid_t server = client_pid(siege.client), weigher = find_weigher(siege.client);
    const long weighed = process_ticks(weigher);
    long served = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < VICTIMS; i++) {
            siege_evaluate(&siege, victims[i], "(hostile::grow 100000)", 0);
            siege_settle(&siege, victims[i]);
        }
        const long before = process_ticks(server);
        client_tool_send(siege.client, "\"list\"", "list-sessions", "{}");
        client_send_line(siege.client, PING("\"ping\""));
        expect_contains(client_read_line(siege.client, NULL), "\"id\":\"ping\"");
        expect_contains(client_read_line(siege.client, NULL), "\"id\":\"list\"");
        served += process_ticks(server) - before;
    }
    cr_assert_gt(process_ticks(weigher) - weighed, SHARE * served,
                 "the server used %ld ticks, weighing %ld", served,
                 process_ticks(weigher) - weighed);
    siege_end(&siege, victims, VICTIMS);
}

/* --- out of memory --- */

static long score(pid_t pid) {
    char path[64];
    long value = -1;
    snprintf(path, sizeof path, "/proc/%d/oom_score_adj", (int)pid);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%ld", &value) != 1) // NOLINT(cert-err34-c): the kernel's number fits
        value = -1;
    if (file)
        fclose(file);
    return value;
}

Test(total_memory, the_kernel_kills_parked_processes_first_and_the_server_last) {
    struct client *client = client_start_with("--session-record", "off");
    for (int i = 0; i < 3; i++)
        client_evaluate(client, "1");
    client_session_settle(client, NULL);
    pid_t head = family_head(client, NULL), workers[PIDS_MAX];
    client_session_settle(client, NULL);
    size_t count = family_workers(client, 6, workers, PIDS_MAX), parked = 0;
    cr_assert_gt(score(head), score(client_pid(client)));
    for (size_t i = 0; i < count; i++)
        cr_assert_geq(score(workers[i]), score(head));
    for (time_t end = now_s() + WATCHDOG_S; geteuid() == 0 && parked < 4 && now_s() < end;) {
        parked = 0;
        for (size_t i = 0; i < count; i++)
            parked += score(workers[i]) > score(head);
        usleep(LOOK_MS * 1000);
    }
    cr_assert(geteuid() != 0 || parked == 4, "%zu parked processes are before the head", parked);
    client_finish(client);
}

/* The directory of the control group that the server made below that of this process, with a limit
 * that can be lowered. False where there is none: FILE is then unknown. */
static bool find_limit(const struct client *client, char file[512]) {
    static const struct {
        const char *mount, *controller, *limit;
    } places[] = {{"/sys/fs/cgroup/memory", ":memory:", "memory.limit_in_bytes"},
                  {"/sys/fs/cgroup", "0::", "memory.max"}};
    char line[512], own[256];
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        FILE *groups = fopen("/proc/self/cgroup", "re");
        *own = 0;
        while (groups && fgets(line, sizeof line, groups)) {
            const char *at = strstr(line, places[i].controller);
            if (at)
                snprintf(own, sizeof own, "%.*s",
                         (int)strcspn(at + strlen(places[i].controller), "\n"),
                         at + strlen(places[i].controller));
        }
        if (groups)
            fclose(groups);
        char directory[400];
        snprintf(directory, sizeof directory, "%s%s", places[i].mount, own);
        DIR *entries = opendir(directory);
        const char *prefix = formatted("eclave-%d-", client_pid(client));
        for (const struct dirent *entry; entries && (entry = readdir(entries)) != NULL;)
            if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0) {
                snprintf(file, 512, "%.300s/%.100s/%s", directory, entry->d_name, places[i].limit);
                closedir(entries);
                return access(file, W_OK) == 0;
            }
        if (entries)
            closedir(entries);
    }
    return false;
}

static void write_limit(const char *file, const char *bytes) {
    FILE *limit = fopen(file, "we");
    cr_assert_not_null(limit);
    fputs(bytes, limit);
    cr_assert_eq(fclose(limit), 0, "cannot write %s to %s", bytes, file);
}

#define MUCH "(make-array 300000000 :element-type '(unsigned-byte 8) :initial-element 1)"

Test(total_memory, a_kill_by_the_kernel_is_a_memory_limit_and_not_a_crash) {
    skip_unless_root();
    skip_without_layers(POLICY_LAYER_BIT(POLICY_LAYER_CGROUP), false);
    char limit[512];
    struct client *client = client_start_with("--session-history", "2");
    for (int i = 0; i < 3; i++)
        client_session_expect(client, NULL, "(+ 1 2)", "=> 3");
    client_session_settle(client, NULL);
    cr_assert(find_limit(client, limit), "there is no control group");
    client_session_expect(client, NULL, "(length " MUCH ")", "=> 300000000"); /* the control */
    client_session_settle(client, NULL);
    write_limit(limit, "150000000");
    struct evaluation evaluation = client_evaluate(client, "(length " MUCH ")");
    write_limit(limit, "2000000000");
    expect_contains(evaluation.text, "[ERROR] MEMORY-LIMIT\n");
    expect_contains(evaluation.text, "The kernel killed the worker because memory ran out.");
    cr_assert_eq(evaluation.exit_code, 137);
    client_session_expect(client, NULL, "(+ 1 2)", "=> 3");
    /* A signal from elsewhere is a crash all the same. */
    client_evaluate_send(client, "\"running\"", ENDLESS);
    kill(client_busy_worker(client), SIGKILL);
    expect_contains(client_evaluate_await(client, "\"running\"").text, "[ERROR] WORKER-CRASH");
    client_finish(client);
}
