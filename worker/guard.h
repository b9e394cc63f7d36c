/* Runs Lisp so that nothing it does gets past the caller but the end of the process: unhandled
 * conditions, entries into the debugger, throws, ECL's own emergency exits and memory faults all
 * end the guarded function and come back as a value. Handlers of user code run first; ours is the
 * debugger's place, at the point of the signal, so that what user code handles is never seen here.
 */
#ifndef ECLAVE_WORKER_GUARD_H
#define ECLAVE_WORKER_GUARD_H

#include "worker/backtrace.h"

#include <ecl/ecl.h>
#include <stdbool.h>
#include <stddef.h>

enum { GUARD_DEPTH_MAX = 4 };

enum guard_end {
    GUARD_RETURNED,
    GUARD_CONDITION, /* an unhandled condition, or the debugger was asked for */
    GUARD_OVERFLOW,  /* the C stack ran out, in ECL's eyes or the kernel's */
    GUARD_VIOLATION  /* memory that is not there was touched */
};

/* What ended a guarded function. Static or on the C stack, where the collector looks. */
struct guard_stop {
    cl_object condition; /* with GUARD_CONDITION */
    struct backtrace backtrace;
};

/* Makes the tags. Once, after boot. */
void guard_initialize(void);

/* Calls FUNCTION(ARGUMENT). When it does not return, *stop says why; STOP may be NULL. */
enum guard_end guard_run(void (*function)(void *), void *argument, struct guard_stop *stop);

/* How many guarded functions run, one inside the other. */
size_t guard_depth(void);

/* The Lisp function ECLAVE:STOP, in the place of the debugger. Does not return while a guarded
 * function runs. */
cl_object guard_stop_hook(cl_object condition, cl_object hook);

/* For the fault handler: can the running guarded function be ended from here? */
bool guard_may_end(void);

/* Ends the running guarded function with END. Only when guard_may_end. */
void guard_end_now(enum guard_end end) __attribute__((noreturn));

#endif
