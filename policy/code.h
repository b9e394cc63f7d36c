/* Sealed code: native code in a file in memory that nothing can change any more, which a worker may
 * map once, for reading and execution. */
#ifndef ECLAVE_POLICY_CODE_H
#define ECLAVE_POLICY_CODE_H

#include "common/error.h"
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>

/* A file in memory with the SIZE bytes of PAGES, sealed. Returns its descriptor, the caller's; -1
 * with *error. */
int policy_code_seal(const unsigned char *pages, size_t size, struct error *error);

/* REQUEST, received from LISTENER, maps code (policy_maps_code). If it maps the SIZE bytes of *CODE
 * whole, the descriptor is put at UNIT_CODE_FD of the process, where the call expects it, and true
 * is returned: the call may be made. The process must have one thread and share its descriptors
 * with nobody, so that nothing replaces this one before the call is made. *CODE is closed and
 * becomes -1 once it was to be given: it serves once, whatever becomes of the call. */
bool policy_code_give(int listener, const struct seccomp_notif *request, int *code, size_t size);

#endif
