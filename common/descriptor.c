/* Descriptor helpers. Never retries a close. */
#include "common/descriptor.h"

#include <errno.h>
#include <fcntl.h>
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

int descriptor_move_above(int fd, int minimum) {
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, minimum);
    if (moved >= 0)
        close(fd);
    return moved;
}
