/* The frames of user code at the point of an error, from ECL's invocation history. Taking them
 * allocates nothing, so that it works on an exhausted heap or stack. */
#ifndef ECLAVE_WORKER_BACKTRACE_H
#define ECLAVE_WORKER_BACKTRACE_H

#include "common/message.h"
#include "worker/interpreter.h"

#include <ecl/ecl.h>
#include <stdbool.h>
#include <stddef.h>

struct backtrace_frame {
    cl_object function;           /* bytecodes */
    cl_object environment;        /* its local variables, innermost first; may be out of date */
    struct interpreter_call call; /* its arguments, when known exactly */
};

/* What was being computed when the processor trapped. */
struct backtrace_trap {
    cl_object code;     /* bytecodes that called it; NULL: there was no trap */
    cl_object function; /* NULL: not known */
};

struct backtrace {
    const void *code;     /* record of the innermost interpreted code; NULL: none */
    const void *debugger; /* where on the C stack the debugger would have been; NULL: nowhere */
    cl_object builtin;    /* name of the built-in function that failed, when ECL says; else NULL */
    struct backtrace_trap trap;
    struct interpreter_call last_call; /* of the innermost code; perhaps not the one that failed */
    bool last_call_failed;             /* it found no function: certainly the one that failed */
    size_t count;
    struct backtrace_frame frames[RESULT_FRAMES_MAX]; /* innermost first */
};

/* Takes the frames above invocation number BASE, that is, those of what runs now. DEBUGGER is an
 * address of the caller's frame on the C stack when it stands in the place of the debugger, else
 * NULL. */
void backtrace_take(struct backtrace *backtrace, cl_index base, const void *debugger);

/* Notes a floating-point trap for the condition that ECL makes of it; callable from its handler. */
void backtrace_note_trap(void);

#endif
