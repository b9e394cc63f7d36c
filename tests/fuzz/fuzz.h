/* What the fuzz targets share: checks that end the run, input taken piece by piece, and the edges
 * of the process. The product is compiled for the targets with its calls into the kernel that
 * would make a run slow, random or harmful renamed to the functions below (CMakeLists.txt). */
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

/* What libFuzzer calls and provides. */
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

/* The input, taken from its front. At its end everything is 0. */
struct fuzz_input {
    const uint8_t *bytes;
    size_t left;
};

uint8_t fuzz_byte(struct fuzz_input *input);
/* At most SIZE bytes; *taken says how many there were. */
const uint8_t *fuzz_bytes(struct fuzz_input *input, size_t size, size_t *taken);

/* How many descriptors are open: as many before as after a run that leaks none. */
int fuzz_open_descriptors(void);

/* How the edges behave; set by the target before each run. */
struct fuzz_edges {
    int64_t now_ns;      /* the monotonic clock, which moves only as told */
    bool waiting_passes; /* a wait moves the clock to its end; waiting for ever is a hang */
    uint8_t random;      /* what randombytes_buf gives next */
    /* What a signal does; without it every signal is a finding. */
    void (*killed)(pid_t pid, int number);
    /* Is this a child of ours? NULL: nobody is. */
    bool (*is_child)(pid_t pid);
    /* Who a message that is read from FD comes from. NULL: as the kernel says. */
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
