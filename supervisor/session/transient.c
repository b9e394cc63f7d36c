/* Transient sessions: how many may be busy, and how many may have a process. */
#include "supervisor/session/session_internal.h"

#include <stdio.h>

size_t sessions_parked_max(const struct settings *settings) {
    return settings->session_max > 1 ? (size_t)settings->session_max / 2 : 1;
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
        count += session->transient && call && !call->decided && !call->run.parked &&
                 (kind == RUN_KIND_COUNT || call->run.kind == kind);
    }
    return count;
}

bool transient_has_room(const struct sessions *sessions) {
    const struct session *session;
    size_t processes = 0; /* parked and ending ones included */
    TAILQ_FOREACH(session, &sessions->list, entry) {
        processes += session->transient && session->running;
    }
    return processes <
           (size_t)sessions->settings->session_max + sessions_parked_max(sessions->settings);
}

void transient_ended(struct sessions *sessions) {
    struct session *session;
    TAILQ_FOREACH(session, &sessions->list, entry) {
        if (session->transient && !TAILQ_EMPTY(&session->queue))
            session_step_later(session);
    }
}

struct call *session_submit_once(struct sessions *sessions, const struct call_request *request) {
    if (sessions_busy_with(sessions, RUN_KIND_COUNT) >= (size_t)sessions->settings->session_max)
        return NULL;
    char name[SESSION_NAME_MAX];
    snprintf(name, sizeof name, "run-%u", sessions->last_call + 1);
    struct session *session = session_add(sessions, name, true);
    struct call *call = session ? session_submit(session, request) : NULL;
    if (session && !call)
        session_destroy(session);
    return call;
}
