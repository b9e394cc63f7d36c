/* policy/cgroup.c: the control groups of sessions, which take version 2. Entering and removing them
 * is tested on a real hierarchy; it need not have the memory controller, which most machines with
 * version 1 keep there. The limit is tested on a file tree. */
#include "policy/policy_internal.h"
#include "tests/support/skip.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_BYTES = 128 };

static pid_t start_sleeper(void) {
    pid_t pid = fork();
    if (pid == 0)
        for (;;)
            pause();
    return pid;
}

static void end_sleeper(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* The path of the group of PID in version 2, or "". */
static const char *group_of(pid_t pid) {
    static char line[256];
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/cgroup", pid);
    FILE *file = fopen(path, "re");
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file))
        found = strncmp(line, "0::", 3) == 0;
    if (file)
        fclose(file);
    line[strcspn(line, "\n")] = 0;
    return found ? line + 3 : "";
}

static bool has_leaf(const char *group, const char *leaf) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", group, leaf);
    return access(path, F_OK) == 0;
}

/* A group below the root of a hierarchy that is mounted for this test. */
static void make_group(char group[PATH_BYTES]) {
    skip_unless_root();
    char mount_point[] = "/tmp/eclave-cgroup-XXXXXX";
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("tmpfs", "/tmp", "tmpfs", 0, NULL) || !mkdtemp(mount_point) ||
        mount("cgroup2", mount_point, "cgroup2", 0, NULL))
        cr_skip_test("no hierarchy of version 2 can be mounted here");
    snprintf(group, PATH_BYTES, "%s/eclave-%d-test", mount_point, getpid());
    if (mkdir(group, 0755))
        cr_skip_test("no group can be made here");
}

static void expect_session(pid_t pid, uint64_t session) {
    char expected[64];
    snprintf(expected, sizeof expected, "-test/session-%llu", (unsigned long long)session);
    const char *group = group_of(pid);
    cr_expect(strlen(group) > strlen(expected) &&
                  strcmp(group + strlen(group) - strlen(expected), expected) == 0,
              "%s does not end with %s", group, expected);
}

static void join(const char *group, uint64_t session, pid_t pid) {
    struct error error = {0};
    cr_expect(policy_cgroup_join_session(group, session, 0, pid, &error), "%s", error.text);
    expect_session(pid, session);
}

Test(cgroup, each_session_has_a_group_that_goes_when_it_is_empty) {
    char group[PATH_BYTES];
    make_group(group);
    pid_t first = start_sleeper(), second = start_sleeper(), third = start_sleeper();
    join(group, 7, first);
    join(group, 7, second);
    join(group, 7, second); /* it is there */
    join(group, 18446744073709551615ULL, third);
    cr_expect(has_leaf(group, "session-7"));
    end_sleeper(first);
    end_sleeper(third);
    join(group, 8, second); /* as a copy of a session */
    pid_t fourth = start_sleeper();
    join(group, 9, fourth);
    cr_expect_not(has_leaf(group, "session-7"));
    cr_expect_not(has_leaf(group, "session-18446744073709551615"));
    end_sleeper(second);
    end_sleeper(fourth);
    cr_expect_not(policy_cgroup_join_session(group, 9, 0, second, NULL), "it has ended");
    policy_cgroup_remove_group(group);
    cr_expect_neq(access(group, F_OK), 0);
}

/* A fork need not be moved. */
Test(cgroup, a_fork_is_in_the_group_of_its_session) {
    char group[PATH_BYTES], byte;
    int go[2], told[2];
    pid_t child = 0;
    make_group(group);
    cr_assert(pipe(go) == 0 && pipe(told) == 0);
    pid_t parent = fork();
    if (parent == 0) {
        if (read(go[0], &byte, 1) != 1)
            _exit(1);
        child = start_sleeper();
        if (write(told[1], &child, sizeof child) != sizeof child)
            _exit(2);
        for (;;)
            pause();
    }
    join(group, 1, parent);
    cr_assert_eq(write(go[1], "", 1), 1);
    cr_assert_eq(read(told[0], &child, sizeof child), (ssize_t)sizeof child);
    expect_session(child, 1);
    kill(child, SIGKILL);
    end_sleeper(parent);
    for (int i = 0; i < 5000 && access(group, F_OK) == 0; i++) { /* until the child has ended */
        policy_cgroup_remove_group(group);
        usleep(1000);
    }
    cr_expect_neq(access(group, F_OK), 0);
}

static void make_file(const char *directory, const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "we");
    cr_assert_not_null(file);
    fclose(file);
}

static void expect_file(const char *directory, const char *name, const char *expected) {
    char path[256], text[64] = "";
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "re");
    cr_assert_not_null(file);
    cr_expect_not_null(fgets(text, sizeof text, file));
    fclose(file);
    cr_expect_str_eq(text, expected, "%s has %s", name, text);
}

static void remove_file(const char *directory, const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    unlink(path);
}

Test(cgroup, the_memory_of_a_session_is_limited_before_a_process_enters) {
    char group[] = "/tmp/eclave-cgroup-XXXXXX", leaf[64], pid[16];
    cr_assert_not_null(mkdtemp(group));
    snprintf(leaf, sizeof leaf, "%s/session-3", group);
    cr_assert_eq(mkdir(leaf, 0700), 0);
    struct error error = {0};
    cr_expect_not(policy_cgroup_join_session(group, 3, 5000000, getpid(), &error));
    cr_expect(strstr(error.text, "memory.max"), "%s", error.text);
    make_file(leaf, "memory.max");
    make_file(leaf, "cgroup.procs");
    cr_expect(policy_cgroup_join_session(group, 3, 5000000, getpid(), &error), "%s", error.text);
    snprintf(pid, sizeof pid, "%d", getpid());
    expect_file(leaf, "memory.max", "5000000");
    expect_file(leaf, "cgroup.procs", pid);
    remove_file(leaf, "memory.max");
    remove_file(leaf, "cgroup.procs");
    rmdir(leaf);
    rmdir(group);
}
