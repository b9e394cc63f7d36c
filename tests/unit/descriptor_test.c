/* common/descriptor: complete writes, moves, and messages that wait while the kernel has too many
 * descriptors in flight. */
#include "common/descriptor.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

Test(descriptor, write_all_writes_more_than_the_capacity_of_a_pipe) {
    enum { LENGTH = 1 << 20 };
    static char bytes[LENGTH];
    int ends[2], status;
    cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
    pid_t reader = fork();
    if (reader == 0) {
        size_t total = 0;
        ssize_t got;
        close(ends[1]);
        while ((got = read(ends[0], bytes, sizeof bytes)) > 0)
            total += (size_t)got;
        _exit(total == LENGTH ? 0 : 1);
    }
    close(ends[0]);
    cr_assert(write_all(ends[1], bytes, LENGTH));
    close(ends[1]);
    cr_assert_eq(waitpid(reader, &status, 0), reader);
    cr_assert_eq(status, 0);
}

Test(descriptor, write_all_sets_errno) {
    int ends[2];
    signal(SIGPIPE, SIG_IGN);
    cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
    close(ends[0]);
    cr_assert_not(write_all(ends[1], "x", 1));
    cr_assert_eq(errno, EPIPE);
    cr_assert(write_all(ends[1], "", 0));
}

Test(descriptor, a_moved_descriptor_is_private_and_the_old_one_closed) {
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    int moved = descriptor_move_above(ends[0], 50);
    cr_assert_geq(moved, 50);
    cr_assert(fcntl(moved, F_GETFD) & FD_CLOEXEC);
    cr_assert_eq(fcntl(ends[0], F_GETFD), -1);
    cr_assert_eq(descriptor_move_above(ends[0], 50), -1);
    cr_assert_eq(errno, EBADF);
}

/* A message of one byte with FD. */
struct passing {
    struct msghdr message;
    struct iovec part;
    char byte;
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
};

static void make_passing(struct passing *passing, int fd) {
    memset(passing, 0, sizeof *passing);
    passing->part = (struct iovec){.iov_base = &passing->byte, .iov_len = 1};
    passing->message = (struct msghdr){.msg_iov = &passing->part,
                                       .msg_iovlen = 1,
                                       .msg_control = passing->control,
                                       .msg_controllen = sizeof passing->control};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&passing->message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(rights), &fd, sizeof fd);
}

/* The kernel counts the descriptors in flight for each user and refuses one above the sender's own
 * RLIMIT_NOFILE; the number drops when other processes receive theirs. */
Test(descriptor, a_message_waits_for_other_descriptors_in_flight) {
    enum { LIMIT = 20, OTHER_USER = 65533 };
    int pair[2], status;
    struct passing passing;
    const struct rlimit few = {.rlim_cur = LIMIT, .rlim_max = LIMIT};
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    /* Root is not counted, and other users would affect other tests. */
    cr_assert(getuid() != 0 || setuid(OTHER_USER) == 0);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    ssize_t sent;
    do {
        make_passing(&passing, STDERR_FILENO);
        sent = sendmsg(pair[0], &passing.message, MSG_DONTWAIT);
    } while (sent > 0);
    cr_assert_eq(errno, ETOOMANYREFS, "%s", strerror(errno));
    pid_t reader = fork();
    if (reader == 0) {
        char byte;
        close(pair[0]);
        while (read(pair[1], &byte, 1) == 1)
            ;
        _exit(0);
    }
    close(pair[1]);
    const int descriptor = STDERR_FILENO;
    cr_assert_eq(descriptors_send(pair[0], &passing.part, 1, &descriptor, 1), 1, "%s",
                 strerror(errno));
    close(pair[0]);
    cr_assert_eq(waitpid(reader, &status, 0), reader);
}

Test(descriptor, a_message_to_a_closed_socket_fails_without_a_signal) {
    int pair[2];
    const int descriptor = STDERR_FILENO;
    char byte = 0;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    signal(SIGPIPE, SIG_DFL);
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    close(pair[1]);
    cr_assert_eq(descriptors_send(pair[0], &part, 1, &descriptor, 1), -1);
    cr_assert_eq(errno, EPIPE);
}
