/* Shared by the fuzz targets: checks that end the run, input in pieces, and the edges of the
 * process. For the targets the product is compiled with its slow, random or harmful system calls
 * renamed to the functions below (CMakeLists.txt). */
#ifndef ECLAVE_TESTS_FUZZ_FUZZ_H
#define ECLAVE_TESTS_FUZZ_FUZZ_H

#include <fcntl.h>
#include <poll.h>
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
    /* Whether the child PID has stopped since this was last asked. NULL: it has not. */
    bool (*has_stopped)(pid_t pid);
    /* The session id of PID. NULL: as the kernel reports. */
    pid_t (*session_of)(pid_t pid);
    /* The children of this process, separated by spaces. NULL: as the kernel reports. */
    const char *(*children)(void);
    /* Called for each new socket pair. NULL: it is not. */
    void (*paired)(const int pair[2]);
    /* The sender of a message read from FD. NULL: as the kernel reports. */
    pid_t (*sender)(int fd);
    /* The environment; NULL: it is empty. */
    char *(*variable)(const char *name);
};
extern struct fuzz_edges fuzz_edges;

/* Faults that the system reports to the product. Each kind counts the calls that it can befall. */
enum fuzz_fault {
    FAULT_MEMORY,    /* malloc and its kind: NULL */
    FAULT_SHORT,     /* reads and writes: one byte */
    FAULT_INTERRUPT, /* EINTR, or a wait that returns nothing */
    FAULT_AGAIN,     /* reads and writes that do not block: EAGAIN */
    FAULT_RESOURCE,  /* new descriptors and watches: EMFILE, ENOSPC */
    FAULT_KINDS
};

struct fuzz_faults {
    bool planned;   /* there is a plan */
    bool on;        /* and it has not ended */
    unsigned pause; /* while not 0, nothing fails and nothing is counted */
    struct fault_plan {
        unsigned first; /* the call that fails first, counted from 1; 0: none */
        unsigned every; /* after that, each so manyth; 0: none */
        unsigned calls; /* so far */
    } plans[FAULT_KINDS];
    size_t failed[FAULT_KINDS]; /* what was injected */
};
extern struct fuzz_faults fuzz_faults;

/* Starts a run with the plan at the end of INPUT, which it removes: for each kind `first` and
 * `every`, one byte each, and the mark fa 17. Without the mark nothing fails. */
void fuzz_faults_begin(struct fuzz_input *input);
void fuzz_faults_end(void);
/* The target's own work between the two is spared. */
void fuzz_faults_pause(void);
void fuzz_faults_resume(void);
/* Something was refused that the product needs. Other faults it must hide. */
bool fuzz_faults_refused(void);

int fuzz_clock_gettime(clockid_t clock, struct timespec *now);
int fuzz_epoll_wait(int epoll_fd, struct epoll_event *events, int count, int timeout_ms);
void fuzz_randombytes_buf(void *bytes, size_t size);
int fuzz_kill(pid_t pid, int number);
int fuzz_waitid(idtype_t type, id_t id, siginfo_t *info, int options);
ssize_t fuzz_recvmsg(int fd, struct msghdr *message, int flags);
ssize_t fuzz_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t fuzz_send(int fd, const void *bytes, size_t size, int flags);
ssize_t fuzz_read(int fd, void *bytes, size_t size);
ssize_t fuzz_write(int fd, const void *bytes, size_t size);
int fuzz_poll(struct pollfd *items, nfds_t count, int timeout_ms);
/* A listener is a SOCK_SEQPACKET socket, over which notifications and replies go as they are. */
int fuzz_ioctl(int fd, unsigned long request, ...);
void *fuzz_malloc(size_t size);
void *fuzz_calloc(size_t count, size_t size);
void *fuzz_realloc(void *old, size_t size);
char *fuzz_strdup(const char *text);
char *fuzz_strndup(const char *text, size_t size);
int fuzz_asprintf(char **text, const char *format, ...);
int fuzz_open(const char *path, int flags, ...);
int fuzz_openat(int directory, const char *path, int flags, ...);
FILE *fuzz_fopen(const char *path, const char *mode);
int fuzz_pipe2(int ends[2], int flags);
int fuzz_socketpair(int domain, int type, int protocol, int pair[2]);
int fuzz_epoll_create1(int flags);
int fuzz_epoll_ctl(int epoll_fd, int operation, int fd, struct epoll_event *event);
pid_t fuzz_getsid(pid_t pid);
int fuzz_sigprocmask(int how, const sigset_t *set, sigset_t *old);
char *fuzz_getenv(const char *name);

#endif
