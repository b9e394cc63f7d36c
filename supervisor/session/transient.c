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

struct call *session_submit_once(struct sessions *sessions, const struct call_request *request) {
    char name[SESSION_NAME_BYTES];
    snprintf(name, sizeof name, "run-%u", sessions->last_call + 1);
    struct session *session = session_add(sessions, string_span(name), SESSION_TRANSIENT);
    struct call *call = session ? session_submit(session, request) : NULL;
    if (session && !call)
        session_destroy(session);
    return call;
}
