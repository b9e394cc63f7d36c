/* Walks ECL's invocation history. Interpreted code is recorded in it; the runtime and ECL, compiled
 * for speed, do not appear. Native code of the session is not recorded either, but found on the C
 * stack (native_frames.h), and merged by addresses.
 *
 * ECL does not record the arguments of a call, but they are on the C stack at fixed distances from
 * the record: to the call under way, to the record of the callee, and to the debugger's frame after
 * the call of an undefined function. backtrace_learn measures them by a test. */
#include "worker/backtrace.h"
#include "worker/guard.h"
#include "worker/lisp.h"
#include "worker/native_frames.h"
#include "worker/trampoline.h"

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

/* The arguments, but for the first EXTRA, of the last call that the interpreted code of RECORD made
 * with its arguments on ECL's stack. Calls of some built-in functions pass them elsewhere, so this
 * may be an earlier call. */
static void take_call(const struct ecl_ihs_frame *record, size_t extra,
                      struct backtrace_call *call) {
    *call = (struct backtrace_call){0};
    if (!layout.call || !is_plausible(call_of(record)) || call_of(record)->size < extra)
        return;
    const struct ecl_stack_frame *frame = call_of(record);
    call->known = true;
    call->count = frame->size - extra;
    for (size_t i = 0; i < call->count && i < BACKTRACE_ARGUMENTS_MAX; i++)
        call->arguments[i] = frame->base[extra + i];
}

static void take_last_call(const struct ecl_ihs_frame *record, struct backtrace_call *call) {
    take_call(record, 0, call);
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

static bool is_interpreted(const struct ecl_ihs_frame *record) {
    return record->function && ecl_t_of(record->function) == t_bytecodes;
}

/* Interpreted code that does nothing but call native code. */
static bool is_redirected(const struct ecl_ihs_frame *record) {
    return is_interpreted(record) && trampoline_is(record->function);
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
    if (!is_redirected(env->ihs_top) && is_calling(env->ihs_top))
        take_last_call(env->ihs_top, &trapped.call);
    else
        trapped.trap.function = env->function;
}

/* A built-in function that rejects an argument leaves a record with its name; the error handling
 * leaves records with functions. */
static cl_object builtin_name(cl_object function) {
    return function && function != ECL_NIL && ECL_SYMBOLP(function) ? function : NULL;
}

static bool is_user_function(const struct ecl_ihs_frame *record) {
    return record->function->bytecodes.name != lisp.bytecodes; /* of a top-level form */
}

/* The records above number BASE: the first is the innermost. NULL: none left. */
static const struct ecl_ihs_frame *above(const struct ecl_ihs_frame *record, cl_index base) {
    return record && record->index > base ? record : NULL;
}

/* Is NATIVE on the C stack within what RECORD, NULL for none, was made by? */
static bool is_within(const struct native_frame *native, const struct ecl_ihs_frame *record) {
    return !record || (uintptr_t)native->address < (uintptr_t)record;
}

/* Where the walk for native frames ends: at the record that ends the part of the history, or that
 * is too far out for the backtrace. Records in other memory than the stack end nothing. */
static const void *end_of_walk(const struct ecl_ihs_frame *record, cl_index base) {
    size_t count = 0;
    while (record && record->index > base && count < RESULT_FRAMES_MAX) {
        count += is_interpreted(record) && is_user_function(record);
        record = record->next;
    }
    const cl_env_ptr env = ecl_process_env();
    const uintptr_t bottom = (uintptr_t)env->cs_org, at = (uintptr_t)record;
    return at < bottom && bottom - at < env->cs_size ? record : (const void *)UINTPTR_MAX;
}

/* Searches from the point of the error outwards for the innermost interpreted code, if no native
 * code is within. NATIVE is the innermost native frame, or NULL. */
static void take_error(struct backtrace *backtrace, cl_index base,
                       const struct native_frame *native) {
    const struct ecl_ihs_frame *record = above(ecl_process_env()->ihs_top, base);
    for (; record && !is_interpreted(record) && !(native && is_within(native, record));
         record = above(record->next, base))
        if (!backtrace->builtin)
            backtrace->builtin = builtin_name(record->function);
    if (!record || (native && is_within(native, record)) || is_redirected(record))
        return;
    backtrace->code = record;
    backtrace->trap = trapped.trap;
    if (trapped.trap.code) {
        backtrace->last_call = trapped.call;
    } else {
        take_last_call(record, &backtrace->last_call);
        backtrace->last_call_failed = called_undefined(record, backtrace->debugger);
    }
}

static void add_native(struct backtrace *backtrace, const struct native_frame *native) {
    backtrace->frames[backtrace->count++] = (struct backtrace_frame){
        .function = native->function, .environment = ECL_NIL, .call = native->call};
}

/* Was the last frame that was added that of the function that RECORD, which is redirected, called?
 */
static bool is_added(const struct backtrace *backtrace, const struct ecl_ihs_frame *record) {
    return backtrace->count > 0 &&
           backtrace->frames[backtrace->count - 1].function == trampoline_native(record->function);
}

static void add_interpreted(struct backtrace *backtrace, const struct ecl_ihs_frame *record) {
    const bool redirected = is_redirected(record);
    if (redirected && is_added(backtrace, record))
        return;
    struct backtrace_frame *frame = &backtrace->frames[backtrace->count++];
    frame->function = record->function;
    frame->environment = redirected ? ECL_NIL : record->lex_env;
    if (record->next && is_caller(record->next, record))
        take_last_call(record->next, &frame->call);
    else if (redirected && trampoline_extra(record->function) >= 0)
        take_call(record, (size_t)trampoline_extra(record->function), &frame->call);
}

void backtrace_take(struct backtrace *backtrace, cl_index base, const void *debugger) {
    *backtrace = (struct backtrace){.debugger = debugger};
    const struct ecl_ihs_frame *record = above(ecl_process_env()->ihs_top, base);
    struct native_frame frames[RESULT_FRAMES_MAX], *native = frames;
    const struct native_frame *end =
        frames + native_frames_take(frames, RESULT_FRAMES_MAX, end_of_walk(record, base));
    take_error(backtrace, base, native < end ? native : NULL);
    trapped = (struct trapped){0};
    while ((record || native < end) && backtrace->count < RESULT_FRAMES_MAX) {
        if (native < end && is_within(native, record)) {
            add_native(backtrace, native++);
            continue;
        }
        if (is_interpreted(record) && is_user_function(record))
            add_interpreted(backtrace, record);
        record = above(record->next, base);
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
