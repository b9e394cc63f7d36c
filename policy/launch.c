/* Starts a process inside the control group and the namespaces. A process between makes them, since
 * who makes them changes by it; it ends at once, and both processes that it starts are its parent's
 * children from the beginning. */
#include "common/child.h"
#include "common/cleanup.h"
#include "common/descriptor.h"
#include "policy/layers.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATIENCE_MS = 10000 };

/* What the process between tells first, and at its end. */
struct account {
    pid_t process, keeper;
    struct policy_report report;
    bool good;
    struct error error; /* when not good */
};

struct launch {
    const struct policy *policy;
    void (*body)(void *context, const struct policy_report *report);
    void *context;
    int tell[2]; /* pipe: the accounts */
    int life[2]; /* pipe: its end tells the keeper */
};

/* In the process between. */

/* The first process of a pid namespace: waits until nobody holds the other end of LIFE any more. It
 * has no children, since every fork in there is its forker's sibling. */
static _Noreturn void keep(int life) {
    char byte;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    policy_descriptors_wipe_environment();
    bool ready = dup2(life, 0) == 0 && close_range(1, ~0U, 0) == 0;
    while (ready && read(0, &byte, 1) < 0 && errno == EINTR)
        ;
    for (;;)
        syscall(SYS_exit_group, 0);
}

static bool make_namespaces(const struct policy *policy, struct account *account) {
    return !policy_wants(policy, POLICY_LAYER_NAMESPACES) ||
           policy_report_note(&account->report, policy, POLICY_LAYER_NAMESPACES,
                              policy_namespaces_make(&account->error), &account->error);
}

static bool start_keeper(const struct launch *launch, struct account *account) {
    if (account->report.layers[POLICY_LAYER_NAMESPACES].state != POLICY_ACTIVE)
        return true;
    account->keeper = fork_for_parent();
    if (account->keeper == 0)
        keep(launch->life[0]);
    if (account->keeper > 0)
        return true;
    account->keeper = 0; /* what is no pid must not be waited for, or worse */
    return error_set(&account->error, errno, "starting the first process of the namespaces");
}

static bool start_process(const struct launch *launch, struct account *account) {
    account->process = fork_for_parent();
    if (account->process == 0) {
        close(launch->tell[0]);
        close(launch->tell[1]);
        close(launch->life[0]);
        close(launch->life[1]);
        launch->body(launch->context, &account->report);
    }
    if (account->process > 0)
        return true;
    account->process = 0;
    return error_set(&account->error, errno, "starting a process");
}

/* The group is made before the namespaces, in which its place cannot be told, and joined while the
 * process is busy with what it has to load. */
static _Noreturn void stand_between(const struct launch *launch) {
    const struct policy *policy = launch->policy;
    bool wants_group = policy_wants(policy, POLICY_LAYER_CGROUP);
    struct account account = {0};
    struct error group_error = {0};
    struct policy_cgroup group;
    bool grouped = wants_group && policy_cgroup_open(policy, &group, &group_error);
    account.good = make_namespaces(policy, &account) && start_keeper(launch, &account) &&
                   start_process(launch, &account);
    bool told = write_all(launch->tell[1], &account, sizeof account);
    if (account.good && wants_group) {
        grouped = grouped && policy_cgroup_join(&group, account.process, &group_error);
        account.good =
            policy_report_note(&account.report, policy, POLICY_LAYER_CGROUP, grouped, &group_error);
        account.error = group_error;
    }
    told = told && write_all(launch->tell[1], &account, sizeof account);
    /* Not _exit: a sanitizer would look for leaks. */
    for (;;)
        syscall(SYS_exit_group, told ? 0 : 1);
}

/* In the caller. */

static bool read_account(int fd, struct account *account) {
    size_t have = 0;
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    while (have < sizeof *account) {
        int count = poll(&ready, 1, PATIENCE_MS);
        ssize_t got = count > 0 ? read(fd, (char *)account + have, sizeof *account - have) : -1;
        if (got > 0)
            have += (size_t)got;
        else if (count == 0 || got == 0 || errno != EINTR)
            return false;
    }
    return true;
}

/* Reads what the process between tells next. False with *error when nothing comes. */
static bool hear(int tell, struct account *account, struct policy_report *report,
                 struct error *error) {
    if (!read_account(tell, account))
        return error_set(error, 0, "no process could be started inside the namespaces");
    *report = account->report;
    if (!account->good && error)
        *error = account->error;
    return account->good;
}

void policy_launch_end(struct policy_launched *launched) {
    if (launched->tell >= 0)
        close(launched->tell);
    if (launched->keeper_life >= 0)
        close(launched->keeper_life);
    reap_child(launched->between);
    if (launched->keeper > 0)
        reap_child(launched->keeper);
    *launched = (struct policy_launched){.keeper_life = -1, .tell = -1};
    policy_cgroup_remove();
}

/* Ends what a launch that failed has left. */
static void give_up(struct policy_launched *launched) {
    kill(launched->between, SIGKILL);
    policy_launch_end(launched);
}

bool policy_launch(const struct policy *policy,
                   void (*body)(void *context, const struct policy_report *report), void *context,
                   struct policy_launched *launched, struct policy_report *report,
                   struct error *error) {
    struct launch launch = {.policy = policy, .body = body, .context = context};
    struct account account = {0};
    *launched = (struct policy_launched){.keeper_life = -1, .tell = -1};
    policy_cgroup_name();
    if (pipe2(launch.tell, O_CLOEXEC))
        return error_set(error, errno, "a pipe");
    cleanup_fd int their_tell = launch.tell[1];
    launched->tell = launch.tell[0];
    if (pipe2(launch.life, O_CLOEXEC)) {
        close(launched->tell);
        return error_set(error, errno, "a pipe");
    }
    cleanup_fd int their_life = launch.life[0];
    launched->keeper_life = launch.life[1];
    launched->between = fork();
    if (launched->between == 0)
        stand_between(&launch);
    if (launched->between < 0) {
        error_set(error, errno, "fork");
        close(launched->tell);
        close(launched->keeper_life);
        return false;
    }
    close(steal_fd(&their_tell));
    if (hear(launched->tell, &account, report, error)) {
        launched->process = account.process;
        launched->keeper = account.keeper;
        if (!launched->keeper)
            close(steal_fd(&launched->keeper_life));
        return true;
    }
    launched->keeper = account.keeper;
    give_up(launched);
    return false;
}

bool policy_launch_finish(struct policy_launched *launched, struct policy_report *report,
                          struct error *error) {
    struct account account = {0};
    bool good = hear(launched->tell, &account, report, error);
    close(launched->tell);
    launched->tell = -1;
    return good;
}

void policy_launch_clean(void) {
    policy_cgroup_remove();
}
