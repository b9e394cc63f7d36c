/* The attempts of native.def. Each runs in its own process and uses raw system calls only, to
 * bypass the C library. */
#include "common/error.h"
#include "policy/policy.h"
#include "tests/escape/native.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    ANONYMOUS = MAP_PRIVATE | MAP_ANONYMOUS,
    NO_KEY = 0x65636c76 /* of no existing System V object */
};

#define NOWHERE  "/nonexistent/x"
#define HIGH_BIT (1L << 32) /* ignored by the kernel in an int argument */

/* Zeroes as arguments, and space for results. */
static _Alignas(PAGE) unsigned char page[PAGE];

static long map(long protection, long flags) {
    return syscall(SYS_mmap, 0L, (long)PAGE, protection, flags, -1L, 0L);
}

static long remap(long flags) {
    long address = map(PROT_READ, ANONYMOUS);
    return syscall(SYS_mremap, address, (long)PAGE, 2L * PAGE, flags, 0L);
}

static long make_code_writable(void) {
    uintptr_t code = (uintptr_t)make_code_writable & ~(uintptr_t)(PAGE - 1);
    return syscall(SYS_mprotect, code, (long)PAGE, (long)(PROT_READ | PROT_WRITE | PROT_EXEC));
}

static long futex(long operation) {
    return syscall(SYS_futex, page, operation, 1L, NULL, NULL, 0L);
}

/* The clock ids that the kernel derives from a pid and from a descriptor. */
static long processor_clock(long pid) {
    return ~pid * 8 + 2;
}

static long descriptor_clock(long descriptor) {
    return ~descriptor * 8 + 3;
}

static long write_vector(void) {
    struct iovec part = {.iov_base = page, .iov_len = 1};
    return syscall(SYS_writev, 2L, &part, 1L);
}

static long receive_message(void) {
    struct msghdr message = {0};
    return syscall(SYS_recvmsg, (long)POLICY_TRIAL_CHANNEL, &message, (long)MSG_DONTWAIT);
}

static long send_descriptor(void) {
    int fd = 0;
    struct iovec part = {.iov_base = page, .iov_len = 1};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {0};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(rights), &fd, sizeof fd);
    return syscall(SYS_sendmsg, (long)POLICY_TRIAL_CHANNEL, &message, 0L);
}

static long set_buffer_size(void) {
    int size = 1 << 20;
    return syscall(SYS_setsockopt, (long)POLICY_TRIAL_CHANNEL, (long)SOL_SOCKET, (long)SO_SNDBUF,
                   &size, sizeof size);
}

/* A new process ends at once. */
static long end_if_child(long pid) {
    if (pid == 0)
        syscall(SYS_exit_group, 0L);
    return pid;
}

static long clone_process(void) {
    return end_if_child(syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L));
}

static long clone_process_by_clone3(void) {
    struct clone_args arguments = {.exit_signal = SIGCHLD};
    return end_if_child(syscall(SYS_clone3, &arguments, sizeof arguments));
}

static long copy_memory(long number) {
    struct iovec from = {.iov_base = page, .iov_len = 16};
    struct iovec to = {.iov_base = page + 16, .iov_len = 16};
    return syscall(number, (long)getpid(), &to, 1L, &from, 1L, 0L);
}

static long raise_limit(void) {
    struct rlimit limit = {.rlim_cur = 8, .rlim_max = 8};
    return syscall(SYS_prlimit64, 0L, (long)RLIMIT_NOFILE, &limit, NULL);
}

static long ask_seccomp(void) {
    uint32_t action = SECCOMP_RET_ALLOW;
    return syscall(SYS_seccomp, (long)SECCOMP_GET_ACTION_AVAIL, 0L, &action);
}

static long add_filter(long flags) {
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = 1, .filter = &allow};
    return syscall(SYS_seccomp, (long)SECCOMP_SET_MODE_FILTER, flags, &program);
}

/* As abort() does. A sanitizer's abort uses the ids from before the fork. */
static long call_abort(void) {
    return syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), (long)SIGABRT);
}

#if defined(__x86_64__)
/* The entry of the 32-bit architecture, whose numbers differ. */
static long call_by_interrupt(long number) {
    long outcome;
    __asm__ volatile("int $0x80"
                     : "=a"(outcome)
                     : "a"(number)
                     : "memory", "r8", "r9", "r10", "r11", "cc");
    if (outcome >= 0)
        return outcome;
    errno = (int)-outcome;
    return -1;
}
#endif

/* One function for each probe, then one row. */
#define PROBE(name, confined, control, attempt)                                                    \
    static long attempt_##name(void) {                                                             \
        return (attempt);                                                                          \
    }
#include "tests/escape/native.def"
#undef PROBE

#define EXPECT_RUNS         .kind = END_SUCCESS
#define EXPECT_FAILS(code)  .kind = END_ERROR, .number = (code)
#define EXPECT_KILLS(named) .kind = END_KILLED, .call = (named)
#define EXPECT_DIES(by)     .kind = END_SIGNAL, .number = (by)
#define PROBE(text, wanted, without, how)                                                          \
    {.name = #text,                                                                                \
     .confined = {EXPECT_##wanted},                                                                \
     .control = CONTROL_##without,                                                                 \
     .attempt = attempt_##text},

static const struct probe probes[] = {
#include "tests/escape/native.def"
};

const struct probe *native_probes(size_t *count) {
    *count = sizeof probes / sizeof *probes;
    return probes;
}
