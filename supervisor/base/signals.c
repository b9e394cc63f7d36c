/* Signals through a descriptor. Installs no handler. */
#include "supervisor/base/signals.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

int signals_open(struct error *error) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file at its limit is a full disk: the write says so */
    signal(SIGCHLD, SIG_DFL); /* may have been inherited ignored, and then nothing is reaped */
    int fd = sigprocmask(SIG_BLOCK, &set, NULL) == 0
                 ? signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC)
                 : -1;
    if (fd < 0)
        error_set(error, errno, "waiting for signals");
    return fd;
}

int signals_next(int fd) {
    struct signalfd_siginfo info;
    return read(fd, &info, sizeof info) == (ssize_t)sizeof info ? (int)info.ssi_signo : 0;
}
