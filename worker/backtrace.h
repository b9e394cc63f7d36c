/* The frames of user code at the point of an error, from ECL's invocation history. Taking them
 * allocates nothing, so that it works on an exhausted heap or stack. */
#ifndef ECLAVE_WORKER_BACKTRACE_H
#define ECLAVE_WORKER_BACKTRACE_H

#include "common/message.h"

#include <ecl/ecl.h>

struct backtrace_frame {
    cl_object function;    /* bytecodes */
    cl_object environment; /* its local variables, innermost first */
};

struct backtrace {
    cl_object builtin; /* name of the built-in function that failed, when ECL says; else NULL */
    size_t count;
    struct backtrace_frame frames[RESULT_FRAMES_MAX]; /* innermost first */
};

/* Takes the frames above invocation number BASE, that is, those of what runs now. */
void backtrace_take(struct backtrace *backtrace, cl_index base);

#endif
