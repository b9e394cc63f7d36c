/* Turns syscalls.def into rows and compares their terms with a call's arguments. Holds no rule of
 * its own. */
#include "policy/table.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

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

#define ROW(text, at, what, code, once, asked, bits, why, words, ...)                              \
    {.name = (text),                                                                               \
     .number = (at),                                                                               \
     .verdict = (what),                                                                            \
     .error = (code),                                                                              \
     .setup = (once),                                                                              \
     .seen = (asked),                                                                              \
     .grants = (bits),                                                                             \
     .reason = (why),                                                                              \
     .rule = (words),                                                                              \
     .terms = {__VA_ARGS__}},

/* __SNR_ is libseccomp's number for a call, negative where the architecture lacks it. It is pasted
 * here, at the first expansion, because some call names are macros in some C libraries. */
#define ALLOW(call, why) ROW(#call, __SNR_##call, POLICY_ALLOW, 0, false, false, 0, why, "", ALWAYS)
#define ALLOW_WHEN(call, why, ...)                                                                 \
    ROW(#call, __SNR_##call, POLICY_ALLOW, 0, false, false, 0, why, #__VA_ARGS__, __VA_ARGS__)
#define ALLOW_SEEN(call, why, ...)                                                                 \
    ROW(#call, __SNR_##call, POLICY_ALLOW, 0, false, true, 0, why, #__VA_ARGS__, __VA_ARGS__)
#define READ(call, why)                                                                            \
    ROW(#call, __SNR_##call, POLICY_ALLOW, 0, false, false, POLICY_GRANT_READ, why, "", ALWAYS)
#define READ_WHEN(call, why, ...)                                                                  \
    ROW(#call, __SNR_##call, POLICY_ALLOW, 0, false, false, POLICY_GRANT_READ, why, #__VA_ARGS__,  \
        __VA_ARGS__)
#define WRITE(call, why)                                                                           \
    ROW(#call, __SNR_##call, POLICY_ALLOW, 0, false, false, POLICY_GRANT_WRITE, why, "", ALWAYS)
#define WRITE_WHEN(call, why, ...)                                                                 \
    ROW(#call, __SNR_##call, POLICY_ALLOW, 0, false, false, POLICY_GRANT_WRITE, why, #__VA_ARGS__, \
        __VA_ARGS__)
#define SETUP(call, why)                                                                           \
    ROW(#call, __SNR_##call, POLICY_REFUSE, EPERM, true, false, 0, why, "", ALWAYS)
#define SETUP_WHEN(call, why, ...)                                                                 \
    ROW(#call, __SNR_##call, POLICY_REFUSE, EPERM, true, false, 0, why, #__VA_ARGS__, __VA_ARGS__)
#define REFUSE(call, code, why)                                                                    \
    ROW(#call, __SNR_##call, POLICY_REFUSE, code, false, false, 0, why, "", ALWAYS)
#define KILL(call, why)           ROW(#call, __SNR_##call, POLICY_KILL, 0, false, false, 0, why, "", ALWAYS)
#define KILL_NEWER(at, call, why) ROW(#call, at, POLICY_KILL, 0, false, false, 0, why, "", ALWAYS)

static const struct policy_row rows[] = {
#include "policy/syscalls.def"
};

const struct policy_row *policy_rows(size_t *count) {
    *count = sizeof rows / sizeof *rows;
    return rows;
}

bool policy_row_has_terms(const struct policy_row *row) {
    return row->terms[0].kind != TERM_NONE;
}

bool policy_row_is_asked(const struct policy_row *row) {
    for (size_t i = 0; i < POLICY_TERMS_MAX; i++)
        if (row->terms[i].kind == TERM_SELF)
            return true;
    return row->seen;
}

bool policy_row_counts(const struct policy_row *row, uint32_t grants) {
    return (row->grants & ~grants) == 0;
}

static bool term_holds(const struct policy_term *term, const struct seccomp_data *call,
                       pid_t self) {
    uint64_t argument = call->args[term->argument];
    if (term->kind == TERM_SELF)
        return self > 0 && argument == (uint64_t)self;
    return (argument & term->mask) == term->value;
}

bool policy_row_fits(const struct policy_row *row, const struct seccomp_data *call, pid_t self) {
    for (size_t i = 0; i < POLICY_TERMS_MAX && row->terms[i].kind != TERM_NONE; i++)
        if (!term_holds(&row->terms[i], call, self))
            return false;
    return true;
}
