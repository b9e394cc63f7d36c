/* A worker's life in small: confine, hand over the listener, seal, run; beside it the least of
 * supervisors. */
#include "tests/support/confined.h"
#include "common/cleanup.h"
#include "common/descriptor.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 5000, SETUP_FAILED = 125, NOBODY = 65534 };

/* In the child. */

static bool send_descriptor(int channel, int fd, struct error *error) {
    char byte = 0;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(rights), &fd, sizeof fd);
    return sendmsg(channel, &message, MSG_NOSIGNAL) == 1 ||
           error_set(error, errno, "handing over the listener");
}

static bool confine(const struct confinement *confinement, struct error *error) {
    struct policy_program *program = policy_program_build(confinement->degraded, error);
    int listener;
    if (!program || !policy_enter(program, &confinement->limits, &listener, error))
        return false;
    if (listener >= 0 && !send_descriptor(CONFINED_CHANNEL, listener, error))
        return false;
    if (listener >= 0)
        close(listener);
    return policy_seal(program, error);
}

static _Noreturn void child_main(int channel, const struct confinement *confinement,
                                 confined_body *body, void *context) {
    struct error error = {0};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(channel, CONFINED_CHANNEL) < 0)
        _exit(SETUP_FAILED);
    for (int fd = 0; fd < CONFINED_CHANNEL; fd++)
        dup2(null, fd);
    close_range(CONFINED_CHANNEL + 1, ~0U, 0);
    bool ready = !confinement || confine(confinement, &error);
    char go;
    if (!write_all(CONFINED_CHANNEL, &error, sizeof error) || !ready ||
        read(CONFINED_CHANNEL, &go, 1) != 1)
        _exit(SETUP_FAILED);
    int status = body(context);
    /* Not _exit: before that a sanitizer makes calls of its own, which the filter refuses. */
    for (;;)
        syscall(SYS_exit_group, status);
}

/* In the parent. */

/* Reads what the child says before it runs its body: first its listener, when it has one, and last
 * how confining went. True when the body is reached. */
static bool await_body(int channel, int *listener, struct error *error) {
    ssize_t size;
    do {
        struct iovec part = {.iov_base = error, .iov_len = sizeof *error};
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
        struct msghdr message = {.msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = control,
                                 .msg_controllen = sizeof control};
        size = recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
        const struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        if (size == 1 && rights)
            memcpy(listener, CMSG_DATA(rights), sizeof *listener);
    } while (size == 1);
    return size == sizeof *error && error->text[0] == '\0';
}

/* Answers one notification of CHILD, or ends it. */
static void judge(pid_t child, int listener, struct confined_end *end) {
    struct seccomp_notif notification = {0};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &notification))
        return;
    struct policy_answer answer = policy_judge(&notification.data, (pid_t)notification.pid);
    struct seccomp_notif_resp response = {.id = notification.id, .val = -1, .error = -answer.error};
    if (answer.verdict == POLICY_ALLOW) {
        response.val = response.error = 0;
        response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    }
    if (answer.verdict == POLICY_KILL) {
        end->killed = true;
        end->killer = answer;
        kill(child, SIGKILL);
    } else if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response) == 0) {
        end->refused += answer.verdict == POLICY_REFUSE;
    }
}

/* Serves the notifications until CHILD has ended. */
static void serve(pid_t child, int listener, struct confined_end *end) {
    cleanup_fd int life = (int)syscall(SYS_pidfd_open, child, 0);
    struct pollfd ready[2] = {{.fd = life, .events = POLLIN}, {.fd = listener, .events = POLLIN}};
    while (!(ready[0].revents & POLLIN)) {
        int count = poll(ready, 2, PATIENCE_MS);
        if (count == 0) {
            end->overdue = true;
            kill(child, SIGKILL);
        } else if (count > 0 && ready[1].revents & POLLIN) {
            judge(child, listener, end);
        } else if (count > 0 && ready[1].revents) {
            ready[1].fd = -1;
        }
    }
}

struct confined_end confined_run(const struct confinement *confinement, confined_body *body,
                                 void *context) {
    struct confined_end end = {0};
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
        error_set(&end.error, errno, "a channel");
        return end;
    }
    cleanup_fd int mine = ends[0];
    cleanup_fd int its = ends[1];
    pid_t child = fork();
    if (child == 0)
        child_main(its, confinement, body, context);
    if (child < 0) {
        error_set(&end.error, errno, "a child");
        return end;
    }
    close(steal_fd(&its));
    cleanup_fd int listener = -1;
    end.ran = await_body(mine, &listener, &end.error);
    if (end.ran && confinement && confinement->observe)
        confinement->observe(child);
    send(mine, "", 1, MSG_NOSIGNAL);
    serve(child, listener, &end);
    pid_t reaped;
    do
        reaped = waitpid(child, &end.status, 0);
    while (reaped < 0 && errno == EINTR);
    return end;
}

/* The namespace. */

static bool write_file(const char *path, const char *text) {
    cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write_all(fd, text, strlen(text));
}

/* An ordinary user gets a pid namespace only inside a user namespace; it stays itself there. */
static bool unshare_pids(void) {
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) == 0)
        return true;
    char user_map[64], group_map[64];
    snprintf(user_map, sizeof user_map, "%u %u 1", geteuid(), geteuid());
    snprintf(group_map, sizeof group_map, "%u %u 1", getegid(), getegid());
    return unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS) == 0 &&
           write_file("/proc/self/setgroups", "deny") &&
           write_file("/proc/self/gid_map", group_map) &&
           write_file("/proc/self/uid_map", user_map);
}

/* What /proc shows belongs to the namespace that was there when it was mounted. */
static bool mount_own_proc(void) {
    return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0;
}

static _Noreturn void exit_like(int status) {
    /* Not exit: a leak check would need a child, and the namespace takes no more. */
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

void confined_in_own_pid_namespace(unsigned seconds) {
    if (!unshare_pids())
        _exit(CONFINED_SKIPPED);
    pid_t first = fork();
    if (first < 0)
        _exit(CONFINED_SKIPPED);
    if (first == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (!mount_own_proc())
            _exit(CONFINED_SKIPPED);
        return;
    }
    struct pollfd life = {.fd = (int)syscall(SYS_pidfd_open, first, 0), .events = POLLIN};
    if (poll(&life, 1, (int)seconds * 1000) <= 0)
        kill(first, SIGKILL);
    int status = 0;
    waitpid(first, &status, 0);
    exit_like(status);
}

void confined_leave_orphans_behind(void) {
    pid_t second = fork();
    if (second == 0)
        return;
    int status = 0;
    pid_t ended;
    do
        ended = wait(&status);
    while (ended > 0 && ended != second);
    exit_like(status);
}

void confined_become_nobody(void) {
    if (geteuid() == 0 && (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
                           setresuid(NOBODY, NOBODY, NOBODY))) {
        perror("nobody");
        exit(1);
    }
    /* The change of user took it away; the controls are to see an ordinary process. */
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}
