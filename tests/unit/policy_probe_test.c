/* The probe reports the abilities of this machine, and of restricted ones, which an outer filter
 * imitates as containers have them. */
#include "policy/policy.h"
#include "tests/support/available.h"
#include "tests/support/outer_filter.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Installs STEPS as an outer filter of this process. */
static int install(struct sock_filter *steps, size_t count, unsigned long flags) {
    const struct sock_fprog program = {.len = (unsigned short)count, .filter = steps};
    cr_assert_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static size_t descriptors(void) {
    size_t count = 0;
    DIR *directory = opendir("/proc/self/fd");
    cr_assert_not_null(directory);
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

/* The layers that every machine has. */
static bool probe(bool degraded, struct error *error) {
    const struct policy policy = {.layers = POLICY_LAYERS_ALL & ~policy_optional_layers(),
                                  .degraded = degraded};
    return policy_probe(&policy, NULL, error);
}

static void expect_refusal(bool degraded, const char *word) {
    struct error error = {0};
    cr_expect_not(probe(degraded, &error));
    cr_expect(strstr(error.text, word), "\"%s\" does not say \"%s\"", error.text, word);
}

static void expect_success(bool degraded) {
    struct error error = {0};
    cr_expect(probe(degraded, &error), "%s", error.text);
}

Test(probe, succeeds_and_leaves_nothing_behind) {
    size_t before = descriptors();
    for (int i = 0; i < 5; i++) {
        expect_success(false);
        expect_success(true);
    }
    cr_expect_eq(descriptors(), before);
    cr_expect_eq(waitpid(-1, NULL, 0), -1, "a child is left");
    cr_expect_eq(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 0, "the caller was confined");
    cr_expect_eq(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), 1, "the caller was confined");
}

/* In a child: makes the calls of the layer, without the code under test.  */
static bool has_namespaces(void) {
    static const int kinds =
        CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
    pid_t child = fork();
    if (child == 0)
        _exit(unshare(kinds | (geteuid() == 0 ? 0 : CLONE_NEWUSER)) ||
              mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
              mount("none", "/tmp", "tmpfs", 0, NULL));
    int status = 1;
    cr_assert_eq(waitpid(child, &status, 0), child);
    return status == 0;
}

static bool has_landlock(void) {
    return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0;
}

/* Tests adapt to the layers that the probe reports, so it must not lose one. */
Test(probe, reports_the_layers_that_this_machine_has) {
    const struct policy_report report = available_report(false);
    const uint32_t active = policy_layers_in(&report, POLICY_ACTIVE);
    const uint32_t every = POLICY_LAYERS_ALL & ~policy_optional_layers();
    cr_expect_eq(active & every, every);
    cr_expect_eq(report.layers[POLICY_LAYER_NAMESPACES].state,
                 has_namespaces() ? POLICY_ACTIVE : POLICY_UNAVAILABLE, "%s",
                 report.layers[POLICY_LAYER_NAMESPACES].why);
    cr_expect_eq(report.layers[POLICY_LAYER_LANDLOCK].state,
                 has_landlock() ? POLICY_ACTIVE : POLICY_UNAVAILABLE, "%s",
                 report.layers[POLICY_LAYER_LANDLOCK].why);
    if (access("/sys/fs/cgroup/memory/memory.limit_in_bytes", W_OK) == 0 &&
        access("/sys/fs/cgroup/pids/cgroup.procs", W_OK) == 0)
        cr_expect_eq(report.layers[POLICY_LAYER_CGROUP].state, POLICY_ACTIVE, "%s",
                     report.layers[POLICY_LAYER_CGROUP].why);
}

Test(probe, succeeds_when_nobody_waits_for_children) {
    signal(SIGCHLD, SIG_IGN);
    expect_success(false);
    expect_success(true);
}

Test(probe, does_not_need_a_place_for_the_reason) {
    cr_expect(probe(false, NULL));
    outer_filter(SYS_seccomp, SECCOMP_RET_ERRNO | EPERM, 0);
    cr_expect_not(probe(false, NULL));
}

Test(probe, reports_that_seccomp_is_forbidden) {
    outer_filter(SYS_seccomp, SECCOMP_RET_ERRNO | EPERM, 0);
    expect_refusal(false, "refuses seccomp");
    expect_refusal(true, "Operation not permitted");
}

Test(probe, reports_that_seccomp_is_unknown) {
    outer_filter(SYS_seccomp, SECCOMP_RET_ERRNO | ENOSYS, 0);
    expect_refusal(false, "refuses seccomp");
    expect_refusal(true, "not implemented");
}

Test(probe, reports_that_seccomp_is_access_controlled) {
    outer_filter(SYS_seccomp, SECCOMP_RET_ERRNO | EACCES, 0);
    expect_refusal(true, "Permission denied");
}

Test(probe, reports_that_seccomp_kills) {
    outer_filter(SYS_seccomp, SECCOMP_RET_KILL_PROCESS, 0);
    expect_refusal(false, "killed by signal 31");
    expect_refusal(true, "killed by signal 31");
}

Test(probe, reports_that_a_required_call_is_forbidden) {
    outer_filter(SYS_setsid, SECCOMP_RET_ERRNO | EACCES, 0);
    expect_refusal(false, "session");
}

Test(probe, reports_that_another_process_has_the_listener) {
    /* Under a manager with a listener of its own, as some container runtimes have. */
    cr_assert_geq(outer_filter(SYS_uname, SECCOMP_RET_ALLOW, SECCOMP_FILTER_FLAG_NEW_LISTENER), 0);
    expect_refusal(false, "notifications");
    expect_success(true);
}

Test(probe, reports_that_fork_is_forbidden) {
    /* In a child, since a leak check at the end of this process would need to fork as well. */
    pid_t child = fork();
    if (child == 0) {
        struct error error = {0};
        outer_filter(SYS_clone, SECCOMP_RET_ERRNO | EAGAIN, 0);
        _exit(!probe(false, &error) && strstr(error.text, "fork") ? 0 : 1);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect_eq(status, 0);
}

Test(probe, accepts_only_the_refusal_of_its_own_filter) {
    /* The outer filter refuses to open directories, which says nothing about ours. When degraded,
     * ours was installed last and answers. */
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOENT),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    install(steps, sizeof steps / sizeof *steps, 0);
    expect_refusal(false, "did not fail with EACCES");
    expect_success(true);
}
