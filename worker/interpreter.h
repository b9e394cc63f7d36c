/* The arguments of calls that ECL's bytecode interpreter made. ECL records each invocation of
 * interpreted code with its local variables, which are not up to date everywhere, but not with its
 * arguments; these stand beside the record on the C stack. Where exactly is learned by a trial at
 * boot, and nothing is known when the trial does not come out as expected. */
#ifndef ECLAVE_WORKER_INTERPRETER_H
#define ECLAVE_WORKER_INTERPRETER_H

#include <ecl/ecl.h>
#include <stdbool.h>
#include <stddef.h>

enum { INTERPRETER_ARGUMENTS_MAX = 8 };

/* Arguments of one call. */
struct interpreter_call {
    bool known;
    size_t count; /* more than the maximum are left out */
    cl_object arguments[INTERPRETER_ARGUMENTS_MAX];
};

/* Makes the trial. ECL is booted. */
void interpreter_learn(void);

/* The last call that the interpreted code of RECORD made with its arguments on ECL's stack. Calls
 * of some built-in functions leave them elsewhere, so it may be an earlier one. */
void interpreter_last_call(const struct ecl_ihs_frame *record, struct interpreter_call *call);

/* Was CALLEE called by the interpreted code of CALLER and nothing between? Then its arguments are
 * those of the last call of CALLER. */
bool interpreter_called(const struct ecl_ihs_frame *caller, const struct ecl_ihs_frame *callee);

/* The same for the record of an error handler: was it the interpreter itself, looking for the
 * function to call, that signalled it? */
bool interpreter_signalled(const struct ecl_ihs_frame *caller, const struct ecl_ihs_frame *handler);

/* Is the last call of RECORD's code the one that is being made now? */
bool interpreter_is_calling(const struct ecl_ihs_frame *record);

#endif
