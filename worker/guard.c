/* Guarded calls into Lisp. The tags are objects that user code cannot name in a THROW. ECL's
 * emergency exits throw to the innermost one. */
#include "worker/guard.h"
#include "worker/fault.h"
#include "worker/lisp.h"

#include <stddef.h>

struct guard {
    cl_index frame; /* of ECL's frame stack, counted from its bottom */
    cl_index base;  /* of its part of the invocation history */
    struct guard_stop *stop;
    enum guard_end end;
};

/* One for each depth; static because Lisp calls back without an argument. */
static struct guard guards[GUARD_DEPTH_MAX];
static size_t depth;
static cl_object tags[GUARD_DEPTH_MAX];

void guard_initialize(void) {
    for (size_t i = 0; i < GUARD_DEPTH_MAX; i++)
        tags[i] = ecl_list1(ECL_NIL);
}

/* The innermost running guard, or NULL. A throw of user code may have unwound inner guards, which
 * then have no frame. */
static struct guard *innermost(void) {
    while (depth && !frs_sch(tags[depth - 1]))
        depth--;
    return depth ? &guards[depth - 1] : NULL;
}

size_t guard_depth(void) {
    innermost();
    return depth;
}

enum guard_end guard_run(void (*function)(void *), void *argument, struct guard_stop *stop) {
    const cl_env_ptr env = ecl_process_env();
    innermost();
    if (depth == GUARD_DEPTH_MAX)
        return GUARD_OVERFLOW;
    cl_object tag = tags[depth];
    struct guard *guard = &guards[depth++];
    guard->stop = stop;
    guard->end = GUARD_OVERFLOW; /* ECL's emergency exits give no other reason */
    guard->base = env->ihs_top->index;
    ecl_bds_bind(env, lisp.quit_tag, tag);
    ECL_CATCH_BEGIN(env, tag) {
        guard->frame = (cl_index)(env->frs_top - env->frs_org);
        function(argument);
        guard->end = GUARD_RETURNED;
    }
    ECL_CATCH_END;
    ecl_bds_unwind1(env);
    fault_handled();
    if (guard->end != GUARD_RETURNED)
        fault_unlock_names();
    depth = (size_t)(guard - guards);
    return guard->end;
}

/* Is ECL unwinding to the frame of GUARD already? Then a cleanup form is running, and a condition
 * in it must not replace the one that started the unwinding. */
static bool is_unwinding_to(const struct guard *guard) {
    const cl_env_ptr env = ecl_process_env();
    return guard->end != GUARD_OVERFLOW && env->nlj_fr == env->frs_org + guard->frame;
}

/* Records why GUARD ends and unwinds to it. */
static void end_guard(struct guard *guard, enum guard_end end, cl_object condition,
                      const void *debugger) {
    static bool taking; /* unsafe code may have destroyed the stack: a fault in taking ends here */
    if (!is_unwinding_to(guard)) {
        guard->end = end;
        if (guard->stop) {
            guard->stop->condition = condition;
            guard->stop->restarts = ECL_SYM_VAL(ecl_process_env(), lisp.restart_clusters);
            guard->stop->backtrace = (struct backtrace){0};
            if (!taking) {
                taking = true;
                backtrace_take(&guard->stop->backtrace, guard->base, debugger);
            }
        }
    }
    taking = false;
    cl_throw(tags[guard - guards]);
}

bool guard_may_end(void) {
    return innermost() != NULL;
}

void guard_end_now(enum guard_end end) {
    end_guard(innermost(), end, NULL, NULL);
    __builtin_unreachable();
}

/* As in the standard, the hook is NIL while it runs. */
static void call_user_hook(cl_object condition) {
    const cl_env_ptr env = ecl_process_env();
    cl_object hook = ECL_SYM_VAL(env, lisp.user_debugger_hook);
    if (!hook || hook == ECL_NIL)
        return;
    ecl_bds_bind(env, lisp.user_debugger_hook, ECL_NIL);
    cl_funcall(3, hook, condition, hook);
    ecl_bds_unwind1(env);
}

cl_object guard_stop_hook(cl_object condition, cl_object hook) {
    (void)hook;
    if (condition != ECL_NIL)
        call_user_hook(condition);
    struct guard *guard = innermost();
    if (guard)
        end_guard(guard, condition == ECL_NIL ? GUARD_ABORTED : GUARD_CONDITION, condition,
                  __builtin_frame_address(0));
    return ECL_NIL;
}
