/* Child processes. */
#ifndef ECLAVE_COMMON_CHILD_H
#define ECLAVE_COMMON_CHILD_H

#include <sys/types.h>

/* As fork, but the child becomes a child of this process's parent, which gets its exit status and
 * resource usage. Calls no fork handlers of the C library. */
pid_t fork_for_parent(void);

/* Waits until the child PID ends. Returns its status as waitpid reports it. */
int reap_child(pid_t pid);

#endif
