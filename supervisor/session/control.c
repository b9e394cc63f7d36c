/* Calls that act on the session itself: rollback, reset, close and copy. */
#include "supervisor/session/kept_output.h"
#include "supervisor/session/session_internal.h"

#include <unistd.h>

static void conclude(struct call *call) {
    call_conclude(call, NULL, NULL, 0, false);
}

void session_roll_back(struct session *session) {
    struct call *call = session_take_running(session);
    size_t length = history_length(session);
    if ((uint64_t)call->steps > length) {
        bool can_fork = !session->head || worker_can_fork(session->head);
        call_decide(
            call, OUTCOME_REFUSED,
            "Session %s can be rolled back by at most %zu calls now (session.history %lld%s).",
            session->name, length, (long long)session->all->settings->session_history,
            can_fork ? "" : "; seccomp notifications are unavailable");
    } else {
        history_return(session, session->number - (uint64_t)call->steps);
        call_reply(call, "Session %s is as it was before its last %lld call%s; state number %llu.",
                   session->name, (long long)call->steps, call->steps == 1 ? "" : "s",
                   (unsigned long long)session->number);
    }
    conclude(call);
    session_step_later(session);
}

void session_reset(struct session *session) {
    struct call *call = session_take_running(session);
    history_clear(session);
    kept_output_forget(session);
    call_reply(call, "Session %s is reset to a fresh state.", session->name);
    conclude(call);
    session_step_later(session);
}

void session_close(struct session *session) {
    struct call *call = session_take_running(session);
    call_reply(call, "Session %s is closed.", session->name);
    conclude(call);
    session_conclude_cancelled(session);
    while (!TAILQ_EMPTY(&session->queue)) {
        call = TAILQ_FIRST(&session->queue);
        session_unqueue(call);
        call_decide(call, OUTCOME_REFUSED, "Session %s was closed before this call.",
                    session->name);
        conclude(call);
    }
    session_destroy(session);
}

void session_end_copy(struct session *session, enum outcome outcome, const char *what) {
    struct call *call = session_take_running(session);
    struct session *copy = session->copy;
    session->copy = NULL;
    if (outcome == OUTCOME_VALUE) {
        if (copy->state == SESSION_NASCENT)
            session_enter(copy, SESSION_IDLE);
        call_reply(call, "%s", copy->name);
        session_step_later(copy);
    } else {
        if (copy)
            session_destroy(copy);
        call_decide(call, outcome, "Session %s cannot be copied: %s.", session->name, what);
    }
    conclude(call);
    session_step_later(session);
}

/* Forks HOLDER as the head of the copy. */
static bool fork_copy(struct session *session, struct worker_process *holder, struct error *error) {
    struct session *copy = session->copy;
    int outputs[2];
    copy->pipes = pipes_open(copy->all->loop, copy->all->settings, outputs, error);
    if (!copy->pipes)
        return false;
    copy->head = worker_fork(holder, &session_events, copy, copy->name, outputs, error);
    if (copy->head) {
        copy->head->outputs = copy->pipes->serial;
        /* A hostile fork keeps the outputs of its origin, which keeps those that it was sent. */
        session->pipes->shared = copy->pipes->shared = true;
    }
    close(outputs[0]);
    close(outputs[1]);
    return copy->head != NULL;
}

void session_begin_copy(struct session *session) {
    struct call *call = session->running;
    struct error error;
    uint64_t number = call->at < 0 ? session->number : (uint64_t)call->at;
    bool fresh = number == 0 && session->began_fresh;
    struct worker_process *holder = history_holder(session, number);
    if (!holder && !fresh) {
        error_set(&error, 0, "state number %llu is not kept", (unsigned long long)number);
        session_end_copy(session, OUTCOME_REFUSED, error.text);
        return;
    }
    if (holder && !worker_can_fork(holder)) {
        session_end_copy(session, OUTCOME_REFUSED, "seccomp notifications are unavailable");
        return;
    }
    session->copy = sessions_make(session->all);
    if (!session->copy) {
        session_end_copy(session, OUTCOME_FULL, "there are session.max sessions, and none is idle");
    } else if (!holder || fresh) {
        session_end_copy(session, OUTCOME_VALUE, NULL);
    } else {
        session_enter(session, SESSION_COPYING);
        session_enter(session->copy, SESSION_NASCENT);
        session->copy->began_fresh = false;
        if (!fork_copy(session, holder, &error))
            session_end_copy(session, OUTCOME_REFUSED, error.text);
    }
}
