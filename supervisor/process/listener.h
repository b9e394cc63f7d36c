/* The seccomp listener of a worker and its forks: every refused call and every fork is seen here,
 * and answered from the policy's table. */
#ifndef ECLAVE_SUPERVISOR_PROCESS_LISTENER_H
#define ECLAVE_SUPERVISOR_PROCESS_LISTENER_H

#include "supervisor/process/worker_process.h"

/* A family of one member without a listener. NULL with no memory. */
struct family *family_create(struct workers *workers);
/* Takes the listener, which is the family's from now on. False when it has one or cannot. */
bool family_listen(struct family *family, int listener);
/* Has the process PID, a fork, been seen to tie its life to this one's? Asked once of each. */
bool family_is_tied(struct family *family, pid_t pid);
/* One member more; returns FAMILY. */
struct family *family_join(struct family *family);
/* One member less; the last one closes the listener. */
void family_leave(struct family *family);

#endif
