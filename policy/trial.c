/* Runs one function under a policy and reports how it ended. */
#include "common/child.h"
#include "common/cleanup.h"
#include "common/descriptor.h"
#include "common/unit.h"
#include "policy/code.h"
#include "policy/policy_internal.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 5000, SETUP_FAILED = 125 };

/* From the child to the parent: one with the listener, if any, then one that is `done`. */
struct message {
    bool done;
    bool confined;
    struct policy_report report;
    struct error error;
};

struct child {
    const struct policy_trial *trial;
    int channel, null;
};

/* --- in the child --- */

static bool send_listener(int listener, struct error *error) {
    struct message nothing = {.done = false};
    struct iovec part = {.iov_base = &nothing, .iov_len = sizeof nothing};
    return descriptors_send(POLICY_TRIAL_CHANNEL, &part, 1, &listener, 1) ==
               (ssize_t)sizeof nothing ||
           error_set(error, errno, "cannot send the listener");
}

static bool confine(const struct policy *policy, struct policy_report *report,
                    struct error *error) {
    int listener;
    struct policy_prepared *prepared = policy_prepare(policy, report, error);
    if (!prepared || !policy_enter(prepared, &listener, error) ||
        (listener >= 0 && !send_listener(listener, error)))
        return false;
    if (listener >= 0)
        close(listener);
    return policy_seal(prepared, error); /* `prepared` is freed by the exit */
}

static bool supervise(const struct policy_supervisor *supervisor, struct policy_report *report,
                      struct error *error) {
    struct policy_supervisor own = *supervisor;
    own.scoped = policy_supervisor_scope(supervisor);
    return policy_supervise(&own, report, error);
}

static void child_main(void *context, const struct policy_report *report) {
    const struct child *child = context;
    const struct policy_trial *trial = child->trial;
    struct message message = {.done = true, .report = *report};
    /* An outer filter may kill this process with a signal that dumps core. */
    if (trial->policy)
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    bool placed = dup2(child->channel, POLICY_TRIAL_CHANNEL) >= 0;
    for (int fd = 0; fd < POLICY_TRIAL_CHANNEL; fd++)
        placed = placed && dup2(child->null, fd) >= 0;
    if (!placed)
        error_set(&message.error, errno, "cannot set up the descriptors");
    message.confined =
        placed && (!trial->policy || confine(trial->policy, &message.report, &message.error)) &&
        (!trial->supervisor || supervise(trial->supervisor, &message.report, &message.error));
    char go;
    int status = SETUP_FAILED;
    if (write(POLICY_TRIAL_CHANNEL, &message, sizeof message) == (ssize_t)sizeof message &&
        message.confined && read(POLICY_TRIAL_CHANNEL, &go, 1) == 1) {
        if (trial->code &&
            !(trial->policy && policy_has_layer(trial->policy, POLICY_LAYER_SECCOMP)))
            dup2(trial->code->open, UNIT_CODE_FD);
        status = trial->body(trial->context);
    }
    /* _exit would have a sanitizer make system calls that the filter refuses. */
    for (;;)
        syscall(SYS_exit_group, status);
}

/* --- in the parent --- */

/* Receives one message, and the listener if it comes with it. */
static bool receive(int channel, struct message *message, int *listener) {
    int descriptors[DESCRIPTORS_MAX];
    size_t count = 0;
    ssize_t got = descriptors_receive(channel, message, sizeof *message, descriptors, &count);
    if (count && *listener < 0)
        *listener = descriptors[--count];
    while (count)
        close(descriptors[--count]);
    return got == (ssize_t)sizeof *message;
}

/* Answers one notification of CHILD as the supervisor would, or kills it. *CODE was sealed for it;
 * -1: nothing was. */
static void judge(const struct policy_trial *trial, pid_t child, int listener, int *code,
                  struct policy_trial_end *end) {
    struct seccomp_notif notification = {0};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &notification))
        return;
    pid_t pid = (pid_t)notification.pid;
    struct policy_ruling ruling =
        policy_judge(policy_grants(trial->policy), &notification.data,
                     policy_judges_by_pid(notification.data.nr) ? policy_pid_within(pid) : pid);
    if (ruling.verdict == POLICY_ALLOW && policy_maps_code(&notification.data) &&
        !policy_code_give(listener, &notification, code, trial->code ? trial->code->bytes : 0))
        ruling = (struct policy_ruling){.verdict = POLICY_REFUSE, .error = EPERM};
    struct seccomp_notif_resp response = {.id = notification.id, .error = -ruling.error};
    if (ruling.verdict == POLICY_ALLOW)
        response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    if (ruling.verdict == POLICY_KILL) {
        end->killed = true;
        end->killer = ruling;
        kill(child, SIGKILL);
    } else if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response) == 0) {
        end->refused += ruling.verdict == POLICY_REFUSE;
    }
}

/* Handles the child's messages and notifications until it has ended. */
static void serve(const struct policy_trial *trial, pid_t child, int channel,
                  struct policy_trial_end *end) {
    cleanup_fd int listener = -1;
    cleanup_fd int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
    cleanup_fd int code = trial->code && trial->code->sealed >= 0
                              ? fcntl(trial->code->sealed, F_DUPFD_CLOEXEC, 0)
                              : -1;
    struct message message = {.done = false};
    struct pollfd ready[3] = {{.fd = pidfd, .events = POLLIN},
                              {.fd = channel, .events = POLLIN},
                              {.fd = -1, .events = POLLIN}};
    while (pidfd >= 0 && !(ready[0].revents & POLLIN)) {
        int count = poll(ready, 3, PATIENCE_MS);
        if (count == 0) {
            end->timed_out = true;
            kill(child, SIGKILL);
        }
        if (count > 0 && ready[2].revents & POLLIN)
            judge(trial, child, listener, &code, end);
        else if (count > 0 && ready[2].revents)
            ready[2].fd = -1;
        if (count <= 0 || !ready[1].revents)
            continue;
        bool received = receive(channel, &message, &listener);
        ready[2].fd = listener;
        if (received && !message.done)
            continue;
        ready[1].fd = -1; /* what BODY sends is not read */
        end->report = message.report;
        end->error = message.error;
        end->ran = received && message.confined;
        if (end->ran && trial->observe)
            trial->observe(child);
        if (end->ran)
            send(channel, "", 1, MSG_NOSIGNAL);
    }
}

static void explain_failure(struct policy_trial_end *end) {
    if (end->ran || end->error.text[0])
        return;
    if (WIFSIGNALED(end->status))
        error_set(&end->error, 0,
                  "trial: the child was killed by signal %d (%s) before it was confined",
                  WTERMSIG(end->status), strsignal(WTERMSIG(end->status)));
    else
        error_set(&end->error, 0, "trial: the child ended before it was confined");
}

/* Serves a launched child and reaps it with its helpers. */
static void serve_launched(const struct policy_trial *trial, struct policy_launched *launched,
                           int channel, struct policy_trial_end *end) {
    if (policy_launch_finish(launched, &end->report, &end->error)) {
        struct policy_report report = end->report;
        serve(trial, launched->process, channel, end);
        /* The child does not know the state of this layer. */
        end->report.layers[POLICY_LAYER_CGROUP] = report.layers[POLICY_LAYER_CGROUP];
    } else {
        kill(launched->process, SIGKILL);
    }
    end->status = reap_child(launched->process);
    policy_launch_end(launched);
}

static struct policy_trial_end launch_and_serve(const struct policy_trial *trial) {
    static const struct policy unconfined = {0};
    struct policy_trial_end end = {0};
    struct policy_launched launched;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
        error_set(&end.error, errno, "trial: cannot create a channel");
        return end;
    }
    cleanup_fd int ours = ends[0];
    cleanup_fd int theirs = ends[1];
    /* Workers need the device too. */
    cleanup_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0) {
        error_set(&end.error, errno, "open /dev/null");
        return end;
    }
    struct child child = {.trial = trial, .channel = theirs, .null = null};
    if (!policy_launch(trial->policy ? trial->policy : &unconfined, child_main, &child, &launched,
                       &end.report, &end.error))
        return end;
    close(steal_fd(&theirs));
    serve_launched(trial, &launched, ours, &end);
    explain_failure(&end);
    return end;
}

struct policy_trial_end policy_try(const struct policy_trial *trial) {
    /* If SIGCHLD is ignored, as it may have been inherited, the kernel discards the status. */
    const struct sigaction wanted = {.sa_handler = SIG_DFL};
    struct sigaction before;
    sigaction(SIGCHLD, &wanted, &before);
    struct policy_trial_end end = launch_and_serve(trial);
    sigaction(SIGCHLD, &before, NULL);
    return end;
}

/* Every process may open the root directory unless it is confined. Returns 0 or the errno. */
static int open_root(void *context) {
    (void)context;
    long outcome = syscall(SYS_openat, AT_FDCWD, "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return outcome >= 0 ? 0 : errno;
}

bool policy_probe(const struct policy *policy, struct policy_report *report, struct error *error) {
    const struct policy_trial trial = {.policy = policy, .body = open_root};
    struct policy_trial_end end = policy_try(&trial);
    if (report)
        *report = end.report;
    if (!end.ran) {
        if (error)
            *error = end.error;
        return false;
    }
    if (WIFEXITED(end.status) && WEXITSTATUS(end.status) == EACCES)
        return true;
    return error_set(error, 0,
                     WIFEXITED(end.status) && WEXITSTATUS(end.status) == 0
                         ? "probe: a confined process could open a directory"
                         : "probe: a refused call did not fail with EACCES");
}
