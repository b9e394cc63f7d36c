/* Child processes. */
#ifndef ECLAVE_COMMON_CHILD_H
#define ECLAVE_COMMON_CHILD_H

#include <stddef.h>
#include <sys/types.h>

/* As fork, but the child becomes a child of this process's parent, which gets its exit status and
 * resource usage. Calls no fork handlers of the C library. */
pid_t fork_for_parent(void);

/* Waits until the child PID ends. Returns its status as waitpid reports it. */
int reap_child(pid_t pid);

/* Reads the start of /proc/PID/NAME into TEXT, which has room for SIZE bytes, and terminates it.
 * Returns the number of bytes, or -1 with errno and an empty TEXT. */
ssize_t read_process_file(pid_t pid, const char *name, char *text, size_t size);

#endif
