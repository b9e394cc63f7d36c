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
    size_t count; /* those beyond the maximum are not kept */
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

/* Was it the interpreted code of CALLER itself that found no function to call, and so came to the
 * debugger, at address DEBUGGER of the C stack? Then the last call of CALLER is the one that
 * failed.
 */
bool interpreter_found_nothing(const struct ecl_ihs_frame *caller, const void *debugger);

/* Is the last call of RECORD's code the one that is being made now? */
bool interpreter_is_calling(const struct ecl_ihs_frame *record);

#endif
