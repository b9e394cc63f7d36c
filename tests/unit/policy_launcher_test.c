/* policy_launcher from its parent: what it starts are the parent's children, it signals and opens
 * no other process, and it ends with its channel. */
#include "policy/policy.h"
#include "tests/support/available.h"
#include "tests/support/process.h"
#include "tests/support/skip.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAMESPACES POLICY_LAYER_BIT(POLICY_LAYER_NAMESPACES)

enum { STATUS = 7, LAUNCHES = 50 };

/* Sends a byte of CONTEXT on the first descriptor, and ends when the second is at its end. */
static void report_and_wait(void *context, const int descriptors[POLICY_LAUNCHER_DESCRIPTORS],
                            const struct policy_report *report) {
    char byte;
    (void)report;
    ssize_t written = write(descriptors[0], context, 1);
    close(descriptors[0]);
    while (read(descriptors[1], &byte, 1) > 0)
        ;
    for (;;)
        syscall(SYS_exit_group, written == 1 ? STATUS : 1);
}

/* A launcher, and the pipes of one process that it has started. */
struct fixture {
    struct policy_launcher launcher;
    struct policy_launched launched;
    int from, to; /* the process writes to the one, and ends when the other is closed */
};

static void start(struct fixture *fixture, uint32_t layers) {
    const struct policy policy = {.layers = layers, .required = layers};
    static char word[] = "x";
    struct error error = {0};
    cr_assert(policy_launcher_start(&fixture->launcher, &policy, report_and_wait, word, &error),
              "%s", error.text);
    word[0] = 'y'; /* the launcher has a copy */
}

static void launch(struct fixture *fixture) {
    int from[2], to[2];
    char byte = 0;
    struct policy_report report = {0};
    struct error error = {0};
    cr_assert(pipe2(from, O_CLOEXEC) == 0 && pipe2(to, O_CLOEXEC) == 0);
    const int passed[] = {from[1], to[0]};
    bool good =
        policy_launcher_launch(&fixture->launcher, passed, &fixture->launched, &report, &error);
    cr_assert(good, "%s", error.text);
    cr_assert(policy_launch_finish(&fixture->launched, &report, &error), "%s", error.text);
    close(from[1]);
    close(to[0]);
    fixture->from = from[0];
    fixture->to = to[1];
    cr_assert_eq(read(fixture->from, &byte, 1), 1);
    cr_assert_eq(byte, 'x');
}

/* Waits for the process, its helpers and, if it was closed, the launcher. */
static int reap(const struct fixture *fixture) {
    int status, result = -1;
    for (pid_t pid; (pid = waitpid(-1, &status, 0)) > 0;)
        if (pid == fixture->launched.process)
            result = status;
    return result;
}

static long score_of(pid_t pid) {
    char path[64], text[32] = "";
    snprintf(path, sizeof path, "/proc/%d/oom_score_adj", pid);
    FILE *file = fopen(path, "re");
    bool got = file && fgets(text, sizeof text, file);
    if (file)
        fclose(file);
    return got ? strtol(text, NULL, 10) : -1;
}

static void close_launched(struct fixture *fixture) {
    close(fixture->from);
    close(fixture->to);
    if (fixture->launched.init_life >= 0)
        close(fixture->launched.init_life);
}

Test(launcher, starts_children_of_its_parent_with_the_descriptors) {
    struct fixture fixture;
    start(&fixture, available_unshare() ? NAMESPACES : 0);
    launch(&fixture);
    cr_expect_eq(process_status(fixture.launched.process, "PPid"), getpid());
    cr_expect_eq(process_status(fixture.launcher.pid, "PPid"), getpid());
    close(fixture.to);
    int status;
    cr_assert_eq(waitpid(fixture.launched.process, &status, 0), fixture.launched.process);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == STATUS, "%x", status);
    fixture.to = -1;
    close_launched(&fixture);
    policy_launcher_close(&fixture.launcher);
    reap(&fixture);
}

Test(launcher, leaves_no_process_and_no_descriptor) {
    struct fixture fixture;
    start(&fixture, available_unshare() ? NAMESPACES : 0);
    int before = process_descriptors(getpid());
    for (int i = 0; i < LAUNCHES; i++) {
        launch(&fixture);
        close_launched(&fixture);
    }
    cr_expect_eq(process_descriptors(getpid()), before);
    if (available_inspection())
        /* The three null ones, the channel, and the last starter's reports. */
        cr_expect_eq(process_descriptors(fixture.launcher.pid), 5);
    policy_launcher_close(&fixture.launcher);
    reap(&fixture);
    cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1, "a child is left");
}

Test(launcher, signals_children_of_its_parent_only) {
    struct fixture fixture;
    int ends[2];
    pid_t pids[2]; /* a child, and a child of that */
    cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
    pids[0] = fork();
    if (pids[0] == 0) {
        pids[1] = fork();
        if (pids[1] == 0)
            for (;;)
                pause();
        if (write(ends[1], &pids[1], sizeof pids[1]) != (ssize_t)sizeof pids[1])
            _exit(1);
        int status;
        waitpid(pids[1], &status, 0);
        _exit(WTERMSIG(status));
    }
    cr_assert_eq(read(ends[0], &pids[1], sizeof pids[1]), (ssize_t)sizeof pids[1]);
    start(&fixture, 0);
    launch(&fixture);
    cr_expect(policy_launcher_signal(&fixture.launcher, pids[1], SIGKILL));
    cr_expect(policy_launcher_signal(&fixture.launcher, getpid(), SIGKILL));
    cr_expect(policy_launcher_signal(&fixture.launcher, pids[0], SIGSEGV), "not one of those sent");
    cr_expect(policy_launcher_signal(&fixture.launcher, 1, SIGKILL));
    cr_expect(policy_launcher_signal(&fixture.launcher, -1, SIGKILL));
    cr_expect(policy_launcher_signal(&fixture.launcher, 0, SIGKILL));
    cr_expect(policy_launcher_signal(&fixture.launcher, fixture.launched.process, SIGKILL));
    int status;
    cr_assert_eq(waitpid(fixture.launched.process, &status, 0), fixture.launched.process);
    cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "%x", status);
    /* Requests are served in their order, so that the others have been, too. */
    cr_expect_eq(process_status(pids[1], "PPid"), pids[0]);
    cr_assert_eq(kill(pids[1], SIGTERM), 0);
    cr_assert_eq(waitpid(pids[0], &status, 0), pids[0]);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == SIGTERM, "%x", status);
    close_launched(&fixture);
    policy_launcher_close(&fixture.launcher);
    reap(&fixture);
}

Test(launcher, prefers_children_of_its_parent_only) {
    struct fixture fixture;
    start(&fixture, 0);
    launch(&fixture);
    long before = score_of(getppid());
    cr_expect(policy_launcher_prefer(&fixture.launcher, getppid(), POLICY_OOM_PARKED));
    cr_expect(policy_launcher_prefer(&fixture.launcher, -1, POLICY_OOM_PARKED));
    long launched = score_of(fixture.launched.process);
    cr_expect(
        policy_launcher_prefer(&fixture.launcher, fixture.launched.process, POLICY_OOM_PARKED));
    int fd = policy_launcher_open_oom(&fixture.launcher); /* after the others */
    /* The file of a process that is not dumpable is root's. */
    cr_expect_eq(score_of(fixture.launched.process), geteuid() == 0 ? 1000 : launched);
    cr_expect_eq(score_of(getppid()), before);
    if (fd >= 0)
        close(fd);
    close_launched(&fixture);
    policy_launcher_close(&fixture.launcher);
    reap(&fixture);
}

Test(launcher, reports_a_layer_that_is_required_and_unavailable) {
    if (available_unshare())
        cr_skip_test("namespaces are available here");
    const struct policy policy = {.layers = NAMESPACES, .required = NAMESPACES};
    struct fixture fixture = {.from = -1, .to = -1};
    struct policy_report report = {0};
    struct error error = {0};
    const int passed[] = {0, 1};
    cr_assert(policy_launcher_start(&fixture.launcher, &policy, report_and_wait, NULL, &error));
    cr_expect_not(
        policy_launcher_launch(&fixture.launcher, passed, &fixture.launched, &report, &error));
    cr_expect(strstr(error.text, "namespaces"), "%s", error.text);
    policy_launcher_close(&fixture.launcher);
    reap(&fixture);
}

Test(launcher, fails_clearly_once_the_launcher_has_ended) {
    struct fixture fixture = {.from = -1, .to = -1};
    struct policy_report report = {0};
    struct error error = {0};
    const int passed[] = {0, 1};
    start(&fixture, 0);
    kill(fixture.launcher.pid, SIGKILL);
    cr_assert_eq(waitpid(fixture.launcher.pid, NULL, 0), fixture.launcher.pid);
    cr_expect_not(
        policy_launcher_launch(&fixture.launcher, passed, &fixture.launched, &report, &error));
    cr_expect(strstr(error.text, "launcher"), "%s", error.text);
    cr_expect_not(policy_launcher_signal(&fixture.launcher, getpid(), SIGKILL));
    cr_expect_eq(policy_launcher_open_oom(&fixture.launcher), -1);
    policy_launcher_close(&fixture.launcher);
}
