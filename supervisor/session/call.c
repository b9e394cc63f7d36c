/* A call: its outcome, the report to its caller, and the messages of a run. */
#include "supervisor/base/clock.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/session/kept_output.h"
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

struct session *call_session(const struct call *call) {
    return call->session;
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

bool call_cancel(struct call *call, const char *cause) {
    struct session *session = call->session;
    const bool acts = call == session->running &&
                      (session->state == SESSION_COPYING || session->state == SESSION_SAVING);
    if (call->decided || acts) /* a fork and a write cannot be cancelled */
        return false;
    call_decide(call, OUTCOME_CANCELLED, "%s", cause);
    if (call->started_ns) {
        worker_kill(session->head);
        return true;
    }
    if (call == session->running) {
        pool_withdraw(session->all->pool, &session->waiter);
        history_abandon(session);
        session_take_running(session);
    } else {
        session_unqueue(call);
    }
    TAILQ_INSERT_HEAD(&session->cancelled, call, entry);
    session_step_later(session);
    return true;
}

void call_free(struct call *call) {
    buffer_free(&call->payload);
    buffer_free(&call->answers);
    if (call->adopts && call->image_fd >= 0)
        close(call->image_fd);
    call_drop_result(call);
    free(call);
}

/* The answer is a text that shows warnings, not one sentence. */
static bool shows_warnings(const struct call *call) {
    switch (call->outcome) {
    case OUTCOME_VALUE:
        return call->kind == CALL_EVALUATE || call->kind == CALL_RUN;
    case OUTCOME_TIMEOUT:
    case OUTCOME_CANCELLED:
    case OUTCOME_OUTPUT:
    case OUTCOME_NO_WORKER:
        return false;
    default:
        return true;
    }
}

/* Adds the loss of a state to the warnings that the answer shows. False if it shows none. */
static bool add_loss(const struct call *call, struct evaluation *evaluation) {
    const struct session *session = call->session;
    struct result_message *result = &evaluation->result;
    if (!session->loss[0] || session->over || !shows_warnings(call) ||
        result->warning_count == RESULT_WARNINGS_MAX)
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
    snprintf(evaluation->cause, sizeof evaluation->cause, "%s", call->cause);
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
    if (!outcome_table[call->outcome].ends_process || session_is_anonymous(session))
        return;
    const char *state =
        !state_lost              ? "The session is as it was before the call."
        : durable_saves(session) ? "The session is brought back to where it was by its next call."
        : session->head          ? "The session is back at an earlier state; the effects of the "
                                   "calls since are lost."
                                 : "The state of the session is lost; it starts afresh.";
    snprintf(evaluation->cause, sizeof evaluation->cause, "%s %s", call->cause, state);
}

void call_conclude(struct call *call, struct result_message *result, struct pipes *pipes,
                   int status, bool state_lost) {
    struct session *session = call->session;
    struct evaluation evaluation = {.outcome = call->outcome,
                                    .exit_code = exit_code_of(call->outcome, status),
                                    .limit_name = call->limit_name,
                                    .limit_stream = call->limit_stream,
                                    .limit = (int64_t)call->limit,
                                    .timeout_ms = call->timeout_ms,
                                    .inspects = call->inspects,
                                    .stays = call->stays,
                                    .reply = call->reply,
                                    .call = call->number,
                                    .session = session->name};
    describe(call, &evaluation, result, pipes, state_lost);
    if (call->run.result.json && call->kind == CALL_RUN)
        evaluation.run = &call->run.result;
    else if (call->run.result.json)
        evaluation.content = json_tree_member(call->run.result.json, "content");
    evaluation.events_dropped = call->run.dropped;
    evaluation.is_kept = call->kind == CALL_EVALUATE && !call->replays &&
                         kept_output_keep(session, &evaluation, pipes);
    bool loss_reported = !call->replays && add_loss(call, &evaluation);
    log_outcome(call, &evaluation);
    session->used_ns = clock_now_ns();
    session->all->active -= !call->replays;
    if (session->kind == SESSION_UNNAMED) /* before the client can name one that goes */
        sessions_drop_unnamed(session->all, session);
    call->done(call->context, &evaluation);
    if (loss_reported)
        session->loss[0] = 0;
    session_settle_copy(call);
    call_free(call);
}

/* --- the messages of a run --- */

static void end_run(struct session *session, enum outcome outcome, const char *sentence) {
    call_decide(session->running, outcome, "%s", sentence);
    worker_kill(session->head);
}

void call_end_over_limit(struct session *session, const char *name, size_t limit,
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
    call->run.since_ns = loop_now_ns(call->session->all->loop);
}

/* Progress must increase: MCP requires it. */
static void deliver(struct call *call, const struct run_event *event) {
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

void call_on_event(void *context, struct worker_process *worker, const unsigned char *payload,
                   size_t size) {
    (void)worker;
    struct session *session = context;
    struct call *call = session->running;
    struct run_event event;
    if (!call || call->decided)
        return;
    call->run.events_bytes += size;
    if (++call->run.events > RUN_EVENTS_MAX) {
        call_end_over_limit(session, "run.events", RUN_EVENTS_MAX,
                            "The code sent too many progress and log messages.");
        return;
    }
    if (call->run.events_bytes > RUN_EVENTS_MAX_BYTES) {
        call_end_over_limit(session, "run.event_bytes", RUN_EVENTS_MAX_BYTES,
                            "The code sent too many progress and log messages.");
        return;
    }
    /* Dropped before they are parsed, so that a flood costs the supervisor little. */
    if (!rate_take(&call->run.rate)) {
        call->run.dropped++;
        return;
    }
    if (!run_event_decode((struct span){payload, size}, &event)) {
        end_run(session, OUTCOME_MALFORMED, "The worker sent a malformed message.");
        return;
    }
    deliver(call, &event);
    run_event_free(&event);
}

static void on_wait_limit(void *context) {
    struct session *session = context;
    call_decide(session->running, OUTCOME_TIMEOUT, "The client did not answer in time.");
    worker_stop(session->head);
}

/* Stops the clock with *LEFT_MS of the running call, and starts the other one, for NEXT_MS. */
static void switch_clock(struct session *session, int64_t *left_ms, int64_t next_ms,
                         void (*expired)(void *context)) {
    struct call *call = session->running;
    struct loop *loop = session->all->loop;
    const int64_t now_ns = loop_now_ns(loop);
    int64_t rest_ms = *left_ms - (now_ns - call->run.since_ns) / CLOCK_NS_PER_MS;
    *left_ms = rest_ms > 1 ? rest_ms : 1;
    call->run.since_ns = now_ns;
    loop_timer_start(loop, &session->time_limit, next_ms, expired, session);
}

bool call_answer(struct call *call, struct span json) {
    struct session *session = call->session;
    if (session->running != call || call->decided || !call->run.asking ||
        !worker_answer(session->head, json))
        return false;
    if (durable_saves(session) && !call->replays)
        record_put_answer(&call->answers, json);
    call->run.asking = false;
    admission_take(call);
    switch_clock(session, &call->run.wait_left_ms, call->run.left_ms, session_on_time_limit);
    return true;
}

void call_on_ask(void *context, struct worker_process *worker, const unsigned char *payload,
                 size_t size) {
    (void)worker;
    static const char no_client[] =
        "{\"error\":{\"code\":-32601,\"message\":\"There is no client to ask.\"}}";
    struct session *session = context;
    struct call *call = session->running;
    if (!call || call->decided)
        return;
    if (++call->run.asks > RUN_ASKS_MAX) {
        call_end_over_limit(session, "run.questions", RUN_ASKS_MAX,
                            "The code asked the client too many questions.");
        return;
    }
    struct json_object *questions = run_ask_decode((struct span){payload, size});
    if (!questions) {
        end_run(session, OUTCOME_MALFORMED, "The worker sent a malformed question.");
        return;
    }
    call->run.asking = true;
    admission_release(call); /* its client may need other calls for the answer */
    switch_clock(session, &call->run.left_ms, call->run.wait_left_ms, on_wait_limit);
    if (call->ask)
        call->ask(call->context, questions);
    else
        call_answer(call, (struct span){(const unsigned char *)no_client, sizeof no_client - 1});
    json_object_put(questions);
}

/* --- the result --- */

/* What a call of this kind can have as its result. */
static bool is_lawful(const struct call *call, const struct result_message *result) {
    if (result->json.length > RUN_RESULT_MAX_BYTES ||
        (result->condition.bytes && result->json.bytes))
        return false;
    return call->kind != CALL_RUN || result->condition.bytes ||
           (result->json.bytes && !result->value_count);
}

bool call_keep_result(struct call *call, const unsigned char *payload, size_t size) {
    struct kept_result *kept = call->kept = calloc(1, sizeof *kept);
    if (!kept)
        return false;
    kept->payload = buffer_make(size);
    return buffer_append(&kept->payload, payload, size);
}

/* The first slice. */
static enum run_step open_result(struct call *call, struct kept_result *kept) {
    kept->opened = true;
    if (!result_message_decode(kept->payload.data, kept->payload.length, &kept->message) ||
        !is_lawful(call, &kept->message))
        return RUN_STEP_MALFORMED;
    kept->decoding = kept->message.json.bytes != NULL;
    if (kept->decoding)
        run_decode_begin(&kept->decoder, call->kind == CALL_RUN ? call->run.kind : RUN_CONTENT,
                         kept->message.json, call->run.wants_value, &call->run.result);
    return kept->decoding ? RUN_STEP_MORE : RUN_STEP_DONE;
}

enum run_step call_decode_step(struct call *call) {
    struct kept_result *kept = call->kept;
    if (!kept->opened)
        return open_result(call, kept);
    enum run_step step = kept->decoding ? run_decode_step(&kept->decoder) : RUN_STEP_DONE;
    kept->decoding = step == RUN_STEP_MORE;
    return step;
}

void call_drop_result(struct call *call) {
    struct kept_result *kept = call->kept;
    if (!kept)
        return;
    if (kept->decoding)
        run_decode_cancel(&kept->decoder);
    run_result_free(&call->run.result);
    buffer_free(&kept->payload);
    free(kept);
    call->kept = NULL;
}
