/* The filter programs, run by the tests' own BPF evaluator: each verdict is the table's, every bit
 * of an argument counts, and no other architecture is accepted. */
#include "policy/policy_internal.h"
#include "policy/syscalls.h"
#include "tests/support/bpf_evaluator.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/audit.h>
#include <seccomp.h>
#include <stdint.h>

enum {
    SELF_PID = 4242,
    NUMBERS = 1024, /* of calls: above the highest of any kernel */
    ARGUMENTS = 6,
    RANDOM_CALLS = 200000
};

/* The native one is left out. */
static const uint32_t architectures[] = {AUDIT_ARCH_I386,    AUDIT_ARCH_ARM,     AUDIT_ARCH_MIPS64,
                                         AUDIT_ARCH_PPC64LE, AUDIT_ARCH_RISCV64, AUDIT_ARCH_S390X,
                                         AUDIT_ARCH_X86_64,  AUDIT_ARCH_AARCH64, 0,
                                         UINT32_MAX};

/* Argument values to try at every position, besides all single bits. */
static const uint64_t words[] = {
    0,          1,          2,           3,           4,
    5,          6,          8,           9,           0x22,
    0x32,       0x80,       0x81,        0x89,        0x109,
    0x189,      0x5401,     SELF_PID,    UINT32_MAX,  UINT64_MAX,
    1ULL << 32, 1ULL << 63, 0x100000022, 0x100005412, POLICY_SELF_MARK,
    7,          11,         0xfffffff2,  -6ULL,       -14ULL /* clocks of processes */};

static bool has_terms(const struct policy_row *row) {
    return row->terms[0].kind != TERM_NONE;
}

static struct policy_program *program;
static struct sock_fprog calls;
static uint32_t grants;

/* Every filter. The degraded one has no grants. */
static const struct {
    bool degraded;
    uint32_t grants;
} modes[] = {{false, 0},
             {false, POLICY_GRANT_READ},
             {false, POLICY_GRANT_READ | POLICY_GRANT_WRITE},
             {false, POLICY_GRANT_NATIVE},
             {false, POLICY_GRANT_READ | POLICY_GRANT_WRITE | POLICY_GRANT_NATIVE},
             {true, 0}};

static void in_every_mode(void (*check)(void)) {
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        struct error error = {0};
        grants = modes[i].grants;
        program = policy_program_build(modes[i].degraded, grants, &error);
        cr_assert_not_null(program, "%s", error.text);
        calls = policy_program_calls_for(program, SELF_PID);
        cr_assert_not_null(calls.filter);
        check();
        free(calls.filter);
        policy_program_free(program);
    }
}

#define FILTER_TEST(name)                                                                          \
    static void name(void);                                                                        \
    Test(filter, name) {                                                                           \
        in_every_mode(name);                                                                       \
    }                                                                                              \
    static void name(void)

static struct seccomp_data native_call(int number) {
    return (struct seccomp_data){.nr = number, .arch = seccomp_arch_native()};
}

static uint32_t verdict_of(const struct sock_fprog *filter, const struct seccomp_data *call) {
    uint32_t action = 0;
    cr_assert(bpf_evaluate(filter, call, &action), "an ill-made program at call %d", call->nr);
    return action;
}

/* The row of the table that applies to CALL, or NULL, as the test reads the table. */
static const struct policy_row *row_for(const struct seccomp_data *call) {
    size_t count;
    const struct policy_row *rows = policy_rows(&count);
    for (size_t i = 0; i < count; i++)
        if (rows[i].number == call->nr && (rows[i].grants & ~grants) == 0 &&
            policy_row_matches(&rows[i], call, SELF_PID))
            return &rows[i];
    return NULL;
}

/* The expected action for CALL before the seal. */
static uint32_t wanted(const struct seccomp_data *call) {
    const struct policy_row *row = row_for(call);
    bool asked = row && policy_row_is_notified(row) && !program->degraded;
    if (row && !asked && (row->verdict == POLICY_ALLOW || row->setup))
        return SECCOMP_RET_ALLOW;
    if (!program->degraded)
        return SECCOMP_RET_USER_NOTIF;
    if (row && row->verdict == POLICY_REFUSE)
        return SECCOMP_RET_ERRNO | (uint32_t)row->error;
    return SECCOMP_RET_KILL_PROCESS;
}

static void check(const struct seccomp_data *call) {
    uint32_t got = verdict_of(&calls, call);
    cr_assert_eq(got, wanted(call), "%s (%d) with %llx %llx %llx %llx: %x instead of %x",
                 policy_syscall_name(call->nr), call->nr, call->args[0], call->args[1],
                 call->args[2], call->args[3], got, wanted(call));
}

/* Arguments that match ROW, without the optional bits. */
static struct seccomp_data fitting_call(const struct policy_row *row) {
    struct seccomp_data call = native_call(row->number);
    for (size_t i = 0; i < POLICY_TERMS_MAX && row->terms[i].kind != TERM_NONE; i++)
        call.args[row->terms[i].argument] =
            row->terms[i].kind == TERM_SELF ? SELF_PID : row->terms[i].value;
    return call;
}

FILTER_TEST(matches_the_table_for_every_number) {
    for (int number = 0; number < NUMBERS; number++) {
        struct seccomp_data call = native_call(number);
        check(&call);
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            for (size_t j = 0; j < ARGUMENTS; j++)
                call.args[j] = words[i];
            check(&call);
        }
    }
}

FILTER_TEST(checks_every_bit_of_arguments) {
    size_t count, rules = 0;
    const struct policy_row *rows = policy_rows(&count);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].number < 0 || !has_terms(&rows[i]))
            continue;
        rules++;
        const struct seccomp_data fitting = fitting_call(&rows[i]);
        cr_assert_eq(verdict_of(&calls, &fitting), wanted(&fitting), "%s", rows[i].name);
        for (unsigned j = 0; j < ARGUMENTS; j++) {
            for (unsigned bit = 0; bit < 64; bit++) {
                struct seccomp_data call = fitting;
                call.args[j] ^= 1ULL << bit;
                check(&call);
            }
            for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
                struct seccomp_data call = fitting;
                call.args[j] = words[k];
                check(&call);
            }
        }
    }
    cr_assert_geq(rules, 12);
}

/* The kernel ignores the high half of an int argument, so a rule requires it to be zero. */
FILTER_TEST(refuses_high_halves_of_arguments) {
    size_t count;
    const struct policy_row *rows = policy_rows(&count);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; rows[i].number >= 0 && j < POLICY_TERMS_MAX; j++) {
            if (rows[i].terms[j].kind == TERM_NONE)
                break;
            for (unsigned bit = 32; bit < 64; bit++) {
                struct seccomp_data call = fitting_call(&rows[i]);
                call.args[rows[i].terms[j].argument] |= 1ULL << bit;
                cr_assert_neq(verdict_of(&calls, &call), SECCOMP_RET_ALLOW, "%s, bit %u",
                              rows[i].name, bit);
            }
        }
    }
}

/* Written without the table: the clocks are those of the host and its own processor clock. */
FILTER_TEST(reads_no_clock_of_another_process) {
    static const char *const names[] = {"clock_gettime", "clock_nanosleep", "clock_getres"};
    static const uint64_t readable = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 5; /* ids of clock_gettime */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct seccomp_data call =
            native_call(seccomp_syscall_resolve_name_arch(seccomp_arch_native(), names[i]));
        for (int64_t id = -40000; id < 64; id++) {
            uint64_t lawful = i == 0 ? readable : i == 1 ? 1 : 0;
            bool may = id >= 0 && lawful >> id & 1;
            const uint64_t forms[] = {(uint64_t)id, (uint32_t)id, (uint64_t)id ^ 1ULL << 32};
            for (size_t j = 0; j < sizeof forms / sizeof *forms; j++) {
                call.args[0] = forms[j];
                cr_assert_eq(verdict_of(&calls, &call) == SECCOMP_RET_ALLOW, may && j < 2,
                             "%s %llx", names[i], call.args[0]);
            }
        }
    }
}

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

FILTER_TEST(agrees_with_the_table_on_random_calls) {
    uint64_t state = 0x9e3779b97f4a7c15;
    size_t count;
    const struct policy_row *rows = policy_rows(&count);
    for (size_t i = 0; i < RANDOM_CALLS; i++) {
        const struct policy_row *row = &rows[next_random(&state) % count];
        if (row->number < 0)
            continue;
        struct seccomp_data call = fitting_call(row);
        for (size_t changes = next_random(&state) % 4; changes > 0; changes--)
            call.args[next_random(&state) % ARGUMENTS] =
                next_random(&state) % 2
                    ? words[next_random(&state) % (sizeof words / sizeof *words)]
                    : next_random(&state) >> (next_random(&state) % 64);
        check(&call);
    }
}

static void check_foreign_architectures(const struct sock_fprog *filter) {
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++)
        for (int number = -1; number < NUMBERS; number++) {
            struct seccomp_data call = {.nr = number, .arch = architectures[i]};
            if (call.arch != seccomp_arch_native())
                cr_assert_eq(verdict_of(filter, &call), SECCOMP_RET_KILL_PROCESS, "%x: %d",
                             architectures[i], number);
        }
}

FILTER_TEST(kills_calls_of_other_architectures) {
    check_foreign_architectures(&calls);
}

FILTER_TEST(refuses_unknown_numbers) {
    static const uint32_t strange[] = {1024,       4096,       65535,      0x3fffffff, 0x7fffffff,
                                       0x80000000, 0x80000027, 0xc0000000, 0xfffffffe, UINT32_MAX};
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        struct seccomp_data call = native_call((int)strange[i]);
        uint32_t got = verdict_of(&calls, &call);
        cr_assert(got == SECCOMP_RET_KILL_PROCESS ||
                      (!program->degraded && got == SECCOMP_RET_USER_NOTIF),
                  "%x: %x", strange[i], got);
    }
    for (uint32_t number = 0; seccomp_arch_native() == SCMP_ARCH_X86_64 && number < NUMBERS;
         number++) {
        struct seccomp_data call = native_call((int)(number | 0x40000000));
        cr_assert_eq(verdict_of(&calls, &call), SECCOMP_RET_KILL_PROCESS, "x32 call %u", number);
    }
}

/* Both filters, as installed when the first untrusted byte arrives. */
static void check_sealed(const struct seccomp_data *call) {
    uint32_t got = bpf_stricter(verdict_of(&calls, call), verdict_of(&program->seal, call));
    const struct policy_row *row = row_for(call);
    if (row && row->setup)
        cr_assert_eq(got, SECCOMP_RET_ERRNO | EPERM, "%s", row->name);
    else
        cr_assert_eq(got, wanted(call), "%s (%d)", policy_syscall_name(call->nr), call->nr);
}

FILTER_TEST(is_narrowed_by_the_seal_only) {
    check_foreign_architectures(&program->seal);
    for (int number = 0; number < NUMBERS; number++) {
        struct seccomp_data call = native_call(number);
        check_sealed(&call);
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            for (size_t j = 0; j < ARGUMENTS; j++)
                call.args[j] = words[i];
            check_sealed(&call);
        }
    }
    size_t count;
    const struct policy_row *rows = policy_rows(&count);
    for (size_t i = 0; i < count; i++) {
        struct seccomp_data call = fitting_call(&rows[i]);
        if (rows[i].number >= 0)
            check_sealed(&call);
    }
}

/* The supervisor judges what the filter does not allow and must agree. It accepts no unknown
 * process as the caller itself. */
FILTER_TEST(agrees_with_the_judge) {
    uint64_t state = 0x2545f4914f6cdd1d;
    for (size_t i = 0; i < RANDOM_CALLS; i++) {
        struct seccomp_data call = native_call((int)(next_random(&state) % NUMBERS));
        for (size_t j = 0; j < ARGUMENTS; j++)
            call.args[j] = words[next_random(&state) % (sizeof words / sizeof *words)];
        struct policy_ruling answer = policy_judge(grants, &call, 0);
        uint32_t action =
            bpf_stricter(verdict_of(&calls, &call), verdict_of(&program->seal, &call));
        switch (action & SECCOMP_RET_ACTION_FULL) {
        case SECCOMP_RET_ALLOW:
            cr_assert(answer.verdict == POLICY_ALLOW || call.args[0] == SELF_PID, "%s",
                      answer.name);
            break;
        case SECCOMP_RET_ERRNO:
            cr_assert_eq(answer.verdict, POLICY_REFUSE, "%s", answer.name);
            cr_assert_eq((uint32_t)answer.error, action & SECCOMP_RET_DATA, "%s", answer.name);
            break;
        case SECCOMP_RET_KILL_PROCESS:
            cr_assert_eq(answer.verdict, POLICY_KILL, "%s", answer.name);
            break;
        default:
            cr_assert_eq(action, SECCOMP_RET_USER_NOTIF);
            cr_assert(answer.verdict != POLICY_ALLOW || policy_row_is_notified(row_for(&call)),
                      "%s", answer.name);
        }
    }
}

FILTER_TEST(accepts_only_its_own_process_id) {
    for (size_t i = 0; i < calls.len; i++)
        cr_assert_neq(calls.filter[i].k, POLICY_SELF_MARK);
}

FILTER_TEST(is_small_enough_to_load_quickly) {
    cr_assert_lt(program->calls.len, program->degraded || grants ? 320 : 160);
    cr_assert_lt(program->seal.len, 32);
}
