/* The supervisor's end of the imager, and its start. */
#include "supervisor/process/imager.h"
#include "common/cleanup.h"
#include "common/descriptor.h"
#include "policy/policy.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Keeps no descriptor but the socket, and ends with the supervisor. */
static _Noreturn void run(int socket, const struct imager_base *base) {
    pid_t pid;
    bool ready = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && dup2(socket, STDIN_FILENO) >= 0 &&
                 close_range(STDIN_FILENO + 1, ~0U, 0) == 0 &&
                 prctl(PR_SET_NAME, "eclave-imager") == 0 && policy_confine_imager(NULL);
    while (ready) {
        int descriptors[DESCRIPTORS_MAX];
        size_t count = 0;
        ready = descriptors_receive(STDIN_FILENO, &pid, sizeof pid, descriptors, &count) ==
                    (ssize_t)sizeof pid &&
                count == 1;
        if (!ready)
            break;
        struct imaged imaged = {.pid = pid};
        imaged.written = imager_write(base, pid, descriptors[0], &imaged);
        close(descriptors[0]);
        ready = send(STDIN_FILENO, &imaged, sizeof imaged, MSG_NOSIGNAL) == (ssize_t)sizeof imaged;
    }
    for (;;)
        syscall(SYS_exit_group, 0); /* _exit would have a sanitizer scan for leaks */
}

static void stop(struct imager *imager) {
    loop_watch_remove(imager->loop, &imager->watch);
    close(imager->socket);
    imager->socket = -1;
}

static void on_answer(void *context, uint32_t events) {
    (void)events;
    struct imager *imager = context;
    struct imaged imaged = {.pid = imager->asked};
    ssize_t got = recv(imager->socket, &imaged, sizeof imaged, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got != (ssize_t)sizeof imaged) { /* what it met may be met again: there is no other one */
        stop(imager);
        imaged = (struct imaged){.pid = imager->asked, .why = "the imager has ended"};
    }
    imaged.why[sizeof imaged.why - 1] = 0;
    const bool asked = imager->asked != 0;
    imager->asked = 0;
    if (asked)
        imager->done(imager->context, &imaged);
}

void imager_start(struct imager *imager, struct loop *loop, const struct imager_base *base,
                  imager_callback done, void *context) {
    int pair[2];
    *imager = (struct imager){.loop = loop, .socket = -1, .done = done, .context = context};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return;
    cleanup_fd int theirs = pair[1];
    pid_t pid = fork();
    if (pid == 0)
        run(theirs, base);
    if (pid > 0 &&
        loop_watch_add(loop, &imager->watch, pair[0], EPOLLIN, on_answer, imager, NULL)) {
        imager->socket = pair[0];
        return;
    }
    close(pair[0]);
}

void imager_close(struct imager *imager) {
    if (imager->loop && imager->socket >= 0)
        stop(imager);
    imager->asked = 0;
}

bool imager_is_busy(const struct imager *imager) {
    return imager->asked != 0;
}

bool imager_ask(struct imager *imager, pid_t pid, int fd) {
    struct iovec part = {.iov_base = &pid, .iov_len = sizeof pid};
    if (!imager->loop || imager->socket < 0 ||
        descriptors_send(imager->socket, &part, 1, &fd, 1) != (ssize_t)sizeof pid)
        return false;
    imager->asked = pid;
    return true;
}
