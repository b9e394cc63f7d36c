#include "tests/support/disk_faults.h"
#include "tests/support/skip.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, ARGUMENTS = 3, NONE = -1 };

struct disk_faults {
    struct disk_plan plan;
    pid_t pid;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool begun, refused, ending, stopped, released; /* under the lock, as is the count */
    unsigned count;
};

/* The calls that change files: which argument is the descriptor, which the path, and which the
 * number of bytes. */
static const struct disk_call {
    long number;
    int descriptor, path, size;
} disk_calls[] = {
    {SYS_write, 0, NONE, 2},     {SYS_pwrite64, 0, NONE, 2},     {SYS_ftruncate, 0, NONE, NONE},
    {SYS_fsync, 0, NONE, NONE},  {SYS_fdatasync, 0, NONE, NONE}, {SYS_openat, 0, 1, NONE},
    {SYS_mkdirat, 0, 1, NONE},   {SYS_unlinkat, 0, 1, NONE},     {SYS_linkat, 0, 1, NONE},
    {SYS_renameat2, 0, 1, NONE},
#ifdef SYS_renameat
    {SYS_renameat, 0, 1, NONE},
#endif
#ifdef SYS_mkdir
    {SYS_mkdir, NONE, 0, NONE},
#endif
};

/* --- registers --- */

static bool transfer(int request, pid_t pid, struct user_regs_struct *registers) {
    struct iovec part = {registers, sizeof *registers};
    return ptrace(request, pid, NT_PRSTATUS, &part) == 0;
}

/* Where the arguments of a call are. */
static const size_t places[ARGUMENTS] = {
#if defined(__x86_64__)
    offsetof(struct user_regs_struct, rdi),
    offsetof(struct user_regs_struct, rsi),
    offsetof(struct user_regs_struct, rdx),
#elif defined(__aarch64__)
    offsetof(struct user_regs_struct, regs[0]),
    offsetof(struct user_regs_struct, regs[1]),
    offsetof(struct user_regs_struct, regs[2]),
#endif
};

static void set_argument(struct user_regs_struct *registers, int index, uint64_t value) {
    memcpy((char *)registers + places[index], &value, sizeof value);
}

static void set_result(struct user_regs_struct *registers, long value) {
#if defined(__x86_64__)
    registers->rax = (uint64_t)value;
#elif defined(__aarch64__)
    registers->regs[0] = (uint64_t)value;
#endif
}

/* --- which calls --- */

static bool is_below(const char *path, const char *directory) {
    const size_t length = strlen(directory);
    return strncmp(path, directory, length) == 0 && (path[length] == '/' || path[length] == 0);
}

static bool descriptor_is_below(const struct disk_faults *faults, int fd) {
    char link[64], target[PATH_BYTES] = "";
    if (fd == AT_FDCWD)
        return false;
    snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)faults->pid, fd);
    return readlink(link, target, sizeof target - 1) > 0 &&
           is_below(target, faults->plan.directory);
}

static bool path_is_below(const struct disk_faults *faults, uint64_t address) {
    char path[PATH_BYTES] = "";
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    const struct iovec own = {path, 256}, other = {(void *)address, 256};
    process_vm_readv(faults->pid, &own, 1, &other, 1, 0);
    return is_below(path, faults->plan.directory);
}

static const struct disk_call *find_call(const struct disk_faults *faults,
                                         const struct __ptrace_syscall_info *info) {
    for (size_t i = 0; i < sizeof disk_calls / sizeof *disk_calls; i++) {
        const struct disk_call *call = &disk_calls[i];
        const uint64_t *arguments = info->entry.args;
        if (info->entry.nr != (uint64_t)call->number)
            continue;
        if (call->number == SYS_openat && !(arguments[2] & O_CREAT))
            return NULL;
        const bool below =
            (call->descriptor != NONE && descriptor_is_below(faults, (int)arguments[0])) ||
            (call->path != NONE && path_is_below(faults, arguments[call->path]));
        return below ? call : NULL;
    }
    return NULL;
}

/* --- what becomes of one --- */

static bool fails(const struct disk_plan *plan, unsigned number) {
    return (plan->fault == DISK_FAILS_ONCE && number == plan->at) ||
           (plan->fault == DISK_FAILS_FROM && number >= plan->at) ||
           (plan->fault == DISK_TEARS && number > plan->at);
}

/* Waits for the release. */
static void hold(struct disk_faults *faults) {
    pthread_mutex_lock(&faults->lock);
    faults->stopped = true;
    while (!faults->released && !faults->ending)
        pthread_cond_wait(&faults->changed, &faults->lock);
    faults->stopped = false;
    pthread_mutex_unlock(&faults->lock);
}

/* Before a call. True if its result is to be replaced at its end, with *REGISTERS as they are now.
 */
static bool enter(struct disk_faults *faults, const struct disk_call *call,
                  const struct __ptrace_syscall_info *info, struct user_regs_struct *registers) {
    const struct disk_plan *plan = &faults->plan;
    pthread_mutex_lock(&faults->lock);
    const bool ending = faults->ending;
    const unsigned number = ++faults->count;
    pthread_mutex_unlock(&faults->lock);
    struct user_regs_struct changed;
    if (ending || !transfer(PTRACE_GETREGSET, faults->pid, registers))
        return false;
    changed = *registers;
    if (fails(plan, number)) { /* the call itself fails, at what it is given */
        if (call->path != NONE)
            set_argument(&changed, call->path, 0);
        else
            set_argument(&changed, call->descriptor, ~UINT64_C(0));
        return transfer(PTRACE_SETREGSET, faults->pid, &changed);
    }
    if (number != plan->at)
        return false;
    if (plan->fault == DISK_TEARS && call->size != NONE) {
        set_argument(&changed, call->size, info->entry.args[call->size] / 2);
        transfer(PTRACE_SETREGSET, faults->pid, &changed);
    } else if (plan->fault == DISK_ENDS_PROCESS) {
        kill(faults->pid, SIGKILL);
    } else if (plan->fault == DISK_STOPS) {
        hold(faults);
    }
    return false;
}

/* After a call that was not made. The arguments are as they were, since code may rely on that. */
static void leave(const struct disk_faults *faults, const struct user_regs_struct *registers) {
    struct user_regs_struct now;
    if (!transfer(PTRACE_GETREGSET, faults->pid, &now))
        return;
    for (size_t i = 0; i < ARGUMENTS; i++)
        memcpy((char *)&now + places[i], (const char *)registers + places[i], sizeof(uint64_t));
    set_result(&now, -(long)faults->plan.error);
    transfer(PTRACE_SETREGSET, faults->pid, &now);
}

static bool is_ending(struct disk_faults *faults) {
    pthread_mutex_lock(&faults->lock);
    const bool ending = faults->ending;
    pthread_mutex_unlock(&faults->lock);
    return ending;
}

/* The stops of the process, until it ends or is let go. */
static void follow(struct disk_faults *faults) {
    struct user_regs_struct registers;
    bool replaces = false;
    int status;
    while (waitpid(faults->pid, &status, __WALL) == faults->pid && WIFSTOPPED(status)) {
        struct __ptrace_syscall_info info;
        const int signal = WSTOPSIG(status);
        const bool of_call = signal == (SIGTRAP | 0x80), of_trace = status >> 16 != 0;
        if (of_call && ptrace(PTRACE_GET_SYSCALL_INFO, faults->pid, sizeof info, &info) > 0) {
            if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
                const struct disk_call *call = find_call(faults, &info);
                replaces = call && enter(faults, call, &info, &registers);
            } else if (info.op == PTRACE_SYSCALL_INFO_EXIT && replaces) {
                leave(faults, &registers);
                replaces = false;
            }
        }
        if (!replaces && is_ending(faults)) {
            ptrace(PTRACE_DETACH, faults->pid, 0, 0);
            return;
        }
        ptrace(PTRACE_SYSCALL, faults->pid, 0, of_call || of_trace ? 0 : signal);
    }
}

static void *run(void *context) {
    struct disk_faults *faults = context;
    const bool traced = ptrace(PTRACE_SEIZE, faults->pid, 0, PTRACE_O_TRACESYSGOOD) == 0 &&
                        ptrace(PTRACE_INTERRUPT, faults->pid, 0, 0) == 0;
    pthread_mutex_lock(&faults->lock);
    faults->begun = true;
    faults->refused = !traced;
    pthread_cond_broadcast(&faults->changed);
    pthread_mutex_unlock(&faults->lock);
    if (traced)
        follow(faults);
    return NULL;
}

/* --- the plan --- */

void disk_faults_skip(void) {
    skip_unless_root();
    skip_without_inspection();
}

struct disk_faults *disk_faults_begin(pid_t pid, const struct disk_plan *plan) {
    struct disk_faults *faults = calloc(1, sizeof *faults);
    cr_assert_not_null(faults);
    faults->plan = *plan;
    faults->plan.directory = strdup(plan->directory);
    faults->pid = pid;
    pthread_mutex_init(&faults->lock, NULL);
    pthread_cond_init(&faults->changed, NULL);
    cr_assert_eq(pthread_create(&faults->thread, NULL, run, faults), 0);
    pthread_mutex_lock(&faults->lock);
    while (!faults->begun)
        pthread_cond_wait(&faults->changed, &faults->lock);
    pthread_mutex_unlock(&faults->lock);
    cr_assert_not(faults->refused, "process %d cannot be traced", (int)pid);
    return faults;
}

unsigned disk_faults_count(struct disk_faults *faults) {
    pthread_mutex_lock(&faults->lock);
    const unsigned count = faults->count;
    pthread_mutex_unlock(&faults->lock);
    return count;
}

bool disk_faults_is_stopped(struct disk_faults *faults) {
    pthread_mutex_lock(&faults->lock);
    const bool stopped = faults->stopped;
    pthread_mutex_unlock(&faults->lock);
    return stopped;
}

void disk_faults_release(struct disk_faults *faults) {
    pthread_mutex_lock(&faults->lock);
    faults->released = true;
    pthread_cond_broadcast(&faults->changed);
    pthread_mutex_unlock(&faults->lock);
}

unsigned disk_faults_end(struct disk_faults *faults) {
    pthread_mutex_lock(&faults->lock);
    faults->ending = true;
    pthread_cond_broadcast(&faults->changed);
    pthread_mutex_unlock(&faults->lock);
    kill(faults->pid, SIGURG); /* a stop, in which it can be let go */
    pthread_join(faults->thread, NULL);
    const unsigned count = faults->count;
    free((char *)faults->plan.directory);
    pthread_mutex_destroy(&faults->lock);
    pthread_cond_destroy(&faults->changed);
    free(faults);
    return count;
}
