/* Walks ECL's invocation history. Interpreted code is recorded in it, and native code of the
 * session, but not what is compiled with optimization for speed alone: the runtime and ECL do not
 * appear.
 *
 * ECL does not record the arguments of a call, but they are on the C stack at fixed distances from
 * the record: to the call under way, to the record of the callee, and to the debugger's frame after
 * the call of an undefined function. backtrace_learn measures them by a test. */
#include "worker/backtrace.h"
#include "worker/guard.h"
#include "worker/lisp.h"
#include "worker/native.h"

#include <ecl/ecl-cmp.h>
#include <stdint.h>

/* From the record of an invocation; 0: unknown. */
static struct layout {
    ptrdiff_t call;      /* to the call that it is making */
    ptrdiff_t callee;    /* to the record of the function that it calls */
    ptrdiff_t undefined; /* to guard_stop_hook, if it calls an undefined function */
} layout;
static bool layout_is_valid;

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

/* The arguments of the last call that the interpreted code of RECORD made with its arguments on
 * ECL's stack. Calls of some built-in functions pass them elsewhere, so this may be an earlier
 * call. */
static void take_last_call(const struct ecl_ihs_frame *record, struct backtrace_call *call) {
    *call = (struct backtrace_call){0};
    if (!layout.call || !is_plausible(call_of(record)))
        return;
    const struct ecl_stack_frame *frame = call_of(record);
    call->known = true;
    call->count = frame->size;
    for (size_t i = 0; i < call->count && i < BACKTRACE_ARGUMENTS_MAX; i++)
        call->arguments[i] = frame->base[i];
}

/* Did the interpreted code of CALLER call CALLEE directly? Then its last call has CALLEE's
 * arguments.
 */
static bool is_caller(const struct ecl_ihs_frame *caller, const struct ecl_ihs_frame *callee) {
    return layout.callee && distance(caller, callee) == layout.callee;
}

/* Did the interpreted code of CALLER call an undefined function, and so reach the debugger, at
 * DEBUGGER on the C stack? Then its last call is the one that failed. */
static bool called_undefined(const struct ecl_ihs_frame *caller, const void *debugger) {
    return layout.undefined && distance(caller, debugger) == layout.undefined;
}

/* Is the last call of RECORD's code the current one? */
static bool is_calling(const struct ecl_ihs_frame *record) {
    return layout.call && (uintptr_t)ecl_process_env()->stack_frame == (uintptr_t)call_of(record);
}

/* --- the history --- */

static struct trapped {
    struct backtrace_trap trap;
    struct backtrace_call call;
} trapped; /* the last trap, until a backtrace takes it */

void backtrace_note_trap(void) {
    const cl_env_ptr env = ecl_process_env();
    trapped = (struct trapped){.trap.code = env->ihs_top->function};
    /* ECL records the function of a call only if its arguments are not on the stack. */
    if (is_calling(env->ihs_top))
        take_last_call(env->ihs_top, &trapped.call);
    else
        trapped.trap.function = env->function;
}

/* A built-in function that rejects an argument leaves a record with its name; the error handling
 * leaves records with functions. */
static cl_object builtin_name(cl_object function) {
    return function && function != ECL_NIL && ECL_SYMBOLP(function) ? function : NULL;
}

static bool is_interpreted(const struct ecl_ihs_frame *record) {
    return record->function && ecl_t_of(record->function) == t_bytecodes;
}

/* Native code leaves the name of its function, and so do built-in functions that reject an
 * argument. NULL: RECORD is not of native code, or what has that name now is not. */
static cl_object native_function(const struct ecl_ihs_frame *record) {
    cl_object name = builtin_name(record->function);
    cl_object function = name && ecl_t_of(name) == t_symbol ? name->symbol.gfdef : NULL;
    if (!function || function == ECL_NIL || ECL_IMMEDIATE(function))
        return NULL;
    const void *code = function->d.t == t_cfunfixed ? (const void *)function->cfunfixed.entry_fixed
                       : function->d.t == t_cfun    ? (const void *)function->cfun.entry
                                                    : NULL;
    if (!native_has(code))
        return NULL;
    /* What FUNCTION returns in native code has no name, which is to be shown. */
    if (function->d.t == t_cfunfixed && function->cfunfixed.name == ECL_NIL)
        function->cfunfixed.name = name;
    else if (function->d.t == t_cfun && function->cfun.name == ECL_NIL)
        function->cfun.name = name;
    return function;
}

/* The values of the parameters in the outermost part of the variables of native code, if all are
 * required and Lisp objects. Each part is a vector: the part around it, descriptions, addresses. */
static void take_parameters(const struct ecl_ihs_frame *record, cl_object function,
                            struct backtrace_call *call) {
    enum { OUTER, DESCRIPTIONS, ADDRESSES };
    cl_object part = record->lex_env;
    *call = (struct backtrace_call){0};
    if (function->d.t != t_cfunfixed || part == ECL_NIL || ecl_t_of(part) != t_vector)
        return;
    while (part->vector.self.t[OUTER] != ECL_NIL)
        part = part->vector.self.t[OUTER];
    const struct ecl_var_debug_info *described = (const void *)part->vector.self.t[DESCRIPTIONS];
    const size_t count = (size_t)function->cfunfixed.narg;
    if (part->vector.dim != ADDRESSES + count)
        return;
    for (size_t i = 0; i < count && i < BACKTRACE_ARGUMENTS_MAX; i++) {
        if (described[i].type != _ecl_object_loc)
            return;
        call->arguments[i] = *(const cl_object *)part->vector.self.t[ADDRESSES + i];
    }
    call->count = count;
    call->known = true;
}

static bool is_user_function(const struct ecl_ihs_frame *record) {
    return record->function->bytecodes.name != lisp.bytecodes; /* of a top-level form */
}

/* Searches from the point of the error outwards for the innermost interpreted code. */
static const struct ecl_ihs_frame *take_error(struct backtrace *backtrace, cl_index base) {
    const struct ecl_ihs_frame *record = ecl_process_env()->ihs_top;
    for (; record && record->index > base && !is_interpreted(record) && !native_function(record);
         record = record->next)
        if (!backtrace->builtin)
            backtrace->builtin = builtin_name(record->function);
    if (!record || record->index <= base)
        return NULL;
    if (!is_interpreted(record))
        return record;
    backtrace->code = record;
    backtrace->trap = trapped.trap;
    if (trapped.trap.code) {
        backtrace->last_call = trapped.call;
    } else {
        take_last_call(record, &backtrace->last_call);
        backtrace->last_call_failed = called_undefined(record, backtrace->debugger);
    }
    return record;
}

void backtrace_take(struct backtrace *backtrace, cl_index base, const void *debugger) {
    *backtrace = (struct backtrace){.debugger = debugger};
    const struct ecl_ihs_frame *record = take_error(backtrace, base);
    trapped = (struct trapped){0};
    for (; record && record->index > base && backtrace->count < RESULT_FRAMES_MAX;
         record = record->next) {
        cl_object native = is_interpreted(record) ? NULL : native_function(record);
        if (native) {
            struct backtrace_frame *frame = &backtrace->frames[backtrace->count++];
            frame->function = native;
            frame->environment = ECL_NIL;
            take_parameters(record, native, &frame->call);
        }
        if (!is_interpreted(record) || !is_user_function(record))
            continue;
        struct backtrace_frame *frame = &backtrace->frames[backtrace->count++];
        frame->function = record->function;
        frame->environment = record->lex_env;
        if (record->next && is_caller(record->next, record))
            take_last_call(record->next, &frame->call);
    }
}

/* --- the distances --- */

/* The test: interpreted code calls the interpreted function G with (11 22), which calls probe_call;
 * then it calls a function that does not exist. */

enum { FIRST_ARGUMENT = 11, SECOND_ARGUMENT = 22 };

static cl_object probe_call(cl_narg count, ...) {
    (void)count;
    const cl_env_ptr env = ecl_process_env();
    const struct ecl_ihs_frame *callee = env->ihs_top;
    const struct ecl_ihs_frame *caller = callee->next;
    layout.call = distance(callee, env->stack_frame);
    layout.callee = distance(caller, callee);
    struct backtrace_call call;
    take_last_call(caller, &call);
    layout_is_valid = call.known && call.count == 2 &&
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

void backtrace_learn(void) {
    struct guard_stop stop;
    if (guard_run(call_function, NULL, NULL) != GUARD_RETURNED || !layout_is_valid) {
        layout = (struct layout){0};
        return;
    }
    if (guard_run(call_nothing, NULL, &stop) == GUARD_CONDITION && stop.backtrace.code)
        layout.undefined = distance(stop.backtrace.code, stop.backtrace.debugger);
}
