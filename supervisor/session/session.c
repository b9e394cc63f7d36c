/* Sessions: their queues, and the one step that each takes when something has changed. Never
 * starts a call while the state before it is not safe, where it can be made so. */
#include "common/cleanup.h"
#include "supervisor/base/clock.h"
#include "supervisor/session/session_internal.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MEMORY_CHECK_MS = 50, NAME_RANDOM_BYTES = 16 };

/* --- states --- */

static const struct state_rule {
    const char *name;
    unsigned next; /* the states that may follow, a bit for each */
} state_rules[SESSION_STATES] = {
#define NEXT(state) (1U << SESSION_##state)
    [SESSION_NASCENT] = {"nascent", NEXT(IDLE)},
    [SESSION_IDLE] = {"idle", NEXT(CHECKPOINTING) | NEXT(WAITING) | NEXT(EVALUATING) |
                                  NEXT(COPYING) | NEXT(NASCENT)},
    [SESSION_CHECKPOINTING] = {"checkpointing", NEXT(IDLE)},
    [SESSION_WAITING] = {"waiting", NEXT(EVALUATING) | NEXT(IDLE)},
    [SESSION_EVALUATING] = {"evaluating", NEXT(IDLE)},
    [SESSION_COPYING] = {"copying", NEXT(IDLE)},
#undef NEXT
};

void session_enter(struct session *session, enum session_state state) {
    const struct state_rule *from = &state_rules[session->state], *to = &state_rules[state];
    struct log_event event = {.level = LOG_DEBUG_LEVEL,
                              .name = "session",
                              .session = session->name,
                              .call = session->running ? session->running->number : 0,
                              .pid = session->head ? session->head->pid : 0};
    if (!(from->next & 1U << state)) {
        event.level = LOG_CRITICAL_LEVEL;
        event.name = "session-state";
        log_write(session->all->log, &event, "%s cannot become %s", from->name, to->name);
    }
    LOG_TRACE(session->all->log, &event, "%s -> %s, state number %llu", from->name, to->name,
              (unsigned long long)session->number);
    session->state = state;
}

/* --- the running call --- */

static struct call *take_running(struct session *session) {
    struct call *call = session->running;
    loop_timer_stop(session->all->loop, &session->time_limit);
    loop_timer_stop(session->all->loop, &session->memory_check);
    if (session->state != SESSION_IDLE)
        session_enter(session, SESSION_IDLE);
    session->running = NULL;
    return call;
}

void session_on_time_limit(void *context) {
    struct session *session = context;
    call_decide(session->running, OUTCOME_TIMEOUT, "No answer within %g s.",
                (double)session->running->timeout_ms / CLOCK_MS_PER_S);
    worker_stop(session->head);
}

/* The heap limit inside the worker comes first; this is for memory that Lisp does not manage, and
 * for code that lifted the limit. */
static size_t memory_kill_bytes(const struct settings *settings) {
    size_t heap = (size_t)settings->session_memory_mb << 20;
    return heap + heap / 4 + (64U << 20);
}

static void on_memory_check(void *context) {
    struct session *session = context;
    struct sessions *all = session->all;
    if (worker_resident_bytes(session->head) > memory_kill_bytes(all->settings)) {
        call_decide(session->running, OUTCOME_MEMORY,
                    "The worker used more memory than session.memory_mb (%lld MiB) allows.",
                    (long long)all->settings->session_memory_mb);
        worker_kill(session->head);
        return;
    }
    loop_timer_start(all->loop, &session->memory_check, MEMORY_CHECK_MS, on_memory_check, session);
}

static void on_flooded(void *context, const struct captured_stream *stream) {
    struct session *session = context;
    struct call *call = session->running;
    if (!call || call->decided)
        return;
    call->limit_stream = stream->name;
    call->limit_name = stream->setting;
    call->limit = stream->limit;
    call_decide(call, OUTCOME_OUTPUT, "The code wrote more than %zu bytes to %s.", stream->limit,
                stream->name);
    worker_kill(session->head);
}

static void begin_evaluation(struct session *session) {
    struct sessions *all = session->all;
    struct call *call = session->running;
    session_enter(session, SESSION_EVALUATING);
    call->started_ns = clock_now_ns();
    loop_timer_start(all->loop, &session->time_limit, call->timeout_ms, session_on_time_limit,
                     session);
    loop_timer_start(all->loop, &session->memory_check, MEMORY_CHECK_MS, on_memory_check, session);
    pipes_begin(session->pipes, on_flooded, session);
    if (call->kind == CALL_RUN)
        call_begin_run(call);
    if (!(call->kind == CALL_RUN ? worker_run : worker_evaluate)(session->head, call->number,
                                                                 &call->payload)) {
        call_decide(call, OUTCOME_NO_WORKER,
                    "The call cannot be sent to its worker: out of memory.");
        worker_kill(session->head);
    }
    buffer_free(&call->payload);
}

static void on_step(void *context) {
    session_step(context);
}

/* The next step once what this round produced is on its way to the client. */
static void step_later(struct session *session) {
    if (!session->step.active)
        loop_timer_start(session->all->loop, &session->step, 0, on_step, session);
}

/* --- what workers say --- */

/* The answer to a one-shot call, which is told when its process is reaped. */
static void keep_result(struct session *session, const unsigned char *payload, size_t size) {
    struct call *call = session->running;
    loop_timer_stop(session->all->loop, &session->time_limit);
    loop_timer_stop(session->all->loop, &session->memory_check);
    call->kept_result = buffer_make(size);
    struct span *structured = &call->run.result.structured;
    if (!buffer_append(&call->kept_result, payload, size)) {
        call_decide(call, OUTCOME_MALFORMED, "There is no memory for the answer of the worker.");
        run_result_free(&call->run.result);
    } else if (structured->bytes) {
        structured->bytes = call->kept_result.data + (structured->bytes - payload);
    }
    worker_kill(session->head);
}

static void on_result(void *context, struct worker_process *worker, const unsigned char *payload,
                      size_t size) {
    struct session *session = context;
    struct result_message result;
    pipes_drain(session->pipes);
    if (session->running->decided)
        return; /* the drained output was over its limit */
    if (!result_message_decode(payload, size, &result) ||
        !call_take_result(session->running, &result)) {
        call_decide(session->running, OUTCOME_MALFORMED,
                    "The answer of the worker is not well-formed.");
        worker_kill(worker);
        return;
    }
    if (session->all->one_shot)
        keep_result(session, payload, size);
    call_decide(session->running, result.condition.bytes ? OUTCOME_CONDITION : OUTCOME_VALUE, "%s",
                "");
    if (session->all->one_shot)
        return;
    struct call *call = take_running(session);
    session->number++;
    session->unprotected = false;
    call_conclude(call, &result, session->pipes, 0, false);
    pipes_end(session->pipes);
    step_later(session);
}

static void note_loss(struct session *session, const char *what) {
    const struct log_event event = {
        .level = LOG_WARNING_LEVEL, .name = "worker-lost", .session = session->name};
    log_write(session->all->log, &event, "%s", what);
    snprintf(session->loss, sizeof session->loss, "SESSION-LOST: %s", what);
}

static void head_ended(struct session *session, bool inside_frame, int status) {
    struct call *call = session->running;
    struct result_message result;
    if (session->state == SESSION_CHECKPOINTING)
        history_failed(session, "the worker ended");
    if (session->state == SESSION_EVALUATING) {
        pipes_drain(session->pipes);
        call_decide_by_status(call, inside_frame, status);
        call->usage = session->head->usage;
        take_running(session);
        struct pipes *pipes = session->pipes;
        session->pipes = NULL; /* kept open until the call is told */
        bool restored = history_restore(session);
        bool kept =
            result_message_decode(call->kept_result.data, call->kept_result.length, &result) &&
            call_take_result(call, &result);
        call_conclude(call, kept ? &result : NULL, pipes, status, !restored);
        pipes_end(pipes);
        if (session->head)
            session->pipes = pipes;
        else
            pipes_close(pipes);
        return;
    }
    if (!history_restore(session))
        note_loss(session, session->number || !session->began_fresh
                               ? "the worker ended between calls; the effects of the last calls "
                                 "are lost"
                               : "the worker ended between calls; the state of the session is "
                                 "lost, it started afresh");
}

static void on_ended(void *context, struct worker_process *worker, int status) {
    struct session *session = context;
    bool inside_frame = worker->header_have > 0;
    bool was_head = worker == session->head;
    if (was_head)
        head_ended(session, inside_frame, status);
    else
        history_lost(session, worker);
    worker_destroy(worker);
    step_later(session);
}

static void on_ready(void *context, struct worker_process *worker) {
    struct session *session = context;
    if (session->state == SESSION_CHECKPOINTING && worker == session->taking->worker)
        history_taken(session);
    session_step(session);
}

static void finish_copy(struct session *session, enum outcome outcome, const char *what);

static void on_fork_failed(void *context, struct worker_process *worker, const char *what) {
    (void)worker;
    struct session *session = context;
    if (session->state == SESSION_CHECKPOINTING)
        history_failed(session, what);
    else if (session->state == SESSION_COPYING)
        finish_copy(session, OUTCOME_REFUSED, what);
    step_later(session);
}

static void on_malformed(void *context, struct worker_process *worker, const char *what) {
    struct session *session = context;
    if (worker == session->head && session->state == SESSION_EVALUATING) {
        call_decide(session->running, OUTCOME_MALFORMED,
                    "The answer of the worker cannot be read: %s.", what);
        return;
    }
    const struct log_event event = {
        .level = LOG_ERROR_LEVEL, .name = "malformed", .session = session->name};
    log_write(session->all->log, &event, "%s", what);
}

static void on_violation(void *context, struct worker_process *worker, const char *call_name) {
    struct session *session = context;
    if (worker == session->head && session->state == SESSION_EVALUATING) {
        call_decide(session->running, OUTCOME_VIOLATION,
                    "The code made the forbidden system call %s.", call_name);
        return;
    }
    const struct log_event event = {
        .level = LOG_WARNING_LEVEL, .name = "violation", .session = session->name};
    log_write(session->all->log, &event, "%s between calls", call_name);
}

const struct worker_events session_events = {.ready = on_ready,
                                             .result = on_result,
                                             .event = call_run_event,
                                             .ask = call_run_ask,
                                             .fork_failed = on_fork_failed,
                                             .malformed = on_malformed,
                                             .violation = on_violation,
                                             .ended = on_ended};

static void on_served(void *context, struct worker_process *worker, struct pipes *pipes,
                      const char *reason) {
    struct session *session = context;
    if (worker) {
        session->head = worker;
        session->pipes = pipes;
        worker_set_owner(worker, &session_events, session, session->name);
        begin_evaluation(session);
        return;
    }
    struct call *call = take_running(session);
    call_decide(call, OUTCOME_NO_WORKER, "No worker can be started: %s.", reason);
    call_conclude(call, NULL, NULL, 0, false);
    step_later(session);
}

/* --- the kinds of calls --- */

static void conclude_done(struct call *call) {
    call_conclude(call, NULL, NULL, 0, false);
}

static void run_evaluate(struct session *session) {
    if (session->head) {
        begin_evaluation(session);
    } else {
        session_enter(session, SESSION_WAITING);
        pool_take(session->all->pool, &session->waiter);
    }
}

static void run_rollback(struct session *session) {
    struct call *call = take_running(session);
    size_t length = history_length(session);
    if ((uint64_t)call->steps > length) {
        bool keeps = !session->head || worker_can_fork(session->head);
        call_decide(
            call, OUTCOME_REFUSED,
            "Session %s can be rolled back by at most %zu calls now (session.history %lld%s).",
            session->name, length, (long long)session->all->settings->session_history,
            keeps ? "" : "; this kernel gives no seccomp notifications");
    } else {
        history_return(session, session->number - (uint64_t)call->steps);
        call_reply(call, "Session %s is as it was before its last %lld call%s; state number %llu.",
                   session->name, (long long)call->steps, call->steps == 1 ? "" : "s",
                   (unsigned long long)session->number);
    }
    conclude_done(call);
}

static void run_reset(struct session *session) {
    struct call *call = take_running(session);
    history_clear(session);
    call_reply(call, "Session %s is reset: a fresh world.", session->name);
    conclude_done(call);
}

/* Those that wait for a place of one that has ended. */
static void step_waiting(struct sessions *sessions) {
    for (struct session *session = sessions->first; session; session = session->next)
        if (session->transient && session->queue)
            step_later(session);
}

static void unlink_session(struct session *session) {
    struct session **link = &session->all->first;
    while (*link != session)
        link = &(*link)->next;
    *link = session->next;
    if (session->transient)
        step_waiting(session->all);
    else
        session->all->count--;
}

static void drop_calls(struct call *call) {
    while (call) {
        struct call *next = call->next;
        call_free(call);
        call = next;
    }
}

/* Frees a session. Calls that it still has, at the end of the server, are told nothing. */
void session_destroy(struct session *session) {
    history_clear(session);
    if (session->running)
        drop_calls(take_running(session));
    drop_calls(session->queue);
    drop_calls(session->cancelled);
    pool_withdraw(session->all->pool, &session->waiter);
    loop_timer_stop(session->all->loop, &session->step);
    unlink_session(session);
    free(session);
}

static struct call *take_queued(struct session *session) {
    struct call *call = session->queue;
    session->queue = call->next;
    session->queued--;
    session->queued_bytes -= call->size;
    return call;
}

/* Tells those whose calls were cancelled before they ran. */
static void tell_cancelled(struct session *session) {
    while (session->cancelled) {
        struct call *call = session->cancelled;
        session->cancelled = call->next;
        conclude_done(call);
    }
}

static void run_close(struct session *session) {
    struct call *call = take_running(session);
    call_reply(call, "Session %s is closed.", session->name);
    conclude_done(call);
    tell_cancelled(session);
    while (session->queue) {
        struct call *late = take_queued(session);
        call_decide(late, OUTCOME_REFUSED, "Session %s was closed before this call.",
                    session->name);
        conclude_done(late);
    }
    session_destroy(session);
}

/* WHAT says why not, for an OUTCOME that is not VALUE. */
static void finish_copy(struct session *session, enum outcome outcome, const char *what) {
    struct call *call = take_running(session);
    struct session *copy = session->copy;
    session->copy = NULL;
    if (outcome == OUTCOME_VALUE) {
        if (copy->state == SESSION_NASCENT)
            session_enter(copy, SESSION_IDLE);
        call_reply(call, "%s", copy->name);
        conclude_done(call);
        step_later(copy);
        return;
    }
    if (copy)
        session_destroy(copy);
    call_decide(call, outcome, "Session %s cannot be copied: %s.", session->name, what);
    conclude_done(call);
}

/* Forks HOLDER into the new session. */
static bool fork_copy(struct session *copy, struct worker_process *holder, struct error *error) {
    int outputs[2];
    copy->pipes = pipes_open(copy->all->loop, copy->all->settings, outputs, error);
    if (!copy->pipes)
        return false;
    copy->head = worker_fork(holder, &session_events, copy, copy->name, outputs, error);
    close(outputs[0]);
    close(outputs[1]);
    return copy->head != NULL;
}

static void run_copy(struct session *session) {
    struct call *call = session->running;
    struct error error;
    uint64_t number = call->at < 0 ? session->number : (uint64_t)call->at;
    bool fresh = number == 0 && session->began_fresh;
    struct worker_process *holder = history_holder(session, number);
    if (!holder && !fresh) {
        error_set(&error, 0, "state number %llu is not kept", (unsigned long long)number);
        finish_copy(session, OUTCOME_REFUSED, error.text);
        return;
    }
    if (holder && !worker_can_fork(holder)) {
        finish_copy(session, OUTCOME_REFUSED, "this kernel gives no seccomp notifications");
        return;
    }
    session->copy = sessions_make(session->all);
    if (!session->copy) {
        finish_copy(session, OUTCOME_FULL, "there are session.max sessions, and none is idle");
    } else if (!holder || fresh) {
        finish_copy(session, OUTCOME_VALUE, NULL);
    } else {
        session_enter(session, SESSION_COPYING);
        session_enter(session->copy, SESSION_NASCENT);
        session->copy->began_fresh = false;
        if (!fork_copy(session->copy, holder, &error))
            finish_copy(session, OUTCOME_REFUSED, error.text);
    }
}

/* --- worlds for one call --- */

size_t sessions_parked_max(const struct settings *settings) {
    return settings->session_max > 1 ? (size_t)settings->session_max / 2 : 1;
}

/* What such worlds are doing. */
struct worlds {
    size_t busy;      /* with a call that is to give a result by itself */
    size_t processes; /* also those that wait for their client, and those that are ending */
};

/* The call that such a world is busy with; NULL: none. */
static const struct call *busy_with(const struct session *session) {
    const struct call *call = session->running ? session->running : session->queue;
    return session->transient && call && !call->decided && !call->run.parked ? call : NULL;
}

static struct worlds count_worlds(const struct sessions *sessions) {
    struct worlds worlds = {0};
    for (const struct session *session = sessions->first; session; session = session->next) {
        worlds.busy += busy_with(session) != NULL;
        worlds.processes += session->transient && session->running;
    }
    return worlds;
}

size_t sessions_busy_with(const struct sessions *sessions, enum run_kind kind) {
    size_t count = 0;
    for (const struct session *session = sessions->first; session; session = session->next) {
        const struct call *call = busy_with(session);
        count += call && call->kind == CALL_RUN && call->run.kind == kind;
    }
    return count;
}

static bool has_place(const struct session *session) {
    const struct settings *settings = session->all->settings;
    return !session->transient || count_worlds(session->all).processes <
                                      (size_t)settings->session_max + sessions_parked_max(settings);
}

void call_park(struct call *call, bool parked) {
    call->run.parked = parked;
}

struct call *session_submit_once(struct sessions *sessions, const struct call_request *request) {
    if (count_worlds(sessions).busy >= (size_t)sessions->settings->session_max)
        return NULL;
    char name[SESSION_NAME_MAX];
    snprintf(name, sizeof name, "run-%u", sessions->last_call + 1);
    struct session *session = session_add(sessions, name, true);
    struct call *call = session ? session_submit(session, request) : NULL;
    if (session && !call)
        session_destroy(session);
    return call;
}

struct session *call_session(const struct call *call) {
    return call->session;
}

static void (*const runners[])(struct session *session) = {
    [CALL_EVALUATE] = run_evaluate, [CALL_RUN] = run_evaluate, [CALL_ROLLBACK] = run_rollback,
    [CALL_RESET] = run_reset,       [CALL_CLOSE] = run_close,  [CALL_COPY] = run_copy};

/* Is every process of the session waiting for frames? */
static bool is_quiet(const struct session *session) {
    if (session->head && session->head->state != WORKER_READY)
        return false;
    for (const struct checkpoint *state = session->newest; state; state = state->older)
        if (state->worker->state != WORKER_READY)
            return false;
    return true;
}

void session_step(struct session *session) {
    loop_timer_stop(session->all->loop, &session->step);
    tell_cancelled(session);
    if (session->transient && session->state == SESSION_IDLE && !session->queue) {
        session_destroy(session); /* the call is done */
        return;
    }
    if (session->state == SESSION_COPYING && session->copy->head &&
        session->copy->head->state != WORKER_STARTING) {
        finish_copy(session, OUTCOME_VALUE, NULL);
        step_later(session);
        return;
    }
    if (session->state != SESSION_IDLE || !is_quiet(session))
        return;
    if (history_is_due(session)) {
        history_take(session);
        if (session->state != SESSION_IDLE)
            return;
    }
    if (!session->queue || session->all->held || !has_place(session))
        return;
    session->running = take_queued(session);
    session->running->next = NULL;
    enum call_kind kind = session->running->kind;
    runners[kind](session);
    if (kind != CALL_CLOSE && kind != CALL_EVALUATE && kind != CALL_RUN)
        step_later(session);
}

/* --- the queue --- */

static bool encode(struct call *call, const struct call_request *request) {
    call->payload = buffer_make(FRAME_PAYLOAD_MAX);
    if (request->kind == CALL_EVALUATE) {
        const struct evaluate_message message = {.code = request->code,
                                                 .package = request->package};
        return evaluate_message_encode(&call->payload, &message);
    }
    if (request->kind != CALL_RUN)
        return true;
    const char *word = run_kind_word(request->run.kind);
    const struct run_message run = {.kind = {(const unsigned char *)word, strlen(word)},
                                    .name = request->run.name,
                                    .code = request->code,
                                    .arguments = request->run.arguments};
    return run_message_encode(&call->payload, &run);
}

/* Each of these is less than a line or a frame may have. */
static size_t size_of(const struct call_request *request) {
    return request->code.length + request->run.arguments.length + request->held_bytes;
}

struct call *session_submit(struct session *session, const struct call_request *request) {
    struct sessions *all = session->all;
    if (session->queued >= (size_t)all->settings->session_queue ||
        size_of(request) > SESSION_QUEUE_BYTES_MAX - session->queued_bytes)
        return NULL;
    struct call *call = calloc(1, sizeof *call);
    if (!call)
        return NULL;
    if (!encode(call, request)) {
        call_free(call);
        return NULL;
    }
    if (++all->last_call == 0)
        all->last_call = 1;
    call->session = session;
    call->kind = request->kind;
    call->number = all->last_call;
    call->size = call->payload.length + request->held_bytes;
    call->timeout_ms = request->timeout_ms;
    call->steps = request->steps;
    call->at = request->at;
    call->run.kind = request->run.kind;
    call->event = request->event;
    call->ask = request->ask;
    call->done = request->done;
    call->context = request->context;
    struct call **end = &session->queue;
    while (*end)
        end = &(*end)->next;
    *end = call;
    session->queued++;
    session->queued_bytes += call->size;
    session->used_ns = clock_now_ns();
    all->active++;
    return call;
}

uint32_t call_number(const struct call *call) {
    return call->number;
}

struct call_progress call_progress(const struct call *call) {
    struct call_progress progress = {.running = call->started_ns != 0 && !call->decided,
                                     .timeout_ms = call->timeout_ms};
    if (progress.running) {
        progress.elapsed_ms = clock_elapsed_ms(call->started_ns);
        progress.printed_bytes = call->session->pipes->output.bytes.length;
    }
    return progress;
}

/* Takes the call out of the queue. False when it is not there. */
static bool unqueue(struct call *call) {
    struct session *session = call->session;
    for (struct call **link = &session->queue; *link; link = &(*link)->next)
        if (*link == call) {
            *link = call->next;
            session->queued--;
            session->queued_bytes -= call->size;
            return true;
        }
    return false;
}

bool call_cancel(struct call *call, const char *cause) {
    struct session *session = call->session;
    if (call->decided)
        return false;
    if (call->started_ns) {
        call_decide(call, OUTCOME_CANCELLED, "%s", cause);
        worker_kill(session->head);
        return true;
    }
    if (call == session->running && session->state == SESSION_COPYING)
        return false; /* a fork cannot be called back; it is done in a moment */
    call_decide(call, OUTCOME_CANCELLED, "%s", cause);
    if (!unqueue(call)) {
        pool_withdraw(session->all->pool, &session->waiter);
        take_running(session);
    }
    call->next = session->cancelled;
    session->cancelled = call;
    step_later(session);
    return true;
}

/* --- all of them --- */

void sessions_open(struct sessions *sessions, struct loop *loop, struct log *log,
                   const struct settings *settings, struct pool *pool) {
    *sessions = (struct sessions){.loop = loop, .log = log, .settings = settings, .pool = pool};
}

void sessions_close(struct sessions *sessions) {
    while (sessions->first)
        session_destroy(sessions->first);
}

struct session *sessions_find(const struct sessions *sessions, struct span name) {
    struct session *session = sessions->first;
    while (session && (strlen(session->name) != name.length ||
                       memcmp(session->name, name.bytes, name.length) != 0))
        session = session->next;
    return session && session->state != SESSION_NASCENT && !session->transient ? session : NULL;
}

struct session *session_add(struct sessions *sessions, const char *name, bool transient) {
    struct session *session = calloc(1, sizeof *session);
    if (!session)
        return NULL;
    session->all = sessions;
    session->state = SESSION_IDLE;
    session->began_fresh = true;
    session->born_ns = session->used_ns = clock_now_ns();
    session->waiter = (struct pool_waiter){.served = on_served, .context = session};
    snprintf(session->name, sizeof session->name, "%s", name);
    struct session **end = &sessions->first;
    while (*end)
        end = &(*end)->next;
    *end = session;
    session->transient = transient;
    sessions->count += !transient;
    return session;
}

static bool is_idle(const struct session *session) {
    return (session->state == SESSION_IDLE || session->state == SESSION_CHECKPOINTING) &&
           !session->running && !session->queue && !session->cancelled;
}

/* Closes the least recently used session that may go. False when every one is busy. */
static bool close_oldest(struct sessions *sessions) {
    struct session *oldest = NULL;
    for (struct session *session = sessions->first; session; session = session->next)
        if (is_idle(session) && !session->own && !session->transient &&
            (!oldest || session->used_ns < oldest->used_ns))
            oldest = session;
    if (!oldest)
        return false;
    const struct log_event event = {
        .level = LOG_NOTICE_LEVEL, .name = "session-closed", .session = oldest->name};
    log_write(sessions->log, &event, "it was the least recently used, and there are session.max");
    session_destroy(oldest);
    return true;
}

/* Makes room for one more. False when it cannot. */
static bool make_room(struct sessions *sessions) {
    while (sessions->count >= (size_t)sessions->settings->session_max)
        if (!close_oldest(sessions))
            return false;
    return true;
}

struct session *sessions_own(struct sessions *sessions, const char *name) {
    struct session *session =
        sessions_find(sessions, (struct span){(const unsigned char *)name, strlen(name)});
    if (!session) {
        make_room(sessions); /* where every other is busy, there is one more for a while */
        session = session_add(sessions, name, false);
    }
    if (session)
        session->own = true;
    return session;
}

struct session *sessions_make(struct sessions *sessions) {
    unsigned char random[NAME_RANDOM_BYTES];
    char name[2 * NAME_RANDOM_BYTES + 3] = "s-";
    if (!make_room(sessions))
        return NULL;
    randombytes_buf(random, sizeof random);
    sodium_bin2hex(name + 2, sizeof name - 2, random, sizeof random);
    return session_add(sessions, name, false);
}

struct session *sessions_next(const struct sessions *sessions, const struct session *after) {
    struct session *next = after ? after->next : sessions->first;
    while (next && (next->state == SESSION_NASCENT || next->transient))
        next = next->next;
    return next;
}

const char *session_name(const struct session *session) {
    return session->name;
}

struct session_facts session_facts(const struct session *session) {
    struct session_facts facts = {.name = session->name,
                                  .age_s = clock_elapsed_ms(session->born_ns) / CLOCK_MS_PER_S,
                                  .idle_s = clock_elapsed_ms(session->used_ns) / CLOCK_MS_PER_S,
                                  .number = session->number,
                                  .history = history_length(session),
                                  .memory_is_proportional = true,
                                  .busy = !is_idle(session)};
    bool exact;
    if (session->head) {
        facts.memory_bytes = worker_proportional_bytes(session->head, &exact);
        facts.memory_is_proportional &= exact;
    }
    for (const struct checkpoint *state = session->newest; state; state = state->older) {
        facts.memory_bytes += worker_proportional_bytes(state->worker, &exact);
        facts.memory_is_proportional &= exact;
    }
    return facts;
}

void sessions_hold(struct sessions *sessions, bool held) {
    sessions->held = held;
    for (struct session *session = sessions->first; session && !held; session = session->next)
        step_later(session);
}

void sessions_cancel_all(struct sessions *sessions, const char *cause) {
    for (struct session *session = sessions->first; session; session = session->next) {
        if (session->running)
            call_cancel(session->running, cause);
        while (session->queue)
            call_cancel(session->queue, cause);
    }
}
