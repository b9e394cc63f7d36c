/* The table of all sessions: which there are, how they come into being and how they end. */
#include "supervisor/base/clock.h"
#include "supervisor/session/kept_output.h"
#include "supervisor/session/session_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sessions_open(struct sessions *sessions, struct loop *loop, struct log *log,
                   const struct settings *settings, struct pool *pool) {
    *sessions = (struct sessions){.loop = loop, .log = log, .settings = settings, .pool = pool};
    TAILQ_INIT(&sessions->list);
    TAILQ_INIT(&sessions->kept);
    for (size_t i = 0; i < SESSION_ENDS; i++)
        TAILQ_INIT(&sessions->gone[i].list);
    memory_open(sessions);
}

void sessions_close(struct sessions *sessions) {
    if (!sessions->loop)
        return;
    while (!TAILQ_EMPTY(&sessions->list))
        session_destroy(TAILQ_FIRST(&sessions->list));
    names_free(sessions);
    memory_close(sessions);
    durable_images_close(sessions);
    if (sessions->keeper)
        keeper_close(sessions->keeper);
    free(sessions->keeper);
    sessions->keeper = NULL;
    sessions_discard_pipes(sessions);
    loop_timer_stop(sessions->loop, &sessions->admission);
}

/* --- beginnings --- */

struct session *session_add(struct sessions *sessions, struct span name, enum session_kind kind) {
    struct session *session = calloc(1, sizeof *session);
    if (!session)
        return NULL;
    session->all = sessions;
    session->serial = ++sessions->last_serial;
    session->state = SESSION_IDLE;
    session->kind = kind;
    session->began_fresh = true;
    session->born_ns = session->used_ns = clock_now_ns();
    session->waiter = (struct pool_waiter){.served = session_on_served, .context = session};
    TAILQ_INIT(&session->queue);
    TAILQ_INIT(&session->cancelled);
    snprintf(session->name, sizeof session->name, "%.*s", (int)name.length,
             (const char *)name.bytes);
    if (!session_is_anonymous(session))
        names_forget(sessions, name);
    durable_begin(session);
    TAILQ_INSERT_TAIL(&sessions->list, session, entry);
    return session;
}

struct session *sessions_own(struct sessions *sessions, const char *name) {
    const struct span wanted = string_span(name);
    struct session *session = sessions_find(sessions, wanted);
    if (!session)
        return session_add(sessions, wanted, SESSION_OWN);
    session->kind = SESSION_OWN;
    return session;
}

static bool is_dormant(const struct session *session) {
    return session->saved.listed && !session->saved.open;
}

bool sessions_have_room(const struct sessions *sessions) {
    const struct session *session;
    size_t count = 0;
    TAILQ_FOREACH(session, &sessions->list, entry) {
        count += session->kind == SESSION_KEPT && !session->over && !is_dormant(session);
    }
    return count < (size_t)sessions->settings->session_max;
}

static struct session *add_with_handle(struct sessions *sessions, enum session_kind kind) {
    char handle[SESSION_NAME_BYTES];
    names_make_handle(sessions, handle);
    return session_add(sessions, string_span(handle), kind);
}

struct session *sessions_make(struct sessions *sessions, struct span name) {
    return name.bytes ? session_add(sessions, name, SESSION_KEPT)
                      : add_with_handle(sessions, SESSION_KEPT);
}

struct session *sessions_make_unnamed(struct sessions *sessions) {
    return add_with_handle(sessions, SESSION_UNNAMED);
}

bool session_keep(struct session *session) {
    if (session->kind != SESSION_UNNAMED && (session->kind == SESSION_OWN || !is_dormant(session)))
        return true;
    if (!sessions_have_room(session->all))
        return false;
    session->kind = SESSION_KEPT;
    return true;
}

/* --- ends --- */

void session_destroy(struct session *session) {
    struct sessions *all = session->all;
    history_clear(session);
    kept_output_forget(session);
    if (session->running)
        call_free(session_take_running(session));
    while (!TAILQ_EMPTY(&session->queue)) {
        struct call *call = TAILQ_FIRST(&session->queue);
        session_unqueue(call);
        call_free(call);
    }
    while (!TAILQ_EMPTY(&session->cancelled)) {
        struct call *call = TAILQ_FIRST(&session->cancelled);
        TAILQ_REMOVE(&session->cancelled, call, entry);
        call_free(call);
    }
    durable_end(session);
    pool_withdraw(all->pool, &session->waiter);
    loop_timer_stop(all->loop, &session->step);
    TAILQ_REMOVE(&all->list, session, entry);
    if (session->kind == SESSION_TRANSIENT)
        admission_open(all);
    free(session);
}

void session_abandon(struct session *session, const char *why) {
    session->over = true;
    snprintf(session->loss, sizeof session->loss, "%s", why);
    session_step_later(session);
}

void session_end(struct session *session) {
    session_conclude_cancelled(session);
    while (!TAILQ_EMPTY(&session->queue)) {
        struct call *call = TAILQ_FIRST(&session->queue);
        session_unqueue(call);
        call_decide(call, OUTCOME_REFUSED, "%s", session->loss);
        call_conclude(call, NULL, NULL, 0, false);
    }
    session_destroy(session);
}

/* The one that was used longest ago of the idle unnamed sessions but USED; *COUNT: their number. */
static struct session *oldest_unnamed(const struct sessions *sessions, const struct session *used,
                                      size_t *count) {
    struct session *session, *oldest = NULL;
    *count = 0;
    TAILQ_FOREACH(session, &sessions->list, entry) {
        if (session->kind != SESSION_UNNAMED || session->over || !session_is_idle(session))
            continue;
        ++*count;
        if (session != used && (!oldest || session->used_ns < oldest->used_ns))
            oldest = session;
    }
    return oldest;
}

void sessions_drop_unnamed(struct sessions *sessions, const struct session *used) {
    const size_t kept = (size_t)sessions->settings->session_unnamed_max;
    struct session *oldest;
    size_t count;
    while ((oldest = oldest_unnamed(sessions, used, &count)) != NULL && count > kept) {
        names_remember(sessions, oldest->name, SESSION_DROPPED, NULL);
        durable_discard(oldest);
        session_destroy(oldest);
    }
}

/* --- what there is --- */

struct session *sessions_find(const struct sessions *sessions, struct span name) {
    struct session *session;
    TAILQ_FOREACH(session, &sessions->list, entry) {
        if (!session_is_anonymous(session) && !session->over &&
            strlen(session->name) == name.length &&
            memcmp(session->name, name.bytes, name.length) == 0)
            break;
    }
    return session;
}

struct session *sessions_next(const struct sessions *sessions, const struct session *after) {
    struct session *next = after ? TAILQ_NEXT(after, entry) : TAILQ_FIRST(&sessions->list);
    while (next && (next->state == SESSION_NASCENT || session_is_anonymous(next) || next->over))
        next = TAILQ_NEXT(next, entry);
    return next;
}

size_t sessions_count(const struct sessions *sessions) {
    size_t count = 0;
    for (const struct session *session = sessions_next(sessions, NULL); session;
         session = sessions_next(sessions, session))
        count++;
    return count;
}

const char *session_name(const struct session *session) {
    return session->name;
}

bool session_is_closable(const struct session *session) {
    return session->kind == SESSION_KEPT && session_is_idle(session);
}

int64_t session_used_ns(const struct session *session) {
    return session->used_ns;
}

struct session_facts session_facts(const struct session *session) {
    struct session_facts facts = {.name = session->name,
                                  .unnamed = session->kind == SESSION_UNNAMED,
                                  .waits = !session->head && !session->running &&
                                           !TAILQ_EMPTY(&session->queue),
                                  .age_s = clock_elapsed_ms(session->born_ns) / CLOCK_MS_PER_S,
                                  .idle_s = clock_elapsed_ms(session->used_ns) / CLOCK_MS_PER_S,
                                  .number = session->number,
                                  .history = history_length(session),
                                  .busy = !session_is_idle(session),
                                  .dormant = is_dormant(session),
                                  .saved_bytes = session->saved.bytes};
    memory_add_facts(session, &facts);
    return facts;
}

/* --- all of them --- */

void sessions_hold(struct sessions *sessions, bool held) {
    sessions->held = held;
    if (!held)
        admission_open(sessions);
}

void sessions_cancel_all(struct sessions *sessions, const char *cause) {
    struct session *session;
    TAILQ_FOREACH(session, &sessions->list, entry) {
        if (session->running)
            call_cancel(session->running, cause);
        while (!TAILQ_EMPTY(&session->queue))
            call_cancel(TAILQ_FIRST(&session->queue), cause);
    }
    memory_answer_all(sessions);
}
