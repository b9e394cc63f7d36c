/* The layers of confinement that this machine gives. A test uses those that are there, or skips
 * itself by name (skip.h). */
#ifndef ECLAVE_TESTS_SUPPORT_AVAILABLE_H
#define ECLAVE_TESTS_SUPPORT_AVAILABLE_H

#include "policy/policy.h"

/* How each layer is put on a worker here, for the user of this process or for nobody. Only root can
 * ask for nobody. Prints why where no worker can be confined at all; all layers are off then. */
struct policy_report available_report(bool nobody);

/* Bits of the layers that are active in available_report(false). */
uint32_t available_layers(void);

/* True when this process may make namespaces, which is less than what the layer takes. */
bool available_unshare(void);

/* True when this process may mount something that no other namespace sees. In a chroot nobody can,
 * unless its root is a mount. */
bool available_mounts(void);

/* True when this process is under a seccomp filter already, as in a container. Calls that it
 * refuses with an errno fail before the filter of a worker can report or kill. */
bool available_outer_filter(void);

/* True when this process may look into processes of other users: /proc/PID/fd, smaps and others. */
bool available_inspection(void);

/* True when the kernel notes what a process writes (Linux 6.7), and this process may ask for it. */
bool available_tracking(void);

#endif
