/* Sessions and their calls. A session is one Lisp world, held by its head process and by parked
 * forks of it, the checkpoints: one for the state after each of the last calls. Its calls run in
 * order, sessions run side by side. Here the outcome of each call is decided, once, from what the
 * kernel and the worker show; how it is worded for a client is not known here.
 *
 * The state after call number N of a session has the number N; number 0 is what it began with. A
 * call that ends its process changes nothing: the newest checkpoint takes the place of the head. */
#ifndef ECLAVE_SUPERVISOR_SESSION_SESSION_H
#define ECLAVE_SUPERVISOR_SESSION_SESSION_H

#include "supervisor/process/pool.h"
#include "supervisor/session/evaluation.h"
#include "supervisor/session/run.h"
#include <stdbool.h>
#include <stdint.h>

struct call;
struct session;

typedef void (*call_done)(void *context, const struct evaluation *evaluation);

enum call_kind {
    CALL_EVALUATE,
    CALL_RUN,      /* evaluates a source and calls what it defines (supervisor/session/run.h) */
    CALL_ROLLBACK, /* back to the state before the last `steps` calls */
    CALL_RESET,    /* back to a fresh world */
    CALL_CLOSE,    /* the session ends; calls queued behind are refused */
    CALL_COPY      /* a new session that begins with the state number `at` of this one */
};

/* What to do. The spans are copied. */
struct call_request {
    enum call_kind kind;
    struct span code;       /* CALL_EVALUATE, CALL_RUN */
    struct span package;    /* CALL_EVALUATE; bytes NULL: the session's own */
    int64_t timeout_ms;     /* CALL_EVALUATE, CALL_RUN */
    int64_t steps;          /* CALL_ROLLBACK; at least 1 */
    int64_t at;             /* CALL_COPY; -1: the present state */
    struct run_request run; /* CALL_RUN */
    size_t held_bytes;      /* what the caller holds for it meanwhile */
    /* CALL_RUN; either may be NULL: events are dropped then, and a question is answered by an
     * error. What they are given is valid during the call. QUESTIONS as run_ask_decode has it. */
    void (*event)(void *context, const struct run_event *event);
    void (*ask)(void *context, struct json_object *questions);
    /* Called exactly once for each submitted call, never within session_submit. Of the kinds other
     * than CALL_EVALUATE and CALL_RUN the outcome is VALUE, with `reply` (the name, of a copy),
     * REFUSED or (of a copy) FULL, with `cause`. */
    call_done done;
    void *context;
};

struct sessions {
    struct loop *loop;
    struct log *log;
    const struct settings *settings;
    struct pool *pool;
    struct session *first; /* oldest first */
    size_t count;          /* without those of one call */
    size_t active;         /* calls submitted and not yet done */
    uint32_t last_call;    /* number of the newest call */
    bool held;             /* no new evaluation starts: the client does not read its answers */
    /* No checkpoints and no word about state: nothing outlives the call. Its process is ended with
     * it, and the call is told when that is reaped and what it used is known. */
    bool one_shot;
    bool unlogged; /* outcomes are not logged: the caller reports each itself */
};

/* What list-sessions shows. */
struct session_facts {
    const char *name;
    int64_t age_s, idle_s;
    uint64_t number;     /* of the present state: calls kept */
    size_t history;      /* how many calls can be rolled back */
    size_t memory_bytes; /* of all its processes together, shared pages counted in proportion */
    bool memory_is_proportional; /* false: the kernel told only resident sizes */
    bool busy;
};

void sessions_open(struct sessions *sessions, struct loop *loop, struct log *log,
                   const struct settings *settings, struct pool *pool);
/* Forgets every session; calls that are not done are told nothing. */
void sessions_close(struct sessions *sessions);

/* The session of that name, or NULL. */
struct session *sessions_find(const struct sessions *sessions, struct span name);
/* The session called NAME, which is made when there is none and is never closed to make room. NULL
 * with no memory. */
struct session *sessions_own(struct sessions *sessions, const char *name);
/* A new session with a name nobody can guess. When there are session.max already the least
 * recently used idle one is closed; NULL when none is idle, or with no memory. */
struct session *sessions_make(struct sessions *sessions);

struct session *sessions_next(const struct sessions *sessions, const struct session *after);
struct session_facts session_facts(const struct session *session);
const char *session_name(const struct session *session);

/* While held, no evaluation starts. */
void sessions_hold(struct sessions *sessions, bool held);
/* Ends every call as cancelled for CAUSE. */
void sessions_cancel_all(struct sessions *sessions, const char *cause);

/* Queues a call; session_run starts it when its turn has come. NULL when the session's queue is
 * full (session.queue calls, or SESSION_QUEUE_BYTES_MAX of code) or there is no memory; `done` is
 * not called then. */
struct call *session_submit(struct session *session, const struct call_request *request);
/* Queues a call in a fresh world of its own, which ends with it: no name finds it, no state is
 * kept, and it counts against no limit but that session.max such may be busy at a time. The worker
 * that is kept ready serves it. NULL as with session_submit, or when so many are busy. */
struct call *session_submit_once(struct sessions *sessions, const struct call_request *request);
/* How many such worlds are busy with a run of KIND. */
size_t sessions_busy_with(const struct sessions *sessions, enum run_kind kind);
/* A call in such a world that waits for a client which may never come back is parked: it does not
 * count as busy. The caller sees to it that there are at most sessions_parked_max. */
void call_park(struct call *call, bool parked);
size_t sessions_parked_max(const struct settings *settings);
/* Where the call runs, for session_run; the call's session may be gone when `done` was called. */
struct session *call_session(const struct call *call);

/* Starts what can be started. `done` may be called before this returns. */
void session_step(struct session *session);

/* The number by which log events name the call. */
uint32_t call_number(const struct call *call);

/* How far a call is. */
struct call_progress {
    bool running;
    int64_t elapsed_ms, timeout_ms;
    size_t printed_bytes; /* on standard output, as far as it is read */
};
struct call_progress call_progress(const struct call *call);

/* Answers the question that the call asked; JSON as run_ask_decode describes it, copied. False when
 * it asks none now: it was answered, or is ending. May be called within `ask`. */
bool call_answer(struct call *call, struct span json);

/* Ends the call as cancelled, queued or running, for CAUSE. `done` comes in its own time. False
 * when it has ended already, or cannot be called back at this moment. */
bool call_cancel(struct call *call, const char *cause);

enum { SESSION_QUEUE_BYTES_MAX = 64 << 20, SESSION_NAME_MAX = 64 };

#endif
