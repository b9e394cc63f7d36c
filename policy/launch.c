/* Starts a process in the control group and the namespaces. Both affect the process that makes
 * them, so a separate process, the starter, makes them and exits; the processes that it starts are
 * its parent's children from the beginning. */
#include "common/child.h"
#include "common/cleanup.h"
#include "common/descriptor.h"
#include "policy/policy_internal.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATIENCE_MS = 10000 };

/* What the starter reports: once the process is started, and when it is in the control group. */
struct progress {
    pid_t process, init;
    struct policy_report report;
    bool good;
    struct error error; /* if not good */
};

struct launch {
    const struct policy *policy;
    policy_launch_body *body;
    void *context;
    int reports[2]; /* pipe: from the starter to the caller */
    int life[2];    /* pipe: init exits when the caller's end is closed */
};

/* --- in the starter and the processes it starts --- */

/* The first process of the pid namespace: waits until the other end of LIFE is closed. It has no
 * children to reap, since every fork in the namespace is a sibling of its forker. It confines
 * itself, although it handles no input: the workers are in its namespace. */
static _Noreturn void run_init(int life) {
    char byte;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_NAME, "eclave-init");
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    policy_descriptors_wipe_environment();
    bool ready = dup2(life, 0) == 0 && close_range(1, ~0U, 0) == 0 &&
                 policy_privileges_retain(0, NULL) && policy_no_new_privileges(NULL) &&
                 policy_seccomp_wait_only(NULL);
    while (ready && read(0, &byte, 1) < 0 && errno == EINTR)
        ;
    for (;;)
        syscall(SYS_exit_group, 0);
}

/* *made: the next process is the first one of a pid namespace, even where the layer is missing. */
static bool make_namespaces(const struct policy *policy, bool *made, struct progress *progress) {
    return !policy_has_layer(policy, POLICY_LAYER_NAMESPACES) ||
           policy_report_note(&progress->report, policy, POLICY_LAYER_NAMESPACES,
                              policy_namespaces_make(made, &progress->error), &progress->error);
}

static bool start_init(const struct launch *launch, struct progress *progress) {
    progress->init = fork_for_parent();
    if (progress->init == 0)
        run_init(launch->life[0]);
    if (progress->init > 0)
        return true;
    progress->init = 0; /* -1 must be neither waited for nor signalled */
    return error_set(&progress->error, errno, "launch: cannot fork the init of the namespaces");
}

static bool start_process(const struct launch *launch, struct progress *progress) {
    progress->process = fork_for_parent();
    if (progress->process == 0) {
        close(launch->reports[0]);
        close(launch->reports[1]);
        close(launch->life[0]);
        close(launch->life[1]);
        launch->body(launch->context, &progress->report);
    }
    if (progress->process > 0)
        return true;
    progress->process = 0;
    return error_set(&progress->error, errno, "launch: cannot fork the process");
}

/* The group is made before the namespaces, which hide its directory; the process is moved into it
 * while it loads what it needs, since that may take some milliseconds. */
static _Noreturn void run_starter(const struct launch *launch) {
    const struct policy *policy = launch->policy;
    bool wants_group = policy_has_layer(policy, POLICY_LAYER_CGROUP);
    struct progress progress = {0};
    struct error group_error = {0};
    struct policy_cgroup group;
    bool grouped = wants_group && policy_cgroup_open(policy, &group, &group_error);
    bool made = false;
    progress.good = make_namespaces(policy, &made, &progress) &&
                    (!made || start_init(launch, &progress)) && start_process(launch, &progress);
    bool reported = write_all(launch->reports[1], &progress, sizeof progress);
    if (progress.good && wants_group) {
        grouped = grouped && policy_cgroup_join(&group, progress.process, &group_error);
        progress.good = policy_report_note(&progress.report, policy, POLICY_LAYER_CGROUP, grouped,
                                           &group_error);
        progress.error = group_error;
    }
    reported = reported && write_all(launch->reports[1], &progress, sizeof progress);
    /* _exit would have a sanitizer scan for leaks. */
    for (;;)
        syscall(SYS_exit_group, reported ? 0 : 1);
}

/* --- in the caller --- */

static bool read_progress(int fd, struct progress *progress) {
    size_t have = 0;
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    while (have < sizeof *progress) {
        int count = poll(&ready, 1, PATIENCE_MS);
        ssize_t got = count > 0 ? read(fd, (char *)progress + have, sizeof *progress - have) : -1;
        if (got > 0)
            have += (size_t)got;
        else if (count == 0 || got == 0 || errno != EINTR)
            return false;
    }
    return true;
}

/* Reads the starter's next report. False with *error if it failed or did not report in time. */
static bool await_progress(int reports, struct progress *progress, struct policy_report *report,
                           struct error *error) {
    if (!read_progress(reports, progress))
        return error_set(error, 0, "launch: no report of the new process");
    *report = progress->report;
    if (!progress->good && error)
        *error = progress->error;
    return progress->good;
}

void policy_launch_end(struct policy_launched *launched) {
    if (launched->reports >= 0)
        close(launched->reports);
    if (launched->init_life >= 0)
        close(launched->init_life);
    reap_child(launched->starter);
    if (launched->init > 0)
        reap_child(launched->init);
    if (launched->grouped)
        policy_cgroup_remove();
    *launched = (struct policy_launched){.init_life = -1, .reports = -1};
}

bool policy_launch_begin(const struct policy *policy, policy_launch_body *body, void *context,
                         pid_t (*start)(void), struct policy_launched *launched,
                         struct error *error) {
    struct launch launch = {.policy = policy, .body = body, .context = context};
    *launched = (struct policy_launched){
        .init_life = -1, .reports = -1, .grouped = policy_has_layer(policy, POLICY_LAYER_CGROUP)};
    policy_cgroup_name();
    if (pipe2(launch.reports, O_CLOEXEC))
        return error_set(error, errno, "launch: cannot create a pipe");
    cleanup_fd int their_reports = launch.reports[1];
    launched->reports = launch.reports[0];
    if (pipe2(launch.life, O_CLOEXEC)) {
        error_set(error, errno, "launch: cannot create a pipe");
        close(launched->reports);
        return false;
    }
    cleanup_fd int their_life = launch.life[0];
    launched->init_life = launch.life[1];
    launched->starter = start();
    if (launched->starter == 0)
        run_starter(&launch);
    if (launched->starter > 0)
        return true;
    error_set(error, errno, "launch: cannot fork");
    close(launched->reports);
    close(launched->init_life);
    return false;
}

bool policy_launch_await(struct policy_launched *launched, struct policy_report *report,
                         struct error *error) {
    struct progress progress = {0};
    bool good = await_progress(launched->reports, &progress, report, error);
    launched->process = progress.process;
    launched->init = progress.init;
    if (good && !launched->init)
        close(steal_fd(&launched->init_life));
    return good;
}

bool policy_launch(const struct policy *policy, policy_launch_body *body, void *context,
                   struct policy_launched *launched, struct policy_report *report,
                   struct error *error) {
    if (!policy_launch_begin(policy, body, context, fork, launched, error))
        return false;
    if (policy_launch_await(launched, report, error))
        return true;
    kill(launched->starter, SIGKILL);
    policy_launch_end(launched);
    return false;
}

bool policy_launch_finish(struct policy_launched *launched, struct policy_report *report,
                          struct error *error) {
    struct progress progress = {0};
    bool good = await_progress(launched->reports, &progress, report, error);
    close(launched->reports);
    launched->reports = -1;
    return good;
}
