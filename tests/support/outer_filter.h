/* An outer seccomp filter, which imitates an older kernel or a container. */
#ifndef ECLAVE_TESTS_SUPPORT_OUTER_FILTER_H
#define ECLAVE_TESTS_SUPPORT_OUTER_FILTER_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

/* Installs a filter of COUNT STEPS in this process and its descendants. FLAGS and the return value
 * are those of seccomp(2). */
int outer_filter_install(struct sock_filter *steps, size_t count, unsigned long flags);

/* The same: applies ACTION (SECCOMP_RET_...) to call NUMBER, and allows all others. */
int outer_filter(unsigned number, uint32_t action, unsigned long flags);

/* Makes call NUMBER fail with CODE. */
void outer_filter_forbid(unsigned number, unsigned code);

/* The same, if ARGUMENT (0 to 5) of it has any of BITS: a flag that a kernel does not know. */
void outer_filter_forbid_bits(unsigned number, unsigned argument, uint32_t bits, unsigned code);

#endif
