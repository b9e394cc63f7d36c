/* Refining: with --native auto, the functions that a call has defined become native code after its
 * answer. They mean the same before and after, so that no state is counted or kept for it: a
 * session that returns to the state of the call is refined again. */
#include "supervisor/session/session_internal.h"

enum {
    FRAME_LIMIT_MS = 5000, /* a worker answers long before, unless macros do not return */
    CALL_LIMIT_MS = 5000   /* of a call: code that took its process over could have more for ever */
};

bool refine_is_due(const struct session *session) {
    const struct worker_process *head = session->head;
    const struct sessions *all = session->all;
    const bool keeps = history_is_safe(session) || session->kind == SESSION_SOURCE;
    return all->pool->workers.compiler && head && head->native.coarse && keeps &&
           session->refines != REFINES_NEVER &&
           session->refined_ns / CLOCK_NS_PER_MS < CALL_LIMIT_MS &&
           (session->refines == REFINES_FIRST || TAILQ_EMPTY(&session->queue)) &&
           all->running < (size_t)all->settings->call_running_max;
}

void refine_first(struct session *session) {
    session->refined_ns = 0;
    if (session->refines == REFINES_IDLE)
        session->refines = REFINES_FIRST;
}

static void leave(struct session *session, enum refines refines) {
    struct sessions *all = session->all;
    loop_timer_stop(all->loop, &session->time_limit);
    session->refined_ns += clock_now_ns() - session->refining_ns;
    session->refines = refines;
    all->running--;
    admission_open(all);
    session_enter(session, SESSION_IDLE);
}

static void on_limit(void *context) {
    struct session *session = context;
    worker_kill(session->head);
}

void refine_begin(struct session *session) {
    struct sessions *all = session->all;
    session_enter(session, SESSION_REFINING);
    all->running++;
    session->refining_ns = clock_now_ns();
    loop_timer_start(all->loop, &session->time_limit, FRAME_LIMIT_MS, on_limit, session);
    if (!worker_refine(session->head))
        worker_kill(session->head);
}

void refine_on_done(void *context, struct worker_process *worker) {
    struct session *session = context;
    (void)worker;
    leave(session, REFINES_IDLE);
    session_step_later(session);
}

void refine_failed(struct session *session) {
    const struct log_event event = {.level = LOG_WARNING_LEVEL,
                                    .name = "refine-failed",
                                    .session = session->name,
                                    .pid = session->head->pid};
    log_write(session->all->log, &event,
              "the worker ended while it compiled what calls have defined; it stays bytecode");
    leave(session, REFINES_NEVER);
}

void refine_abandon(struct session *session) {
    if (session->state == SESSION_REFINING)
        leave(session, REFINES_NEVER);
}
