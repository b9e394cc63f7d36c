/* The signal handlers of workers, installed in the zygote before any filter and inherited. */
#ifndef ECLAVE_WORKER_FAULT_H
#define ECLAVE_WORKER_FAULT_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Resets the inherited signal state: nothing blocked, SIGPIPE ignored, every other signal at its
 * default. Called before ECL boots, since ECL keeps the mask that it finds. False with *error. */
bool fault_start_clean(struct error *error);

/* Installs handlers that run on their own stack:
 *   SIGSEGV, SIGBUS  an overflow of the C stack or an access to unmapped memory ends the guarded
 *                    function; while the collector or the allocator runs, or if a process sent the
 *                    signal, the process writes its output and dies of the signal
 *   SIGFPE           notes the computation and calls ECL's handler
 *   SIGABRT          writes the output and dies of the signal (GMP and ECL abort)
 *   SIGUSR1          writes the output and exits with status 0 (STREAMS_END_SIGNAL)
 * STACK_BYTES is the size of the C stack. ECL must be booted. False with *error. */
bool fault_install(size_t stack_bytes, struct error *error);

/* A guard has ended, and so the faults on the way to it are over. */
void fault_handled(void);

/* Restores the limits of ECL's stacks, which an overflow moves to give its handlers room. */
void fault_reset_stacks(void);

/* Releases the lock of ECL's packages and names, which an error leaves held if it occurs while ECL
 * changes them. Returns how it was held, for fault_lock_names, which takes it again; 0: not at
 * all. */
int fault_unlock_names(void);
void fault_lock_names(int held);

#endif
