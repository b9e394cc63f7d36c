/* Sessions, queues and the verdict on each call. A verdict is set once and never changed. */
#include "supervisor/session.h"
#include "common/cleanup.h"
#include "supervisor/clock.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { MEMORY_CHECK_MS = 50, SESSION_NAME_MAX = 64 };

struct call {
    struct session *session;
    struct call *next; /* in the queue */
    uint32_t number;
    struct buffer payload; /* of the FRAME_EVALUATE */
    int64_t timeout_ms, started_ns;
    call_done done;
    void *context;
    bool decided;
    enum outcome outcome; /* when decided */
    char cause[200];
    const char *limit_stream;
    size_t limit_bytes;
    struct loop_timer later; /* finishes a call that was cancelled before it ran */
};

struct session {
    struct sessions *all;
    struct session *next;
    char name[SESSION_NAME_MAX];
    struct worker_process *worker; /* NULL until the first call, and after a loss */
    struct pool_waiter waiter;
    struct call *running; /* waiting for the worker, or on it */
    struct call *queue;
    struct call *cancelled; /* before they ran; each is done in a moment */
    size_t queued, queued_bytes;
    struct loop_timer time_limit, memory_check;
    char loss[160]; /* the worker died between calls; told with the next answer */
};

static void start_next(struct session *session);

__attribute__((format(printf, 3, 4))) static void decide(struct call *call, enum outcome outcome,
                                                         const char *format, ...) {
    if (call->decided)
        return;
    call->decided = true;
    call->outcome = outcome;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(call->cause, sizeof call->cause, format, arguments);
    va_end(arguments);
}

/* --- the end of a call --- */

static void append_cause(struct evaluation *evaluation, const char *sentence) {
    size_t used = strlen(evaluation->cause);
    snprintf(evaluation->cause + used, sizeof evaluation->cause - used, " %s", sentence);
}

static void log_outcome(const struct session *session, const struct call *call,
                        const struct evaluation *evaluation) {
    const struct outcome_facts *facts = &outcome_table[call->outcome];
    const struct log_event event = {
        .level = facts->level, .name = facts->word, .session = session->name, .call = call->number};
    log_write(session->all->log, &event, "%s", evaluation->cause);
}

/* Adds the loss of an idle worker to the warnings that the answer shows. */
static void tell_loss(struct session *session, struct result_message *result) {
    if (!session->loss[0] || result->warning_count == RESULT_WARNINGS_MAX)
        return;
    memmove(result->warnings + 1, result->warnings,
            result->warning_count * sizeof *result->warnings);
    result->warnings[0] =
        (struct span){(const unsigned char *)session->loss, strlen(session->loss)};
    result->warning_count++;
}

static int exit_code_of(enum outcome outcome, int status) {
    if (outcome_table[outcome].exit_code >= 0)
        return outcome_table[outcome].exit_code;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static struct span captured(const struct captured_stream *stream) {
    size_t length = stream->bytes.length < stream->limit ? stream->bytes.length : stream->limit;
    return (struct span){stream->bytes.data, length};
}

static void free_call(struct session *session, struct call *call) {
    loop_timer_stop(session->all->loop, &call->later);
    buffer_free(&call->payload);
    free(call);
}

/* Tells the caller how its call ended and frees the call. RESULT is NULL when the worker gave
 * none. */
static void conclude(struct session *session, struct call *call, struct result_message *result,
                     int status) {
    const struct outcome_facts *facts = &outcome_table[call->outcome];
    struct evaluation evaluation = {.outcome = call->outcome,
                                    .exit_code = exit_code_of(call->outcome, status),
                                    .limit_stream = call->limit_stream,
                                    .limit_bytes = (int64_t)call->limit_bytes,
                                    .timeout_ms = call->timeout_ms,
                                    .session = session->name};
    memcpy(evaluation.cause, call->cause, sizeof evaluation.cause);
    if (result)
        evaluation.result = *result;
    if (call->started_ns) {
        evaluation.elapsed_ms = clock_elapsed_ms(call->started_ns);
        evaluation.state_lost = facts->loses_state;
        evaluation.output = captured(&session->worker->output);
        evaluation.error_output = captured(&session->worker->error_output);
    }
    if (evaluation.state_lost && !session->all->one_shot)
        append_cause(&evaluation, "The state of the session is lost; it starts afresh.");
    tell_loss(session, &evaluation.result);
    log_outcome(session, call, &evaluation);
    session->all->active--;
    call->done(call->context, &evaluation);
    session->loss[0] = 0;
    free_call(session, call);
}

/* --- the running call --- */

static struct call *running_call(struct session *session) {
    loop_timer_stop(session->all->loop, &session->time_limit);
    loop_timer_stop(session->all->loop, &session->memory_check);
    return session->running;
}

static void finish_running(struct session *session, struct result_message *result, int status) {
    struct call *call = running_call(session);
    session->running = NULL;
    conclude(session, call, result, status);
}

static void on_time_limit(void *context) {
    struct session *session = context;
    decide(session->running, OUTCOME_TIMEOUT, "No answer within %g seconds.",
           (double)session->running->timeout_ms / CLOCK_MS_PER_S);
    worker_stop(session->worker);
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
    if (worker_resident_bytes(session->worker) > memory_kill_bytes(all->settings)) {
        decide(session->running, OUTCOME_MEMORY,
               "The worker used more memory than session.memory_mb (%lld MiB) allows.",
               (long long)all->settings->session_memory_mb);
        worker_kill(session->worker);
        return;
    }
    loop_timer_start(all->loop, &session->memory_check, MEMORY_CHECK_MS, on_memory_check, session);
}

static void begin(struct session *session) {
    struct sessions *all = session->all;
    struct call *call = session->running;
    call->started_ns = clock_now_ns();
    loop_timer_start(all->loop, &session->time_limit, call->timeout_ms, on_time_limit, session);
    loop_timer_start(all->loop, &session->memory_check, MEMORY_CHECK_MS, on_memory_check, session);
    worker_evaluate(session->worker, call->number, &call->payload);
    buffer_free(&call->payload);
}

static void worker_result(void *context, struct worker_process *worker,
                          const unsigned char *payload, size_t size) {
    struct session *session = context;
    struct result_message result;
    if (!result_message_decode(payload, size, &result)) {
        decide(session->running, OUTCOME_MALFORMED, "The answer of the worker is not well-formed.");
        worker_kill(worker);
        return;
    }
    decide(session->running, result.condition.bytes ? OUTCOME_CONDITION : OUTCOME_VALUE, "%s", "");
    finish_running(session, &result, 0);
    worker_forget_output(worker);
    start_next(session);
}

static void worker_malformed(void *context, struct worker_process *worker, const char *what) {
    (void)worker;
    struct session *session = context;
    if (session->running)
        decide(session->running, OUTCOME_MALFORMED, "The answer of the worker cannot be read: %s.",
               what);
}

static void worker_violation(void *context, struct worker_process *worker, const char *call_name) {
    (void)worker;
    struct session *session = context;
    if (session->running)
        decide(session->running, OUTCOME_VIOLATION, "The code made the forbidden system call %s.",
               call_name);
}

static void worker_flooded(void *context, struct worker_process *worker,
                           const struct captured_stream *stream) {
    (void)worker;
    struct session *session = context;
    session->running->limit_stream = stream->name;
    session->running->limit_bytes = stream->limit;
    decide(session->running, OUTCOME_OUTPUT, "The code wrote more than %zu bytes to %s.",
           stream->limit, stream->name);
}

/* What the way a worker ended says, when nothing was decided before. */
static void decide_by_status(struct call *call, const struct worker_process *worker, int status) {
    if (WIFEXITED(status) && worker->header_have)
        decide(call, OUTCOME_MALFORMED, "The worker ended in the middle of a frame.");
    else if (WIFEXITED(status))
        decide(call, OUTCOME_EXIT, "The code ended its process with status %d.",
               WEXITSTATUS(status));
    else if (WTERMSIG(status) == SIGSYS)
        decide(call, OUTCOME_VIOLATION, "The code made a forbidden system call.");
    else if (WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGINT)
        decide(call, OUTCOME_CANCELLED, "The worker was ended from outside by SIG%s.",
               sigabbrev_np(WTERMSIG(status)));
    else
        decide(call, OUTCOME_CRASH, "The worker was ended by signal %d (SIG%s).", WTERMSIG(status),
               sigabbrev_np(WTERMSIG(status)));
}

static void worker_ended(void *context, struct worker_process *worker, int status) {
    struct session *session = context;
    struct call *call = session->running;
    if (call && call->started_ns) {
        decide_by_status(session->running, worker, status);
        finish_running(session, NULL, status);
    } else {
        const struct log_event event = {
            .level = LOG_WARNING_LEVEL, .name = "worker-lost", .session = session->name};
        log_write(session->all->log, &event, "it ended between calls");
        snprintf(session->loss, sizeof session->loss,
                 "SESSION-LOST: the worker ended between calls; the state of the session is lost, "
                 "it started afresh");
    }
    session->worker = NULL;
    pool_discard(session->all->pool, worker);
    if (session->running && !session->running->decided)
        pool_take(session->all->pool, &session->waiter);
    start_next(session);
}

static void worker_ready(void *context, struct worker_process *worker) {
    (void)context, (void)worker; /* a session only ever owns workers that are ready already */
}

static const struct worker_events session_events = {.ready = worker_ready,
                                                    .result = worker_result,
                                                    .malformed = worker_malformed,
                                                    .violation = worker_violation,
                                                    .flooded = worker_flooded,
                                                    .ended = worker_ended};

static void served(void *context, struct worker_process *worker, const char *reason) {
    struct session *session = context;
    if (worker) {
        session->worker = worker;
        worker_set_owner(worker, &session_events, session);
        begin(session);
        return;
    }
    decide(session->running, OUTCOME_NO_WORKER, "No worker can be started: %s.", reason);
    finish_running(session, NULL, 0);
    start_next(session);
}

/* --- the queue --- */

static void start_next(struct session *session) {
    struct call *call = session->queue;
    if (session->running || !call || session->all->held)
        return;
    session->queue = call->next;
    session->queued--;
    session->queued_bytes -= call->payload.length;
    session->running = call;
    if (!session->worker)
        pool_take(session->all->pool, &session->waiter);
    else if (session->worker->state == WORKER_READY)
        begin(session);
    /* else the worker is ending: worker_ended takes another for this call */
}

struct call *session_submit(struct session *session, const struct call_request *request) {
    struct sessions *all = session->all;
    size_t size = request->code.length;
    if (session->queued >= (size_t)all->settings->session_queue ||
        size > SESSION_QUEUE_BYTES_MAX - session->queued_bytes)
        return NULL;
    struct call *call = calloc(1, sizeof *call);
    if (!call)
        return NULL;
    const struct evaluate_message message = {.code = request->code, .package = request->package};
    call->payload = buffer_make(FRAME_PAYLOAD_MAX);
    if (!evaluate_message_encode(&call->payload, &message)) {
        buffer_free(&call->payload);
        free(call);
        return NULL;
    }
    if (++all->last_call == 0)
        all->last_call = 1;
    call->session = session;
    call->number = all->last_call;
    call->timeout_ms = request->timeout_ms;
    call->done = request->done;
    call->context = request->context;
    struct call **end = &session->queue;
    while (*end)
        end = &(*end)->next;
    *end = call;
    session->queued++;
    session->queued_bytes += call->payload.length;
    all->active++;
    return call;
}

/* Takes the call out of a list. False when it is not there. */
static bool unlink_call(struct call **list, const struct call *call) {
    for (struct call **link = list; *link; link = &(*link)->next)
        if (*link == call) {
            *link = call->next;
            return true;
        }
    return false;
}

static void on_cancelled_early(void *context) {
    struct call *call = context;
    struct session *session = call->session;
    if (!unlink_call(&session->cancelled, call))
        session->running = NULL;
    conclude(session, call, NULL, 0);
    start_next(session);
}

void call_cancel(struct call *call, const char *cause) {
    struct session *session = call->session;
    if (call->decided)
        return;
    decide(call, OUTCOME_CANCELLED, "%s", cause);
    if (call->started_ns) {
        worker_kill(session->worker);
        return;
    }
    if (unlink_call(&session->queue, call)) {
        session->queued--;
        session->queued_bytes -= call->payload.length;
        call->next = session->cancelled;
        session->cancelled = call;
    } else {
        pool_withdraw(session->all->pool, &session->waiter);
    }
    loop_timer_start(session->all->loop, &call->later, 0, on_cancelled_early, call);
}

/* --- all of them --- */

void sessions_open(struct sessions *sessions, struct loop *loop, struct log *log,
                   const struct settings *settings, struct pool *pool) {
    *sessions = (struct sessions){.loop = loop, .log = log, .settings = settings, .pool = pool};
}

static void free_calls(struct session *session, struct call *call) {
    while (call) {
        struct call *next = call->next;
        free_call(session, call);
        call = next;
    }
}

void sessions_close(struct sessions *sessions) {
    while (sessions->first) {
        struct session *session = sessions->first;
        sessions->first = session->next;
        if (session->running)
            free_call(session, session->running);
        free_calls(session, session->queue);
        free_calls(session, session->cancelled);
        free(session);
    }
}

struct session *sessions_find(struct sessions *sessions, const char *name, bool make) {
    struct session *session = sessions->first;
    while (session && strcmp(session->name, name) != 0)
        session = session->next;
    if (session || !make || strlen(name) >= SESSION_NAME_MAX)
        return session;
    session = calloc(1, sizeof *session);
    if (!session)
        return NULL;
    session->all = sessions;
    session->waiter = (struct pool_waiter){.served = served, .context = session};
    snprintf(session->name, sizeof session->name, "%s", name);
    session->next = sessions->first;
    sessions->first = session;
    return session;
}

void session_run(struct session *session) {
    start_next(session);
}

void sessions_hold(struct sessions *sessions, bool held) {
    sessions->held = held;
    for (struct session *session = sessions->first; session; session = session->next)
        start_next(session);
}

void sessions_cancel_all(struct sessions *sessions, const char *cause) {
    for (struct session *session = sessions->first; session; session = session->next) {
        if (session->running)
            call_cancel(session->running, cause);
        while (session->queue)
            call_cancel(session->queue, cause);
    }
}
