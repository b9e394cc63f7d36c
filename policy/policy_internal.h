/* Internal to policy/, its tests and the benchmarks: the layers, one file each and all of one
 * shape, and the parts of them that are put on before a worker is forked. A new layer is one more
 * file, a line here, one in layers.def and one in the table of layers.c. */
#ifndef ECLAVE_POLICY_POLICY_INTERNAL_H
#define ECLAVE_POLICY_POLICY_INTERNAL_H

#include "policy/policy.h"
#include <linux/filter.h>

struct policy_program;

struct policy_prepared {
    struct policy policy; /* `layers` are the available ones */
    struct policy_program *program;
    uint32_t user; /* of the next fork; 0: the one that it has */
    bool separate_users;
};

/* What a layer needs to be put on. */
struct policy_context {
    const struct policy *policy;
    const struct policy_program *program;
    uint32_t user; /* uid and gid to take; 0: keep them */
    int *listener; /* set by the seccomp layer */
};

/* Puts one layer on the calling process and verifies that it is in force. False with *error: the
 * process is not confined. */
typedef bool policy_layer_enter(const struct policy_context *context, struct error *error);

policy_layer_enter policy_enter_scratch;     /* namespaces.c: its own scratch directory, if any */
policy_layer_enter policy_enter_privileges;  /* privileges.c: capabilities, groups, gid, uid */
policy_layer_enter policy_enter_limits;      /* limits.c: resource limits */
policy_layer_enter policy_enter_process;     /* process.c: session, death signal, dumps */
policy_layer_enter policy_enter_landlock;    /* landlock.c: files, TCP, abstract sockets, signals */
policy_layer_enter policy_enter_descriptors; /* descriptors.c: inherited descriptors, environment */
policy_layer_enter policy_enter_seccomp;     /* seccomp.c: the filter */

/* --- layers.c --- */

/* Is LAYER to be put on? */
bool policy_has_layer(const struct policy *policy, enum policy_layer layer);
/* Records whether LAYER is in force (GOOD) and, if not, the reason from *ERROR. False if POLICY
 * requires a layer that is not; *ERROR then names it. */
bool policy_report_note(struct policy_report *report, const struct policy *policy,
                        enum policy_layer layer, bool good, struct error *error);

/* --- launch.c --- */

/* The halves of policy_launch: starts the starter with START, which is fork or fork_for_parent; and
 * waits for its report. In between, another process can take over `reports` and `init_life`. False
 * with *error: after the second half the caller still has the descriptors. */
bool policy_launch_begin(const struct policy *policy, policy_launch_body *body, void *context,
                         pid_t (*start)(void), struct policy_launched *launched,
                         struct error *error);
bool policy_launch_await(struct policy_launched *launched, struct policy_report *report,
                         struct error *error);

/* --- cgroup.c --- */

/* Chooses the name of the group for all processes that this one launches. */
void policy_cgroup_name(void);
/* LAUNCHER is in the group of this program as well, and may be moved with it. */
void policy_cgroup_accompany(pid_t launcher);
struct policy_cgroup {
    int procs[2]; /* the cgroup.procs files by which a process joins; -1: none */
};
/* Makes the group, with the limits of POLICY. Its descriptors are never closed: the caller exits.
 */
bool policy_cgroup_open(const struct policy *policy, struct policy_cgroup *cgroup,
                        struct error *error);
/* Moves the process PID, and so its later children, into the group. May take some milliseconds. */
bool policy_cgroup_join(const struct policy_cgroup *cgroup, pid_t pid, struct error *error);

/* The directory of the groups of sessions, of which each has one with the limit
 * `session_memory_bytes` if the hierarchy of memory is of version 2. NULL: they have none. Called
 * after a launch. */
const char *policy_cgroup_of_sessions(const struct policy *policy);
/* Moves the process PID into the group of the session numbered SESSION in GROUP, that directory,
 * unless it is there; most_bytes 0: no limit. Removes groups that are empty. May take some
 * milliseconds. False with *error. */
bool policy_cgroup_join_session(const char *group, uint64_t session, uint64_t most_bytes, pid_t pid,
                                struct error *error);
/* Removes GROUP and the leaves in it, as far as they are empty. Returns whether it is gone, or
 * cannot be removed by waiting. */
bool policy_cgroup_remove_group(const char *group);

/* The file that counts the kernel's kills in the group, for policy_oom_open. -1: no group. */
int policy_cgroup_open_events(void);

/* --- namespaces.c --- */

/* Moves this process into new namespaces. *made afterwards: the first process that it forks is the
 * init of a pid namespace, which is so even if a later step failed. */
bool policy_namespaces_make(bool *made, struct error *error);
/* Replaces the root directory by an empty one with only what POLICY grants. */
bool policy_namespaces_enclose(const struct policy *policy, struct error *error);

/* --- privileges.c --- */

/* Chooses the user of the first fork: `user` of the policy or, if the policy asks for separate
 * users and all of them are mapped here, one of those. Needs CAP_SETUID and CAP_SETGID if it is
 * root. */
void policy_privileges_choose_user(struct policy_prepared *prepared);

/* Makes sure that nothing which this process or a fork executes regains a capability. Without
 * CAP_SETPCAP that is left to no_new_privs. */
bool policy_privileges_forbid_new(struct error *error);
/* Drops all capabilities but those in CAPABILITIES, a mask by their numbers. */
bool policy_privileges_retain(uint64_t capabilities, struct error *error);
/* Drops all that the forks do not need to put on their layers. */
bool policy_privileges_reduce(const struct policy *policy, struct error *error);
/* Several layers need it; setting it twice does no harm. */
bool policy_no_new_privileges(struct error *error);

/* --- limits.c, process.c, landlock.c, descriptors.c --- */

/* Lowers the limits of limits.def. Forks inherit them and only verify. */
bool policy_limits_lower(struct error *error);
bool policy_process_forbid_new_code(struct error *error);
/* Permits reading below /proc and the directories of SUPERVISOR, and signals. A directory that does
 * not exist is not permitted. */
bool policy_landlock_supervisor(const struct policy_supervisor *supervisor, struct error *error);
/* From now on this process and its descendants signal each other only. Takes ABI 6. */
/* Nothing but DIRECTORY can be reached, where files can be made, written and removed. */
bool policy_landlock_keeper(const char *directory, struct error *error);
bool policy_landlock_scope_signals(struct error *error);
bool policy_landlock_available(const struct policy *policy, struct error *error);
void policy_descriptors_wipe_environment(void);

/* --- seccomp.c --- */

/* The value that stands for the process id (SELF) in a built program; no call number and no
 * argument in the table equals it. */
#define POLICY_SELF_MARK UINT32_C(0x7e5e1f00)

/* The filter programs, built once so that a fork only loads them. */
struct policy_program {
    bool degraded;           /* `calls` is without notifications */
    struct sock_fprog calls; /* all calls, from the table; SELF is POLICY_SELF_MARK */
    struct sock_fprog seal;  /* refuses what SETUP rows allowed, allows the rest */
};

/* Builds both programs. DEGRADED is for a kernel without notifications, or for a process under an
 * outer filter that has the one possible listener: refused calls fail in the kernel, unlisted and
 * killing ones end the process by SIGSYS, and the call is not reported; GRANTS are ignored. NULL
 * with *error. Free with policy_program_free. */
struct policy_program *policy_program_build(bool degraded, uint32_t grants, struct error *error);
/* The program of compiler.def, which has no notifications and no seal. NULL with *error. */
struct policy_program *policy_program_build_compiler(struct error *error);
void policy_program_free(struct policy_program *program);

/* Restricts this process to read and exit_group. It must have no_new_privs. */
bool policy_seccomp_wait_only(struct error *error);

/* A copy of PROGRAM's calls in which SELF is the process SELF. `filter` is the caller's to free;
 * NULL if out of memory. */
struct sock_fprog policy_program_calls_for(const struct policy_program *program, pid_t self);

/* --- supervisor_filter.c --- */

/* The grants of supervisor.def, besides POLICY_GRANT_NATIVE: calls that Landlock confines. */
enum { POLICY_GRANT_FILES = POLICY_GRANT_READ, POLICY_GRANT_SIGNALS = POLICY_GRANT_WRITE };

/* The filter of supervisor.def for the process SELF, under GRANTS. `filter` is the caller's to
 * free; NULL if out of memory. */
struct sock_fprog policy_supervisor_program(uint32_t grants, pid_t self);
/* Puts it on this process. */
bool policy_seccomp_supervisor(uint32_t grants, struct error *error);
/* The same of imager.def. */
struct sock_fprog policy_imager_program(pid_t self);
bool policy_seccomp_imager(struct error *error);

#endif
