/* Checkpoints: taking them, and returning to them. A process that is not needed is killed, since it
 * might ignore a request to exit.
 *
 * A state is kept in one of two ways. The head forks, and the fork is parked: it is the state. Or,
 * if such a fork is there and the kernel has noted what the head has written since
 * (process/tracker.h), these pages are copied. To return to such a state, the parked process forks,
 * and the fork is given the pages of each checkpoint from then on. The list says which is which,
 * and nothing outside of this file has to know. */
#include "supervisor/base/clock.h"
#include "supervisor/session/session_internal.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    TRACKED_FROM = 2,         /* state: a session with two calls will have more */
    PAGES_MAX = 8192,         /* of a session's states, beyond which the head forks */
    ALL_PAGES_MAX = 64 << 10, /* of all sessions, with what their trackers have noted */
    SPARE_MIN = 64,           /* pages, see tracker_take */
    SPARE_NS = 5600,          /* of a call for each */
    MODEL_USES_MAX = 8,       /* of what one call has written, for calls after it */
    MODEL_PAGES_MAX = 8192
};

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

/* Removes the checkpoint from the list and returns its process, or NULL. */
static struct worker_process *take_out(struct checkpoint *checkpoint) {
    struct worker_process *worker = checkpoint->worker;
    page_set_free(&checkpoint->pages);
    LIST_REMOVE(checkpoint, entry);
    free(checkpoint);
    return worker;
}

/* The parked process that the state of CHECKPOINT begins with; NULL: it has ended. */
static struct checkpoint *base_of(struct checkpoint *checkpoint) {
    while (checkpoint && !checkpoint->worker)
        checkpoint = LIST_NEXT(checkpoint, entry);
    return checkpoint;
}

struct checkpoint *history_base(const struct session *session) {
    return base_of(LIST_FIRST(&session->checkpoints));
}

/* The state that is kept under NUMBER; NULL: there is none. */
static struct checkpoint *find(const struct session *session, uint64_t number) {
    struct checkpoint *checkpoint = LIST_FIRST(&session->checkpoints);
    while (checkpoint && (checkpoint->number != number || checkpoint->only_base))
        checkpoint = LIST_NEXT(checkpoint, entry);
    return checkpoint;
}

size_t history_bytes(const struct session *session) {
    const struct checkpoint *checkpoint;
    size_t pages = 0;
    LIST_FOREACH(checkpoint, &session->checkpoints, entry) {
        pages += checkpoint->pages.count;
    }
    return pages * TRACKER_PAGE_BYTES;
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

/* --- taking --- */

static void keep(struct session *session, struct checkpoint *checkpoint) {
    trace(session, "checkpoint");
    LIST_INSERT_HEAD(&session->checkpoints, checkpoint, entry);
    durable_image_note(session);
}

static struct checkpoint *make_checkpoint(const struct session *session, uint64_t number) {
    struct checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
    if (checkpoint) {
        checkpoint->number = number;
        checkpoint->cost_ns = session->saved.cost_ns;
        checkpoint->coarse = session->head && session->head->native.coarse;
    }
    return checkpoint;
}

/* Requests a fork of the process that state NUMBER begins with. False with *error. */
static bool fork_state(struct session *session, uint64_t number, struct error *error) {
    struct worker_process *holder = history_holder(session, number);
    struct checkpoint *checkpoint = make_checkpoint(session, number);
    if (!checkpoint)
        return error_set(error, 0, "out of memory");
    if (holder && holder->state == WORKER_READY)
        checkpoint->worker =
            worker_fork(holder, &session_events, session, session->name, NULL, false, error);
    else
        error_set(error, 0, "its process has ended");
    if (!checkpoint->worker) {
        free(checkpoint);
        return false;
    }
    session->taking = checkpoint;
    return true;
}

/* Frees what no state needs that can be returned to. The states between the oldest of these and the
 * process that it begins with become one. */
static void forget_oldest(struct session *session) {
    const size_t kept = (size_t)session->all->settings->session_history + 1;
    struct checkpoint *oldest = LIST_FIRST(&session->checkpoints), *older;
    for (size_t i = 1; oldest && i < kept; i++)
        oldest = LIST_NEXT(oldest, entry);
    if (!oldest || oldest->only_base)
        return;
    while (!oldest->worker && (older = LIST_NEXT(oldest, entry)) != NULL && !older->worker) {
        if (!page_set_absorb(&oldest->pages, &older->pages))
            return;
        take_out(older);
    }
    struct checkpoint *base = base_of(oldest);
    if (base && base != oldest)
        base->only_base = true;
    while (base && (older = LIST_NEXT(base, entry)) != NULL) {
        struct worker_process *worker = take_out(older);
        if (worker)
            retire_later(session, worker);
    }
}

/* Whether the present state differs from the newest checkpoint in what the head has written, as far
 * as the kernel has noted it. */
static bool can_copy(const struct session *session) {
    const struct tracking *tracking = &session->head->tracking;
    const struct checkpoint *newest = LIST_FIRST(&session->checkpoints);
    const struct checkpoint *base = history_base(session);
    return tracking->armed && newest && newest->number == tracking->at && base &&
           base->worker->state == WORKER_READY && !session->parks &&
           worker_is_unchanged(session->head);
}

static bool has_room(const struct session *session) {
    return history_bytes(session) / TRACKER_PAGE_BYTES < PAGES_MAX && page_copies() < ALL_PAGES_MAX;
}

/* The longer calls last, the longer may be what comes between them. */
static size_t spare_pages(const struct session *session) {
    const int64_t pages = session->shorter_ns / SPARE_NS;
    if (pages > TRACKER_SPARE_MAX)
        return TRACKER_SPARE_MAX;
    return pages < SPARE_MIN ? SPARE_MIN : (size_t)pages;
}

/* The last call has written more than can be copied. Another one like it would wait for a copy of
 * each of these pages after the head has forked, so the head makes them before it. */
static void note_written(struct session *session) {
    struct tracking *tracking = &session->head->tracking;
    tracker_note_written(tracking->tracker);
    if (tracking->model.uses > 0)
        return;
    tracking->model.lasted_ns = session->lasted_ns;
    tracking->model.pages = tracker_written(tracking->tracker)->pages;
}

/* False if the head must fork. */
static bool copy_pages(struct session *session) {
    struct tracking *tracking = &session->head->tracking;
    if (!can_copy(session))
        return false;
    if (!has_room(session) || tracker_is_dear(tracking->tracker)) {
        note_written(session);
        return false;
    }
    struct checkpoint *checkpoint = make_checkpoint(session, session->number);
    const enum tracked tracked =
        checkpoint ? tracker_take(tracking->tracker, spare_pages(session), &checkpoint->pages)
                   : TRACKED_OTHERWISE;
    tracking->armed = tracked == TRACKED;
    tracking->registered = tracked != TRACKED_MAPPINGS;
    if (!tracking->armed) {
        free(checkpoint);
        if (tracked == TRACKED_OTHERWISE)
            note_written(session);
        return false;
    }
    tracking->at = session->number;
    keep(session, checkpoint);
    forget_oldest(session);
    return true;
}

static void forget_written(struct session *session) {
    struct tracking *tracking = &session->head->tracking;
    tracking->model.lasted_ns = 0;
    tracking->model.uses = 0;
}

/* Whether the next call probably writes what is noted, so that the head makes its own copies of
 * that after it has forked. They count as written by the next call: what is noted only grows, until
 * it is too much or too old, and begins anew. */
static bool prefaults(struct session *session) {
    struct tracking *tracking = &session->head->tracking;
    if (!tracking->tracker || !tracking->model.lasted_ns)
        return false;
    const uint64_t pages = tracker_written(tracking->tracker)->pages;
    const bool is_alike = 2 * session->shorter_ns >= tracking->model.lasted_ns;
    if (is_alike && tracking->model.uses < MODEL_USES_MAX && pages <= MODEL_PAGES_MAX &&
        2 * pages <= 3 * tracking->model.pages) {
        tracking->model.uses++;
        return true;
    }
    forget_written(session);
    return false;
}

/* Before the head forks, so that all is noted that it does after. */
static void arm(struct session *session) {
    struct tracking *tracking = &session->head->tracking;
    tracking->at = session->number;
    tracking->armed = false;
    if (!tracking->tracker || !tracking->registered)
        return;
    const enum tracked tracked = tracker_arm(tracking->tracker);
    tracking->armed = tracked == TRACKED;
    tracking->registered = tracked != TRACKED_MAPPINGS;
}

static void take_by_fork(struct session *session) {
    struct error error;
    if (session->parks) /* the head gives back some of it, which must not be there again */
        forget_written(session);
    session->parks = false;
    arm(session);
    session_enter(session, SESSION_CHECKPOINTING);
    if (!fork_state(session, session->number, &error))
        history_failed(session, error.text);
    else /* while the worker forks, since a call that waits for it will need them */
        sessions_prepare_pipes(session->all, &error);
}

/* Gives WORKER, a fork of the process that the state of CHECKPOINT begins with, what was written
 * since. False with *error. */
static bool put_pages(const struct checkpoint *checkpoint, struct worker_process *worker,
                      struct error *error) {
    struct page_set all = {0};
    bool good = true;
    for (; good && !checkpoint->worker; checkpoint = LIST_NEXT(checkpoint, entry))
        good = page_set_refer(&all, &checkpoint->pages);
    if (!good)
        error_set(error, 0, "out of memory");
    else if (all.count)
        good = worker_put_pages(worker, &all, error);
    free(all.pages);
    return good;
}

void history_take(struct session *session) {
    if (!copy_pages(session))
        take_by_fork(session);
}

void history_park(struct session *session) {
    session->parks = true;
    if (session->state == SESSION_IDLE && session->head && session->head->state == WORKER_READY &&
        worker_can_fork(session->head))
        take_by_fork(session);
}

/* The mappings of the head are other ones. */
static void register_again(struct session *session) {
    struct tracking *tracking = &session->head->tracking;
    struct weigher *weigher = &session->all->memory.weigher;
    if (tracking->tracker && !tracking->registered && !weigher_is_busy(weigher))
        weigher_register(weigher, session->head->pid, &tracking->said,
                         tracker_userfault(tracking->tracker));
}

/* A process that may open files has more state than its memory. */
static bool is_recorded(const struct session *session) {
    const uint32_t files = POLICY_GRANT_READ | POLICY_GRANT_WRITE;
    return session->all->settings->session_record == RECORD_AUTO &&
           !(session->all->pool->workers.grants & files);
}

void history_taken(struct session *session) {
    struct checkpoint *taken = session->taking, *same = find(session, taken->number);
    session->taking = NULL;
    session_enter(session, SESSION_IDLE);
    if (taken->wakes) {
        session->head = taken->worker;
        free(taken);
        return;
    }
    if (same) /* history_park: nothing newer begins with it */
        retire(session, take_out(same));
    keep(session, taken);
    forget_oldest(session);
    if (prefaults(session))
        worker_prefault(session->head, tracker_written(session->head->tracking.tracker));
    /* Not before the call that waits for a return: it takes a system call that is notified. */
    if (session->number >= TRACKED_FROM && worker_has_answered(session->head) &&
        is_recorded(session))
        worker_track(session->head);
    register_again(session);
}

/* --- tracking --- */

void history_on_tracks(void *context, struct worker_process *worker) {
    struct session *session = context;
    struct weigher *weigher = &session->all->memory.weigher;
    const struct tracked_message *said = &worker->tracking.said;
    if (weigher_is_busy(weigher))
        worker_track_again(worker);
    else if (said->userfault < 0 || !weigher_track(weigher, worker->pid, said))
        worker_set_tracker(worker, NULL);
}

/* It may be that of a worker that has ended since. */
void history_on_tracked(void *context, pid_t pid, bool done, const struct tracker_parts *parts) {
    struct sessions *all = context;
    struct worker_process *worker = workers_find(&all->pool->workers, pid);
    struct tracker *tracker = parts ? tracker_open(parts, pid) : NULL;
    if (worker && worker->tracking.state == TRACKING_SAID)
        worker_set_tracker(worker, tracker);
    else
        tracker_free(tracker);
    if (worker)
        worker->tracking.registered = done;
}

/* --- returning --- */

bool history_is_asleep(const struct session *session) {
    const struct checkpoint *newest = LIST_FIRST(&session->checkpoints);
    return !session->head && newest && newest->number == session->number;
}

void history_wake(struct session *session) {
    struct error error;
    session_enter(session, SESSION_CHECKPOINTING);
    LIST_FIRST(&session->checkpoints)->tried = true;
    if (!fork_state(session, session->number, &error))
        history_failed(session, error.text);
    else
        session->taking->wakes = true;
}

/* While the fork begins, and not before the kernel could begin it. A fork of the head has its state
 * already. */
void history_on_cloned(void *context, struct worker_process *holder) {
    const struct session *session = context;
    const struct call *call = session->running;
    struct worker_process *fork = holder->child;
    const bool is_taken = session->taking && session->taking->worker == fork;
    const bool is_copy = call && call->copy && call->copy->head == fork;
    struct error error;
    if (holder == session->head || !(is_taken || is_copy)) /* or nobody waits for it any more */
        return;
    const struct checkpoint *checkpoint =
        find(session, is_taken ? session->taking->number : (uint64_t)call->at);
    if (checkpoint && history_holder(session, checkpoint->number) == holder &&
        put_pages(checkpoint, fork, &error))
        fork->native.coarse = checkpoint->coarse;
    else
        worker_spoil(fork);
}

void history_abandon(struct session *session) {
    if (session->taking) {
        if (session->pipes)
            session->pipes->shared = true;
        worker_set_owner(session->taking->worker, &orphan_events, NULL, NULL);
    }
    free(session->taking);
    session->taking = NULL;
}

/* No fork of the process that the newest state begins with can be had, so that it becomes the head
 * itself; the states before are lost. */
static void use_up(struct session *session) {
    struct checkpoint *newest = LIST_FIRST(&session->checkpoints);
    const struct checkpoint *base = history_base(session);
    struct error error;
    if (!base || base->worker->state != WORKER_READY)
        return; /* when it has been reaped, history_lost knows */
    if (!put_pages(newest, base->worker, &error)) {
        worker_kill(base->worker); /* it may have some of them */
        return;
    }
    base->worker->native.coarse = newest->coarse;
    while (newest != base) {
        take_out(newest);
        newest = LIST_FIRST(&session->checkpoints);
    }
    session->head = take_out(newest);
}

void history_failed(struct session *session, const char *what) {
    const struct log_event event = {
        .level = LOG_WARNING_LEVEL, .name = "checkpoint-failed", .session = session->name};
    log_write(session->all->log, &event, "%s", what);
    const bool wakes = session->taking && session->taking->wakes;
    session->unprotected = !wakes;
    history_abandon(session);
    session_enter(session, SESSION_IDLE);
    if (wakes)
        use_up(session);
}

bool history_visit(struct session *session, uint64_t number, struct error *error) {
    struct worker_process *holder = history_holder(session, number);
    if (!holder || !history_is_safe(session) || !worker_can_fork(holder))
        return error_set(error, 0, "state number %llu is not kept", (unsigned long long)number);
    return fork_state(session, number, error);
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
    struct checkpoint *visited = session->taking;
    if (!history_is_safe(session))
        return false;
    retire(session, session->head);
    session->head = visited->worker;
    free(visited);
    session->taking = NULL;
    return true;
}

size_t history_length(const struct session *session) {
    const struct checkpoint *checkpoint;
    uint64_t oldest = session->number;
    LIST_FOREACH(checkpoint, &session->checkpoints, entry) {
        if (checkpoint->number + 1 < oldest || checkpoint->only_base)
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
    if (number == session->number && session->head)
        return session->head;
    const struct checkpoint *base = base_of(find(session, number));
    return base ? base->worker : NULL;
}

/* The fresh state, which needs no process. */
static void start_afresh(struct session *session) {
    pipes_close(session->pipes);
    session->pipes = NULL;
    session->number = 0;
    session->unprotected = false;
    session->began_fresh = true;
}

/* The newest checkpoint, of state NUMBER, becomes the head, now or by history_wake. */
static void go_back(struct session *session, struct checkpoint *newest) {
    session->number = newest->number;
    session->unprotected = false;
    refine_first(session);
    if (newest->worker) {
        session->head = take_out(newest);
        return;
    }
    pipes_close(session->pipes);
    session->pipes = NULL;
}

void history_return(struct session *session, uint64_t number) {
    struct checkpoint *newest;
    if (number == session->number)
        return;
    retire(session, session->head);
    session->head = NULL;
    while ((newest = LIST_FIRST(&session->checkpoints)) && newest->number > number)
        retire(session, take_out(newest));
    if (newest && newest->number == number)
        go_back(session, newest);
    else
        start_afresh(session);
    trace(session, "return");
}

bool history_restore(struct session *session) {
    struct checkpoint *newest = LIST_FIRST(&session->checkpoints);
    session->head = NULL;
    while (newest && newest->tried) { /* there is something wrong with it */
        retire(session, take_out(newest));
        newest = LIST_FIRST(&session->checkpoints);
    }
    if (!newest) {
        bool was_fresh = session->number == 0 && session->began_fresh;
        start_afresh(session);
        return was_fresh;
    }
    bool same = newest->number == session->number;
    go_back(session, newest);
    trace(session, "restore");
    return same;
}

void history_began_call(struct session *session) {
    struct checkpoint *newest = LIST_FIRST(&session->checkpoints);
    if (newest)
        newest->tried = false;
}

/* With the process of a checkpoint those are lost that begin with it. */
void history_lost(struct session *session, const struct worker_process *worker) {
    struct checkpoint *checkpoint = LIST_FIRST(&session->checkpoints), *older;
    while (checkpoint && checkpoint->worker != worker)
        checkpoint = LIST_NEXT(checkpoint, entry);
    if (!checkpoint)
        return;
    for (struct checkpoint *at = LIST_FIRST(&session->checkpoints); at; at = older) {
        older = LIST_NEXT(at, entry);
        if (base_of(at) == checkpoint)
            take_out(at);
    }
}

void history_clear(struct session *session) {
    refine_abandon(session);
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
