/* Which call may start: of all that evaluate, over all sessions, call.running_max run at a time,
 * and the others start in order of arrival. */
#include "supervisor/base/clock.h"
#include "supervisor/session/session_internal.h"

void admission_take(struct call *call) {
    call->counted = true;
    call->session->all->running++;
}

void admission_release(struct call *call) {
    if (!call->counted)
        return;
    call->counted = false;
    call->session->all->running--;
    admission_open(call->session->all);
}

static bool evaluates(const struct call *call) {
    return call->kind == CALL_EVALUATE || call->kind == CALL_RUN;
}

/* The numbers of calls begin again after the last one. */
static bool is_older(const struct call *call, const struct call *other) {
    return (int32_t)(call->number - other->number) < 0;
}

/* The session that waits for its turn with the oldest call of those that can start now; NULL: none
 * can. */
static struct session *next_to_start(const struct sessions *all) {
    const bool slot = all->running < (size_t)all->settings->call_running_max;
    const bool process = transient_has_room(all);
    struct session *session, *next = NULL;
    if (all->held)
        return NULL;
    TAILQ_FOREACH(session, &all->list, entry) {
        const struct call *call = TAILQ_FIRST(&session->queue);
        if (!session->backlogged || !call || (!slot && evaluates(call)) ||
            (!process && session->kind == SESSION_TRANSIENT))
            continue;
        if (!next || is_older(call, TAILQ_FIRST(&next->queue)))
            next = session;
    }
    return next;
}

bool admission_asks(struct session *session) {
    session->backlogged = true;
    session->backlogged = next_to_start(session->all) != session;
    return !session->backlogged;
}

/* Some may not start after all, so that others can. */
static void on_admission(void *context) {
    struct sessions *all = context;
    const int64_t begun_ns = clock_now_ns();
    for (struct session *next; (next = next_to_start(all)) != NULL;) {
        if (clock_now_ns() - begun_ns >= LOOP_TURN_NS) {
            admission_open(all);
            return;
        }
        session_step(next);
    }
}

void admission_open(struct sessions *sessions) {
    if (!sessions->admission.active)
        loop_timer_start(sessions->loop, &sessions->admission, 0, on_admission, sessions);
}
