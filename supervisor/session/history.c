/* Checkpoints: taking them, going back to them, and what is left when one is gone. Never waits for
 * a worker's good will: what is to go is killed. */
#include "supervisor/base/clock.h"
#include "supervisor/session/session_internal.h"

#include <stdio.h>
#include <stdlib.h>

/* Nobody's any more: only to be reaped. */
static void orphan_ended(void *context, struct worker_process *worker, int status) {
    (void)context, (void)status;
    worker_destroy(worker);
}

static void orphan_ready(void *context, struct worker_process *worker) {
    (void)context;
    worker_kill(worker);
}

static void orphan_says(void *context, struct worker_process *worker, const char *what) {
    (void)context, (void)worker, (void)what;
}

static void orphan_result(void *context, struct worker_process *worker,
                          const unsigned char *payload, size_t size) {
    (void)context, (void)worker, (void)payload, (void)size;
}

static const struct worker_events orphan_events = {.ready = orphan_ready,
                                                   .result = orphan_result,
                                                   .event = orphan_result,
                                                   .ask = orphan_result,
                                                   .fork_failed = orphan_says,
                                                   .malformed = orphan_says,
                                                   .violation = orphan_says,
                                                   .ended = orphan_ended};

static void retire(struct worker_process *worker) {
    if (!worker)
        return;
    const struct log_event event = {
        .name = "retire", .session = worker->session, .pid = worker->pid};
    LOG_TRACE(worker->workers->log, &event, "its state is not needed any more");
    worker_set_owner(worker, &orphan_events, NULL, NULL);
    worker_kill(worker);
}

/* Traces what became of the history, with the process that holds the present state. */
static void trace(const struct session *session, const char *name) {
    const struct log_event event = {
        .name = name, .session = session->name, .pid = session->head ? session->head->pid : 0};
    LOG_TRACE(session->all->log, &event, "state number %llu, %zu calls can be rolled back",
              (unsigned long long)session->number, history_length(session));
}

/* Takes the newest checkpoint off the list and returns its process. */
static struct worker_process *pop(struct session *session) {
    struct checkpoint *checkpoint = session->newest;
    struct worker_process *worker = checkpoint->worker;
    session->newest = checkpoint->older;
    free(checkpoint);
    return worker;
}

bool history_is_due(const struct session *session) {
    bool fresh = session->number == 0 && session->began_fresh;
    return session->head && !fresh && !session->all->one_shot && !session->transient &&
           !session->unprotected &&
           (!session->newest || session->newest->number != session->number) &&
           worker_can_fork(session->head);
}

void history_take(struct session *session) {
    struct error error = {.text = "out of memory"};
    struct checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
    session_enter(session, SESSION_CHECKPOINTING);
    session->taking = checkpoint;
    if (checkpoint) {
        checkpoint->number = session->number;
        checkpoint->worker =
            worker_fork(session->head, &session_events, session, session->name, NULL, &error);
    }
    if (!checkpoint || !checkpoint->worker)
        history_failed(session, error.text);
}

/* Retires what is older than session.history allows. */
static void trim(struct session *session) {
    int64_t kept = 0, wanted = session->all->settings->session_history + 1;
    struct checkpoint **link = &session->newest;
    for (; *link && kept < wanted; kept++)
        link = &(*link)->older;
    while (*link) {
        struct checkpoint *old = *link;
        *link = old->older;
        retire(old->worker);
        free(old);
    }
}

void history_taken(struct session *session) {
    trace(session, "checkpoint");
    session->taking->older = session->newest;
    session->newest = session->taking;
    session->taking = NULL;
    session_enter(session, SESSION_IDLE);
    trim(session);
}

void history_failed(struct session *session, const char *what) {
    const struct log_event event = {
        .level = LOG_WARNING_LEVEL, .name = "checkpoint-failed", .session = session->name};
    log_write(session->all->log, &event, "%s", what);
    session->unprotected = true;
    if (session->taking && session->taking->worker)
        worker_set_owner(session->taking->worker, &orphan_events, NULL, NULL);
    free(session->taking);
    session->taking = NULL;
    session_enter(session, SESSION_IDLE);
}

size_t history_length(const struct session *session) {
    uint64_t oldest = session->number;
    for (const struct checkpoint *state = session->newest; state; state = state->older) {
        if (state->number + 1 < oldest)
            break; /* the one between was lost, or has been retired before a rollback */
        oldest = state->number;
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
    struct checkpoint *state = session->newest;
    while (state && state->number != number)
        state = state->older;
    return state ? state->worker : NULL;
}

void history_return(struct session *session, uint64_t number) {
    if (number == session->number)
        return;
    retire(session->head);
    session->head = NULL;
    while (session->newest && session->newest->number > number)
        retire(pop(session));
    if (session->newest && session->newest->number == number) {
        session->head = pop(session);
    } else {
        /* Only the fresh world is held by no process. */
        pipes_close(session->pipes);
        session->pipes = NULL;
    }
    session->number = number;
    session->unprotected = false;
    trace(session, "return");
}

bool history_restore(struct session *session) {
    session->head = NULL;
    if (session->newest) {
        bool exact = session->newest->number == session->number;
        session->number = session->newest->number;
        session->unprotected = false;
        session->head = pop(session);
        trace(session, "restore");
        return exact;
    }
    bool exact = session->number == 0 && session->began_fresh;
    pipes_close(session->pipes);
    session->pipes = NULL;
    session->number = 0;
    session->unprotected = false;
    session->began_fresh = true;
    return exact;
}

void history_lost(struct session *session, const struct worker_process *worker) {
    for (struct checkpoint **link = &session->newest; *link; link = &(*link)->older)
        if ((*link)->worker == worker) {
            struct checkpoint *gone = *link;
            *link = gone->older;
            free(gone);
            return;
        }
}

void history_clear(struct session *session) {
    retire(session->head);
    session->head = NULL;
    if (session->taking) {
        retire(session->taking->worker);
        free(session->taking);
        session->taking = NULL;
        session_enter(session, SESSION_IDLE);
    }
    while (session->newest)
        retire(pop(session));
    pipes_close(session->pipes);
    session->pipes = NULL;
    session->number = 0;
    session->unprotected = false;
    session->began_fresh = true;
    session->loss[0] = 0;
}
