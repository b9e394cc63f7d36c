/* Walks the invocation history. Never shows a frame of ours: the runtime and ECL are compiled and
 * leave none. */
#include "worker/backtrace.h"
#include "worker/lisp.h"

static struct trapped {
    struct backtrace_trap trap;
    struct interpreter_call call;
} trapped; /* the last, until a backtrace takes it */

void backtrace_note_trap(void) {
    const cl_env_ptr env = ecl_process_env();
    trapped = (struct trapped){.trap.code = env->ihs_top->function};
    /* A call whose arguments are on the stack does not note its function, and the reverse. */
    if (interpreter_is_calling(env->ihs_top))
        interpreter_last_call(env->ihs_top, &trapped.call);
    else
        trapped.trap.function = env->function;
}

/* ECL's record of a built-in function that complains of its arguments is its name; the error
 * machinery leaves functions. */
static cl_object builtin_name(cl_object function) {
    return function && function != ECL_NIL && ECL_SYMBOLP(function) ? function : NULL;
}

static bool is_interpreted(const struct ecl_ihs_frame *record) {
    return record->function && ecl_t_of(record->function) == t_bytecodes;
}

static bool is_user_function(const struct ecl_ihs_frame *record) {
    return record->function->bytecodes.name != lisp.bytecodes; /* of a top-level form */
}

/* From the point of the error out to the innermost interpreted code. */
static const struct ecl_ihs_frame *take_error(struct backtrace *backtrace, cl_index base) {
    const struct ecl_ihs_frame *record = ecl_process_env()->ihs_top;
    for (; record && record->index > base && !is_interpreted(record); record = record->next)
        if (!backtrace->builtin)
            backtrace->builtin = builtin_name(record->function);
    if (!record || record->index <= base)
        return NULL;
    backtrace->code = record;
    backtrace->trap = trapped.trap;
    if (trapped.trap.code) {
        backtrace->last_call = trapped.call;
    } else {
        interpreter_last_call(record, &backtrace->last_call);
        backtrace->last_call_failed = interpreter_found_nothing(record, backtrace->debugger);
    }
    return record;
}

void backtrace_take(struct backtrace *backtrace, cl_index base, const void *debugger) {
    *backtrace = (struct backtrace){.debugger = debugger};
    const struct ecl_ihs_frame *record = take_error(backtrace, base);
    trapped = (struct trapped){0};
    for (; record && record->index > base && backtrace->count < RESULT_FRAMES_MAX;
         record = record->next) {
        if (!is_interpreted(record) || !is_user_function(record))
            continue;
        struct backtrace_frame *frame = &backtrace->frames[backtrace->count++];
        frame->function = record->function;
        frame->environment = record->lex_env;
        if (record->next && interpreter_called(record->next, record))
            interpreter_last_call(record->next, &frame->call);
    }
}
