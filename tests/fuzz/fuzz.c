/* See fuzz.h. Nothing here may depend on the machine, its clock or chance: the same input gives the
 * same run. */
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct fuzz_edges fuzz_edges;

uint8_t fuzz_byte(struct fuzz_input *input) {
    size_t taken;
    const uint8_t *byte = fuzz_bytes(input, 1, &taken);
    return taken ? *byte : 0;
}

const uint8_t *fuzz_bytes(struct fuzz_input *input, size_t size, size_t *taken) {
    const uint8_t *bytes = input->bytes;
    *taken = size < input->left ? size : input->left;
    if (*taken) /* an empty input may be NULL */
        input->bytes += *taken;
    input->left -= *taken;
    return bytes;
}

int fuzz_open_descriptors(void) {
    enum { HIGHEST = 64 }; /* a run opens far fewer */
    int count = 0;
    for (int fd = 0; fd < HIGHEST; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

int fuzz_clock_gettime(clockid_t clock, struct timespec *now) {
    enum { NS_PER_S = 1000000000 };
    if (clock ==
        CLOCK_THREAD_CPUTIME_ID) /* of turn.h, which decides only whether a run is too long */
        return clock_gettime(clock, now);
    *now = (struct timespec){.tv_sec = fuzz_edges.now_ns / NS_PER_S,
                             .tv_nsec = fuzz_edges.now_ns % NS_PER_S};
    return 0;
}

int fuzz_epoll_wait(int epoll_fd, struct epoll_event *events, int count, int timeout_ms) {
    int ready = epoll_wait(epoll_fd, events, count, 0);
    if (ready != 0 || !fuzz_edges.waiting_passes)
        return ready;
    FUZZ_CHECK(timeout_ms >= 0, "it waits for ever");
    fuzz_edges.now_ns += timeout_ms * INT64_C(1000000);
    return 0;
}

void fuzz_randombytes_buf(void *bytes, size_t size) {
    memset(bytes, 0, size);
    if (size)
        ((unsigned char *)bytes)[size - 1] = ++fuzz_edges.random;
}

int fuzz_kill(pid_t pid, int number) {
    FUZZ_CHECK(fuzz_edges.killed, "it signals %d", (int)pid);
    fuzz_edges.killed(pid, number);
    return 0;
}

int fuzz_waitid(idtype_t type, id_t id, siginfo_t *info, int options) {
    (void)type, (void)options;
    *info = (siginfo_t){0};
    if (fuzz_edges.is_child && fuzz_edges.is_child((pid_t)id))
        return 0;
    errno = ECHILD;
    return -1;
}

ssize_t fuzz_recvmsg(int fd, struct msghdr *message, int flags) {
    ssize_t got = recvmsg(fd, message, flags);
    if (got < 0 || !fuzz_edges.sender)
        return got;
    for (struct cmsghdr *item = CMSG_FIRSTHDR(message); item; item = CMSG_NXTHDR(message, item))
        if (item->cmsg_level == SOL_SOCKET && item->cmsg_type == SCM_CREDENTIALS) {
            struct ucred credentials;
            memcpy(&credentials, CMSG_DATA(item), sizeof credentials);
            credentials.pid = fuzz_edges.sender(fd);
            memcpy(CMSG_DATA(item), &credentials, sizeof credentials);
        }
    return got;
}

int fuzz_sigprocmask(int how, const sigset_t *set, sigset_t *old) {
    (void)how, (void)set, (void)old; /* the fuzzer keeps its own signals */
    return 0;
}

char *fuzz_getenv(const char *name) {
    return fuzz_edges.variable ? fuzz_edges.variable(name) : NULL;
}
