/* The confinement of a process that compiles one unit: its filter, run by the tests' BPF evaluator,
 * gives the verdict of the table for every call; the table allows nothing else than is listed here;
 * and a confined process can do its work, and nothing else. */
#include "policy/policy_internal.h"
#include "policy/syscalls.h"
#include "tests/support/bpf_evaluator.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NUMBERS = 1024, ARGUMENTS = 6, X32 = 0x40000000 };

static const uint64_t words[] = {0,       1,          2,          3,          6,
                                 9,       0x22,       0x4022,     0x1000,     21,
                                 1 << 17, UINT32_MAX, UINT64_MAX, 1ULL << 32, 1ULL << 63};

static const char *const allowed[] = {"read",   "write", "mmap",  "mremap",
                                      "munmap", "brk",   "prctl", "exit_group"};

static struct policy_program *program;

static void build(void) {
    struct error error;
    program = policy_program_build_compiler(&error);
    cr_assert_not_null(program, "%s", error.text);
}

static void drop(void) {
    policy_program_free(program);
}

/* As the test reads the table: the first row that holds decides. */
static uint32_t wanted(const struct seccomp_data *call) {
    size_t count;
    const struct policy_row *rows = policy_compiler_rows(&count);
    for (size_t i = 0; i < count; i++)
        if (rows[i].number == call->nr && policy_row_matches(&rows[i], call, 0))
            return rows[i].verdict == POLICY_ALLOW ? SECCOMP_RET_ALLOW
                                                   : SECCOMP_RET_ERRNO | (uint32_t)rows[i].error;
    return SECCOMP_RET_KILL_PROCESS;
}

static void check(const struct seccomp_data *call) {
    uint32_t action = 0;
    cr_assert(bpf_evaluate(&program->calls, call, &action), "an ill-made program");
    cr_assert_eq(action, wanted(call), "call %d with %llx %llx %llx %llx: %x", call->nr,
                 call->args[0], call->args[1], call->args[2], call->args[3], action);
}

Test(compiler, filter_gives_the_verdict_of_the_table_for_every_call, .init = build, .fini = drop) {
    for (int number = 0; number < NUMBERS; number++)
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            struct seccomp_data call = {.nr = number, .arch = seccomp_arch_native()};
            uint32_t action = 0;
            for (size_t j = 0; j < ARGUMENTS; j++)
                call.args[j] = words[i];
            check(&call);
            call.nr |= X32;
            bpf_evaluate(&program->calls, &call, &action);
            cr_assert_eq(action, SECCOMP_RET_KILL_PROCESS);
            call.nr = number;
            call.arch = AUDIT_ARCH_I386;
            bpf_evaluate(&program->calls, &call, &action);
            cr_assert_eq(action, SECCOMP_RET_KILL_PROCESS);
        }
}

Test(compiler, filter_checks_every_bit_of_arguments, .init = build, .fini = drop) {
    size_t count;
    const struct policy_row *rows = policy_compiler_rows(&count);
    for (size_t i = 0; i < count; i++) {
        struct seccomp_data call = {.nr = rows[i].number, .arch = seccomp_arch_native()};
        for (size_t j = 0; j < POLICY_TERMS_MAX && rows[i].terms[j].kind != TERM_NONE; j++)
            call.args[rows[i].terms[j].argument] = rows[i].terms[j].value;
        if (call.nr >= 0)
            check(&call);
        for (size_t j = 0; call.nr >= 0 && j < ARGUMENTS; j++)
            for (unsigned bit = 0; bit < 64; bit++) {
                call.args[j] ^= 1ULL << bit;
                check(&call);
                call.args[j] ^= 1ULL << bit;
            }
    }
}

Test(compiler, table_allows_no_other_calls) {
    size_t count;
    const struct policy_row *rows = policy_compiler_rows(&count);
    for (size_t i = 0; i < count; i++) {
        bool found = rows[i].verdict == POLICY_REFUSE;
        for (size_t j = 0; !found && j < sizeof allowed / sizeof *allowed; j++)
            found = strcmp(rows[i].name, allowed[j]) == 0;
        cr_expect(found, "%s", rows[i].name);
        cr_expect(!rows[i].setup && !rows[i].seen && !rows[i].grants, "%s", rows[i].name);
    }
}

/* --- a confined process --- */

static struct policy_trial_end try(int (*body)(void *context)) {
    static const struct policy policy = {.layers = POLICY_LAYERS_ALL, .compiles = true};
    const struct policy_trial trial = {.policy = &policy, .body = body};
    return policy_try(&trial);
}

static int work(void *context) {
    (void)context;
    char *room = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED || open("/etc/passwd", O_RDONLY) >= 0 || errno != EACCES)
        return 1;
    room[0] = 1;
    return write(POLICY_TRIAL_CHANNEL, room, 1) == 1 && munmap(room, 1 << 20) == 0 ? 0 : 2;
}

Test(compiler, can_work_when_it_is_confined) {
    const struct policy_trial_end end = try(work);
    cr_assert(end.ran, "%s", end.error.text);
    cr_expect(WIFEXITED(end.status) && WEXITSTATUS(end.status) == 0, "%x", end.status);
}

static int map_code(void *context) {
    (void)context;
    return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
           MAP_FAILED;
}

static int make_code(void *context) {
    (void)context;
    static char page[8192] = "";
    mprotect((void *)(((uintptr_t)page + 4095) & ~(uintptr_t)4095), 4096, PROT_READ | PROT_EXEC);
    return 0;
}

static int start(void *context) {
    (void)context;
    fork();
    return 0;
}

static int make_file(void *context) {
    (void)context;
    syscall(SYS_memfd_create, "x", 0);
    return 0;
}

static int pass(void *context) {
    (void)context;
    struct msghdr message = {0};
    sendmsg(POLICY_TRIAL_CHANNEL, &message, 0);
    return 0;
}

static int take(void *context) {
    (void)context;
    struct msghdr message = {0};
    return recvmsg(POLICY_TRIAL_CHANNEL, &message, MSG_DONTWAIT) < 0;
}

static int signal_itself(void *context) {
    (void)context;
    kill(getppid(), 0);
    return 0;
}

Test(compiler, is_killed_for_anything_else) {
    static int (*const bodies[])(void *) = {map_code, make_code, start,        make_file,
                                            pass,     take,      signal_itself};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        const struct policy_trial_end end = try(bodies[i]);
        cr_assert(end.ran, "%s", end.error.text);
        cr_expect(WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGSYS, "%zu: %x", i,
                  end.status);
    }
}
