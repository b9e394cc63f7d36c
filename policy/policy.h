/* What a worker may do, and how it is held to it. This library knows neither JSON-RPC nor Lisp.
 *
 * Three parties use it: the supervisor (policy_probe, policy_judge, policy_call_name), the zygote
 * (policy_program_build, once, before the first fork) and each worker (policy_enter, before it
 * reads its first frame). */
#ifndef ECLAVE_POLICY_POLICY_H
#define ECLAVE_POLICY_POLICY_H

#include "common/error.h"
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What one system call gets. The order is that of severity. */
enum policy_verdict {
    POLICY_ALLOW,  /* runs */
    POLICY_REFUSE, /* fails with an errno; an ordinary Lisp error and a log line */
    POLICY_KILL    /* only an attack uses it: the worker ends, the call is named */
};

struct policy_answer {
    enum policy_verdict verdict;
    int error;          /* errno value with POLICY_REFUSE, else 0 */
    const char *name;   /* of the call; "unknown" when this architecture has no such number */
    const char *reason; /* one line from the table */
};

/* The limits of one worker. */
struct policy_limits {
    uint64_t address_space_bytes; /* RLIMIT_AS; 0: not set */
    uint32_t user;                /* uid and gid to take when running as root; 0: keep */
};

/* The filter programs, built once in the zygote so that a worker only loads them. */
struct policy_program;

/* Can this process's children be confined here? Forks a child that really loads the filter (with
 * the notification listener unless DEGRADED) and reads back what it has. False with the reason. */
bool policy_probe(bool degraded, struct error *error);

/* DEGRADED builds the filter for a kernel without notifications: unlisted and killing calls raise
 * SIGSYS, which ends the process. NULL with *error on failure. Free with policy_program_free. */
struct policy_program *policy_program_build(bool degraded, struct error *error);
void policy_program_free(struct policy_program *program);

/* Confines the calling process, in the one order that works, and for good: new session, death
 * signal, another uid when root, resource limits, no dumping, no new privileges, then seccomp. On
 * return *listener is the notification descriptor (-1 when degraded), which the caller hands to
 * the supervisor with sendmsg; then it calls policy_seal, which takes sendmsg and seccomp away.
 * Reads back no_new_privs and the seccomp mode. False with *error: the caller must end itself. */
bool policy_enter(const struct policy_program *program, const struct policy_limits *limits,
                  int *listener, struct error *error);
bool policy_seal(const struct policy_program *program, struct error *error);

/* The supervisor's decision on one call notified for process PID (as the kernel names it, 0: not
 * known), from the same table the filter was made of. ALLOW comes for what only a look at PID can
 * tell: a fork that signals itself by its own number. */
struct policy_answer policy_judge(const struct seccomp_data *call, pid_t pid);

/* The name of a system call of this architecture, "unknown" when there is none. */
const char *policy_call_name(int number);

#endif
