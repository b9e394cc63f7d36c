/* Private, non-blocking standard streams. */
#include "supervisor/base/stdio.h"
#include "common/cleanup.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PRIVATE_MINIMUM = 10 };

/* Opens a pipe or terminal again. A regular file would start at offset 0, and a descriptor that
 * does not allow the access would become one that does. */
static int reopen(int fd, const struct stat *status, bool writing) {
    char path[32];
    const int flags = fcntl(fd, F_GETFL);
    if (S_ISREG(status->st_mode) || S_ISSOCK(status->st_mode) ||
        (flags & O_ACCMODE) == (writing ? O_RDONLY : O_WRONLY))
        return -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, (writing ? O_WRONLY : O_RDONLY) | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

bool stream_open(struct stream *stream, int fd, bool writing, struct error *error) {
    struct stat status = {0};
    bool opened = fstat(fd, &status) == 0;
    *stream = (struct stream){.fd = -1, .is_socket = S_ISSOCK(status.st_mode), .restore_flags = -1};
    cleanup_fd int reopened = opened ? reopen(fd, &status, writing) : -1;
    stream->fd = fcntl(reopened >= 0 ? reopened : fd, F_DUPFD_CLOEXEC, PRIVATE_MINIMUM);
    if (stream->fd < 0)
        return error_set(error, errno, "standard streams: duplicate descriptor %d", fd);
    if (reopened < 0 && !stream->is_socket) {
        int flags = fcntl(stream->fd, F_GETFL);
        if (flags >= 0 && !(flags & O_NONBLOCK) &&
            fcntl(stream->fd, F_SETFL, flags | O_NONBLOCK) == 0)
            stream->restore_flags = flags;
    }
    return true;
}

void stream_close(struct stream *stream) {
    if (stream->fd < 0)
        return;
    if (stream->restore_flags >= 0)
        fcntl(stream->fd, F_SETFL, stream->restore_flags);
    close(stream->fd);
    stream->fd = -1;
}

ssize_t stream_read(const struct stream *stream, void *bytes, size_t size) {
    return stream->is_socket ? recv(stream->fd, bytes, size, MSG_DONTWAIT)
                             : read(stream->fd, bytes, size);
}

ssize_t stream_write(const struct stream *stream, const void *bytes, size_t size) {
    return stream->is_socket ? send(stream->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL)
                             : write(stream->fd, bytes, size);
}

/* A descriptor that reads as an empty file and cannot be written. Needs no /dev. */
static int open_empty(void) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    int moved = fcntl(ends[0], F_DUPFD_CLOEXEC, PRIVATE_MINIMUM);
    close(ends[0]);
    close(ends[1]);
    return moved;
}

bool stdio_fill(struct error *error) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            continue;
        cleanup_fd int empty = open_empty();
        if (empty < 0 || dup2(empty, fd) < 0)
            return error_set(error, errno, "standard streams: replace the closed descriptor %d",
                             fd);
    }
    return true;
}

bool stdio_detach(struct error *error) {
    cleanup_fd int empty = open_empty();
    if (empty < 0 || dup2(empty, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return error_set(error, errno, "standard streams: detach from the client");
    return true;
}

bool stdio_finish(struct error *error) {
    const bool failed = ferror(stdout) != 0;
    if (fclose(stdout) != 0)
        return error_set(error, errno, "writing to standard output");
    return !failed || error_set(error, 0, "writing to standard output failed; part of it is lost");
}
