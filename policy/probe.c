/* Finds out whether workers can be confined here by confining a child and letting it try a refused
 * call. Never confines the caller, and leaves nothing behind. */
#include "common/cleanup.h"
#include "common/descriptor.h"
#include "policy/policy.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    PATIENCE_MS = 2000, /* a child that takes longer is stuck */
    CHILD_SOCKET = 3
};

/* What the child tells: the listener goes with the first message, the last one has `done`. */
struct report {
    bool done;
    bool confined;
    struct error error;
};

/* The child. */

static bool send_listener(int listener, struct error *error) {
    struct report report = {.done = false};
    struct iovec part = {.iov_base = &report, .iov_len = sizeof report};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof listener)] = {0};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof listener);
    memcpy(CMSG_DATA(rights), &listener, sizeof listener);
    return send_message(CHILD_SOCKET, &message) == (ssize_t)sizeof report ||
           error_set(error, errno, "handing over the listener");
}

/* Anyone may open the root directory, except a confined worker. */
static bool refused_call_fails(struct error *error) {
    long outcome = syscall(SYS_openat, AT_FDCWD, "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int code = errno;
    if (outcome >= 0)
        return error_set(error, 0, "a confined process could open a directory");
    return code == EACCES || error_set(error, code, "a refused call failed with another error");
}

static bool confine(bool degraded, struct error *error) {
    const struct policy_limits limits = {0};
    struct policy_program *program = policy_program_build(degraded, error);
    int listener;
    if (!program || !policy_enter(program, &limits, &listener, error) ||
        (!degraded && !send_listener(listener, error)))
        return false;
    if (!degraded)
        close(listener);
    return policy_seal(program, error) && refused_call_fails(error);
}

static _Noreturn void child_main(int socket, bool degraded) {
    struct report report = {.done = true};
    /* An outer filter may end this process with a signal that dumps. */
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    /* The limit on descriptors is to be met as in a worker, which has only a few. */
    if (dup2(socket, CHILD_SOCKET) < 0)
        _exit(1);
    close_range(CHILD_SOCKET + 1, ~0U, 0);
    report.confined = confine(degraded, &report.error);
    bool told = write(CHILD_SOCKET, &report, sizeof report) == (ssize_t)sizeof report;
    /* Not _exit: before that a sanitizer makes calls of its own, which the filter refuses. */
    for (;;)
        syscall(SYS_exit_group, told ? 0 : 1);
}

/* The parent. */

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Answers one notification as the supervisor would, except that nobody is killed. */
static void answer(int listener) {
    struct seccomp_notif notification = {0};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &notification))
        return;
    struct policy_answer judged = policy_judge(&notification.data, 0);
    struct seccomp_notif_resp response = {
        .id = notification.id, .val = -1, .error = -(judged.error ? judged.error : EPERM)};
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

/* Receives one message; a listener that comes with it goes to *listener. 1, or 0 at the end. */
static int receive(int socket, struct report *report, int *listener) {
    struct iovec part = {.iov_base = report, .iov_len = sizeof *report};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    ssize_t got;
    do
        got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof *report)
        return 0;
    const struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    if (rights && rights->cmsg_type == SCM_RIGHTS && *listener < 0)
        memcpy(listener, CMSG_DATA(rights), sizeof *listener);
    return 1;
}

/* Serves the child until it has reported, is gone, or takes too long. */
static struct report serve(int socket) {
    cleanup_fd int listener = -1;
    struct report report = {0};
    int64_t end = now_ms() + PATIENCE_MS;
    for (int64_t left = PATIENCE_MS; !report.done && left > 0; left = end - now_ms()) {
        struct pollfd ready[2] = {{.fd = socket, .events = POLLIN},
                                  {.fd = listener, .events = POLLIN}};
        if (poll(ready, 2, (int)left) < 0 && errno != EINTR)
            break;
        if (ready[1].revents & POLLIN)
            answer(listener);
        if (ready[0].revents && !receive(socket, &report, &listener))
            break;
    }
    return report;
}

/* Ends and reaps the child. One that is on its way out already keeps its own status. */
static int end_child(pid_t child) {
    int status = 0;
    pid_t reaped;
    kill(child, SIGKILL);
    do
        reaped = waitpid(child, &status, 0);
    while (reaped < 0 && errno == EINTR);
    return status;
}

bool policy_probe(bool degraded, struct error *error) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return error_set(error, errno, "a channel to a child");
    cleanup_fd int mine = ends[0];
    cleanup_fd int its = ends[1];
    pid_t child = fork();
    if (child < 0)
        return error_set(error, errno, "a child that confines itself");
    if (child == 0)
        child_main(its, degraded);
    close(steal_fd(&its));
    struct report report = serve(mine);
    int status = end_child(child);
    if (!report.done && WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
        return error_set(error, 0, "a child that confines itself is killed by signal %d (%s)",
                         WTERMSIG(status), strsignal(WTERMSIG(status)));
    if (!report.done)
        return error_set(error, 0, "a child that confines itself does not report");
    if (!report.confined && error)
        *error = report.error;
    return report.confined;
}
