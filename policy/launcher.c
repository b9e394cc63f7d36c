/* The launcher: a process that keeps the rights that launching takes, so that its parent, which
 * reads untrusted input, can give them up. It starts processes by the policy that it was started
 * with, signals children of its parent, says which the kernel kills first when memory runs out, and
 * moves them into the control groups of sessions. It reads messages of one size, and outlives its
 * parent for as long as it takes to remove the control group. */
#include "common/child.h"
#include "common/cleanup.h"
#include "common/descriptor.h"
#include "policy/policy_internal.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    CHANNEL = 3,
    PATIENCE_MS = 10000,
    REMOVAL_MS = 5000, /* for the processes in the control group to end */
    OPENED_MAX = 2,
    MOVES_MAX = 4096
};

enum kind { LAUNCH, SIGNAL, PREFER, GROUP, OPEN_OOM };

/* Sent with the descriptors of a LAUNCH. */
struct request {
    enum kind kind;
    pid_t pid;        /* SIGNAL, PREFER, GROUP */
    int number;       /* SIGNAL; PREFER: enum policy_oom_order */
    uint64_t session; /* GROUP */
};

/* To LAUNCH, with the descriptors `reports` and `init_life`; to OPEN_OOM, with the file. */
struct reply {
    struct error error;
    bool good;
};

struct launcher {
    const struct policy *policy;
    policy_launcher_body *body;
    void *context;
    pid_t parent;
};

/* --- in the launcher --- */

/* The reading end of the last starter's reports. The parent reads them. */
static int last_reports = -1;

static void send_reply(const struct reply *reply, const int *descriptors, size_t count) {
    struct reply copy = *reply;
    struct iovec part = {.iov_base = &copy, .iov_len = sizeof copy};
    descriptors_send(CHANNEL, &part, 1, descriptors, count);
}

struct body_context {
    const struct launcher *launcher;
    const int *descriptors;
};

static void run_body(void *context, const struct policy_report *report) {
    const struct body_context *body = context;
    body->launcher->body(body->launcher->context, body->descriptors, report);
}

static void launch(const struct launcher *launcher, const int *descriptors, size_t count) {
    struct body_context context = {launcher, descriptors};
    struct policy_launched launched;
    struct reply reply = {.good = false};
    if (count != POLICY_LAUNCHER_DESCRIPTORS) {
        error_set(&reply.error, 0, "launch: a request without its descriptors");
        send_reply(&reply, NULL, 0);
        return;
    }
    reply.good = policy_launch_begin(launcher->policy, run_body, &context, fork_for_parent,
                                     &launched, &reply.error);
    const int opened[OPENED_MAX] = {launched.reports, launched.init_life};
    send_reply(&reply, opened, reply.good ? OPENED_MAX : 0);
    if (!reply.good)
        return;
    if (last_reports >= 0)
        close(last_reports);
    last_reports = launched.reports;
    close(launched.init_life);
}

/* Is the process PID, of which PROCESS is a pidfd (-1: the kernel has none), a child of the
 * launcher's parent? Where /proc hides processes of the user, which it never does from root, the
 * kernel's own check must do. */
static bool is_sibling(const struct launcher *launcher, pid_t pid) {
    char text[512];
    if (read_process_file(pid, "stat", text, sizeof text) < 0)
        return geteuid() != 0;
    const char *rest = strrchr(text, ')'); /* ends the name, which may contain anything */
    return rest && strlen(rest) > 4 && strtol(rest + 4, NULL, 10) == launcher->parent;
}

static bool may_send(int number) {
    return number == SIGKILL || number == SIGUSR1 || number == SIGSTOP || number == SIGCONT;
}

/* The pidfd is opened before the check, so that the pid cannot be another process by the time of
 * the signal. */
static void send_signal(const struct launcher *launcher, pid_t pid, int number) {
    if (pid <= 1 || !may_send(number))
        return;
    cleanup_fd int process = (int)syscall(SYS_pidfd_open, pid, 0);
    bool has_pidfd = process >= 0;
    if ((!has_pidfd && errno == ESRCH) || !is_sibling(launcher, pid))
        return;
    if (!has_pidfd || (syscall(SYS_pidfd_send_signal, process, number, NULL, 0) && errno == ENOSYS))
        kill(pid, number);
}

static void prefer(const struct launcher *launcher, pid_t pid, int order) {
    if (pid > 1 && (order == POLICY_OOM_WORKER || order == POLICY_OOM_PARKED) &&
        is_sibling(launcher, pid))
        policy_oom_prefer(pid, (enum policy_oom_order)order);
}

/* Moves that wait until there is no request. A process that finds no room is not moved. */
static struct move {
    pid_t pid;
    uint64_t session;
} moves[MOVES_MAX];
static size_t moves_first, moves_count;

static void add_move(const struct launcher *launcher, pid_t pid, uint64_t session) {
    if (pid > 1 && moves_count < MOVES_MAX && policy_cgroup_of_sessions(launcher->policy))
        moves[(moves_first + moves_count++) % MOVES_MAX] = (struct move){pid, session};
}

/* A move takes 15 ms, during which the kernel waits for a grace period. */
static void move_while_idle(const struct launcher *launcher) {
    struct pollfd request = {.fd = CHANNEL, .events = POLLIN};
    while (moves_count > 0 && poll(&request, 1, 0) == 0) {
        const struct move move = moves[moves_first];
        moves_first = (moves_first + 1) % MOVES_MAX;
        moves_count--;
        if (is_sibling(launcher, move.pid))
            policy_cgroup_join_session(policy_cgroup_of_sessions(launcher->policy), move.session,
                                       launcher->policy->session_memory_bytes, move.pid, NULL);
    }
}

static void open_oom(void) {
    struct reply reply = {.good = false};
    cleanup_fd int fd = policy_oom_open();
    reply.good = fd >= 0 || error_set(&reply.error, errno, "cannot open the counter");
    send_reply(&reply, &fd, reply.good);
}

/* Waits for the last starter, which may be about to make the groups, and for the parent's other
 * children, which end with it. */
static void remove_groups(void) {
    const struct timespec pause = {.tv_nsec = 500000};
    struct pollfd starter = {.fd = last_reports};
    if (last_reports >= 0)
        poll(&starter, 1, REMOVAL_MS); /* until nothing holds the writing end */
    for (long waited_ns = 0; !policy_cgroup_remove() && waited_ns / 1000000 < REMOVAL_MS;
         waited_ns += pause.tv_nsec)
        nanosleep(&pause, NULL);
}

static bool settle(int channel) {
    sigset_t all;
    sigfillset(&all);
    cleanup_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int own = descriptor_move_above(channel, CHANNEL + 1);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid(); /* the terminal's signals are for the parent */
    prctl(PR_SET_NAME, "eclave-launcher");
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    return null >= 0 && own >= 0 && dup2(null, 0) >= 0 && dup2(null, 1) >= 0 &&
           dup2(null, 2) >= 0 && dup3(own, CHANNEL, O_CLOEXEC) >= 0 &&
           close_range(CHANNEL + 1, ~0U, 0) == 0;
}

static void serve(const struct launcher *launcher) {
    for (;;) {
        move_while_idle(launcher);
        struct request request;
        int descriptors[DESCRIPTORS_MAX];
        size_t count = 0;
        ssize_t got = descriptors_receive(CHANNEL, &request, sizeof request, descriptors, &count);
        if (got == (ssize_t)sizeof request && request.kind == LAUNCH)
            launch(launcher, descriptors, count);
        else if (got == (ssize_t)sizeof request && request.kind == SIGNAL)
            send_signal(launcher, request.pid, request.number);
        else if (got == (ssize_t)sizeof request && request.kind == PREFER)
            prefer(launcher, request.pid, request.number);
        else if (got == (ssize_t)sizeof request && request.kind == GROUP)
            add_move(launcher, request.pid, request.session);
        else if (got == (ssize_t)sizeof request && request.kind == OPEN_OOM)
            open_oom();
        for (size_t i = 0; i < count; i++)
            close(descriptors[i]);
        if (got <= 0)
            return;
    }
}

static _Noreturn void run_launcher(const struct launcher *launcher, int channel) {
    if (settle(channel)) {
        serve(launcher);
        remove_groups();
    }
    /* _exit would have a sanitizer scan for leaks. */
    for (;;)
        syscall(SYS_exit_group, 0);
}

/* --- in its parent --- */

bool policy_launcher_start(struct policy_launcher *launcher, const struct policy *policy,
                           policy_launcher_body *body, void *context, struct error *error) {
    const struct launcher own = {policy, body, context, getpid()};
    int ends[2];
    *launcher = (struct policy_launcher){.channel = -1};
    policy_cgroup_name();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return error_set(error, errno, "launcher: cannot create a channel");
    cleanup_fd int ours = ends[0];
    cleanup_fd int theirs = ends[1];
    pid_t pid = fork();
    if (pid == 0) {
        policy_cgroup_accompany(getpid());
        run_launcher(&own, theirs);
    }
    if (pid < 0)
        return error_set(error, errno, "launcher: cannot fork");
    *launcher = (struct policy_launcher){.channel = steal_fd(&ours), .pid = pid};
    return true;
}

void policy_launcher_close(struct policy_launcher *launcher) {
    if (launcher->channel >= 0)
        close(launcher->channel);
    launcher->channel = -1;
}

static bool ask(const struct policy_launcher *launcher, const struct request *request,
                const int *descriptors, size_t count, struct error *error) {
    struct request copy = *request;
    struct iovec part = {.iov_base = &copy, .iov_len = sizeof copy};
    return (launcher->channel >= 0 && descriptors_send(launcher->channel, &part, 1, descriptors,
                                                       count) == (ssize_t)sizeof copy) ||
           error_set(error, 0, "launcher: it has ended");
}

/* Receives the reply to LAUNCH or OPEN_OOM, which has COUNT descriptors. */
static bool await_reply(const struct policy_launcher *launcher, int *descriptors, size_t count,
                        struct error *error) {
    struct reply reply;
    int received[DESCRIPTORS_MAX];
    size_t have = 0;
    struct pollfd ready = {.fd = launcher->channel, .events = POLLIN};
    int outcome;
    while ((outcome = poll(&ready, 1, PATIENCE_MS)) < 0 && errno == EINTR)
        ;
    if (outcome <= 0 || descriptors_receive(launcher->channel, &reply, sizeof reply, received,
                                            &have) != (ssize_t)sizeof reply)
        return error_set(error, 0, "launcher: it does not answer");
    if (!reply.good && error)
        *error = reply.error;
    if (reply.good && have == count) {
        memcpy(descriptors, received, count * sizeof *descriptors);
        return true;
    }
    while (have)
        close(received[--have]);
    return false;
}

bool policy_launcher_launch(const struct policy_launcher *launcher,
                            const int descriptors[POLICY_LAUNCHER_DESCRIPTORS],
                            struct policy_launched *launched, struct policy_report *report,
                            struct error *error) {
    const struct request request = {.kind = LAUNCH};
    int opened[OPENED_MAX];
    *launched = (struct policy_launched){.init_life = -1, .reports = -1};
    if (!ask(launcher, &request, descriptors, POLICY_LAUNCHER_DESCRIPTORS, error) ||
        !await_reply(launcher, opened, OPENED_MAX, error))
        return false;
    launched->reports = opened[0];
    launched->init_life = opened[1];
    if (policy_launch_await(launched, report, error))
        return true;
    close(launched->reports);
    if (launched->init_life >= 0)
        close(launched->init_life);
    *launched = (struct policy_launched){.init_life = -1, .reports = -1};
    return false;
}

bool policy_launcher_signal(const struct policy_launcher *launcher, pid_t pid, int number) {
    const struct request request = {.kind = SIGNAL, .pid = pid, .number = number};
    return ask(launcher, &request, NULL, 0, NULL);
}

bool policy_launcher_prefer(const struct policy_launcher *launcher, pid_t pid,
                            enum policy_oom_order order) {
    const struct request request = {.kind = PREFER, .pid = pid, .number = (int)order};
    return ask(launcher, &request, NULL, 0, NULL);
}

bool policy_launcher_group(const struct policy_launcher *launcher, pid_t pid, uint64_t session) {
    const struct request request = {.kind = GROUP, .pid = pid, .session = session};
    return ask(launcher, &request, NULL, 0, NULL);
}

int policy_launcher_open_oom(const struct policy_launcher *launcher) {
    const struct request request = {.kind = OPEN_OOM};
    int fd = -1;
    return ask(launcher, &request, NULL, 0, NULL) && await_reply(launcher, &fd, 1, NULL) ? fd : -1;
}
