/* The frames of user code at the point of an error. Taking them allocates nothing, so it works when
 * the heap or the stack is exhausted. */
#ifndef ECLAVE_WORKER_BACKTRACE_H
#define ECLAVE_WORKER_BACKTRACE_H

#include "common/message.h"

#include <ecl/ecl.h>
#include <stdbool.h>
#include <stddef.h>

enum { BACKTRACE_ARGUMENTS_MAX = 8 };

/* The arguments of a function call. */
struct backtrace_call {
    bool known;
    size_t count; /* only the first BACKTRACE_ARGUMENTS_MAX are kept */
    cl_object arguments[BACKTRACE_ARGUMENTS_MAX];
};

struct backtrace_frame {
    cl_object function;         /* bytecodes, or native */
    cl_object environment;      /* its local variables, innermost first; may be out of date */
    struct backtrace_call call; /* its arguments */
};

/* The computation during which the processor trapped. */
struct backtrace_trap {
    cl_object code;     /* the bytecodes that made the call; NULL: no trap */
    cl_object function; /* the function called; NULL: unknown */
};

struct backtrace {
    const void *code;     /* record of the innermost interpreted code; NULL: none */
    const void *debugger; /* address of the debugger's frame on the C stack; NULL: none */
    cl_object builtin;    /* name of the built-in function that failed; NULL: unknown */
    struct backtrace_trap trap;
    struct backtrace_call last_call; /* of the innermost code; perhaps not the one that failed */
    bool last_call_failed;           /* it called an undefined function: certainly the one */
    size_t count;
    struct backtrace_frame frames[RESULT_FRAMES_MAX]; /* innermost first */
};

/* Measures where ECL keeps arguments. Without it, or on an unexpected result, none are known. ECL
 * must be booted. */
void backtrace_learn(void);

/* Takes the frames above number BASE of the invocation history. DEBUGGER is an address in the
 * caller's frame if it was called as the debugger, else NULL. */
void backtrace_take(struct backtrace *backtrace, cl_index base, const void *debugger);

/* Notes a floating-point trap, for the condition that ECL then signals. Callable from the handler.
 */
void backtrace_note_trap(void);

#endif
