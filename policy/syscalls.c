/* The system call table: syscalls.def as rows, and the ruling on one call. A ruling depends on the
 * table and on the registers only, never on the memory of the process, which the attacker controls.
 */
#include "policy/syscalls.h"
#include "common/track.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Older headers lack it. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

#define BITS(position, required, optional)                                                         \
    {                                                                                              \
        .kind = TERM_BITS, .argument = (position), .mask = ~(uint64_t)(optional),                  \
        .value = (uint64_t)(required)                                                              \
    }
#define EQUAL(position, wanted) BITS(position, wanted, 0)
#define SELF(position)                                                                             \
    { .kind = TERM_SELF, .argument = (position) }
#define ALWAYS                                                                                     \
    { .kind = TERM_NONE }

#define NOTHING    POLICY_NOTHING
#define NUMBER     POLICY_NUMBER
#define MEMORY     POLICY_MEMORY
#define DESCRIPTOR POLICY_DESCRIPTOR
#define PATH       POLICY_PATH
#define OBJECT     POLICY_OBJECT
#define SELECTOR   POLICY_SELECTOR
#define LIST(...)                                                                                  \
    { __VA_ARGS__ }

#define ROW(text, at, what, code, once, asked, bits, names, why, words, ...)                       \
    {.name = (text),                                                                               \
     .number = (at),                                                                               \
     .verdict = (what),                                                                            \
     .error = (code),                                                                              \
     .setup = (once),                                                                              \
     .seen = (asked),                                                                              \
     .grants = (bits),                                                                             \
     .reason = (why),                                                                              \
     .rule = (words),                                                                              \
     .arguments = LIST names,                                                                      \
     .terms = {__VA_ARGS__}},

/* __SNR_ is libseccomp's number of a call, negative if the architecture lacks it. It is pasted at
 * the first expansion because some call names are macros in some C libraries. */
#define ALLOW(call, names, why)                                                                    \
    ROW(#call, __SNR_##call, POLICY_ALLOW, 0, false, false, 0, names, why, "", ALWAYS)
#define ALLOW_WHEN(call, names, why, ...)                                                          \
    ROW(#call, __SNR_##call, POLICY_ALLOW, 0, false, false, 0, names, why, #__VA_ARGS__,           \
        __VA_ARGS__)
#define ALLOW_SEEN(call, names, why, ...)                                                          \
    ROW(#call, __SNR_##call, POLICY_ALLOW, 0, false, true, 0, names, why, #__VA_ARGS__, __VA_ARGS__)
#define READ(call, names, why)                                                                     \
    ROW(#call, __SNR_##call, POLICY_ALLOW, 0, false, false, POLICY_GRANT_READ, names, why, "",     \
        ALWAYS)
#define READ_WHEN(call, names, why, ...)                                                           \
    ROW(#call, __SNR_##call, POLICY_ALLOW, 0, false, false, POLICY_GRANT_READ, names, why,         \
        #__VA_ARGS__, __VA_ARGS__)
#define WRITE(call, names, why)                                                                    \
    ROW(#call, __SNR_##call, POLICY_ALLOW, 0, false, false, POLICY_GRANT_WRITE, names, why, "",    \
        ALWAYS)
#define WRITE_WHEN(call, names, why, ...)                                                          \
    ROW(#call, __SNR_##call, POLICY_ALLOW, 0, false, false, POLICY_GRANT_WRITE, names, why,        \
        #__VA_ARGS__, __VA_ARGS__)
#define NATIVE_WHEN(call, names, why, ...)                                                         \
    ROW(#call, __SNR_##call, POLICY_ALLOW, 0, false, true, POLICY_GRANT_NATIVE, names, why,        \
        #__VA_ARGS__, __VA_ARGS__)
#define SETUP(call, names, why)                                                                    \
    ROW(#call, __SNR_##call, POLICY_REFUSE, EPERM, true, false, 0, names, why, "", ALWAYS)
#define SETUP_WHEN(call, names, why, ...)                                                          \
    ROW(#call, __SNR_##call, POLICY_REFUSE, EPERM, true, false, 0, names, why, #__VA_ARGS__,       \
        __VA_ARGS__)
#define REFUSE(call, code, why)                                                                    \
    ROW(#call, __SNR_##call, POLICY_REFUSE, code, false, false, 0, (NOTHING), why, "", ALWAYS)
#define KILL(call, why)                                                                            \
    ROW(#call, __SNR_##call, POLICY_KILL, 0, false, false, 0, (NOTHING), why, "", ALWAYS)
#define KILL_NEWER(at, call, why)                                                                  \
    ROW(#call, at, POLICY_KILL, 0, false, false, 0, (NOTHING), why, "", ALWAYS)

static const struct policy_row rows[] = {
#include "policy/syscalls.def"
};

/* The rows of the other tables do not say what their arguments can name. */
#undef ALLOW
#undef ALLOW_WHEN
#undef READ
#undef WRITE_WHEN
#undef NATIVE_WHEN
#define ALLOW(call, why)                                                                           \
    ROW(#call, __SNR_##call, POLICY_ALLOW, 0, false, false, 0, (NOTHING), why, "", ALWAYS)
#define ALLOW_WHEN(call, why, ...)                                                                 \
    ROW(#call, __SNR_##call, POLICY_ALLOW, 0, false, false, 0, (NOTHING), why, #__VA_ARGS__,       \
        __VA_ARGS__)
#define READ(call, why)                                                                            \
    ROW(#call, __SNR_##call, POLICY_ALLOW, 0, false, false, POLICY_GRANT_READ, (NOTHING), why, "", \
        ALWAYS)
#define WRITE_WHEN(call, why, ...)                                                                 \
    ROW(#call, __SNR_##call, POLICY_ALLOW, 0, false, false, POLICY_GRANT_WRITE, (NOTHING), why,    \
        #__VA_ARGS__, __VA_ARGS__)
#define NATIVE_WHEN(call, why, ...)                                                                \
    ROW(#call, __SNR_##call, POLICY_ALLOW, 0, false, false, POLICY_GRANT_NATIVE, (NOTHING), why,   \
        #__VA_ARGS__, __VA_ARGS__)

static const struct policy_row supervisor_rows[] = {
#include "policy/supervisor.def"
};

static const struct policy_row imager_rows[] = {
#include "policy/imager.def"
};

static const struct policy_row compiler_rows[] = {
#include "policy/compiler.def"
};

static const size_t row_count = sizeof rows / sizeof *rows;

const struct policy_row *policy_rows(size_t *count) {
    *count = row_count;
    return rows;
}

const struct policy_row *policy_supervisor_rows(size_t *count) {
    *count = sizeof supervisor_rows / sizeof *supervisor_rows;
    return supervisor_rows;
}

const struct policy_row *policy_imager_rows(size_t *count) {
    *count = sizeof imager_rows / sizeof *imager_rows;
    return imager_rows;
}

const struct policy_row *policy_compiler_rows(size_t *count) {
    *count = sizeof compiler_rows / sizeof *compiler_rows;
    return compiler_rows;
}

bool policy_row_is_notified(const struct policy_row *row) {
    for (size_t i = 0; i < POLICY_TERMS_MAX; i++)
        if (row->terms[i].kind == TERM_SELF)
            return true;
    return row->seen;
}

bool policy_row_applies(const struct policy_row *row, uint32_t grants) {
    return (row->grants & ~grants) == 0;
}

static bool term_holds(const struct policy_term *term, const struct seccomp_data *call,
                       pid_t self) {
    uint64_t argument = call->args[term->argument];
    if (term->kind == TERM_SELF)
        return self > 0 && argument == (uint64_t)self;
    return (argument & term->mask) == term->value;
}

bool policy_row_matches(const struct policy_row *row, const struct seccomp_data *call, pid_t self) {
    for (size_t i = 0; i < POLICY_TERMS_MAX && row->terms[i].kind != TERM_NONE; i++)
        if (!term_holds(&row->terms[i], call, self))
            return false;
    return true;
}

/* --- the ruling on one call --- */

static const char unknown[] = "unknown";

/* The first row of call NUMBER, or NULL. */
static const struct policy_row *row_of(int number) {
    for (size_t i = 0; number >= 0 && i < row_count; i++)
        if (rows[i].number == number)
            return &rows[i];
    return NULL;
}

static struct policy_ruling killing(const char *name, const char *reason) {
    return (struct policy_ruling){.verdict = POLICY_KILL, .name = name, .reason = reason};
}

struct policy_ruling policy_judge(uint32_t grants, const struct seccomp_data *call, pid_t pid) {
    if (call->arch != seccomp_arch_native())
        return killing(unknown, "a call of another architecture");
    if (!row_of(call->nr))
        return killing(unknown, "a call that is not in the table");
    for (size_t i = 0; i < row_count; i++)
        if (rows[i].number == call->nr && policy_row_applies(&rows[i], grants) &&
            policy_row_matches(&rows[i], call, pid))
            return (struct policy_ruling){.verdict = rows[i].verdict,
                                          .error = rows[i].error,
                                          .name = rows[i].name,
                                          .reason = rows[i].reason};
    return killing(policy_syscall_name(call->nr), "with arguments that the table does not allow");
}

bool policy_judges_by_pid(int number) {
    for (size_t i = 0; i < row_count; i++)
        for (size_t j = 0; j < POLICY_TERMS_MAX; j++)
            if (rows[i].number == number && rows[i].terms[j].kind == TERM_SELF)
                return true;
    return false;
}

bool policy_maps_code(const struct seccomp_data *call) {
    return call->nr == __SNR_mmap;
}

const char *policy_syscall_name(int number) {
    const struct policy_row *row = row_of(number);
    return row ? row->name : unknown;
}
