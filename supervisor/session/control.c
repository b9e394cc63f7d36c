/* Calls that act on the session itself: rollback, reset, close and copy. */
#include "supervisor/session/kept_output.h"
#include "supervisor/session/session_internal.h"

#include <stdio.h>
#include <unistd.h>

static void conclude(struct call *call) {
    call_conclude(call, NULL, NULL, 0, false);
}

/* What is asked for cannot be saved, and is not done. */
static void refuse(struct session *session, const char *failure) {
    struct call *call = session_take_running(session);
    call_decide(call, OUTCOME_REFUSED, "This cannot be saved, and is not done: %s.", failure);
    conclude(call);
    session_note_end(session);
    session_step_later(session);
}

void session_open(struct session *session) {
    struct call *call = session_take_running(session);
    call_reply(call, "%s", session->name);
    conclude(call);
    session_step_later(session);
}

static void rolled_back(struct session *session, const char *failure) {
    if (failure) {
        refuse(session, failure);
        return;
    }
    struct call *call = session_take_running(session);
    durable_changed(session, durable_place(session, session->number - (uint64_t)call->steps));
    history_return(session, session->number - (uint64_t)call->steps);
    call_reply(call, "Session %s is as it was before its last %lld call%s; state number %llu.",
               session->name, (long long)call->steps, call->steps == 1 ? "" : "s",
               (unsigned long long)session->number);
    session->saved.head_ended = false;
    conclude(call);
    session_step_later(session);
}

void session_roll_back(struct session *session) {
    struct call *call = session->running;
    size_t length = history_length(session);
    if ((uint64_t)call->steps > length) {
        session_take_running(session);
        bool can_fork = !session->head || worker_can_fork(session->head);
        call_decide(
            call, OUTCOME_REFUSED,
            "Session %s can be rolled back by at most %zu calls now (session.history %lld%s).",
            session->name, length, (long long)session->all->settings->session_history,
            can_fork ? "" : "; seccomp notifications are unavailable");
        conclude(call);
        session_step_later(session);
    } else if (durable_saves(session)) {
        durable_return(session, session->number - (uint64_t)call->steps, rolled_back);
    } else {
        rolled_back(session, NULL);
    }
}

static void reset(struct session *session, const char *failure) {
    if (failure) {
        refuse(session, failure);
        return;
    }
    struct call *call = session_take_running(session);
    history_clear(session);
    durable_changed(session, 0);
    session->saved.head_ended = session->saved.drops = false;
    kept_output_forget(session);
    call_reply(call, "Session %s is reset to a fresh state.", session->name);
    conclude(call);
    session_step_later(session);
}

void session_reset(struct session *session) {
    if (durable_saves(session))
        durable_reset(session, reset);
    else
        reset(session, NULL);
}

static void closed(struct session *session, const char *failure) {
    if (failure && (session->saved.listed || session->saved.open)) {
        refuse(session, failure);
        return;
    }
    struct call *call = session_take_running(session);
    if (session->kind != SESSION_OWN) /* whose next call creates it again */
        names_remember(session->all, session->name, SESSION_CLOSED, NULL);
    session->over = true;
    call_reply(call, "Session %s is closed.", session->name);
    conclude(call);
    snprintf(session->loss, sizeof session->loss, "Session %s was closed before this call.",
             session->name);
    session_end(session);
}

void session_close(struct session *session) {
    if (durable_saves(session))
        durable_remove(session, closed);
    else
        closed(session, NULL);
}

static void finish_copy(struct session *session, const char *what) {
    struct call *call = session_take_running(session);
    struct session *copy = call->copy;
    if (what) {
        call_decide(call, OUTCOME_REFUSED, "Session %s cannot be copied: %s.", session->name, what);
    } else {
        session_enter(copy, SESSION_IDLE);
        session_step_later(copy);
        call_reply(call, "%s", copy->name);
    }
    conclude(call);
    session_note_end(session);
    session_step_later(session);
}

static void copy_saved(struct session *session, const char *failure) {
    const struct call *call = session->running;
    if (!failure) {
        call->copy->saved.open = true;
        call->copy->saved.base = call->copy->saved.count =
            durable_place(session, (uint64_t)call->at);
    }
    finish_copy(session, failure);
}

void session_end_copy(struct session *session, const char *what) {
    const struct call *call = session->running;
    if (!what && durable_saves(session))
        durable_copy(session, call->copy, (uint64_t)call->at, copy_saved);
    else
        finish_copy(session, what);
}

void session_settle_copy(struct call *call) {
    char why[sizeof call->copy->loss];
    if (!call->copy || call->outcome == OUTCOME_VALUE)
        return;
    snprintf(why, sizeof why, "Session %s was not opened: session %s could not be copied.",
             call->copy->name, call->session->name);
    session_abandon(call->copy, why);
}

/* Forks HOLDER as the head of the copy. */
static bool fork_copy(struct session *session, struct worker_process *holder, struct error *error) {
    struct session *copy = session->running->copy;
    int outputs[2];
    copy->pipes = pipes_open(copy->all->loop, copy->all->settings, outputs, error);
    if (!copy->pipes)
        return false;
    const bool apart = session->kind == SESSION_SOURCE; /* then its outputs come with its call */
    copy->head = worker_fork(holder, &session_events, copy, copy->name, apart ? NULL : outputs,
                             apart, error);
    if (copy->head) {
        if (session->running->timeout_ms)
            worker_limit_fork(holder, session->running->timeout_ms);
        if (!apart)
            copy->head->outputs = copy->pipes->serial;
        /* A hostile fork keeps the outputs of its origin, which keeps those that it was sent. */
        copy->pipes->shared = true;
        if (session->pipes)
            session->pipes->shared = true;
    }
    close(outputs[0]);
    close(outputs[1]);
    return copy->head != NULL;
}

void session_begin_copy(struct session *session) {
    struct call *call = session->running;
    struct error error;
    uint64_t number = call->at < 0 ? session->number : (uint64_t)call->at;
    call->at = (int64_t)number;
    bool fresh = number == 0 && session->began_fresh;
    struct worker_process *holder = history_holder(session, number);
    if (!holder && !fresh) {
        error_set(&error, 0, "state number %llu is not kept", (unsigned long long)number);
        session_end_copy(session, error.text);
    } else if (session->kind == SESSION_SOURCE && !session->head) {
        session_end_copy(session, "its process has ended");
    } else if (holder && !worker_can_fork(holder)) {
        session_end_copy(session, "seccomp notifications are unavailable");
    } else if (!holder || fresh) {
        session_end_copy(session, NULL);
    } else {
        session_enter(session, SESSION_COPYING);
        call->copy->began_fresh = false;
        if (!fork_copy(session, holder, &error))
            session_end_copy(session, error.text);
    }
}
