/* The system call tables (syscalls.def, supervisor.def, compiler.def) as data, for the filter and
 * for `eclave policy`. */
#ifndef ECLAVE_POLICY_SYSCALLS_H
#define ECLAVE_POLICY_SYSCALLS_H

#include "policy/policy.h"

enum { POLICY_TERMS_MAX = 3, POLICY_ARGUMENTS_MAX = 6 };

/* What an argument of an allowed call can name: see syscalls.def. */
enum policy_argument {
    POLICY_NOTHING,
    POLICY_NUMBER,
    POLICY_MEMORY,
    POLICY_DESCRIPTOR,
    POLICY_PATH,
    POLICY_OBJECT,
    POLICY_SELECTOR
};

enum policy_term_kind {
    TERM_NONE, /* ends a list shorter than POLICY_TERMS_MAX */
    TERM_BITS, /* the bits of the argument under MASK are VALUE */
    TERM_SELF  /* the argument is the worker's process id */
};

struct policy_term {
    enum policy_term_kind kind;
    unsigned argument; /* 0 to 5 */
    uint64_t mask;
    uint64_t value;
};

struct policy_row {
    const char *name;
    int number; /* negative if this architecture has no such call */
    enum policy_verdict verdict;
    int error;       /* with POLICY_REFUSE */
    bool setup;      /* allowed until policy_seal; VERDICT applies afterwards */
    bool seen;       /* allowed, but the supervisor is notified if there is a listener */
    uint32_t grants; /* bits, all of which must be granted for the row to apply */
    const char *reason;
    const char *rule; /* the terms as written in syscalls.def; empty if none */
    enum policy_argument arguments[POLICY_ARGUMENTS_MAX]; /* of a call that may run */
    struct policy_term terms[POLICY_TERMS_MAX];
};

/* The rows in the order of syscalls.def, *COUNT of them. */
const struct policy_row *policy_rows(size_t *count);

/* The same of supervisor.def. */
const struct policy_row *policy_supervisor_rows(size_t *count);

/* The same of imager.def. */
const struct policy_row *policy_imager_rows(size_t *count);

/* The same of compiler.def. */
const struct policy_row *policy_compiler_rows(size_t *count);

/* Does a filter with a listener notify the supervisor of ROW's calls although it allows them? True
 * if the supervisor has to know which process makes the call, or that it was made. */
bool policy_row_is_notified(const struct policy_row *row);

/* Does ROW apply to a process that has GRANTS? */
bool policy_row_applies(const struct policy_row *row, uint32_t grants);

/* Does every term of ROW hold for CALL by the process SELF (0: unknown, and no TERM_SELF holds)?
 * Does not compare the call's number. */
bool policy_row_matches(const struct policy_row *row, const struct seccomp_data *call, pid_t self);

#endif
