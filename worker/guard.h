/* Calls Lisp so that control always returns to the caller, unless the process ends: an unhandled
 * condition, an entry into the debugger, a throw, an emergency exit of ECL or a memory fault ends
 * the guarded function and is returned as a value. The guard acts as the debugger, so handlers of
 * user code run first. */
#ifndef ECLAVE_WORKER_GUARD_H
#define ECLAVE_WORKER_GUARD_H

#include "worker/backtrace.h"

#include <ecl/ecl.h>
#include <stdbool.h>
#include <stddef.h>

enum { GUARD_DEPTH_MAX = 4 };

enum guard_end {
    GUARD_RETURNED,
    GUARD_ABORTED,   /* the restart ABORT */
    GUARD_CONDITION, /* an unhandled condition, or a call of the debugger */
    GUARD_OVERFLOW,  /* the C stack was exhausted, by ECL's count or the kernel's */
    GUARD_VIOLATION  /* an access to unmapped memory */
};

/* What ended a guarded function. Must be static or on the C stack, which the collector scans. */
struct guard_stop {
    cl_object condition; /* with GUARD_CONDITION */
    cl_object restarts;  /* the value of SI::*RESTART-CLUSTERS* there */
    struct backtrace backtrace;
};

/* Makes the tags. Called once; ECL must be booted. */
void guard_initialize(void);

/* Calls FUNCTION(ARGUMENT). If it does not return, *STOP has the reason; STOP may be NULL. */
enum guard_end guard_run(void (*function)(void *), void *argument, struct guard_stop *stop);

/* The number of nested guarded functions that are running. */
size_t guard_depth(void);

/* The Lisp function ECLAVE:STOP, which replaces the debugger after the user's *DEBUGGER-HOOK*; with
 * CONDITION NIL, the restart ABORT. Does not return while a guarded function is running. */
cl_object guard_stop_hook(cl_object condition, cl_object hook);

/* For the fault handler: is there a running guarded function that can be ended? */
bool guard_may_end(void);

/* Ends the running guarded function with END. Requires guard_may_end. */
void guard_end_now(enum guard_end end) __attribute__((noreturn));

#endif
