/* The weigher: a fork of this program that answers one question at a time. */
#include "supervisor/process/weigher.h"
#include "common/child.h"
#include "common/cleanup.h"
#include "policy/policy.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FAILURES_MAX = 3 }; /* then no further process is started */

/* --- the process --- */

struct weight weigh_process(pid_t pid) {
    static const char label[] = "\nPss:";
    char text[1024];
    struct weight weight = {.pid = pid};
    if (pid <= 1)
        return weight;
    read_process_file(pid, "smaps_rollup", text, sizeof text);
    const char *line = strstr(text, label);
    weight.known = line != NULL;
    if (line)
        weight.bytes = (size_t)strtoull(line + sizeof label - 1, NULL, 10) * 1024;
    return weight;
}

/* Keeps no descriptor but the socket, and ends with the supervisor. */
static _Noreturn void run(int socket) {
    pid_t pid;
    bool ready = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && dup2(socket, STDIN_FILENO) >= 0 &&
                 close_range(STDIN_FILENO + 1, ~0U, 0) == 0 && policy_retain_tracing(NULL) &&
                 prctl(PR_SET_NAME, "eclave-weigher") == 0;
    while (ready && recv(STDIN_FILENO, &pid, sizeof pid, 0) == (ssize_t)sizeof pid) {
        const struct weight weight = weigh_process(pid);
        ready = send(STDIN_FILENO, &weight, sizeof weight, MSG_NOSIGNAL) == (ssize_t)sizeof weight;
    }
    for (;;)
        syscall(SYS_exit_group, 0); /* _exit would have a sanitizer scan for leaks */
}

/* --- in the supervisor --- */

void weigher_open(struct weigher *weigher, struct loop *loop, weigher_callback weighed,
                  void *context) {
    *weigher = (struct weigher){.loop = loop, .socket = -1, .weighed = weighed, .context = context};
}

void weigher_close(struct weigher *weigher) {
    if (weigher->socket < 0)
        return;
    loop_watch_remove(weigher->loop, &weigher->watch);
    close(weigher->socket);
    weigher->socket = -1;
    weigher->asked = 0;
}

bool weigher_is_busy(const struct weigher *weigher) {
    return weigher->asked != 0;
}

static void on_answer(void *context, uint32_t events) {
    (void)events;
    struct weigher *weigher = context;
    struct weight weight = {0};
    ssize_t got = recv(weigher->socket, &weight, sizeof weight, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    pid_t asked = weigher->asked;
    weigher->asked = 0;
    if (got == (ssize_t)sizeof weight) {
        weigher->failures = 0;
    } else {
        weigher->failures++;
        weigher_close(weigher);
        weight = (struct weight){.pid = asked};
    }
    if (asked)
        weigher->weighed(weigher->context, &weight);
}

/* Starts the process, unless it runs. False if it cannot. */
static bool start(struct weigher *weigher) {
    int pair[2];
    if (weigher->socket >= 0)
        return true;
    if (weigher->settled || weigher->failures >= FAILURES_MAX ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    cleanup_fd int theirs = pair[1];
    pid_t pid = fork();
    if (pid == 0)
        run(theirs);
    if (pid > 0 && loop_watch_add(weigher->loop, &weigher->watch, pair[0], EPOLLIN, on_answer,
                                  weigher, NULL)) {
        weigher->socket = pair[0];
        return true;
    }
    close(pair[0]);
    return false;
}

void weigher_settle(struct weigher *weigher) {
    start(weigher);
    weigher->settled = true;
}

bool weigher_ask(struct weigher *weigher, pid_t pid) {
    if (!start(weigher))
        return false;
    if (send(weigher->socket, &pid, sizeof pid, MSG_DONTWAIT | MSG_NOSIGNAL) !=
        (ssize_t)sizeof pid) {
        weigher->failures++;
        weigher_close(weigher);
        return false;
    }
    weigher->asked = pid;
    return true;
}
