/* Distances on the C stack: between the record of an invocation and its call under way, between
 * the records of caller and callee, and between a record and that of an error handler. All three
 * are fixed for one build of ECL. Never reads through a pointer that a check has not passed. */
#include "worker/interpreter.h"
#include "worker/guard.h"
#include "worker/lisp.h"

#include <stdint.h>

struct layout {
    ptrdiff_t call;    /* record above its call */
    ptrdiff_t callee;  /* record above that of what it calls */
    ptrdiff_t handler; /* record above that of the handler of an undefined function */
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
    call->count = frame->size < INTERPRETER_ARGUMENTS_MAX ? frame->size : INTERPRETER_ARGUMENTS_MAX;
    for (size_t i = 0; i < call->count; i++)
        call->arguments[i] = frame->base[i];
}

bool interpreter_called(const struct ecl_ihs_frame *caller, const struct ecl_ihs_frame *callee) {
    return layout.callee && distance(caller, callee) == layout.callee;
}

bool interpreter_signalled(const struct ecl_ihs_frame *caller,
                           const struct ecl_ihs_frame *handler) {
    return layout.handler && distance(caller, handler) == layout.handler;
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

/* In the place of the debugger. */
static cl_object probe_handler(cl_object condition, cl_object hook) {
    const struct ecl_ihs_frame *inner = ecl_process_env()->ihs_top;
    while (inner->next && inner->next->function && ecl_t_of(inner->next->function) != t_bytecodes)
        inner = inner->next;
    layout.handler = distance(inner->next, inner);
    return guard_stop_hook(condition, hook); /* does not return */
}

static void run_trial(void *argument) {
    (void)argument;
    const cl_env_ptr env = ecl_process_env();
    cl_object handler = ecl_make_symbol("PROBE-HANDLER", "ECLAVE");
    ecl_def_c_function_va(ecl_make_symbol("PROBE-CALL", "ECLAVE"), probe_call, 0);
    ecl_def_c_function(handler, (cl_objectfn_fixed)probe_handler, 2);
    si_eval_with_env(1, c_string_to_object("(flet ((g (a b) (eclave::probe-call) (list a b)))"
                                           " (g 11 22))"));
    ecl_bds_bind(env, lisp.debugger_hook, cl_fdefinition(handler));
    si_eval_with_env(1, c_string_to_object("(eclave::no-such-function)"));
}

void interpreter_learn(void) {
    enum guard_end end = guard_run(run_trial, NULL, NULL);
    if (end != GUARD_CONDITION || !trial_passed)
        layout = (struct layout){0};
}
