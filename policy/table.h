/* The system call table as data, for the other files of this library and for whoever shows the
 * policy to people. syscalls.def explains what a row means; nothing here decides anything else. */
#ifndef ECLAVE_POLICY_TABLE_H
#define ECLAVE_POLICY_TABLE_H

#include "policy/policy.h"
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { POLICY_TERMS_MAX = 3 };

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
    int number; /* negative when this architecture has no such call */
    enum policy_verdict verdict;
    int error;       /* with POLICY_REFUSE */
    bool setup;      /* allowed until policy_seal; VERDICT is what holds afterwards */
    bool seen;       /* allowed, but who has a listener asks it */
    uint32_t grants; /* bits, of which all must be granted; else the row does not count */
    const char *reason;
    const char *rule; /* the terms as they stand in syscalls.def; empty without */
    struct policy_term terms[POLICY_TERMS_MAX];
};

/* The rows in the order of syscalls.def, *count of them. */
const struct policy_row *policy_rows(size_t *count);

/* Whether the row depends on arguments. */
bool policy_row_has_terms(const struct policy_row *row);

/* Whether a filter with a listener asks it about the calls of this row, though it allows them: to
 * know which process makes the call, or to have it seen. */
bool policy_row_is_asked(const struct policy_row *row);

/* Whether ROW counts for a process that has GRANTS. */
bool policy_row_counts(const struct policy_row *row, uint32_t grants);

/* Whether every term of ROW holds for CALL, made by the process SELF. SELF is 0 when the process is
 * not known; no TERM_SELF holds then. Does not compare the call's number. */
bool policy_row_fits(const struct policy_row *row, const struct seccomp_data *call, pid_t self);

#endif
