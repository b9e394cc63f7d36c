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

/* The filter programs, built once so that a fork only loads them. */
struct policy_program {
    bool degraded;           /* calls: without notifications */
    struct sock_fprog calls; /* every call, by the table; SELF is POLICY_SELF_MARK in it */
    struct sock_fprog seal;  /* takes away what SETUP rows allowed, allows the rest */
};

/* DEGRADED builds the filter for a kernel without notifications, or for life under an outer filter
 * that has taken the one listener there can be: refused calls fail in the kernel, unlisted and
 * killing calls end the process by SIGSYS, and nobody learns which call it was. It knows no GRANTS.
 * NULL with *error on failure. Free with policy_program_free. */
struct policy_program *policy_program_build(bool degraded, uint32_t grants, struct error *error);
void policy_program_free(struct policy_program *program);

/* A copy of PROGRAM's calls in which SELF is the process SELF. The instructions are the caller's to
 * free; NULL in `filter` when there is no memory. */
struct sock_fprog policy_program_calls_for(const struct policy_program *program, pid_t self);

#endif
