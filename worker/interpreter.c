/* Distances on the C stack: from the record of an invocation to its call under way, to the record
 * of what it calls, and to the place of the debugger when it calls a function that does not exist.
 * All three are fixed for one build of ECL. Never reads through a pointer that no check has passed.
 */
#include "worker/interpreter.h"
#include "worker/guard.h"

#include <stdint.h>

struct layout {
    ptrdiff_t call;      /* record above its call */
    ptrdiff_t callee;    /* record above that of what it calls */
    ptrdiff_t undefined; /* record above guard_stop_hook, for an undefined function */
};

static struct layout layout; /* zero: not known */
static bool trial_passed;

static ptrdiff_t distance(const void *high, const void *low) {
    return (ptrdiff_t)((uintptr_t)high - (uintptr_t)low);
}

static const struct ecl_stack_frame *call_of(const struct ecl_ihs_frame *record) {
    return (const struct ecl_stack_frame *)((uintptr_t)record - (uintptr_t)layout.call);
}

static bool is_plausible(const struct ecl_stack_frame *call) {
    const cl_env_ptr env = ecl_process_env();
    return call->t == t_frame && call->env == env && call->base >= env->stack &&
           call->base <= env->stack_limit &&
           call->size <= (cl_index)(env->stack_limit - call->base);
}

void interpreter_last_call(const struct ecl_ihs_frame *record, struct interpreter_call *call) {
    *call = (struct interpreter_call){0};
    if (!layout.call || !is_plausible(call_of(record)))
        return;
    const struct ecl_stack_frame *frame = call_of(record);
    call->known = true;
    call->count = frame->size;
    for (size_t i = 0; i < call->count && i < INTERPRETER_ARGUMENTS_MAX; i++)
        call->arguments[i] = frame->base[i];
}

bool interpreter_called(const struct ecl_ihs_frame *caller, const struct ecl_ihs_frame *callee) {
    return layout.callee && distance(caller, callee) == layout.callee;
}

bool interpreter_found_nothing(const struct ecl_ihs_frame *caller, const void *debugger) {
    return layout.undefined && distance(caller, debugger) == layout.undefined;
}

bool interpreter_is_calling(const struct ecl_ihs_frame *record) {
    return layout.call && (uintptr_t)ecl_process_env()->stack_frame == (uintptr_t)call_of(record);
}

/* The trial: interpreted code calls the interpreted function G with (11 22), which calls
 * probe_call; then it calls a function that does not exist. */

enum { FIRST_ARGUMENT = 11, SECOND_ARGUMENT = 22 };

static cl_object probe_call(cl_narg count, ...) {
    (void)count;
    const cl_env_ptr env = ecl_process_env();
    const struct ecl_ihs_frame *callee = env->ihs_top;
    const struct ecl_ihs_frame *caller = callee->next;
    layout.call = distance(callee, env->stack_frame);
    layout.callee = distance(caller, callee);
    struct interpreter_call call;
    interpreter_last_call(caller, &call);
    trial_passed = call.known && call.count == 2 &&
                   call.arguments[0] == ecl_make_fixnum(FIRST_ARGUMENT) &&
                   call.arguments[1] == ecl_make_fixnum(SECOND_ARGUMENT);
    ecl_return0(env);
}

static void call_function(void *argument) {
    (void)argument;
    cl_object probe = ecl_make_symbol("PROBE-CALL", "ECLAVE");
    ecl_def_c_function_va(probe, probe_call, 0);
    si_eval_with_env(1, c_string_to_object("(flet ((g (a b) (eclave::probe-call) (list a b)))"
                                           " (g 11 22))"));
}

static void call_nothing(void *argument) {
    (void)argument;
    si_eval_with_env(1, c_string_to_object("(eclave::no-such-function)"));
}

void interpreter_learn(void) {
    struct guard_stop stop;
    if (guard_run(call_function, NULL, NULL) != GUARD_RETURNED || !trial_passed) {
        layout = (struct layout){0};
        return;
    }
    if (guard_run(call_nothing, NULL, &stop) == GUARD_CONDITION && stop.backtrace.code)
        layout.undefined = distance(stop.backtrace.code, stop.backtrace.debugger);
}
