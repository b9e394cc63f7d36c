/* Signals of a worker. Handlers are installed in the zygote, before any filter, and inherited. */
#ifndef ECLAVE_WORKER_FAULT_H
#define ECLAVE_WORKER_FAULT_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

/* The signal state of a new process, whatever the one that started it had: nothing blocked, every
 * signal at its default but SIGPIPE, which a failed write reports better. ECL is not booted yet: it
 * keeps the mask that it finds. False with *error. */
bool fault_start_clean(struct error *error);

/* Installs, on a stack of their own:
 *   SIGSEGV, SIGBUS  an overflowing C stack and a wild access of user code become conditions; where
 *                    the collector or the allocator is at work, or another process sent it, the
 *                    process writes out its output and dies of the signal
 *   SIGFPE           notes what was computed and goes on to ECL's handler
 *   SIGABRT          writes out the output and dies of the signal (GMP and ECL abort)
 *   SIGUSR1          writes out the output and ends with status 0 (see output.h)
 * STACK_BYTES is the size of the C stack. ECL is booted. False with *error. */
bool fault_install(size_t stack_bytes, struct error *error);

/* Puts back the limits of ECL's stacks, which an overflow moves to give its handlers room. The
 * stacks themselves stay where they are. */
void fault_reset_stacks(void);

#endif
