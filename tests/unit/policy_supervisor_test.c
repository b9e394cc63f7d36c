/* The confinement of the supervisor and of its imager: the filter, run by the tests' BPF evaluator,
 * gives the verdict of the table for every call; and a process that has entered it can still do its
 * work. */
#include "policy/policy_internal.h"
#include "policy/syscalls.h"
#include "tests/support/available.h"
#include "tests/support/bpf_evaluator.h"
#include "tests/support/process.h"
#include "tests/support/skip.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SELF_PID = 4242, NUMBERS = 1024, ARGUMENTS = 6, X32 = 0x40000000 };

static const uint64_t words[] = {0,          1,          2,          3,         6,       9,
                                 0x22,       0x80,       0x109,      0x1000,    0x80000, SELF_PID,
                                 UINT32_MAX, UINT64_MAX, 1ULL << 32, 1ULL << 63};

/* The calls that only this list and the table have in common; a slip of a line in the table does
 * not add one unnoticed. */
static const char *const allowed[] = {"memfd_create",
                                      "mmap",
                                      "mprotect",
                                      "mremap",
                                      "madvise",
                                      "munmap",
                                      "brk",
                                      "read",
                                      "write",
                                      "readv",
                                      "writev",
                                      "pread64",
                                      "preadv",
                                      "lseek",
                                      "recvmsg",
                                      "recvfrom",
                                      "sendmsg",
                                      "sendto",
                                      "close",
                                      "shutdown",
                                      "fstat",
                                      "newfstatat",
                                      "pipe2",
                                      "socketpair",
                                      "setsockopt",
                                      "fcntl",
                                      "ioctl",
                                      "epoll_ctl",
                                      "epoll_wait",
                                      "epoll_pwait",
                                      "poll",
                                      "ppoll",
                                      "clock_nanosleep",
                                      "nanosleep",
                                      "restart_syscall",
                                      "futex",
                                      "openat",
                                      "openat2",
                                      "kill",
                                      "getdents64",
                                      "inotify_add_watch",
                                      "inotify_rm_watch",
                                      "wait4",
                                      "waitid",
                                      "getsid",
                                      "getpid",
                                      "gettid",
                                      "getppid",
                                      "getuid",
                                      "geteuid",
                                      "getgid",
                                      "getegid",
                                      "prctl",
                                      "capset",
                                      "capget",
                                      "getrusage",
                                      "prlimit64",
                                      "clock_gettime",
                                      "clock_getres",
                                      "gettimeofday",
                                      "time",
                                      "getrandom",
                                      "sysinfo",
                                      "sched_yield",
                                      "rt_sigprocmask",
                                      "rt_sigaction",
                                      "rt_sigreturn",
                                      "rt_sigtimedwait",
                                      "tgkill",
                                      "exit",
                                      "exit_group"};

static const char *const allowed_imager[] = {
    "mmap",           "mprotect",     "mremap",          "madvise",
    "munmap",         "brk",          "openat",          "process_vm_readv",
    "read",           "pread64",      "pwrite64",        "fdatasync",
    "close",          "fstat",        "newfstatat",      "lseek",
    "recvmsg",        "sendto",       "prctl",           "futex",
    "rt_sigprocmask", "rt_sigreturn", "restart_syscall", "getpid",
    "gettid",         "tgkill",       "exit_group"};

static struct sock_fprog program;
static uint32_t grants;
static const struct policy_row *(*table)(size_t *count) = policy_supervisor_rows;

/* As the test reads the table: the first row that holds decides. */
static uint32_t wanted(const struct seccomp_data *call) {
    size_t count;
    const struct policy_row *rows = table(&count);
    for (size_t i = 0; i < count; i++)
        if (rows[i].number == call->nr && (rows[i].grants & ~grants) == 0 &&
            policy_row_matches(&rows[i], call, SELF_PID))
            return rows[i].verdict == POLICY_ALLOW    ? SECCOMP_RET_ALLOW
                   : rows[i].verdict == POLICY_REFUSE ? SECCOMP_RET_ERRNO | (uint32_t)rows[i].error
                                                      : SECCOMP_RET_KILL_PROCESS;
    return SECCOMP_RET_KILL_PROCESS;
}

static uint32_t verdict_of(const struct seccomp_data *call) {
    uint32_t action = 0;
    cr_assert(bpf_evaluate(&program, call, &action), "an ill-made program at call %d", call->nr);
    return action;
}

static void check(const struct seccomp_data *call) {
    uint32_t got = verdict_of(call);
    cr_assert_eq(got, wanted(call), "call %d with %llx %llx %llx %llx: %x", call->nr, call->args[0],
                 call->args[1], call->args[2], call->args[3], got);
}

static struct seccomp_data fitting_call(const struct policy_row *row) {
    struct seccomp_data call = {.nr = row->number, .arch = seccomp_arch_native()};
    for (size_t i = 0; i < POLICY_TERMS_MAX && row->terms[i].kind != TERM_NONE; i++)
        call.args[row->terms[i].argument] =
            row->terms[i].kind == TERM_SELF ? SELF_PID : row->terms[i].value;
    return call;
}

static void check_numbers(void) {
    for (int number = 0; number < NUMBERS; number++)
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            struct seccomp_data call = {.nr = number, .arch = seccomp_arch_native()};
            for (size_t j = 0; j < ARGUMENTS; j++)
                call.args[j] = words[i];
            check(&call);
            call.nr |= X32;
            cr_assert_eq(verdict_of(&call), SECCOMP_RET_KILL_PROCESS);
            call.nr = number;
            call.arch = AUDIT_ARCH_I386;
            cr_assert_eq(verdict_of(&call), SECCOMP_RET_KILL_PROCESS);
        }
}

/* Each row's own call, and that with any one bit of any argument changed. */
static void check_bits(void) {
    size_t count;
    const struct policy_row *rows = table(&count);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].number < 0)
            continue;
        struct seccomp_data call = fitting_call(&rows[i]);
        check(&call);
        for (size_t j = 0; j < ARGUMENTS; j++)
            for (unsigned bit = 0; bit < 64; bit++) {
                call.args[j] ^= 1ULL << bit;
                check(&call);
                call.args[j] ^= 1ULL << bit;
            }
    }
}

Test(supervisor, filter_gives_the_verdict_of_the_table_for_every_call) {
    for (grants = 0; grants <= (POLICY_GRANT_FILES | POLICY_GRANT_SIGNALS | POLICY_GRANT_NATIVE);
         grants++) {
        program = policy_supervisor_program(grants, SELF_PID);
        cr_assert_not_null(program.filter);
        check_numbers();
        check_bits();
        free(program.filter);
    }
}

static void check_list(const char *const *list, size_t length) {
    size_t count;
    const struct policy_row *rows = table(&count);
    for (size_t i = 0; i < count; i++) {
        bool found = rows[i].verdict != POLICY_ALLOW;
        for (size_t j = 0; !found && j < length; j++)
            found = strcmp(rows[i].name, list[j]) == 0;
        cr_expect(found, "%s", rows[i].name);
    }
}

Test(supervisor, table_allows_no_other_calls) {
    check_list(allowed, sizeof allowed / sizeof *allowed);
}

Test(imager, filter_gives_the_verdict_of_its_table_for_every_call) {
    table = policy_imager_rows;
    program = policy_imager_program(SELF_PID);
    cr_assert_not_null(program.filter);
    check_numbers();
    check_bits();
    free(program.filter);
}

Test(imager, table_allows_no_other_calls) {
    table = policy_imager_rows;
    check_list(allowed_imager, sizeof allowed_imager / sizeof *allowed_imager);
}

/* Runs STEP in a process that is confined as the imager is. Returns its status. */
static int try_as_imager(long (*step)(void)) {
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(policy_confine_imager(NULL) ? step() < 0 : 9);
    waitpid(pid, &status, 0);
    return status;
}

static long open_to_read(void) {
    return open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
}

static long open_to_write(void) {
    return open("/dev/null", O_WRONLY | O_CLOEXEC);
}

static long write_memory(void) {
    return syscall(SYS_process_vm_writev, getpid(), NULL, 0, NULL, 0, 0);
}

Test(imager, reads_files_and_writes_neither_files_nor_processes) {
    if (!(policy_supervisor_layers() & POLICY_LAYER_BIT(POLICY_LAYER_SECCOMP)))
        cr_skip_test("a sanitized process has no filter");
    int status = try_as_imager(open_to_read);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%x", status);
    status = try_as_imager(open_to_write);
    cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "%x", status);
    status = try_as_imager(write_memory);
    cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "%x", status);
}

/* What a supervisor does, after it has confined itself. Returns the number of the step that fails.
 */
static int work(void *context) {
    const char *directory = context;
    char path[64];
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) || write(ends[1], "x", 1) != 1 || read(ends[0], path, 1) != 1)
        return 1;
    if (openat(AT_FDCWD, directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) < 0)
        return 2;
    snprintf(path, sizeof path, "/proc/%d/statm", getpid());
    if (open(path, O_RDONLY | O_CLOEXEC) < 0)
        return 3;
    char *room = malloc(1 << 24);
    const bool has_memory = room != NULL;
    free(room);
    if (!has_memory || wait4(-1, NULL, WNOHANG, NULL) != -1)
        return 4;
    return process_status(getpid(), "NoNewPrivs") == 1 ? 0 : 5;
}

Test(supervisor, can_still_work_when_it_is_confined) {
    static const char *const readable[] = {"/usr/share"};
    const struct policy_supervisor supervisor = {
        .layers = policy_supervisor_layers(), .readable = readable, .readable_count = 1};
    const struct policy_trial trial = {
        .supervisor = &supervisor, .body = work, .context = (void *)(uintptr_t) "/usr/share"};
    struct policy_trial_end end = policy_try(&trial);
    cr_assert(end.ran, "%s", end.error.text);
    cr_expect(WIFEXITED(end.status) && WEXITSTATUS(end.status) == 0, "%x", end.status);
    /* The file system of the child is otherwise closed. */
    const struct policy_trial other = {
        .supervisor = &supervisor, .body = work, .context = (void *)(uintptr_t) "/etc"};
    end = policy_try(&other);
    if (end.report.layers[POLICY_LAYER_LANDLOCK].state == POLICY_ACTIVE)
        cr_expect(WIFEXITED(end.status) && WEXITSTATUS(end.status) == 2, "%x", end.status);
}

static int abort_it(void *context) {
    (void)context;
    abort();
}

Test(supervisor, can_abort) {
    const struct policy_supervisor supervisor = {.layers = policy_supervisor_layers()};
    const struct policy_trial trial = {.supervisor = &supervisor, .body = abort_it};
    struct policy_trial_end end = policy_try(&trial);
    cr_assert(end.ran, "%s", end.error.text);
    cr_expect(WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGABRT, "%x", end.status);
}

Test(supervisor, is_refused_when_a_required_layer_is_missing) {
    if (available_layers() & POLICY_LAYER_BIT(POLICY_LAYER_LANDLOCK))
        cr_skip_test("Landlock is available here");
    const struct policy_supervisor supervisor = {
        .layers = policy_supervisor_layers(), .required = POLICY_LAYER_BIT(POLICY_LAYER_LANDLOCK)};
    const struct policy_trial trial = {.supervisor = &supervisor, .body = work};
    struct policy_trial_end end = policy_try(&trial);
    cr_expect_not(end.ran);
    cr_expect(strstr(end.error.text, "landlock"), "%s", end.error.text);
}
