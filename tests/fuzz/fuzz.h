/* Shared by the fuzz targets: checks that end the run, input in pieces, and the edges of the
 * process. For the targets the product is compiled with its slow, random or harmful system calls
 * renamed to the functions below (CMakeLists.txt). */
#ifndef ECLAVE_TESTS_FUZZ_FUZZ_H
#define ECLAVE_TESTS_FUZZ_FUZZ_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>

/* The interface of libFuzzer. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* Ends the run as a finding. */
#define FUZZ_CHECK(condition, ...)                                                                 \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);                        \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fputc('\n', stderr);                                                                   \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* The remaining input. At its end, everything read is 0. */
struct fuzz_input {
    const uint8_t *bytes;
    size_t left;
};

uint8_t fuzz_byte(struct fuzz_input *input);
/* At most SIZE bytes; *taken is their number. */
const uint8_t *fuzz_bytes(struct fuzz_input *input, size_t size, size_t *taken);

/* The number of open descriptors, which is the same after a run that leaks none. */
int fuzz_open_descriptors(void);

/* The behaviour of the edges; set by the target before each run. */
struct fuzz_edges {
    int64_t now_ns;      /* the monotonic clock */
    bool waiting_passes; /* a wait advances the clock; an endless wait is a finding */
    uint8_t random;      /* the next byte of randombytes_buf */
    /* Called for a signal. NULL: every signal is a finding. */
    void (*killed)(pid_t pid, int number);
    /* Whether PID is a child. NULL: it is not. */
    bool (*is_child)(pid_t pid);
    /* The sender of a message read from FD. NULL: as the kernel reports. */
    pid_t (*sender)(int fd);
    /* The environment; NULL: it is empty. */
    char *(*variable)(const char *name);
};
extern struct fuzz_edges fuzz_edges;

int fuzz_clock_gettime(clockid_t clock, struct timespec *now);
int fuzz_epoll_wait(int epoll_fd, struct epoll_event *events, int count, int timeout_ms);
void fuzz_randombytes_buf(void *bytes, size_t size);
int fuzz_kill(pid_t pid, int number);
int fuzz_waitid(idtype_t type, id_t id, siginfo_t *info, int options);
ssize_t fuzz_recvmsg(int fd, struct msghdr *message, int flags);
int fuzz_sigprocmask(int how, const sigset_t *set, sigset_t *old);
char *fuzz_getenv(const char *name);

#endif
