/* The seccomp listener of a worker and its forks: every refused call and every fork is seen here,
 * and answered from the policy's table. */
#ifndef ECLAVE_SUPERVISOR_PROCESS_LISTENER_H
#define ECLAVE_SUPERVISOR_PROCESS_LISTENER_H

#include "supervisor/process/worker_process.h"

/* A listener of one process, without a descriptor yet. NULL when out of memory. */
struct listener *listener_create(struct workers *workers);
/* Takes over FD and answers what arrives on it. False when there is one already, or it cannot be
 * watched; FD is then still the caller's. */
bool listener_open(struct listener *listener, int fd);
/* The kernel showed that the fork PID set its death signal. True once for each fork. */
bool listener_saw_tie(struct listener *listener, pid_t pid);
/* One process more; returns LISTENER. */
struct listener *listener_join(struct listener *listener);
/* One process less; the last one closes and frees it. LISTENER may be NULL. */
void listener_leave(struct listener *listener);

#endif
