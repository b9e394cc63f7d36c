/* The filter programs between the file that builds them and the file that loads them. Internal to
 * this library and its tests. */
#ifndef ECLAVE_POLICY_PROGRAM_H
#define ECLAVE_POLICY_PROGRAM_H

#include "policy/policy.h"
#include <linux/filter.h>
#include <stdint.h>
#include <sys/types.h>

/* Stands in a built program for the process id that SELF means; no call number and no argument of
 * the table has this value. */
#define POLICY_SELF_MARK UINT32_C(0x7e5e1f00)

struct policy_program {
    bool degraded;           /* calls: without notifications */
    struct sock_fprog calls; /* every call, by the table; SELF is POLICY_SELF_MARK in it */
    struct sock_fprog seal;  /* takes away what SETUP rows allowed, allows the rest */
};

/* A copy of PROGRAM's calls in which SELF is the process SELF. The instructions are the caller's to
 * free; NULL in `filter` when there is no memory. */
struct sock_fprog policy_program_calls_for(const struct policy_program *program, pid_t self);

#endif
