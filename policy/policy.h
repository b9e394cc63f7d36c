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

/* What stands between a worker and this machine, in the order of layers.def. */
enum policy_layer {
#define LAYER(id, ...) POLICY_LAYER_##id,
#include "policy/layers.def"
#undef LAYER
    POLICY_LAYER_COUNT
};

/* The name of a layer, as settings and messages have it. */
const char *policy_layer_name(enum policy_layer layer);

/* The limits of one worker. */
struct policy_limits {
    uint64_t address_space_bytes; /* RLIMIT_AS; 0: not set */
    uint32_t user;                /* uid and gid to take when running as root; 0: keep */
};

/* The filter programs, built once in the zygote so that a worker only loads them. */
struct policy_program;

/* Can this process's children be confined here? Forks a child that confines itself as a worker does
 * (with the notification listener unless DEGRADED), reads back what it has and sees that a refused
 * call fails. Leaves no child and no descriptor. False with the reason. */
bool policy_probe(bool degraded, struct error *error);

/* DEGRADED builds the filter for a kernel without notifications, or for life under an outer filter
 * that has taken the one listener there can be: refused calls fail in the kernel, unlisted and
 * killing calls end the process by SIGSYS, and nobody learns which call it was. NULL with *error on
 * failure. Free with policy_program_free. */
struct policy_program *policy_program_build(bool degraded, struct error *error);
void policy_program_free(struct policy_program *program);

/* Confines the calling process, in the one order that works, and for good: no capabilities, another
 * uid when root, resource limits, a new session, the root directory, the death signal, no dumping,
 * no new privileges, then seccomp; enter.c says why in this order. Reads each back. What the
 * process needs of signal handlers and closed descriptors must be so before; it may hold 16
 * descriptors.
 *
 * On return *listener is the notification descriptor (-1 when degraded), which the caller hands to
 * the supervisor with sendmsg and closes; then it calls policy_seal, which takes sendmsg and
 * seccomp away. No foreign byte may be read before that. False with *error: the caller must end
 * itself.
 *
 * A fork of a confined process has another pid than its filter knows, so its abort is a notified
 * tgkill, which the supervisor can tell from an attack by the pid that the notification names. */
bool policy_enter(const struct policy_program *program, const struct policy_limits *limits,
                  int *listener, struct error *error);
bool policy_seal(const struct policy_program *program, struct error *error);

/* What the table, the same that the filter was made of, says about one call notified for process
 * PID (as the kernel names it; 0: not known). ALLOW comes for what only a look at PID can tell: a
 * process that signals itself. A supervisor that expects a fork looks for its clone before it asks
 * here, where every clone is refused. */
struct policy_answer policy_judge(const struct seccomp_data *call, pid_t pid);

/* The name of a system call of this architecture, "unknown" when there is none. */
const char *policy_call_name(int number);

#endif
