/* See pair.h. */
#include "bench/pair.h"
#include "bench/peer.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MESSAGE_BYTES = 100 };

static _Noreturn void echo(int fd) {
    char message[MESSAGE_BYTES];
    for (ssize_t got; (got = read(fd, message, sizeof message)) > 0;)
        if (write(fd, message, (size_t)got) != got)
            _exit(1);
    _exit(0); /* the other end is closed, perhaps because its process was killed */
}

void pair_start(struct pair *pair, struct report *report) {
    int ends[2];
    *pair = (struct pair){.fd = -1, .report = report};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        report_problem(report, "socket pair: %s", strerror(errno));
        return;
    }
    pair->fd = ends[0];
    pair->pid = fork();
    if (pair->pid == 0) {
        close(ends[0]);
        echo(ends[1]);
    }
    close(ends[1]);
}

void pair_finish(struct pair *pair) {
    if (pair->fd >= 0)
        close(pair->fd);
    if (pair->pid > 1)
        waitpid(pair->pid, NULL, 0);
}

double pair_round_trip(struct pair *pair) {
    char message[MESSAGE_BYTES] = {0};
    if (pair->fd < 0)
        return -1;
    double begin = now_ms();
    if (write(pair->fd, message, sizeof message) == sizeof message &&
        recv(pair->fd, message, sizeof message, MSG_WAITALL) == sizeof message)
        return now_ms() - begin;
    report_problem(pair->report, "socket pair: %s", strerror(errno));
    close(pair->fd);
    pair->fd = -1;
    return -1;
}
