/* The verdict on a call and its report. A verdict is set once and never changed. */
#include "supervisor/base/clock.h"
#include "supervisor/session/session_internal.h"

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
    if (!outcome_table[call->outcome].ends_process || session->transient)
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
