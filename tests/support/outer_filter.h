/* Makes this process live as under a worse kernel or in a container: an outer seccomp filter. */
#ifndef ECLAVE_TESTS_SUPPORT_OUTER_FILTER_H
#define ECLAVE_TESTS_SUPPORT_OUTER_FILTER_H

#include <stdint.h>

/* Call NUMBER gets ACTION (SECCOMP_RET_…) from now on, all others are allowed; for this process and
 * all that it starts. FLAGS are seccomp's; what it returned, -1 with errno. */
int outer_filter(unsigned number, uint32_t action, unsigned long flags);

/* Call NUMBER fails with CODE. The test fails when that cannot be had. */
void outer_filter_forbid(unsigned number, unsigned code);

#endif
