/* The layers of confinement, one file each and all of the same shape. Internal to this library. A
 * new layer is one more file, one line here, one in layers.def and one in enter.c. */
#ifndef ECLAVE_POLICY_LAYERS_H
#define ECLAVE_POLICY_LAYERS_H

#include "policy/policy.h"

struct policy_program;

struct policy_ground {
    struct policy policy; /* its `layers` are those that can be had */
    struct policy_program *program;
};

/* What the layers are put on with. */
struct policy_entry {
    const struct policy *policy;
    const struct policy_program *program;
    int *listener; /* out, from the seccomp layer */
};

/* Puts one layer on the calling process and reads back that it holds. False with *error: the
 * process is not confined. */
typedef bool policy_layer_enter(const struct policy_entry *entry, struct error *error);

policy_layer_enter policy_enter_scratch;     /* namespaces.c: a directory of its own, if any */
policy_layer_enter policy_enter_privileges;  /* privileges.c: capabilities, groups, gid, uid */
policy_layer_enter policy_enter_limits;      /* limits.c: resource limits */
policy_layer_enter policy_enter_process;     /* process.c: session, death signal, no dumping */
policy_layer_enter policy_enter_landlock;    /* landlock.c: no files but what is granted */
policy_layer_enter policy_enter_descriptors; /* descriptors.c: what it was born with */
policy_layer_enter policy_enter_seccomp;     /* seccomp.c: the filter */

/* The parts of layers that are put on earlier. */
/* Names the group that the processes launched by this one are to join. */
void policy_cgroup_name(void);
struct policy_cgroup {
    int procs[2]; /* the files that a process joins it by; -1: none */
};
/* Makes it, with the limits of POLICY. Its descriptors end with the process. */
bool policy_cgroup_open(const struct policy *policy, struct policy_cgroup *cgroup,
                        struct error *error);
/* Puts the process PID and its later children in. The kernel may take some milliseconds. */
bool policy_cgroup_join(const struct policy_cgroup *cgroup, pid_t pid, struct error *error);
void policy_cgroup_remove(void);
bool policy_namespaces_make(struct error *error);
/* Replaces the root directory by an empty one with only what POLICY grants. */
bool policy_namespaces_enclose(const struct policy *policy, struct error *error);
bool policy_process_forbid_new_code(struct error *error);
/* Those of limits.def. Forks inherit them, and then only look. */
bool policy_limits_lower(struct error *error);
/* Nothing that this process or a fork executes could ever win a capability back. Without
 * CAP_SETPCAP that is left to no_new_privs. */
bool policy_privileges_forbid_new(struct error *error);
bool policy_landlock_available(const struct policy *policy, struct error *error);

/* Runs in a process that is to live on with the environment of its parent but not keep it. */
void policy_descriptors_wipe_environment(void);

/* Every layer that wants one asks for it: setting it twice does no harm. */
bool policy_no_new_privileges(struct error *error);

/* Notes how putting on LAYER went. False when it did not (GOOD) and POLICY requires it: *error says
 * so. ERROR holds why. */
bool policy_report_note(struct policy_report *report, const struct policy *policy,
                        enum policy_layer layer, bool good, struct error *error);
/* Is LAYER to be put on? */
bool policy_wants(const struct policy *policy, enum policy_layer layer);

#endif
