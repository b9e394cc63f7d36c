/* supervisor/base/stdio: private non-blocking streams that do not affect other users of the
 * descriptors. */
#include "common/cleanup.h"
#include "common/descriptor.h"
#include "supervisor/base/stdio.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_nonblocking(int fd) {
    return fcntl(fd, F_GETFL) & O_NONBLOCK;
}

static bool same_file(int one, int other) {
    struct stat left, right;
    return fstat(one, &left) == 0 && fstat(other, &right) == 0 && left.st_dev == right.st_dev &&
           left.st_ino == right.st_ino && left.st_rdev == right.st_rdev;
}

/* Reads as an empty file, and loses no output silently. */
static bool is_empty(int fd) {
    char byte = 0;
    return read(fd, &byte, 1) == 0 && write(fd, &byte, 1) < 0 && errno == EBADF;
}

Test(stdio, a_pipe_is_read_without_blocking_and_stays_blocking_for_others) {
    int ends[2];
    char byte;
    struct stream stream;
    cr_assert_eq(pipe(ends), 0);
    dup2(ends[0], STDIN_FILENO);
    cr_assert(stream_open(&stream, STDIN_FILENO, false, NULL));
    cr_assert_geq(stream.fd, 10);
    cr_assert(fcntl(stream.fd, F_GETFD) & FD_CLOEXEC);
    cr_assert_not(stream.is_socket);
    cr_assert_not(is_nonblocking(ends[0]));
    cr_assert_eq(stream_read(&stream, &byte, 1), -1);
    cr_assert_eq(errno, EAGAIN);
    cr_assert(write_all(ends[1], "x", 1));
    cr_assert_eq(stream_read(&stream, &byte, 1), 1);
    close(ends[1]);
    cr_assert_eq(stream_read(&stream, &byte, 1), 0);
    stream_close(&stream);
    cr_assert_not(is_nonblocking(ends[0]));
}

Test(stdio, a_full_pipe_does_not_block_the_writer) {
    static char block[65536];
    int ends[2];
    struct stream stream;
    cr_assert_eq(pipe(ends), 0);
    dup2(ends[1], STDOUT_FILENO);
    cr_assert(stream_open(&stream, STDOUT_FILENO, true, NULL));
    while (stream_write(&stream, block, sizeof block) > 0)
        ;
    cr_assert_eq(errno, EAGAIN);
    cr_assert_not(is_nonblocking(ends[1]));
    stream_close(&stream);
}

Test(stdio, a_socket_is_used_without_changing_its_flags) {
    int pair[2];
    char byte;
    struct stream stream;
    signal(SIGPIPE, SIG_DFL); /* the stream must not raise SIGPIPE */
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    dup2(pair[0], STDIN_FILENO);
    cr_assert(stream_open(&stream, STDIN_FILENO, false, NULL));
    cr_assert(stream.is_socket);
    cr_assert_not(is_nonblocking(pair[0]));
    cr_assert_eq(stream_read(&stream, &byte, 1), -1);
    cr_assert_eq(errno, EAGAIN);
    cr_assert(write_all(pair[1], "x", 1));
    cr_assert_eq(stream_read(&stream, &byte, 1), 1);
    cr_assert_eq(stream_write(&stream, "y", 1), 1);
    close(pair[1]);
    while (stream_write(&stream, "y", 1) > 0)
        ;
    cr_assert(errno == EPIPE || errno == ECONNRESET);
    stream_close(&stream);
}

Test(stdio, a_regular_file_keeps_its_offset_and_its_flags_are_restored) {
    char text[4];
    struct stream stream;
    cleanup_fd int file = memfd_create("file", MFD_CLOEXEC);
    cr_assert(write_all(file, "0123456", 7) && lseek(file, 3, SEEK_SET) == 3);
    dup2(file, STDIN_FILENO);
    int flags = fcntl(file, F_GETFL);
    cr_assert(stream_open(&stream, STDIN_FILENO, false, NULL));
    cr_assert_eq(stream_read(&stream, text, 4), 4);
    cr_assert_eq(memcmp(text, "3456", 4), 0);
    stream_close(&stream);
    cr_assert_eq(fcntl(file, F_GETFL), flags);
}

Test(stdio, a_pipe_that_was_non_blocking_stays_so) {
    int ends[2];
    struct stream stream;
    cr_assert_eq(pipe2(ends, O_NONBLOCK), 0);
    dup2(ends[0], STDIN_FILENO);
    cr_assert(stream_open(&stream, STDIN_FILENO, false, NULL));
    stream_close(&stream);
    cr_assert(is_nonblocking(ends[0]));
}

Test(stdio, a_closed_descriptor_cannot_be_opened) {
    struct stream stream;
    struct error error;
    close(STDIN_FILENO);
    cr_assert_not(stream_open(&stream, STDIN_FILENO, false, &error));
    cr_assert_eq(error.code, EBADF);
    cr_assert_eq(stream.fd, -1);
    stream_close(&stream); /* does nothing */
}

Test(stdio, missing_standard_descriptors_become_empty_and_cannot_be_written) {
    struct error error;
    cr_assert_eq(close_range(STDIN_FILENO, STDOUT_FILENO, 0), 0);
    cr_assert(stdio_fill(&error));
    cr_assert(is_empty(STDIN_FILENO));
    cr_assert(is_empty(STDOUT_FILENO));
    cr_assert_geq(fcntl(STDERR_FILENO, F_GETFD), 0);
}

Test(stdio, open_standard_descriptors_are_unchanged_when_others_are_missing) {
    int ends[2];
    struct error error;
    cr_assert_eq(pipe(ends), 0);
    dup2(ends[0], STDIN_FILENO);
    close(STDOUT_FILENO);
    cr_assert(stdio_fill(&error));
    cr_assert(same_file(STDIN_FILENO, ends[0]));
    cr_assert(is_empty(STDOUT_FILENO));
}

Test(stdio, detaching_makes_0_empty_and_1_stderr) {
    int in[2], out[2], errors[2];
    struct error error;
    cr_assert(pipe(in) == 0 && pipe(out) == 0 && pipe(errors) == 0);
    int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(errors[1], STDERR_FILENO);
    bool detached = stdio_detach(&error);
    bool one_is_two = same_file(STDOUT_FILENO, errors[1]);
    dup2(saved, STDERR_FILENO);
    cr_assert(detached);
    cr_assert(one_is_two);
    cr_assert(is_empty(STDIN_FILENO));
}
