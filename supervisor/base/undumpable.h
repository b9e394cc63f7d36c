/* What each command of the program does once its descriptors are open. */
#ifndef ECLAVE_SUPERVISOR_BASE_UNDUMPABLE_H
#define ECLAVE_SUPERVISOR_BASE_UNDUMPABLE_H

#include <sys/prctl.h>

/* From now on nobody of the same user may trace this process, read its memory or open its
 * descriptors, and it leaves no core. */
static inline void become_undumpable(void) {
#ifndef __SANITIZE_ADDRESS__ /* its leak check traces the process at exit */
    prctl(PR_SET_DUMPABLE, 0);
#endif
}

#endif
