/* Descriptor helpers. Never retries a close. */
#include "common/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

bool write_all(int fd, const void *bytes, size_t size) {
    const char *at = bytes;
    while (size) {
        ssize_t written = write(fd, at, size);
        if (written < 0) {
            if (errno == EINTR)
                continue;
            return false;
        }
        at += written;
        size -= (size_t)written;
    }
    return true;
}

ssize_t send_message(int socket, const struct msghdr *message) {
    enum { PATIENCE_MS = 1000 };
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int waited = 0;;) {
        ssize_t sent = sendmsg(socket, message, MSG_NOSIGNAL);
        if (sent >= 0 || (errno != EINTR && errno != ETOOMANYREFS))
            return sent;
        if (errno == ETOOMANYREFS && waited++ == PATIENCE_MS)
            return sent;
        if (errno == ETOOMANYREFS)
            nanosleep(&pause, NULL);
    }
}

int descriptor_move_above(int fd, int minimum) {
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, minimum);
    if (moved >= 0)
        close(fd);
    return moved;
}
