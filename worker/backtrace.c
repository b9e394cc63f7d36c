/* Walks the invocation history. Never shows a frame of ours: the runtime and ECL are compiled and
 * leave none. */
#include "worker/backtrace.h"
#include "worker/lisp.h"

#include <stddef.h>

/* ECL's record of a built-in function that complains of its arguments: its name, or the function.
 * The error machinery itself leaves functions too, so a name is what counts. */
static cl_object builtin_name(cl_object function) {
    return function && ECL_SYMBOLP(function) && !Null(function) ? function : NULL;
}

static bool is_user_code(cl_object function) {
    return function && ecl_t_of(function) == t_bytecodes &&
           function->bytecodes.name != lisp.bytecodes; /* a top-level form has no call */
}

void backtrace_take(struct backtrace *backtrace, cl_index base) {
    backtrace->builtin = NULL;
    backtrace->count = 0;
    bool innermost = true;
    for (const struct ecl_ihs_frame *record = ecl_process_env()->ihs_top;
         record && record->index > base && backtrace->count < RESULT_FRAMES_MAX;
         record = record->next) {
        if (innermost && !backtrace->builtin)
            backtrace->builtin = builtin_name(record->function);
        if (record->function && ecl_t_of(record->function) == t_bytecodes)
            innermost = false;
        if (is_user_code(record->function))
            backtrace->frames[backtrace->count++] =
                (struct backtrace_frame){record->function, record->lex_env};
    }
}
