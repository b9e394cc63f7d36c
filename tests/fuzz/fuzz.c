/* See fuzz.h. Nothing here may depend on the machine, its clock or chance: the same input gives the
 * same run. */
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

struct fuzz_edges fuzz_edges;
struct fuzz_faults fuzz_faults;

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
    enum { HIGHEST = 256 }; /* a run opens fewer */
    int count = 0;
    for (int fd = 0; fd < HIGHEST; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* --- faults --- */

void fuzz_faults_begin(struct fuzz_input *input) {
    static const uint8_t mark[] = {0xfa, 0x17};
    enum { PLAN_BYTES = 2 * FAULT_KINDS };
    fuzz_faults = (struct fuzz_faults){.on = false};
    if (input->left < PLAN_BYTES + sizeof mark ||
        memcmp(input->bytes + input->left - sizeof mark, mark, sizeof mark) != 0)
        return;
    input->left -= PLAN_BYTES + sizeof mark;
    const uint8_t *plan = input->bytes + input->left;
    for (int kind = 0; kind < FAULT_KINDS; kind++) {
        unsigned every = plan[(size_t)2 * kind + 1];
        fuzz_faults.plans[kind] = (struct fault_plan){
            .first = plan[(size_t)2 * kind], .every = every == 1 ? 2 : every}; /* it must go on */
    }
    fuzz_faults.planned = fuzz_faults.on = true;
}

void fuzz_faults_end(void) {
    fuzz_faults.on = false;
}

void fuzz_faults_pause(void) {
    fuzz_faults.pause++;
}

void fuzz_faults_resume(void) {
    fuzz_faults.pause--;
}

bool fuzz_faults_refused(void) {
    return fuzz_faults.failed[FAULT_MEMORY] || fuzz_faults.failed[FAULT_RESOURCE];
}

static bool fails(enum fuzz_fault kind) {
    struct fault_plan *plan = &fuzz_faults.plans[kind];
    if (!fuzz_faults.on || fuzz_faults.pause || plan->first == 0)
        return false;
    unsigned call = ++plan->calls;
    bool now = call == plan->first ||
               (call > plan->first && plan->every && (call - plan->first) % plan->every == 0);
    fuzz_faults.failed[kind] += now;
    return now;
}

static bool fails_with(enum fuzz_fault kind, int error) {
    if (!fails(kind))
        return false;
    errno = error;
    return true;
}

static size_t perhaps_short(size_t size) {
    return size > 1 && fails(FAULT_SHORT) ? 1 : size;
}

static bool does_not_block(int fd) {
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && (flags & O_NONBLOCK);
}

/* A read or a write fails before it has done anything. */
static bool transfer_fails(int fd, int flags) {
    if (!fuzz_faults.on || fuzz_faults.pause)
        return false;
    return fails_with(FAULT_INTERRUPT, EINTR) ||
           (((flags & MSG_DONTWAIT) || does_not_block(fd)) && fails_with(FAULT_AGAIN, EAGAIN));
}

/* EAGAIN from a pipe is a promise that it is empty, on which the product relies. */
static bool read_fails(int fd) {
    struct stat facts;
    if (!fuzz_faults.on || fuzz_faults.pause)
        return false;
    bool pipe = fstat(fd, &facts) == 0 && S_ISFIFO(facts.st_mode);
    return pipe ? fails_with(FAULT_INTERRUPT, EINTR) : transfer_fails(fd, 0);
}

void *fuzz_malloc(size_t size) {
    return fails_with(FAULT_MEMORY, ENOMEM) ? NULL : malloc(size);
}

void *fuzz_calloc(size_t count, size_t size) {
    return fails_with(FAULT_MEMORY, ENOMEM) ? NULL : calloc(count, size);
}

void *fuzz_realloc(void *old, size_t size) {
    return fails_with(FAULT_MEMORY, ENOMEM) ? NULL : realloc(old, size);
}

/* What the libraries of the product allocate fails too. Their calls do not go through the edges,
 * but come from outside the program. */
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming)
extern const char __executable_start, etext; /* of the linker */
void *__interceptor_malloc(size_t size);     /* of the sanitizer */
void *__interceptor_calloc(size_t count, size_t size);
void *__interceptor_realloc(void *old, size_t size);
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)

static bool library_fails(const char *caller) {
    return fuzz_faults.on && !fuzz_faults.pause &&
           (caller < &__executable_start || caller > &etext) && fails_with(FAULT_MEMORY, ENOMEM);
}

void *malloc(size_t size) {
    return library_fails(__builtin_return_address(0)) ? NULL : __interceptor_malloc(size);
}

void *calloc(size_t nmemb, size_t size) {
    return library_fails(__builtin_return_address(0)) ? NULL : __interceptor_calloc(nmemb, size);
}

void *realloc(void *ptr, size_t size) {
    return library_fails(__builtin_return_address(0)) ? NULL : __interceptor_realloc(ptr, size);
}

char *fuzz_strdup(const char *text) {
    return fails_with(FAULT_MEMORY, ENOMEM) ? NULL : strdup(text);
}

char *fuzz_strndup(const char *text, size_t size) {
    return fails_with(FAULT_MEMORY, ENOMEM) ? NULL : strndup(text, size);
}

int fuzz_asprintf(char **text, const char *format, ...) {
    va_list arguments;
    if (fails_with(FAULT_MEMORY, ENOMEM))
        return -1;
    va_start(arguments, format);
    int size = vasprintf(text, format, arguments);
    va_end(arguments);
    return size;
}

int fuzz_open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return fails_with(FAULT_RESOURCE, EMFILE) ? -1 : open(path, flags, mode);
}

int fuzz_openat(int directory, const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return fails_with(FAULT_RESOURCE, EMFILE) ? -1 : openat(directory, path, flags, mode);
}

FILE *fuzz_fopen(const char *path, const char *mode) {
    const char *name = strrchr(path, '/');
    if (fails_with(FAULT_RESOURCE, EMFILE))
        return NULL;
    if (!fuzz_edges.children || !name || strcmp(name, "/children") != 0)
        return fopen(path, mode);
    const char *children = fuzz_edges.children();
    return fmemopen((void *)(uintptr_t)children, strlen(children) + 1, "r");
}

int fuzz_pipe2(int ends[2], int flags) {
    return fails_with(FAULT_RESOURCE, EMFILE) ? -1 : pipe2(ends, flags);
}

int fuzz_socketpair(int domain, int type, int protocol, int pair[2]) {
    if (fails_with(FAULT_RESOURCE, EMFILE))
        return -1;
    int done = socketpair(domain, type, protocol, pair);
    if (done == 0 && fuzz_edges.paired)
        fuzz_edges.paired(pair);
    return done;
}

int fuzz_epoll_create1(int flags) {
    return fails_with(FAULT_RESOURCE, EMFILE) ? -1 : epoll_create1(flags);
}

/* What a watch once has it keeps. */
int fuzz_epoll_ctl(int epoll_fd, int operation, int fd, struct epoll_event *event) {
    bool fault = operation == EPOLL_CTL_ADD && fails_with(FAULT_RESOURCE, ENOSPC);
    return fault ? -1 : epoll_ctl(epoll_fd, operation, fd, event);
}

ssize_t fuzz_read(int fd, void *bytes, size_t size) {
    if (read_fails(fd))
        return -1;
    /* A signalfd has whole records only. */
    return read(fd, bytes, size == sizeof(struct signalfd_siginfo) ? size : perhaps_short(size));
}

ssize_t fuzz_write(int fd, const void *bytes, size_t size) {
    return transfer_fails(fd, 0) ? -1 : write(fd, bytes, perhaps_short(size));
}

ssize_t fuzz_send(int fd, const void *bytes, size_t size, int flags) {
    return transfer_fails(fd, flags) ? -1 : send(fd, bytes, perhaps_short(size), flags);
}

/* The kernel takes a message with descriptors as a whole. */
ssize_t fuzz_sendmsg(int fd, const struct msghdr *message, int flags) {
    return transfer_fails(fd, flags) ? -1 : sendmsg(fd, message, flags);
}

int fuzz_poll(struct pollfd *items, nfds_t count, int timeout_ms) {
    return fails_with(FAULT_INTERRUPT, EINTR) ? -1 : poll(items, count, timeout_ms);
}

int fuzz_ioctl(int fd, unsigned long request, ...) {
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    if (request != SECCOMP_IOCTL_NOTIF_RECV && request != SECCOMP_IOCTL_NOTIF_SEND)
        return ioctl(fd, request, argument);
    if (request == SECCOMP_IOCTL_NOTIF_SEND) /* does not sleep */
        return send(fd, argument, sizeof(struct seccomp_notif_resp), MSG_DONTWAIT | MSG_NOSIGNAL) <
                       0
                   ? -1
                   : 0;
    if (fails_with(FAULT_INTERRUPT, EINTR))
        return -1;
    ssize_t got = recv(fd, argument, sizeof(struct seccomp_notif), MSG_DONTWAIT);
    errno = ENOENT;
    return got == (ssize_t)sizeof(struct seccomp_notif) ? 0 : -1;
}

pid_t fuzz_getsid(pid_t pid) {
    return fuzz_edges.session_of ? fuzz_edges.session_of(pid) : getsid(pid);
}

/* --- the process and its clock --- */

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
    if (fails_with(FAULT_INTERRUPT, EINTR))
        return -1;
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
    (void)type;
    *info = (siginfo_t){0};
    if (fuzz_edges.is_child && fuzz_edges.is_child((pid_t)id)) {
        if ((options & WSTOPPED) && fuzz_edges.has_stopped && fuzz_edges.has_stopped((pid_t)id))
            info->si_pid = (pid_t)id;
        return 0;
    }
    errno = ECHILD;
    return -1;
}

ssize_t fuzz_recvmsg(int fd, struct msghdr *message, int flags) {
    if (transfer_fails(fd, flags))
        return -1;
    struct iovec whole = message->msg_iov[0];
    if (message->msg_iovlen == 1)
        message->msg_iov[0].iov_len = perhaps_short(whole.iov_len);
    ssize_t got = recvmsg(fd, message, flags);
    message->msg_iov[0] = whole;
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
