/* The layers that policy_enter puts on, one file each and all of the same shape. Internal to this
 * library. A new layer (namespaces, Landlock, cgroups) is one more file, one more line here and one
 * more row in enter.c. */
#ifndef ECLAVE_POLICY_LAYERS_H
#define ECLAVE_POLICY_LAYERS_H

#include "policy/policy.h"

/* What the layers are put on with. */
struct policy_entry {
    const struct policy_program *program;
    const struct policy_limits *limits;
    int *listener; /* out, from the seccomp layer */
};

/* Puts one layer on the calling process and reads back that it holds. False with *error: the
 * process is not confined. */
typedef bool policy_layer(const struct policy_entry *entry, struct error *error);

policy_layer policy_enter_privileges; /* privileges.c: capabilities, groups, gid, uid */
policy_layer policy_enter_limits;     /* limits.c: resource limits */
policy_layer policy_enter_process;    /* process.c: session, death signal, no dumping */
policy_layer policy_enter_seccomp;    /* seccomp.c: no new privileges, the filter */

#endif
