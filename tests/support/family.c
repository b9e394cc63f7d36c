/* See family.h. */
#include "tests/support/family.h"
#include "policy/policy.h"
#include "tests/support/client_sessions.h"
#include "tests/support/process.h"
#include <criterion/criterion.h>
#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FAMILY_MAX = 64, TICK_MS = 10, WATCHDOG_S = 60 };

static time_t now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* Whether PID is the init of a pid namespace. */
static bool is_init(pid_t pid) {
    return pid != 1 && policy_pid_within(pid) == 1;
}

/* Whether PID is the process of the server that weighs the others. */
static bool is_weigher(pid_t pid) {
    return process_is_named(pid, "eclave-weigher");
}

/* Whether PID was forked a moment ago and has not taken its own name yet. */
static bool is_nameless(pid_t pid) {
    return process_is_named(pid, "eclave");
}

/* The descendants of the server except its launcher, the init, the weigher, the keeper and the
 * compiler, the unconfined ones first. */
struct family {
    pid_t zygotes[FAMILY_MAX], workers[FAMILY_MAX];
    size_t zygote_count, worker_count;
};

static struct family look(struct client *client) {
    struct family family = {.zygote_count = 0};
    pid_t pids[FAMILY_MAX];
    size_t count = client_descendants(client, pids, FAMILY_MAX);
    /* This process may itself have a filter that the server inherited. */
    long own_filters = process_status(getpid(), "Seccomp_filters");
    for (size_t i = 0; i < count; i++) {
        long filters = process_status(pids[i], "Seccomp_filters");
        if (is_init(pids[i]) || process_is_launcher(pids[i]) || is_weigher(pids[i]) ||
            process_is_named(pids[i], "eclave-keeper") ||
            process_is_named(pids[i], "eclave-compiler") || is_nameless(pids[i]))
            continue;
        if (filters > own_filters)
            family.workers[family.worker_count++] = pids[i];
        else if (filters == own_filters)
            family.zygotes[family.zygote_count++] = pids[i];
    }
    return family;
}

static bool same_family(const struct family *one, const struct family *other) {
    return one->zygote_count == other->zygote_count && one->worker_count == other->worker_count &&
           memcmp(one->zygotes, other->zygotes, one->zygote_count * sizeof(pid_t)) == 0 &&
           memcmp(one->workers, other->workers, one->worker_count * sizeof(pid_t)) == 0;
}

/* The state must be stable: the right number of processes may be seen for a moment while some start
 * and others end. */
static struct family settled(struct client *client, size_t workers) {
    enum { LOOKS = 6 };
    struct family family = {.zygote_count = 0};
    int same = 0;
    for (time_t end = now_s() + WATCHDOG_S; now_s() < end;) {
        client_stderr(client); /* also moves bytes */
        struct family now = look(client);
        same = same_family(&now, &family) ? same + 1 : 0;
        family = now;
        if (same >= LOOKS && family.zygote_count == 1 && family.worker_count == workers)
            return family;
        usleep(TICK_MS * 1000);
    }
    client_fail(client, "waited in vain for a zygote and %zu workers; there are %zu and %zu",
                workers, family.zygote_count, family.worker_count);
    return family;
}

void family_await_stopped(struct client *client, size_t wanted) {
    size_t stopped = 0;
    for (time_t end = now_s() + WATCHDOG_S; now_s() < end;) {
        struct family family = look(client);
        stopped = 0;
        for (size_t i = 0; i < family.worker_count; i++)
            stopped += process_is_stopped(family.workers[i]);
        if (stopped == wanted)
            return;
        usleep(TICK_MS * 1000);
    }
    client_fail(client, "waited in vain for %zu stopped workers; there are %zu", wanted, stopped);
}

pid_t family_zygote(struct client *client, size_t workers) {
    return settled(client, workers).zygotes[0];
}

pid_t family_zygote_now(struct client *client) {
    struct family family = look(client);
    return family.zygote_count ? family.zygotes[0] : 0;
}

size_t family_workers(struct client *client, size_t workers, pid_t *pids, size_t maximum) {
    struct family family = settled(client, workers);
    for (size_t i = 0; i < family.worker_count && i < maximum; i++)
        pids[i] = family.workers[i];
    return family.worker_count;
}

/* In its namespace it has another pid. */
pid_t family_head(struct client *client, const char *session) {
    pid_t within =
        (pid_t)client_session_integer(client, session, "(let ((*print-base* 10)) (si:getpid))");
    struct family family = look(client);
    for (size_t i = 0; i < family.worker_count; i++)
        if (policy_pid_within(family.workers[i]) == within)
            return family.workers[i];
    client_fail(client, "no worker knows itself as %d", within);
    return 0;
}

static size_t zombies(struct client *client) {
    size_t count = 0;
    DIR *directory = opendir("/proc");
    if (!directory)
        return 0;
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        count += process_status(pid, "PPid") == client_pid(client) && process_is_zombie(pid);
    }
    closedir(directory);
    return count;
}

void family_kill_together(struct client *client, const pid_t *pids, size_t count) {
    client_kill(client, SIGSTOP);
    for (size_t i = 0; i < count; i++) {
        cr_assert_gt(pids[i], 1);
        kill(pids[i], SIGKILL);
    }
    client_kill(client, SIGCONT);
    for (size_t i = 0; i < count; i++)
        family_await_gone(client, pids[i]);
}

size_t family_zombies(struct client *client) {
    return zombies(client);
}

/* Waits until GONE. */
static void await(struct client *client, bool (*gone)(struct client *client, pid_t pid), pid_t pid,
                  const char *what) {
    for (time_t end = now_s() + WATCHDOG_S; now_s() < end;) {
        client_stderr(client);
        if (gone(client, pid))
            return;
        usleep(TICK_MS * 1000);
    }
    client_fail(client, "waited in vain until %s", what);
}

static bool is_gone(struct client *client, pid_t pid) {
    return process_status(pid, "PPid") != client_pid(client);
}

static bool has_no_zombies(struct client *client, pid_t pid) {
    (void)pid;
    return zombies(client) == 0;
}

static bool has_nobody(struct client *client, pid_t pid) {
    (void)pid;
    pid_t left;
    return client_ended(client) && client_descendants(client, &left, 1) == 0;
}

static bool has_launcher_alone(struct client *client, pid_t pid) {
    pid_t pids[FAMILY_MAX];
    bool found = false;
    (void)pid;
    size_t count = client_descendants(client, pids, FAMILY_MAX);
    for (size_t i = 0; i < count; i++) {
        if (!process_is_launcher(pids[i]) && !is_weigher(pids[i]))
            return false;
        found = found || process_is_launcher(pids[i]);
    }
    return found;
}

void family_await_launcher_alone(struct client *client) {
    await(client, has_launcher_alone, 0, "the launcher was the only process");
}

void family_await_gone(struct client *client, pid_t pid) {
    await(client, is_gone, pid, "a killed process was waited for");
}

void family_await_no_zombies(struct client *client) {
    await(client, has_no_zombies, 0, "all children that died were waited for");
}

void family_await_nobody(struct client *client) {
    await(client, has_nobody, 0, "everything that the server had started was gone");
}

void family_expect_end(struct client *client, int status) {
    while (client_read_line_or_end(client, NULL))
        ;
    int ended = client_wait(client);
    if (ended != status)
        client_fail(client, "the server ended with status %d instead of %d", ended, status);
    family_await_nobody(client);
    client_free(client);
}

void family_expect_idle(struct client *client) {
    enum { LOOK_MS = 500, TICKS_MAX = 20 };
    long before = process_ticks(client_pid(client));
    usleep(LOOK_MS * 1000);
    long used = process_ticks(client_pid(client)) - before;
    if (used > TICKS_MAX)
        client_fail(client, "the server spins: %ld clock ticks while nothing happened", used);
}
