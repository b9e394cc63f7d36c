/* A session: its states, its running call and its queue. */
#include "supervisor/base/clock.h"
#include "supervisor/session/session_internal.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MEMORY_CHECK_MS = 50,
    ANSWER_LIMIT_MS = 1000, /* for the rest of an answer that has begun before the time limit */
    END_LIMIT_MS = 200      /* from the end of the channel to the kill, with reports_usage */
};

/* --- states --- */

static const struct state_rule {
    const char *name;
    unsigned next; /* bits: the states that may follow */
} state_rules[SESSION_STATES] = {
#define NEXT(state) (1U << SESSION_##state)
    [SESSION_NASCENT] = {"nascent", NEXT(IDLE)},
    [SESSION_IDLE] = {"idle", NEXT(CHECKPOINTING) | NEXT(WAITING) | NEXT(EVALUATING) |
                                  NEXT(COPYING) | NEXT(NASCENT) | NEXT(SAVING) | NEXT(REFINING)},
    [SESSION_REFINING] = {"refining", NEXT(IDLE)},
    [SESSION_CHECKPOINTING] = {"checkpointing", NEXT(IDLE)},
    [SESSION_WAITING] = {"waiting", NEXT(EVALUATING) | NEXT(IDLE)},
    [SESSION_EVALUATING] = {"evaluating", NEXT(IDLE) | NEXT(SAVING)},
    [SESSION_SAVING] = {"saving", NEXT(IDLE)},
    [SESSION_COPYING] = {"copying", NEXT(IDLE) | NEXT(SAVING)},
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
        log_write(session->all->log, &event, "invalid transition from %s to %s", from->name,
                  to->name);
    }
    LOG_TRACE(session->all->log, &event, "%s -> %s, state number %llu", from->name, to->name,
              (unsigned long long)session->number);
    session->state = state;
}

/* --- the running call --- */

static void stop_clocks(struct session *session) {
    loop_timer_stop(session->all->loop, &session->time_limit);
    loop_timer_stop(session->all->loop, &session->cpu_limit);
    loop_timer_stop(session->all->loop, &session->memory_check);
    loop_timer_stop(session->all->loop, &session->decode);
}

struct call *session_take_running(struct session *session) {
    struct call *call = session->running;
    stop_clocks(session);
    if (session->state != SESSION_IDLE)
        session_enter(session, SESSION_IDLE);
    session->running = NULL;
    admission_release(call);
    return call;
}

/* How a client could have had more time than for CALL; or nothing. */
static void advise_timeout(const struct call *call, char *advice, size_t size) {
    const struct session *session = call->session;
    const int64_t most_s = session->all->settings->call_timeout_max_s;
    *advice = 0;
    if (call->kind == CALL_EVALUATE && !session_is_anonymous(session) && !session->all->no_client &&
        call->timeout_ms < most_s * CLOCK_MS_PER_S)
        snprintf(advice, size, " The argument timeout allows up to %lld s.", (long long)most_s);
}

void session_on_time_limit(void *context) {
    struct session *session = context;
    struct call *call = session->running;
    if (!call->answering && worker_is_answering(session->head)) {
        call->answering = true;
        loop_timer_start(session->all->loop, &session->time_limit, ANSWER_LIMIT_MS,
                         session_on_time_limit, session);
        return;
    }
    char advice[80];
    advise_timeout(call, advice, sizeof advice);
    const int64_t limit_ms = call->cpu_used_up ? call->cpu_ms : call->timeout_ms;
    call_decide(call, OUTCOME_TIMEOUT, "No answer within %g s%s.%s",
                (double)limit_ms / CLOCK_MS_PER_S, call->cpu_used_up ? " of processor time" : "",
                advice);
    worker_stop(session->head);
}

/* No process uses more processor time than has passed, so that it is enough to look when the rest
 * of the limit has. */
static void on_cpu_limit(void *context) {
    struct session *session = context;
    struct call *call = session->running;
    const int64_t used_us = worker_cpu_us(session->head) - call->begun_cpu_us;
    const int64_t left_us = call->cpu_ms * CLOCK_US_PER_MS - used_us;
    if (call->decided)
        return;
    if (left_us > 0) {
        loop_timer_start(session->all->loop, &session->cpu_limit,
                         (left_us + CLOCK_US_PER_MS - 1) / CLOCK_US_PER_MS, on_cpu_limit, session);
        return;
    }
    call->cpu_used_up = true;
    session_on_time_limit(session);
}

static void begin_cpu_limit(struct session *session) {
    struct call *call = session->running;
    if (!call->cpu_ms)
        return;
    call->begun_cpu_us = worker_cpu_us(session->head);
    loop_timer_start(session->all->loop, &session->cpu_limit, call->cpu_ms, on_cpu_limit, session);
}

/* For memory that Lisp does not manage, and for code that lifted Lisp's heap limit. */
static void on_memory_check(void *context) {
    struct session *session = context;
    memory_check_running(session);
    if (!session->running->decided)
        loop_timer_start(session->all->loop, &session->memory_check, MEMORY_CHECK_MS,
                         on_memory_check, session);
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

/* No process but the head can write to the pipes of the session. */
static bool owns_pipes(const struct session *session) {
    const struct checkpoint *checkpoint;
    if (!session->pipes)
        return false;
    const uint64_t serial = session->pipes->serial;
    if (session->pipes->shared || session->head->outputs != serial)
        return false;
    LIST_FOREACH(checkpoint, &session->checkpoints, entry) {
        struct worker_process *worker = checkpoint->worker;
        if (worker && worker->outputs == serial && !worker_is_stopped(worker))
            return false;
    }
    return true;
}

bool sessions_prepare_pipes(struct sessions *sessions, struct error *error) {
    if (!sessions->fresh_pipes)
        sessions->fresh_pipes =
            pipes_open(sessions->loop, sessions->settings, sessions->fresh_ends, error);
    return sessions->fresh_pipes != NULL;
}

void sessions_discard_pipes(struct sessions *sessions) {
    if (!sessions->fresh_pipes)
        return;
    pipes_close(sessions->fresh_pipes);
    sessions->fresh_pipes = NULL;
    close(sessions->fresh_ends[0]);
    close(sessions->fresh_ends[1]);
}

/* Gives the head fresh pipes unless it owns its pipes, so that the output of the call is that of
 * the call alone. */
static bool ensure_own_pipes(struct session *session, struct error *error) {
    struct sessions *all = session->all;
    if (owns_pipes(session))
        return true;
    if (!sessions_prepare_pipes(all, error) ||
        !worker_set_outputs(session->head, all->fresh_ends, all->fresh_pipes->serial, error))
        return false;
    pipes_close(session->pipes);
    session->pipes = all->fresh_pipes;
    all->fresh_pipes = NULL;
    close(all->fresh_ends[0]);
    close(all->fresh_ends[1]);
    return true;
}

static void refuse_call(struct session *session, const char *what, const char *reason) {
    struct call *call = session_take_running(session);
    call_decide(call, OUTCOME_NO_WORKER, "%s: %s.", what, reason);
    call_conclude(call, NULL, NULL, 0, false);
    session_step_later(session);
}

/* The call cannot be run at the state that it asks for. */
static void refuse_visit(struct session *session, const char *reason) {
    call_decide(session->running, OUTCOME_REFUSED, "Session %s cannot be inspected: %s.",
                session->name, reason);
    history_abandon(session);
    refuse_call(session, "", "");
}

/* Does the running call look at another state than the present one? */
static bool is_visit(const struct session *session) {
    const struct call *call = session->running;
    return call->inspects && call->at >= 0 && (uint64_t)call->at != session->number;
}

static void send_call(struct session *session) {
    struct sessions *all = session->all;
    struct call *call = session->running;
    struct error error;
    if (!ensure_own_pipes(session, &error)) {
        if (is_visit(session)) /* the head holds that state */
            worker_kill(session->head);
        refuse_call(session, "The call cannot be sent to its worker", error.text);
        return;
    }
    session_enter(session, SESSION_EVALUATING);
    history_began_call(session);
    call->stays = !call->inspects || !history_is_safe(session);
    call->started_ns = clock_now_ns();
    loop_timer_start(all->loop, &session->time_limit, call->timeout_ms, session_on_time_limit,
                     session);
    begin_cpu_limit(session);
    loop_timer_start(all->loop, &session->memory_check, MEMORY_CHECK_MS, on_memory_check, session);
    pipes_begin(session->pipes, on_flooded, session);
    if (call->kind == CALL_RUN)
        call_begin_run(call);
    const bool sent =
        call->adopts ? worker_adopt(session->head, call->number, &call->payload, call->image_fd)
        : call->kind == CALL_RUN ? worker_run(session->head, call->number, &call->payload)
                                 : worker_evaluate(session->head, call->number, &call->payload);
    if (!sent) {
        call_decide(call, OUTCOME_NO_WORKER,
                    "The call cannot be sent to its worker: out of memory.");
        worker_kill(session->head);
    }
    if (!durable_saves(session) || call->replays || !call->stays)
        buffer_free(&call->payload);
}

void session_on_served(void *context, struct worker_process *worker, struct pipes *pipes,
                       const char *reason) {
    struct session *session = context;
    if (worker) {
        if (session->head && !history_vacate(session, worker)) { /* it visits the fresh state */
            pipes_close(pipes);
            refuse_visit(session, "its state is lost");
            return;
        }
        session->head = worker;
        session->pipes = pipes;
        worker_set_owner(worker, &session_events, session, session->name);
        memory_start(session->all);
        send_call(session);
        return;
    }
    refuse_call(session, "No worker can be started", reason);
}

static void visit(struct session *session, uint64_t number) {
    struct error error;
    session_enter(session, SESSION_WAITING);
    if (number == 0 && session->began_fresh && history_is_safe(session))
        pool_take(session->all->pool, &session->waiter);
    else if (!history_visit(session, number, &error))
        refuse_visit(session, error.text);
}

void session_evaluate(struct session *session) {
    if (session->spent) {
        call_decide(session->running, OUTCOME_REFUSED, "The process ended between calls.");
        refuse_call(session, "", "");
    } else if (is_visit(session)) {
        visit(session, (uint64_t)session->running->at);
    } else if (session->head) {
        send_call(session);
    } else {
        session_enter(session, SESSION_WAITING);
        pool_take(session->all->pool, &session->waiter);
    }
}

/* --- events of workers --- */

static void on_end_limit(void *context) {
    struct session *session = context;
    session->running->cut_off = true;
    worker_kill(session->head);
}

/* Waits until the process is reaped. An honest worker ends at the end of its channel. What another
 * one does until then decides the outcome in place of the answer, which it may have forged before.
 */
static void await_end(struct session *session, enum outcome answer) {
    struct call *call = session->running;
    call->answer = answer;
    call->answered_ns = clock_now_ns();
    loop_timer_start(session->all->loop, &session->time_limit, END_LIMIT_MS, on_end_limit, session);
    shutdown(session->head->channel, SHUT_WR);
}

static bool has_sent_more(const struct worker_process *worker) {
    char byte;
    return recv(worker->channel, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* Decides by the answer, if there is one and the process did nothing after it but end. */
static void decide_by_answer(struct call *call, bool inside_frame, int status) {
    bool by_itself = WIFEXITED(status) && WEXITSTATUS(status) == 0 && !inside_frame;
    bool cut_off = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && call->cut_off;
    if (call->decided || !call->answered_ns || !(by_itself || cut_off))
        return;
    call_decide(call, call->answer, "%s", "");
    call->decided_ns = call->answered_ns;
}

/* The most that a worker within its limits sends. */
static size_t result_bytes_max(const struct settings *settings) {
    enum { CHARACTER_BYTES = 4, OTHER_BYTES = 4 << 20 };
    size_t values =
        (size_t)RESULT_VALUES_MAX * CHARACTER_BYTES * (size_t)settings->value_max_chars +
        OTHER_BYTES;
    return values + RUN_RESULT_MAX_BYTES;
}

static void note_loss(struct session *session, const char *excess);
static void conclude_end(struct session *session, int status);

void session_note_end(struct session *session) {
    if (!session->saved.head_ended)
        return;
    session->saved.head_ended = false;
    if (!session->head && !history_restore(session))
        note_loss(session, NULL);
}

static void finish_answer(struct session *session) {
    struct call *call = session_take_running(session);
    session->number++;
    session->unprotected = false;
    session->parks |= call->kept->message.settles;
    if (session->head) /* it may have ended while its call was saved */
        session->head->native.coarse = call->kept->message.refines;
    refine_first(session);
    const int64_t lasted_ns = call->decided_ns - call->started_ns;
    session->shorter_ns = lasted_ns < session->lasted_ns ? lasted_ns : session->lasted_ns;
    session->lasted_ns = lasted_ns;
    if (!call->adopts)
        session->saved.cost_ns += lasted_ns;
    call_conclude(call, &call->kept->message, session->pipes, 0, false);
    pipes_end(session->pipes);
    session_note_end(session);
    session_step_later(session);
}

/* The call is saved, or else undone: its process ends, and so its effects. */
static void on_call_saved(struct session *session, const char *failure) {
    struct call *call = session->running;
    if (!failure) {
        session->saved.count++;
        session->saved.adoptions = 0;
        finish_answer(session);
        return;
    }
    call->decided = false;
    call_decide(call, OUTCOME_UNSAVED, "The call cannot be saved: %s.", failure);
    session_enter(session, SESSION_WAITING);
    session_enter(session, SESSION_EVALUATING);
    if (session->head)
        worker_kill(session->head);
    else
        conclude_end(session, session->saved.end_status);
    session->saved.head_ended = false;
}

static void conclude_answer(struct session *session, enum outcome answer) {
    call_decide(session->running, answer, "%s", "");
    if (!durable_saves(session) || session->running->replays) {
        finish_answer(session);
        return;
    }
    stop_clocks(session);
    durable_save_call(session, on_call_saved);
}

/* The kept result is decoded, or there is no need to. */
static void take_kept(struct session *session) {
    struct result_message *message = &session->running->kept->message;
    enum outcome answer = message->condition.bytes ? OUTCOME_CONDITION : OUTCOME_VALUE;
    const struct call *call = session->running;
    if ((session->all->reports_usage && !call->goes_on) || !call->stays)
        await_end(session, answer);
    else
        conclude_answer(session, answer);
}

static void refuse_result(struct session *session) {
    call_decide(session->running, OUTCOME_MALFORMED, "The worker sent a malformed result.");
    worker_kill(session->head);
}

static void on_decode(void *context) {
    struct session *session = context;
    if (session->running->decided) /* its process is being killed */
        return;
    struct kept_result *kept = session->running->kept;
    const struct run_decoder *decoder = &kept->decoder;
    const bool small = kept->payload.length <= JSON_READER_SMALL_BYTES;
    enum run_step step;
    do
        step = call_decode_step(session->running);
    while (step == RUN_STEP_MORE && small);
    if (step == RUN_STEP_DONE && !small && !kept->rested) {
        kept->rested = true; /* the answer is work enough for a turn */
        step = RUN_STEP_MORE;
    }
    switch (step) {
    case RUN_STEP_MORE:
        loop_timer_start(session->all->loop, &session->decode, 0, on_decode, session);
        break;
    case RUN_STEP_DONE:
        take_kept(session);
        break;
    case RUN_STEP_MALFORMED:
        refuse_result(session);
        break;
    case RUN_STEP_LIMIT:
        call_end_over_limit(session, decoder->limit_name, decoder->limit,
                            strcmp(decoder->limit_name, "run.blocks") == 0
                                ? "The result has too many content blocks, messages or contents."
                                : "The result has too many values.");
        break;
    }
}

/* A result with JSON is decoded in turns, during which the process may do nothing. */
static void on_result(void *context, struct worker_process *worker, const unsigned char *payload,
                      size_t size) {
    (void)worker;
    struct session *session = context;
    struct call *call = session->running;
    pipes_drain(session->pipes);
    if (call->decided)
        return; /* the drained output exceeded its limit */
    loop_timer_stop(session->all->loop, &session->time_limit);
    loop_timer_stop(session->all->loop, &session->cpu_limit);
    if (size > result_bytes_max(session->all->settings) || !call_keep_result(call, payload, size))
        refuse_result(session);
    else if (size > JSON_READER_SMALL_BYTES)
        loop_timer_start(session->all->loop, &session->decode, 0, on_decode, session);
    else
        on_decode(session);
}

/* The head ended between calls, because of EXCESS (NULL: the reason is unknown). A session that has
 * lost all of its state ends, since a call that names it relies on what is gone. */
static void note_loss(struct session *session, const char *excess) {
    const struct log_event event = {
        .level = LOG_WARNING_LEVEL, .name = "worker-lost", .session = session->name};
    const char *because = excess ? " because " : "";
    const bool saved = durable_saves(session);
    session->spent = session->kind == SESSION_SOURCE;
    const bool ends = !saved && !session->head && session->kind != SESSION_OWN && !session->spent;
    const char *what = saved           ? "its state is brought back by the next call"
                       : session->head ? "the effects of the last calls are lost"
                       : ends          ? "the session is lost"
                                       : "the state of the session is lost, and it started afresh";
    excess = excess ? excess : "";
    if (!session_is_anonymous(session)) /* whose caller reports it */
        log_write(session->all->log, &event, "the worker ended between calls%s%s; %s", because,
                  excess, what);
    if (ends) {
        char why[sizeof session->loss];
        snprintf(why, sizeof why,
                 "Session %s was lost before this call: its worker ended between calls%s%s.",
                 session->name, because, excess);
        names_remember(session->all, session->name, SESSION_LOST, *excess ? excess : NULL);
        session_abandon(session, why);
        return;
    }
    if (saved)
        durable_lost(session);
    else
        snprintf(session->loss, sizeof session->loss,
                 "SESSION-LOST: the worker ended between calls%s%s; %s", because, excess, what);
}

static void head_ended(struct session *session, bool inside_frame, int status) {
    struct call *call = session->running;
    const char *excess = session->head->memory.excess;
    if (session->state == SESSION_CHECKPOINTING)
        history_failed(session, "the worker ended");
    else if (session->state == SESSION_REFINING)
        refine_failed(session);
    if (session->state == SESSION_SAVING && call) {
        session->saved.head_ended = true;
        session->saved.end_status = status;
        session->head = NULL;
        return;
    }
    if (session->state != SESSION_EVALUATING) {
        if (!history_restore(session) && session->state != SESSION_NASCENT)
            note_loss(session, excess);
        return;
    }
    pipes_drain(session->pipes);
    inside_frame |= call->answered_ns && has_sent_more(session->head);
    decide_by_answer(call, inside_frame, status);
    call_decide_by_status(call, inside_frame, status);
    call->usage = session->head->usage;
    conclude_end(session, status);
}

/* Every process of the session waits for a frame. */
static bool is_quiet(const struct session *session) {
    const struct checkpoint *checkpoint;
    LIST_FOREACH(checkpoint, &session->checkpoints, entry) {
        if (checkpoint->worker && checkpoint->worker->state != WORKER_READY)
            return false;
    }
    return !session->head || session->head->state == WORKER_READY;
}

static bool ends_with_its_calls(const struct session *session) {
    return session->kind == SESSION_TRANSIENT || session->finished;
}

/* Has the fork that becomes the head made while the answer is written. */
static void wake_early(struct session *session) {
    const bool goes_on = !session->over && !ends_with_its_calls(session);
    if (goes_on && session->state == SESSION_IDLE && is_quiet(session) &&
        history_is_asleep(session))
        history_wake(session);
}

/* Concludes the running call, whose process has ended. */
static void conclude_end(struct session *session, int status) {
    struct call *call = session_take_running(session);
    struct pipes *pipes = session->pipes;
    session->pipes = NULL; /* history_restore would close them, and the call refers to them */
    bool restored = history_restore(session);
    wake_early(session);
    bool answered = call->outcome == OUTCOME_VALUE || call->outcome == OUTCOME_CONDITION;
    if (!answered)
        call_drop_result(call);
    if (answered && !restored && !session_is_anonymous(session)) /* which end with the call */
        note_loss(session, NULL);
    call_conclude(call, answered ? &call->kept->message : NULL, pipes, status, !restored);
    pipes_end(pipes);
    if (session->head)
        session->pipes = pipes;
    else
        pipes_close(pipes);
}

static void checkpoint_ended(struct session *session, const struct worker_process *worker) {
    const bool was_asleep = history_is_asleep(session);
    history_lost(session, worker);
    if (was_asleep && !history_is_asleep(session) && !history_restore(session))
        note_loss(session, worker->memory.excess);
}

static void on_ended(void *context, struct worker_process *worker, int status) {
    struct session *session = context;
    memory_on_ended(session, worker, status);
    if (worker == session->head)
        head_ended(session, worker->header_have > 0, status);
    else
        checkpoint_ended(session, worker);
    worker_destroy(worker);
    session_step_later(session);
}

static void on_ready(void *context, struct worker_process *worker) {
    struct session *session = context;
    if (session->state == SESSION_CHECKPOINTING && worker == session->taking->worker)
        history_taken(session);
    if (session->state == SESSION_WAITING && session->taking && worker == session->taking->worker) {
        if (history_visited(session))
            send_call(session);
        else
            refuse_visit(session, "its state is lost");
        return;
    }
    session_step(session);
}

static void on_fork_failed(void *context, struct worker_process *worker, const char *what) {
    (void)worker;
    struct session *session = context;
    if (session->state == SESSION_CHECKPOINTING)
        history_failed(session, what);
    else if (session->state == SESSION_COPYING)
        session_end_copy(session, what);
    else if (session->state == SESSION_WAITING && session->taking)
        refuse_visit(session, what);
    session_step_later(session);
}

static void on_malformed(void *context, struct worker_process *worker, const char *what) {
    struct session *session = context;
    if (worker == session->head && session->state == SESSION_EVALUATING) {
        call_decide(session->running, OUTCOME_MALFORMED, "The result cannot be read: %s.", what);
        return;
    }
    const struct log_event event = {
        .level = LOG_ERROR_LEVEL, .name = "malformed", .session = session->name};
    if (!session_is_anonymous(session))
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
    if (!session_is_anonymous(session))
        log_write(session->all->log, &event, "%s between calls", call_name);
}

const struct worker_events session_events = {.ready = on_ready,
                                             .result = on_result,
                                             .event = call_on_event,
                                             .ask = call_on_ask,
                                             .refined = refine_on_done,
                                             .tracks = history_on_tracks,
                                             .cloned = history_on_cloned,
                                             .fork_failed = on_fork_failed,
                                             .malformed = on_malformed,
                                             .violation = on_violation,
                                             .ended = on_ended};

/* --- the step --- */

bool session_is_idle(const struct session *session) {
    return (session->state == SESSION_IDLE || session->state == SESSION_CHECKPOINTING ||
            session->state == SESSION_REFINING) &&
           !session->running && TAILQ_EMPTY(&session->queue) && TAILQ_EMPTY(&session->cancelled);
}

static void (*const runners[])(struct session *session) = {
    [CALL_EVALUATE] = session_evaluate, [CALL_RUN] = session_evaluate,
    [CALL_OPEN] = session_open,         [CALL_ROLLBACK] = session_roll_back,
    [CALL_RESET] = session_reset,       [CALL_CLOSE] = session_close,
    [CALL_COPY] = session_begin_copy};

/* Stops the processes that have nothing to do. A head whose next call starts now continues. */
static void rest(struct session *session, bool starts) {
    const struct checkpoint *checkpoint;
    LIST_FOREACH(checkpoint, &session->checkpoints, entry) {
        if (checkpoint->worker)
            worker_rest(checkpoint->worker);
    }
    if (session->head && !starts)
        worker_rest(session->head);
}

void session_conclude_cancelled(struct session *session) {
    while (!TAILQ_EMPTY(&session->cancelled)) {
        struct call *call = TAILQ_FIRST(&session->cancelled);
        TAILQ_REMOVE(&session->cancelled, call, entry);
        call_conclude(call, NULL, NULL, 0, false);
    }
}

/* Ends a session that is over. False if it goes on. */
static bool has_ended(struct session *session) {
    if (session->state != SESSION_IDLE && session->state != SESSION_NASCENT)
        return false;
    if (session->over) {
        session_end(session);
        return true;
    }
    if (ends_with_its_calls(session) && session->state == SESSION_IDLE &&
        TAILQ_EMPTY(&session->queue)) {
        session_destroy(session); /* its call is done */
        return true;
    }
    return false;
}

static void start(struct session *session) {
    struct call *next = TAILQ_FIRST(&session->queue);
    if (next->payload.length > JSON_READER_SMALL_BYTES && !next->rested) {
        next->rested = true; /* encoding it was work enough for a turn */
        session_step_later(session);
        return;
    }
    session->running = next;
    session_unqueue(next);
    if (next->kind == CALL_EVALUATE || next->kind == CALL_RUN)
        admission_take(next);
    runners[next->kind](session);
}

void session_step(struct session *session) {
    loop_timer_stop(session->all->loop, &session->step);
    session->backlogged = false;
    session_conclude_cancelled(session);
    if (has_ended(session))
        return;
    if (session->state == SESSION_COPYING) {
        const struct session *copy = session->running->copy;
        if (copy->head && copy->head->state != WORKER_STARTING)
            session_end_copy(session, NULL);
        return;
    }
    if (session->state != SESSION_IDLE || !is_quiet(session))
        return;
    if (history_is_asleep(session)) {
        history_wake(session);
        return;
    }
    if (history_is_due(session)) {
        history_take(session);
        if (session->state != SESSION_IDLE)
            return;
    }
    if (refine_is_due(session)) {
        refine_begin(session);
        return;
    }
    if (durable_is_due(session)) {
        if (admission_asks(session))
            durable_step(session);
        return;
    }
    const bool starts = !TAILQ_EMPTY(&session->queue) && admission_asks(session);
    rest(session, starts);
    if (starts)
        start(session);
}

static void on_step(void *context) {
    session_step(context);
}

void session_step_later(struct session *session) {
    if (!session->step.active)
        loop_timer_start(session->all->loop, &session->step, 0, on_step, session);
}

/* --- the queue --- */

static bool encode(struct call *call, const struct call_request *request) {
    call->payload = buffer_make(FRAME_PAYLOAD_MAX);
    if (request->kind == CALL_EVALUATE) {
        const struct evaluate_message message = {.code = request->code,
                                                 .package = request->package,
                                                 .inspection = request->inspection,
                                                 .input = request->input,
                                                 .files = request->files};
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

/* The calls that wait on all sessions of KIND. */
static void count_waiting(const struct sessions *all, enum session_kind kind, size_t *calls,
                          size_t *bytes) {
    const struct session *session;
    *calls = *bytes = 0;
    TAILQ_FOREACH(session, &all->list, entry) {
        *calls += session->kind == kind ? session->queued : 0;
        *bytes += session->kind == kind ? session->queued_bytes : 0;
    }
}

/* Whether a call of SIZE bytes may wait on the session. */
static bool has_place(const struct session *session, size_t size) {
    const struct sessions *all = session->all;
    size_t calls = session->queued, bytes = session->queued_bytes;
    if (all->unbounded)
        return true;
    if (session->kind == SESSION_UNNAMED || session->kind == SESSION_TRANSIENT)
        count_waiting(all, session->kind, &calls, &bytes);
    return calls < (size_t)all->settings->session_queue && bytes <= SESSION_QUEUE_BYTES_MAX &&
           size <= SESSION_QUEUE_BYTES_MAX - bytes &&
           size <= SESSIONS_QUEUE_BYTES_MAX - all->queued_bytes;
}

/* Begins the copy, which waits for the call: the calls that name it meanwhile wait on it. */
static bool add_copy(struct call *call, struct span name) {
    char handle[SESSION_NAME_BYTES];
    names_make_handle(call->session->all, handle);
    const bool is_fork = call->session->kind == SESSION_SOURCE;
    call->copy = session_add(call->session->all, name.bytes ? name : string_span(handle),
                             is_fork ? SESSION_TRANSIENT : SESSION_KEPT);
    if (call->copy)
        session_enter(call->copy, SESSION_NASCENT);
    return call->copy != NULL;
}

/* NULL when out of memory. */
static struct call *make_call(struct session *session, const struct call_request *request) {
    struct call *call = calloc(1, sizeof *call);
    if (!call)
        return NULL;
    call->session = session;
    if (!encode(call, request) || (request->kind == CALL_COPY && !add_copy(call, request->name))) {
        call_free(call);
        return NULL;
    }
    call->kind = request->kind;
    call->inspects = request->inspection.bytes != NULL;
    call->goes_on = request->goes_on;
    call->size = call->payload.length + request->held_bytes;
    call->timeout_ms = request->timeout_ms;
    call->cpu_ms = request->cpu_ms;
    call->steps = request->steps;
    call->at = request->at;
    call->run.kind = request->run.kind;
    call->run.wants_value = request->run.wants_value;
    call->event = request->event;
    call->ask = request->ask;
    call->done = request->done;
    call->context = request->context;
    call->answers = buffer_make(JOURNAL_RECORD_MAX / 8);
    return call;
}

uint32_t sessions_next_number(struct sessions *sessions) {
    if (++sessions->last_call == 0)
        sessions->last_call = 1;
    return sessions->last_call;
}

struct call *session_submit(struct session *session, const struct call_request *request) {
    struct sessions *all = session->all;
    /* Each is below the limit of a line or a frame, so the sum cannot overflow. */
    size_t size = request->code.length + request->inspection.length +
                  request->run.arguments.length + request->input.length + request->held_bytes;
    struct call *call = has_place(session, size) ? make_call(session, request) : NULL;
    if (!call)
        return NULL;
    call->number = sessions_next_number(all);
    TAILQ_INSERT_TAIL(&session->queue, call, entry);
    session->queued++;
    session->queued_bytes += call->size;
    all->queued_bytes += call->size;
    session->used_ns = clock_now_ns();
    all->active++;
    return call;
}

void session_unqueue(struct call *call) {
    struct session *session = call->session;
    TAILQ_REMOVE(&session->queue, call, entry);
    session->queued--;
    session->queued_bytes -= call->size;
    session->all->queued_bytes -= call->size;
}
