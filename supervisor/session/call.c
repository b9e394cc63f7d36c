/* The verdict on a call and its report. A verdict is set once and never changed. */
#include "supervisor/base/clock.h"
#include "supervisor/session/session_internal.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

const struct outcome_facts outcome_table[OUTCOME_COUNT] = {
#define OUTCOME(name, word_text, type_text, code, log_severity, lost)                              \
    [OUTCOME_##name] = {word_text, type_text, code, log_severity, lost},
#include "supervisor/session/outcome.def"
#undef OUTCOME
};

void call_decide(struct call *call, enum outcome outcome, const char *format, ...) {
    if (call->decided)
        return;
    call->decided = true;
    call->decided_ns = clock_now_ns();
    call->outcome = outcome;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(call->cause, sizeof call->cause, format, arguments);
    va_end(arguments);
}

void call_reply(struct call *call, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(call->reply, sizeof call->reply, format, arguments);
    va_end(arguments);
    call_decide(call, OUTCOME_VALUE, "%s", "");
}

void call_decide_by_status(struct call *call, bool inside_frame, int status) {
    if (WIFEXITED(status) && inside_frame)
        call_decide(call, OUTCOME_MALFORMED, "The worker ended in the middle of a frame.");
    else if (WIFEXITED(status))
        call_decide(call, OUTCOME_EXIT, "The code ended its process with status %d.",
                    WEXITSTATUS(status));
    else if (WTERMSIG(status) == SIGSYS)
        call_decide(call, OUTCOME_VIOLATION, "The code made a forbidden system call.");
    else if (WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGINT)
        call_decide(call, OUTCOME_CANCELLED, "The worker was ended from outside by SIG%s.",
                    sigabbrev_np(WTERMSIG(status)));
    else
        call_decide(call, OUTCOME_CRASH, "The worker was ended by signal %d (SIG%s).",
                    WTERMSIG(status), sigabbrev_np(WTERMSIG(status)));
}

void call_free(struct call *call) {
    buffer_free(&call->payload);
    buffer_free(&call->kept_result);
    if (call->kind == CALL_RUN)
        run_result_free(&call->run.result);
    free(call);
}

static void append_cause(struct evaluation *evaluation, const char *sentence) {
    size_t used = strlen(evaluation->cause);
    snprintf(evaluation->cause + used, sizeof evaluation->cause - used, " %s", sentence);
}

/* Is the answer a text with room for warnings? The others are one sentence. */
static bool shows_warnings(const struct call *call) {
    switch (call->outcome) {
    case OUTCOME_VALUE:
        return call->kind == CALL_EVALUATE || call->kind == CALL_RUN;
    case OUTCOME_TIMEOUT:
    case OUTCOME_CANCELLED:
    case OUTCOME_OUTPUT:
    case OUTCOME_NO_WORKER:
    case OUTCOME_FULL:
        return false;
    default:
        return true;
    }
}

/* Adds what was lost between calls to the warnings that the answer shows. Returns whether it is
 * told. */
static bool tell_loss(const struct call *call, struct evaluation *evaluation) {
    const struct session *session = call->session;
    struct result_message *result = &evaluation->result;
    if (!session->loss[0] || !shows_warnings(call) || result->warning_count == RESULT_WARNINGS_MAX)
        return false;
    memmove(result->warnings + 1, result->warnings,
            result->warning_count * sizeof *result->warnings);
    result->warnings[0] =
        (struct span){(const unsigned char *)session->loss, strlen(session->loss)};
    result->warning_count++;
    return true;
}

static int exit_code_of(enum outcome outcome, int status) {
    if (outcome_table[outcome].exit_code >= 0)
        return outcome_table[outcome].exit_code;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void log_outcome(const struct call *call, const struct evaluation *evaluation) {
    if (call->session->all->unlogged)
        return;
    const struct outcome_facts *facts = &outcome_table[call->outcome];
    const struct log_event event = {.level = facts->level,
                                    .name = facts->word,
                                    .session = call->session->name,
                                    .call = call->number};
    log_write(call->session->all->log, &event, "%s",
              call->reply[0] ? call->reply : evaluation->cause);
}

static void describe(const struct call *call, struct evaluation *evaluation,
                     struct result_message *result, const struct pipes *pipes, bool state_lost) {
    memcpy(evaluation->cause, call->cause, sizeof evaluation->cause);
    if (result)
        evaluation->result = *result;
    if (!pipes)
        return;
    evaluation->elapsed_us = (call->decided_ns - call->started_ns) / CLOCK_NS_PER_US;
    evaluation->usage = call->usage;
    evaluation->output = pipes_captured(&pipes->output);
    evaluation->error_output = pipes_captured(&pipes->error_output);
    evaluation->state_lost = state_lost;
    const struct session *session = call->session;
    if (!outcome_table[call->outcome].ends_process || session->all->one_shot || session->transient)
        return;
    append_cause(evaluation, !state_lost ? "The session is as it was before the call."
                             : session->head
                                 ? "The session is back at an earlier state; the effects of the "
                                   "calls since are lost."
                                 : "The state of the session is lost; it starts afresh.");
}

void call_conclude(struct call *call, struct result_message *result, const struct pipes *pipes,
                   int status, bool state_lost) {
    struct session *session = call->session;
    struct evaluation evaluation = {.outcome = call->outcome,
                                    .exit_code = exit_code_of(call->outcome, status),
                                    .limit_name = call->limit_name,
                                    .limit_stream = call->limit_stream,
                                    .limit = (int64_t)call->limit,
                                    .timeout_ms = call->timeout_ms,
                                    .reply = call->reply,
                                    .session = session->name};
    describe(call, &evaluation, result, pipes, state_lost);
    if (call->run.result.json)
        evaluation.run = &call->run.result;
    evaluation.events_dropped = call->run.dropped;
    bool told = tell_loss(call, &evaluation);
    log_outcome(call, &evaluation);
    session->used_ns = clock_now_ns();
    session->all->active--;
    call->done(call->context, &evaluation);
    if (told)
        session->loss[0] = 0;
    call_free(call);
}

/* --- what a run sends --- */

static void end_run(struct session *session, enum outcome outcome, const char *sentence) {
    call_decide(session->running, outcome, "%s", sentence);
    worker_kill(session->head);
}

static void end_over_limit(struct session *session, const char *name, size_t limit,
                           const char *sentence) {
    session->running->limit_name = name;
    session->running->limit = limit;
    end_run(session, OUTCOME_OUTPUT, sentence);
}

static struct rate event_rate(int64_t per_minute) {
    if (per_minute == 0)
        per_minute = RUN_EVENTS_PER_MINUTE;
    return rate_per_minute(per_minute,
                           per_minute < RUN_EVENTS_AT_ONCE ? per_minute : RUN_EVENTS_AT_ONCE);
}

void call_begin_run(struct call *call) {
    const struct settings *settings = call->session->all->settings;
    call->run.rate = event_rate(RUN_EVENTS_PER_MINUTE);
    call->run.progress_rate = event_rate(settings->progress_max_per_min);
    call->run.log_rate = event_rate(settings->log_max_per_min);
    call->run.progress = -HUGE_VAL;
    call->run.left_ms = call->timeout_ms;
    call->run.wait_left_ms = settings->call_timeout_max_s * (int64_t)CLOCK_MS_PER_S;
    call->run.since_ns = call->started_ns;
}

/* Hands on what may be handed on: the order of progress is MCP's. */
static void hand_on(struct call *call, const struct run_event *event) {
    if (event->kind == RUN_PROGRESS && event->progress <= call->run.progress)
        return;
    if ((event->kind == RUN_PROGRESS && !rate_take(&call->run.progress_rate)) ||
        (event->kind == RUN_LOG && !rate_take(&call->run.log_rate))) {
        call->run.dropped++;
        return;
    }
    if (event->kind == RUN_PROGRESS)
        call->run.progress = event->progress;
    if (call->event)
        call->event(call->context, event);
}

void call_run_event(void *context, struct worker_process *worker, const unsigned char *payload,
                    size_t size) {
    (void)worker;
    struct session *session = context;
    struct call *call = session->running;
    struct run_event event;
    if (!call || call->decided)
        return;
    call->run.events_bytes += size;
    if (++call->run.events > RUN_EVENTS_MAX) {
        end_over_limit(session, "run.events", RUN_EVENTS_MAX,
                       "The code sent too many progress and log messages.");
        return;
    }
    if (call->run.events_bytes > RUN_EVENTS_MAX_BYTES) {
        end_over_limit(session, "run.event_bytes", RUN_EVENTS_MAX_BYTES,
                       "The code sent too many progress and log messages.");
        return;
    }
    /* Those dropped are not looked at: that would be work for the asking. */
    if (!rate_take(&call->run.rate)) {
        call->run.dropped++;
        return;
    }
    if (!run_event_decode((struct span){payload, size}, &event)) {
        end_run(session, OUTCOME_MALFORMED, "A message of the worker is not well-formed.");
        return;
    }
    hand_on(call, &event);
    run_event_free(&event);
}

static void on_wait_limit(void *context) {
    struct session *session = context;
    call_decide(session->running, OUTCOME_TIMEOUT, "The client did not answer in time.");
    worker_stop(session->head);
}

/* One clock of the running call stops with what it has LEFT_MS; the other goes on, for NEXT_MS. */
static void switch_clock(struct session *session, int64_t *left_ms, int64_t next_ms,
                         void (*over)(void *context)) {
    struct call *call = session->running;
    int64_t rest_ms = *left_ms - clock_elapsed_ms(call->run.since_ns);
    *left_ms = rest_ms > 1 ? rest_ms : 1;
    call->run.since_ns = clock_now_ns();
    loop_timer_start(session->all->loop, &session->time_limit, next_ms, over, session);
}

/* The time limit of the call stands still while the client thinks. */
static void begin_waiting(struct session *session) {
    struct call *call = session->running;
    switch_clock(session, &call->run.left_ms, call->run.wait_left_ms, on_wait_limit);
}

static void end_waiting(struct session *session) {
    struct call *call = session->running;
    switch_clock(session, &call->run.wait_left_ms, call->run.left_ms, session_on_time_limit);
}

bool call_answer(struct call *call, struct span json) {
    struct session *session = call->session;
    if (session->running != call || call->decided || !call->run.asking ||
        !worker_answer(session->head, json))
        return false;
    call->run.asking = false;
    end_waiting(session);
    return true;
}

void call_run_ask(void *context, struct worker_process *worker, const unsigned char *payload,
                  size_t size) {
    (void)worker;
    static const char nobody[] =
        "{\"error\":{\"code\":-32601,\"message\":\"The client cannot be asked here.\"}}";
    struct session *session = context;
    struct call *call = session->running;
    if (!call || call->decided)
        return;
    if (++call->run.asks > RUN_ASKS_MAX) {
        end_over_limit(session, "run.questions", RUN_ASKS_MAX,
                       "The code asked the client too often.");
        return;
    }
    struct json_object *questions = run_ask_decode((struct span){payload, size});
    if (!questions) {
        end_run(session, OUTCOME_MALFORMED, "A question of the worker is not well-formed.");
        return;
    }
    call->run.asking = true;
    begin_waiting(session);
    if (call->ask)
        call->ask(call->context, questions);
    else
        call_answer(call, (struct span){(const unsigned char *)nobody, sizeof nobody - 1});
    json_object_put(questions);
}

bool call_take_result(struct call *call, const struct result_message *result) {
    if (call->kind != CALL_RUN)
        return !result->json.bytes;
    run_result_free(&call->run.result);
    if (result->condition.bytes)
        return !result->json.bytes;
    return result->json.bytes && run_result_decode(call->run.kind, result->json, &call->run.result);
}
