/* Runs of definitions: what one says to the client and asks it before it ends, and the worlds that
 * last for one call. Never believes a worker, and never lets one wait or talk without end. */
#include "supervisor/base/clock.h"
#include "supervisor/session/session_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    run_result_free(&call->run.result);
    if (call->kind != CALL_RUN || result->condition.bytes)
        return !result->json.bytes;
    return result->json.bytes && run_result_decode(call->run.kind, result->json, &call->run.result);
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

bool session_has_place(const struct session *session) {
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
