/* Transient sessions, and how many of them may have a process. */
#include "supervisor/session/session_internal.h"

#include <stdio.h>

size_t sessions_parked_max(const struct settings *settings) {
    return settings->call_running_max > 1 ? (size_t)settings->call_running_max / 2 : 1;
}

void call_park(struct call *call, bool parked) {
    call->run.parked = parked;
}

size_t sessions_busy_with(const struct sessions *sessions, enum run_kind kind) {
    const struct session *session;
    size_t count = 0;
    TAILQ_FOREACH(session, &sessions->list, entry) {
        const struct call *call =
            session->running ? session->running : TAILQ_FIRST(&session->queue);
        count += session->kind == SESSION_TRANSIENT && call && !call->decided &&
                 !call->run.parked && (kind == RUN_KIND_COUNT || call->run.kind == kind);
    }
    return count;
}

bool transient_has_room(const struct sessions *sessions) {
    const struct session *session;
    size_t processes = 0; /* those that ask their client and those that end included */
    TAILQ_FOREACH(session, &sessions->list, entry) {
        processes += session->kind == SESSION_TRANSIENT && session->running;
    }
    return processes <
           (size_t)sessions->settings->call_running_max + sessions_parked_max(sessions->settings);
}

/* A call in a new session, which is freed if the call cannot be queued. */
static struct call *submit_in_new(struct sessions *sessions, const struct call_request *request,
                                  enum session_kind kind) {
    char name[SESSION_NAME_BYTES];
    snprintf(name, sizeof name, "run-%u", sessions->last_call + 1);
    struct session *session = session_add(sessions, string_span(name), kind);
    struct call *call = session ? session_submit(session, request) : NULL;
    if (session && !call)
        session_destroy(session);
    return call;
}

struct call *session_submit_once(struct sessions *sessions, const struct call_request *request) {
    return submit_in_new(sessions, request, SESSION_TRANSIENT);
}

/* --- sources of forks --- */

struct call *session_submit_source(struct sessions *sessions, const struct call_request *request) {
    struct call_request stays = *request;
    stays.goes_on = true;
    return submit_in_new(sessions, &stays, SESSION_SOURCE);
}

/* The fork itself is no result: its failure refuses the call that waits for it. */
static void on_forked(void *context, const struct evaluation *evaluation) {
    (void)context, (void)evaluation;
}

struct call *session_submit_fork(struct session *source, const struct call_request *request) {
    /* A process that does not fork has the time that the call would have had. */
    const struct call_request fork = {
        .kind = CALL_COPY, .at = -1, .timeout_ms = request->timeout_ms, .done = on_forked};
    struct call *forking = session_submit(source, &fork);
    return forking ? session_submit(forking->copy, request) : NULL;
}

struct call *session_finish(struct session *source, const struct call_request *request) {
    source->finished = true;
    session_step_later(source);
    return request ? session_submit(source, request) : NULL;
}

bool session_has_process(const struct session *source) {
    return source->head != NULL;
}

int64_t session_cpu_us(const struct session *source) {
    return source->head ? worker_cpu_us(source->head) : 0;
}
