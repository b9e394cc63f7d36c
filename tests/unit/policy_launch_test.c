/* policy_launch from outside: new namespaces, a control group, and an init whose end kills every
 * process in them; nothing is left behind. */
#include "common/child.h"
#include "policy/policy.h"
#include "tests/support/available.h"
#include "tests/support/confined.h"
#include "tests/support/outer_filter.h"
#include "tests/support/process.h"
#include "tests/support/skip.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LAUNCHES = 100, WATCHDOG_S = 60, WATCHDOG_MS = 20000, MEMORY = 256 << 20, PROCESSES = 50 };

#define NAMESPACES POLICY_LAYER_BIT(POLICY_LAYER_NAMESPACES)
#define CGROUP     POLICY_LAYER_BIT(POLICY_LAYER_CGROUP)

static const char *const hierarchies[] = {"/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids"};

static struct policy policy_of(uint32_t layers) {
    return (struct policy){.layers = layers,
                           .required = layers,
                           .all_memory_bytes = MEMORY,
                           .all_processes = PROCESSES};
}

/* The child of a launch. It ends when its parent closes the pipe that is its standard input. */
static void wait_for_end(void *context, const struct policy_report *report) {
    (void)context, (void)report;
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    for (;;)
        syscall(SYS_exit_group, 7);
}

/* Ignores every signal that can be ignored, clears its parent death signal, and keeps its standard
 * output, a pipe, open. */
static void stay(void *context, const struct policy_report *report) {
    (void)context, (void)report;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
    setsid();
    pid_t twin = fork(); /* with a child of its own */
    if (twin >= 0 && write(STDOUT_FILENO, "", 1) == 1)
        for (;;)
            pause();
    _exit(1);
}

/* Launches a child that has the other end of the pipe *life. */
static struct policy_launched launch(const struct policy *policy, int *life) {
    int ends[2];
    struct policy_launched launched;
    struct policy_report report = {0};
    struct error error = {0};
    cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
    int before = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);
    dup2(ends[0], STDIN_FILENO);
    *life = ends[1];
    bool good = policy_launch(policy, wait_for_end, NULL, &launched, &report, &error);
    cr_assert(good, "%s", error.text);
    cr_assert(policy_launch_finish(&launched, &report, &error), "%s", error.text);
    cr_assert_eq(waitpid(launched.starter, NULL, 0), launched.starter);
    dup2(before, STDIN_FILENO);
    close(before);
    close(ends[0]);
    for (unsigned layer = 0; layer < POLICY_LAYER_COUNT; layer++)
        cr_expect_eq(report.layers[layer].state,
                     (policy->layers & POLICY_LAYER_BIT(layer)) ? POLICY_ACTIVE : POLICY_OFF, "%s",
                     policy_layer_name(layer));
    return launched;
}

static int wait_for(pid_t child) {
    int status = -1;
    cr_assert_eq(waitpid(child, &status, 0), child);
    return status;
}

/* Ends a launch by closing the pipe of its init, which the kernel keeps until every other process
 * of its namespace is reaped; without an init, by killing the process. */
static void end_launch(const struct policy_launched *launched, int life) {
    if (launched->init)
        close(launched->init_life);
    else
        kill(launched->process, SIGKILL);
    int status = wait_for(launched->process);
    cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "%x", status);
    if (launched->init) {
        status = wait_for(launched->init);
        cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "init: %x", status);
    }
    close(life);
}

static ino_t namespace_of(pid_t pid, const char *kind) {
    char path[64];
    struct stat about;
    snprintf(path, sizeof path, "/proc/%d/ns/%s", pid, kind);
    cr_assert_eq(stat(path, &about), 0, "%s", path);
    return about.st_ino;
}

static void expect_namespaces(void) {
    static const char *const kinds[] = {"mnt", "pid", "net", "ipc", "uts", "cgroup"};
    const struct policy policy = policy_of(NAMESPACES);
    int life;
    struct policy_launched launched = launch(&policy, &life);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        cr_expect_neq(namespace_of(launched.process, kinds[i]), namespace_of(getpid(), kinds[i]),
                      "%s", kinds[i]);
        cr_expect_eq(namespace_of(launched.process, kinds[i]),
                     namespace_of(launched.init, kinds[i]), "%s", kinds[i]);
    }
    cr_expect_eq(policy_pid_within(launched.init), 1);
    cr_expect_eq(policy_pid_within(launched.process), 2);
    cr_expect_eq(policy_pid_within(getpid()), getpid());
    end_launch(&launched, life);
}

Test(launch, makes_new_namespaces) {
    skip_without_unshare();
    skip_without_inspection();
    expect_namespaces();
}

Test(launch, confines_init) {
    skip_without_unshare();
    const struct policy policy = policy_of(NAMESPACES);
    int life;
    struct policy_launched launched = launch(&policy, &life);
    /* It is ready when it has read nothing yet; the launch does not wait for that. */
    for (int i = 0; i < WATCHDOG_MS / 10 && !process_is_confined(launched.init); i++)
        usleep(10000);
    cr_expect_eq(process_capabilities(launched.init), 0);
    cr_expect_eq(process_status(launched.init, "NoNewPrivs"), 1);
    cr_expect(process_is_confined(launched.init));
    end_launch(&launched, life);
}

/* Does a clock that counts from boot show less than it did outside before? */
static int has_less_uptime(void *context) {
    const struct timespec *outside = context;
    struct timespec monotonic, boot;
    clock_gettime(CLOCK_MONOTONIC, &monotonic);
    clock_gettime(CLOCK_BOOTTIME, &boot);
    return monotonic.tv_sec < outside->tv_sec && boot.tv_sec < outside->tv_sec;
}

Test(launch, hides_how_long_the_host_has_been_up) {
    const struct policy policy = policy_of(NAMESPACES);
    struct timespec now;
    skip_without_layers(NAMESPACES, false);
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (access("/proc/self/timens_offsets", F_OK) != 0 ||
        (geteuid() == 0 && prctl(PR_CAPBSET_READ, CAP_SYS_TIME, 0, 0, 0) != 1))
        cr_skip_test("time namespaces are not available here");
    struct policy_trial trial = {.policy = &policy, .body = has_less_uptime, .context = &now};
    struct policy_trial_end end = policy_try(&trial);
    cr_assert(end.ran, "%s", end.error.text);
    cr_expect_eq(WEXITSTATUS(end.status), 1);
    trial.policy = NULL;
    cr_expect_eq(WEXITSTATUS(policy_try(&trial).status), 0);
}

Test(launch, kills_every_process_with_init) {
    skip_without_unshare();
    const struct policy policy = policy_of(NAMESPACES);
    int life;
    struct policy_launched launched = launch(&policy, &life);
    cr_expect_gt(launched.init, 1);
    end_launch(&launched, life);
    cr_expect_eq(waitpid(-1, NULL, 0), -1, "a child is left");
}

/* From then on a process keeps no capability over exec. */
static void forbid_ambient_capabilities(void) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_CAP_AMBIENT, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_CAP_AMBIENT_RAISE, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    cr_assert_eq(outer_filter_install(steps, sizeof steps / sizeof *steps, 0), 0);
}

/* As the zygote forks a worker: a sibling, which the first process of a pid namespace cannot have.
 */
static void fork_a_sibling(void *context, const struct policy_report *report) {
    (void)context, (void)report;
    pid_t sibling = fork_for_parent();
    for (;;)
        syscall(SYS_exit_group, sibling >= 0 ? 0 : errno);
}

/* Where an ordinary user gets namespaces, but no rights in them. */
Test(launch, starts_a_child_that_can_fork_where_the_namespaces_are_of_no_use) {
    skip_without_layers(NAMESPACES, true);
    const struct policy policy = {.layers = NAMESPACES};
    struct policy_launched launched;
    struct policy_report report = {0};
    struct error error = {0};
    confined_become_nobody();
    forbid_ambient_capabilities();
    bool good = policy_launch(&policy, fork_a_sibling, NULL, &launched, &report, &error);
    cr_assert(good, "%s", error.text);
    cr_expect_eq(report.layers[POLICY_LAYER_NAMESPACES].state, POLICY_UNAVAILABLE);
    int status = wait_for(launched.process);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%x", status);
    close(launched.init_life);
    close(launched.reports);
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

Test(launch, starts_an_ordinary_child_without_layers) {
    const struct policy policy = policy_of(0);
    int life;
    struct policy_launched launched = launch(&policy, &life);
    cr_expect_eq(launched.init, 0);
    cr_expect_eq(launched.init_life, -1);
    cr_expect_eq(policy_pid_within(launched.process), launched.process);
    end_launch(&launched, life);
}

static size_t entries(const char *path) {
    size_t count = 0;
    DIR *directory = opendir(path);
    cr_assert_not_null(directory, "%s", path);
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

static bool has_version_1(void) {
    return access("/sys/fs/cgroup/memory/memory.limit_in_bytes", W_OK) == 0 &&
           access("/sys/fs/cgroup/pids/cgroup.procs", W_OK) == 0;
}

/* A pattern for the groups of this process's launches in HIERARCHY; it matches nothing where there
 * are none. */
static void find_group(const char *hierarchy, char *path, size_t size) {
    char line[512], own[400] = "";
    FILE *file = fopen("/proc/self/cgroup", "re");
    cr_assert_not_null(file);
    while (fgets(line, sizeof line, file)) {
        char *name = strchr(line, ':'), *place = name ? strchr(name + 1, ':') : NULL;
        if (!place)
            continue;
        *place++ = 0;
        place[strcspn(place, "\n")] = 0;
        if (strcmp(name + 1, strrchr(hierarchy, '/') + 1) == 0 && strcmp(place, "/") != 0)
            snprintf(own, sizeof own, "%s", place);
    }
    fclose(file);
    snprintf(path, size, "%s%s/eclave-%d-*", hierarchy, own, getpid());
    glob_t found;
    if (glob(path, 0, NULL, &found) == 0) {
        cr_assert_eq(found.gl_pathc, 1, "%s", path);
        snprintf(path, size, "%s", found.gl_pathv[0]);
        globfree(&found);
    }
}

static void expect_number(const char *directory, const char *name, long wanted) {
    char path[700], text[64] = "";
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "re");
    cr_assert_not_null(file, "%s", path);
    bool found = false;
    while (!found && fgets(text, sizeof text, file))
        found = strtol(text, NULL, 10) == wanted;
    fclose(file);
    cr_expect(found, "%s has no %ld", path, wanted);
}

Test(launch, leaves_nothing_behind) {
    const uint32_t namespaces = available_unshare() ? NAMESPACES : 0;
    const struct policy policy = policy_of(namespaces | (has_version_1() ? CGROUP : 0));
    size_t before = entries("/proc/self/fd");
    for (int i = 0; i < LAUNCHES; i++) {
        int life;
        struct policy_launched launched = launch(&policy, &life);
        end_launch(&launched, life);
    }
    policy_cgroup_remove();
    cr_expect_eq(entries("/proc/self/fd"), before);
    cr_expect_eq(waitpid(-1, NULL, 0), -1, "a child is left");
    for (size_t i = 0; has_version_1() && i < 2; i++) {
        char group[600];
        find_group(hierarchies[i], group, sizeof group);
        cr_expect_neq(access(group, F_OK), 0, "%s is left", group);
    }
}

Test(launch, limits_the_sum_of_all_processes_by_the_control_group) {
    if (!has_version_1())
        cr_skip_test("there are no control groups of version 1 to write to");
    char groups[2][600];
    const struct policy policy = policy_of(CGROUP);
    int life;
    struct policy_launched launched = launch(&policy, &life);
    for (size_t i = 0; i < 2; i++) {
        find_group(hierarchies[i], groups[i], sizeof groups[i]);
        expect_number(groups[i], "cgroup.procs", launched.process);
    }
    expect_number(groups[0], "memory.limit_in_bytes", MEMORY);
    expect_number(groups[1], "pids.max", PROCESSES);
    policy_cgroup_remove(); /* which must not affect the processes in it */
    expect_number(groups[1], "cgroup.procs", launched.process);
    end_launch(&launched, life);
    policy_cgroup_remove();
    for (size_t i = 0; i < 2; i++)
        cr_expect_neq(access(groups[i], F_OK), 0, "%s is left", groups[i]);
}

/* In a child: launches a process that stays, and waits to be killed. */
static _Noreturn void launch_and_wait(const struct policy *policy, int told) {
    struct policy_launched launched;
    struct policy_report report = {0};
    dup2(told, STDOUT_FILENO);
    if (!policy_launch(policy, stay, NULL, &launched, &report, NULL))
        _exit(1);
    close(told);
    close(STDOUT_FILENO);
    for (;;)
        pause();
}

static bool read_byte(int fd) {
    char byte;
    return read(fd, &byte, 1) == 1;
}

/* Whether no process of a launch outlives the SIGKILL of its launcher. */
static bool nothing_survives(const struct policy *policy) {
    int ends[2];
    char byte;
    if (pipe2(ends, O_CLOEXEC))
        return false;
    pid_t launcher = fork();
    if (launcher == 0)
        launch_and_wait(policy, ends[1]);
    close(ends[1]);
    bool begun = read_byte(ends[0]); /* one for each of its two processes */
    begun = read_byte(ends[0]) && begun;
    kill(launcher, SIGKILL);
    waitpid(launcher, NULL, 0);
    struct pollfd end = {.fd = ends[0], .events = POLLIN};
    bool over = poll(&end, 1, WATCHDOG_MS) == 1 && read(ends[0], &byte, 1) == 0;
    close(ends[0]);
    return begun && over;
}

/* Runs CHECK in a new pid namespace and returns its result; skips the test where there is none. */
static bool in_own_namespace(bool (*check)(const struct policy *), const struct policy *policy) {
    pid_t child = fork();
    if (child == 0) {
        confined_in_own_pid_namespace(WATCHDOG_S);
        _exit(check(policy) ? 0 : 1);
    }
    int status = wait_for(child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CONFINED_SKIPPED)
        cr_skip_test("there is no pid namespace with its own /proc");
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

Test(launch, leaves_no_survivor_of_a_killed_launcher) {
    skip_without_unshare();
    const struct policy policy = policy_of(NAMESPACES);
    cr_expect(in_own_namespace(nothing_survives, &policy));
}

Test(launch, removes_the_group_of_a_killed_launcher) {
    if (!has_version_1())
        cr_skip_test("there are no control groups of version 1 to write to");
    const struct policy policy = policy_of(CGROUP);
    pid_t dead = fork();
    if (dead == 0) {
        char groups[2][600];
        for (size_t i = 0; i < 2; i++) {
            find_group(hierarchies[i], groups[i], sizeof groups[i]);
            groups[i][strlen(groups[i]) - 1] = '0'; /* the asterisk */
            if (mkdir(groups[i], 0755))
                _exit(1);
        }
        _exit(0);
    }
    cr_assert_eq(wait_for(dead), 0);
    int life;
    struct policy_launched launched = launch(&policy, &life);
    end_launch(&launched, life);
    policy_cgroup_remove();
    for (size_t i = 0; i < 2; i++) {
        char group[600], *last;
        find_group(hierarchies[i], group, sizeof group);
        last = strrchr(group, '/');
        snprintf(last, sizeof group - (size_t)(last - group), "/eclave-%d-0", dead);
        cr_expect_neq(access(group, F_OK), 0, "%s is left", group);
    }
}
