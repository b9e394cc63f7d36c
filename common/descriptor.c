/* File descriptors: complete writes, and descriptors passed over a socket. */
#include "common/descriptor.h"
#include "common/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Older headers lack it. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

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

bool write_all_at(int fd, const void *bytes, size_t size, uint64_t offset) {
    for (size_t done = 0; done < size;) {
        ssize_t put = pwrite(fd, (const char *)bytes + done, size - done, (off_t)(offset + done));
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0) {
            errno = put < 0 ? errno : ENOSPC;
            return false;
        }
        done += (size_t)put;
    }
    return true;
}

/* The kernel counts the descriptors that all processes of a user have in flight; the count goes
 * down when a receiver reads. */
static ssize_t send_patiently(int socket, const struct msghdr *message) {
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

ssize_t descriptors_send(int socket, struct iovec *parts, size_t part_count, const int *descriptors,
                         size_t count) {
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * DESCRIPTORS_MAX)] = {0};
    if (count > DESCRIPTORS_MAX) {
        errno = EMSGSIZE;
        return -1;
    }
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = part_count};
    if (count) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(rights), descriptors, sizeof(int) * count);
    }
    return send_patiently(socket, &message);
}

size_t descriptors_take(struct cmsghdr *item, int *descriptors, size_t room) {
    size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; i++) {
        int fd;
        memcpy(&fd, CMSG_DATA(item) + i * sizeof fd, sizeof fd);
        if (i < room)
            descriptors[i] = fd;
        else
            close(fd);
    }
    return count;
}

// NOLINTNEXTLINE(readability-non-const-parameter): recvmsg writes to bytes
ssize_t descriptors_receive(int socket, void *bytes, size_t size, int descriptors[DESCRIPTORS_MAX],
                            size_t *count) {
    struct iovec part = {.iov_base = bytes, .iov_len = size};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * DESCRIPTORS_MAX)];
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    ssize_t got;
    do
        got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return -1;
    bool fits = !(message.msg_flags & MSG_CTRUNC);
    for (struct cmsghdr *item = CMSG_FIRSTHDR(&message); item; item = CMSG_NXTHDR(&message, item)) {
        if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS)
            continue;
        size_t room = DESCRIPTORS_MAX - *count;
        size_t came = descriptors_take(item, descriptors + *count, room);
        fits = fits && came <= room;
        *count += came < room ? came : room;
    }
    if (fits)
        return got;
    errno = EMSGSIZE;
    return -1;
}

uint64_t descriptors_raise_limit(uint64_t wanted) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return UINT64_MAX;
    const rlim_t before = limit.rlim_cur;
    if (before >= wanted)
        return before;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
}

int descriptor_seal(const char *name, const void *bytes, size_t size) {
    const unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    cleanup_fd int file = memfd_create(name, flags | MFD_NOEXEC_SEAL);
    if (file < 0 && errno == EINVAL) /* before Linux 6.3 */
        file = memfd_create(name, flags);
    if (file < 0 || !write_all(file, bytes, size) || lseek(file, 0, SEEK_SET) != 0 ||
        fcntl(file, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0)
        return -1;
    return steal_fd(&file);
}

int descriptor_move_above(int fd, int minimum) {
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, minimum);
    if (moved >= 0)
        close(fd);
    return moved;
}
