/* Checkpoints: taking them, and returning to them. A process that is not needed is killed, since it
 * might ignore a request to exit. */
#include "supervisor/base/clock.h"
#include "supervisor/session/session_internal.h"

#include <stdio.h>
#include <stdlib.h>

/* The events of a process that no session owns any more. It is killed, or is killed as soon as it
 * is ready, so the others cannot happen. */
static void orphan_ended(void *context, struct worker_process *worker, int status) {
    (void)context, (void)status;
    worker_destroy(worker);
}

static void orphan_ready(void *context, struct worker_process *worker) {
    (void)context;
    worker_kill(worker);
}

static void orphan_failed(void *context, struct worker_process *worker, const char *what) {
    (void)context, (void)worker, (void)what;
}

static const struct worker_events orphan_events = {.ready = orphan_ready,
                                                   .fork_failed = orphan_failed,
                                                   .malformed = orphan_failed,
                                                   .violation = orphan_failed,
                                                   .ended = orphan_ended};

/* The kill takes effect later, so the process may still write to the pipes that it shares. */
static void disown(struct session *session, struct worker_process *worker) {
    if (session->pipes && !worker_is_stopped(worker))
        session->pipes->shared = true;
    const struct log_event event = {
        .name = "retire", .session = worker->session, .pid = worker->pid};
    LOG_TRACE(worker->workers->log, &event, "its state is no longer needed");
    worker_set_owner(worker, &orphan_events, NULL, NULL);
}

static void retire(struct session *session, struct worker_process *worker) {
    if (!worker)
        return;
    disown(session, worker);
    worker_kill(worker);
}

/* The same, but the call that waits for the checkpoint is sent before the process ends, which takes
 * a processor as long as the fork. */
static void retire_later(struct session *session, struct worker_process *worker) {
    disown(session, worker);
    worker_kill_later(worker);
}

static void trace(const struct session *session, const char *name) {
    const struct log_event event = {
        .name = name, .session = session->name, .pid = session->head ? session->head->pid : 0};
    LOG_TRACE(session->all->log, &event, "state number %llu, %zu calls can be rolled back",
              (unsigned long long)session->number, history_length(session));
}

/* Removes the checkpoint from the list and returns its process. */
static struct worker_process *take_out(struct checkpoint *checkpoint) {
    struct worker_process *worker = checkpoint->worker;
    LIST_REMOVE(checkpoint, entry);
    free(checkpoint);
    return worker;
}

bool history_is_safe(const struct session *session) {
    const struct checkpoint *newest = LIST_FIRST(&session->checkpoints);
    bool fresh = session->number == 0 && session->began_fresh;
    return fresh || (newest && newest->number == session->number);
}

bool history_is_due(const struct session *session) {
    return session->head && !session_is_anonymous(session) && !session->unprotected &&
           !history_is_safe(session) && worker_can_fork(session->head);
}

/* Requests a fork of HOLDER, which holds state NUMBER. False with *error. */
static bool fork_state(struct session *session, struct worker_process *holder, uint64_t number,
                       struct error *error) {
    struct checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
    if (!checkpoint)
        return error_set(error, 0, "out of memory");
    checkpoint->number = number;
    checkpoint->cost_ns = session->saved.cost_ns;
    checkpoint->worker =
        worker_fork(holder, &session_events, session, session->name, NULL, false, error);
    if (!checkpoint->worker) {
        free(checkpoint);
        return false;
    }
    session->taking = checkpoint;
    return true;
}

void history_take(struct session *session) {
    struct error error;
    session_enter(session, SESSION_CHECKPOINTING);
    if (!fork_state(session, session->head, session->number, &error))
        history_failed(session, error.text);
    else /* while the worker forks, since a call that waits for it will need them */
        sessions_prepare_pipes(session->all, &error);
}

void history_taken(struct session *session) {
    int64_t newer = 0, kept = session->all->settings->session_history + 1;
    struct checkpoint *checkpoint, *older;
    trace(session, "checkpoint");
    LIST_INSERT_HEAD(&session->checkpoints, session->taking, entry);
    session->taking = NULL;
    session_enter(session, SESSION_IDLE);
    for (checkpoint = LIST_FIRST(&session->checkpoints); checkpoint; checkpoint = older) {
        older = LIST_NEXT(checkpoint, entry);
        if (newer++ >= kept)
            retire_later(session, take_out(checkpoint));
    }
    durable_image_note(session);
}

void history_abandon(struct session *session) {
    if (session->taking) {
        session->pipes->shared = true;
        worker_set_owner(session->taking->worker, &orphan_events, NULL, NULL);
    }
    free(session->taking);
    session->taking = NULL;
}

void history_failed(struct session *session, const char *what) {
    const struct log_event event = {
        .level = LOG_WARNING_LEVEL, .name = "checkpoint-failed", .session = session->name};
    log_write(session->all->log, &event, "%s", what);
    session->unprotected = true;
    history_abandon(session);
    session_enter(session, SESSION_IDLE);
}

bool history_visit(struct session *session, uint64_t number, struct error *error) {
    struct worker_process *holder = history_holder(session, number);
    if (!holder || !history_is_safe(session) || !worker_can_fork(holder))
        return error_set(error, 0, "state number %llu is not kept", (unsigned long long)number);
    return fork_state(session, holder, number, error);
}

bool history_vacate(struct session *session, struct worker_process *fresh) {
    const bool safe = history_is_safe(session);
    retire(session, safe ? session->head : fresh);
    if (!safe)
        return false;
    pipes_close(session->pipes);
    session->head = NULL;
    session->pipes = NULL;
    return true;
}

bool history_visited(struct session *session) {
    if (!history_is_safe(session))
        return false;
    retire(session, session->head);
    session->head = session->taking->worker;
    free(session->taking);
    session->taking = NULL;
    return true;
}

size_t history_length(const struct session *session) {
    const struct checkpoint *checkpoint;
    uint64_t oldest = session->number;
    LIST_FOREACH(checkpoint, &session->checkpoints, entry) {
        if (checkpoint->number + 1 < oldest)
            break; /* a state between them is missing: lost, or retired before a rollback */
        oldest = checkpoint->number;
    }
    if (oldest == 1 && session->began_fresh)
        oldest = 0;
    uint64_t length = session->number - oldest;
    uint64_t limit = (uint64_t)session->all->settings->session_history;
    return (size_t)(length < limit ? length : limit);
}

struct worker_process *history_holder(const struct session *session, uint64_t number) {
    if (number == session->number)
        return session->head;
    const struct checkpoint *checkpoint = LIST_FIRST(&session->checkpoints);
    while (checkpoint && checkpoint->number != number)
        checkpoint = LIST_NEXT(checkpoint, entry);
    return checkpoint ? checkpoint->worker : NULL;
}

/* The fresh state, which needs no process. */
static void start_afresh(struct session *session) {
    pipes_close(session->pipes);
    session->pipes = NULL;
    session->number = 0;
    session->unprotected = false;
    session->began_fresh = true;
}

void history_return(struct session *session, uint64_t number) {
    struct checkpoint *newest;
    if (number == session->number)
        return;
    retire(session, session->head);
    session->head = NULL;
    while ((newest = LIST_FIRST(&session->checkpoints)) && newest->number > number)
        retire(session, take_out(newest));
    if (newest && newest->number == number) {
        session->head = take_out(newest);
        session->number = number;
        session->unprotected = false;
    } else {
        start_afresh(session);
    }
    trace(session, "return");
}

bool history_restore(struct session *session) {
    struct checkpoint *newest = LIST_FIRST(&session->checkpoints);
    session->head = NULL;
    if (!newest) {
        bool was_fresh = session->number == 0 && session->began_fresh;
        start_afresh(session);
        return was_fresh;
    }
    bool same = newest->number == session->number;
    session->number = newest->number;
    session->unprotected = false;
    session->head = take_out(newest);
    trace(session, "restore");
    return same;
}

void history_lost(struct session *session, const struct worker_process *worker) {
    struct checkpoint *checkpoint;
    LIST_FOREACH(checkpoint, &session->checkpoints, entry) {
        if (checkpoint->worker == worker) {
            take_out(checkpoint);
            return;
        }
    }
}

void history_clear(struct session *session) {
    retire(session, session->head);
    session->head = NULL;
    if (session->taking) {
        retire(session, session->taking->worker);
        free(session->taking);
        session->taking = NULL;
        session_enter(session, SESSION_IDLE);
    }
    while (!LIST_EMPTY(&session->checkpoints))
        retire(session, take_out(LIST_FIRST(&session->checkpoints)));
    start_afresh(session);
    session->loss[0] = 0;
    session->memory.dropped = 0;
}
