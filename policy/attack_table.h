/* What the files with attempts and tables of attacks share. */
#ifndef ECLAVE_POLICY_ATTACK_TABLE_H
#define ECLAVE_POLICY_ATTACK_TABLE_H

#include "policy/attacks.h"

#include <errno.h>

#define NAMESPACES  POLICY_LAYER_BIT(POLICY_LAYER_NAMESPACES)
#define CGROUP      POLICY_LAYER_BIT(POLICY_LAYER_CGROUP)
#define PRIVILEGES  POLICY_LAYER_BIT(POLICY_LAYER_PRIVILEGES)
#define LIMITS      POLICY_LAYER_BIT(POLICY_LAYER_LIMITS)
#define PROCESS     POLICY_LAYER_BIT(POLICY_LAYER_PROCESS)
#define LANDLOCK    POLICY_LAYER_BIT(POLICY_LAYER_LANDLOCK)
#define DESCRIPTORS POLICY_LAYER_BIT(POLICY_LAYER_DESCRIPTORS)
#define SECCOMP     POLICY_LAYER_BIT(POLICY_LAYER_SECCOMP)
#define ANYONE      false
#define ROOT        true

/* A multiple of every page size. */
enum { ATTACK_PAGE = 65536 };

/* For an attempt that the kernel did not refuse, but without the result that it aims at. */
static inline long refused(void) {
    errno = EPERM;
    return -1;
}

#endif
