/* Sessions and their calls. A session is the state of one Lisp process, which its head holds, and
 * the states before its last calls, each held by a parked fork of the head, a checkpoint. The calls
 * of a session run in order; sessions run side by side. The outcome of a call is decided here,
 * once, from what the kernel and the worker report; how a client reads it is not known here.
 *
 * The state after the N-th call of a session has the number N; a session begins with number 0. A
 * call that ends its process changes nothing: the newest checkpoint becomes the head. */
#ifndef ECLAVE_SUPERVISOR_SESSION_SESSION_H
#define ECLAVE_SUPERVISOR_SESSION_SESSION_H

#include "supervisor/process/pool.h"
#include "supervisor/process/weigher.h"
#include "supervisor/session/evaluation.h"
#include "supervisor/session/run.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct call;
struct session;

enum { SESSION_QUEUE_BYTES_MAX = 64 << 20, SESSION_NAME_MAX = 64 };

typedef void (*call_done)(void *context, const struct evaluation *evaluation);

enum call_kind {
    CALL_EVALUATE,
    CALL_RUN,      /* evaluates a source and calls what it defines: run.h */
    CALL_ROLLBACK, /* returns to the state before the last `steps` calls */
    CALL_RESET,    /* returns to a fresh state */
    CALL_CLOSE,    /* ends the session; the calls queued after it are refused */
    CALL_COPY      /* creates a session that begins with the state number `at` of this one */
};

/* The spans are copied. */
struct call_request {
    enum call_kind kind;
    struct span code;    /* CALL_EVALUATE, CALL_RUN */
    struct span package; /* CALL_EVALUATE; bytes NULL: the current package of the session */
    /* CALL_EVALUATE: the arguments of inspect-lisp, JSON. What such a call does to the session is
     * undone, as far as the session can return to its state. bytes NULL: none. */
    struct span inspection;
    int64_t timeout_ms;     /* CALL_EVALUATE, CALL_RUN */
    int64_t steps;          /* CALL_ROLLBACK; at least 1 */
    int64_t at;             /* CALL_COPY, an inspection; -1: the present state */
    struct run_request run; /* CALL_RUN */
    size_t held_bytes;      /* memory that the caller holds for the call, for the queue's limit */
    /* CALL_RUN. Either may be NULL: events are then dropped, and questions answered with an error.
     * The arguments are valid until the callback returns; QUESTIONS as from run_ask_decode. */
    void (*event)(void *context, const struct run_event *event);
    void (*ask)(void *context, struct json_object *questions);
    /* Called once for each submitted call, never within session_submit. The outcome of a call that
     * is neither CALL_EVALUATE nor CALL_RUN is VALUE, with `reply` (of a copy: its name), or
     * REFUSED or (of a copy) FULL, with `cause`; or CANCELLED. */
    call_done done;
    void *context;
};

struct kept_output;
struct memory_waiter;

/* Of memory.c. */
struct memory_watch {
    struct loop_timer timer;    /* to the next check of all sessions */
    struct loop_timer patience; /* of `waiting` */
    struct weigher weigher;
    bool checking;      /* a check is divided into turns */
    uint32_t round;     /* number of the check */
    size_t image_bytes; /* resident size of the zygote */
    TAILQ_HEAD(memory_waiters, memory_waiter) waiting, newcomers; /* these: for the next round */
    int kills_fd;                                                 /* of policy_oom_open; -1: none */
    uint64_t kills;                                               /* counted so far */
    uint64_t unexplained; /* of them, those whose victim is not known */
    int64_t killed_ns;    /* when the number last grew */
};

struct sessions {
    struct loop *loop;
    struct log *log;
    const struct settings *settings;
    struct pool *pool;
    TAILQ_HEAD(, session) list; /* oldest first */
    size_t count;               /* without transient sessions */
    size_t active;              /* calls submitted and not done */
    uint32_t last_call;         /* number of the newest call */
    struct pipes *fresh_pipes;  /* that no worker has, with the ends for it; NULL: none */
    int fresh_ends[2];
    bool held; /* no call starts: the client does not read its answers */
    /* A call of session_submit_once is done when its process is reaped, with the resources that the
     * process used. */
    bool reports_usage;
    bool unlogged;  /* outcomes are not logged, because the caller reports each */
    bool no_client; /* a person calls: messages advise no arguments of tools */
    struct memory_watch memory;
    bool keeps_output; /* for read-output: kept_output.h */
    size_t kept_bytes;
    TAILQ_HEAD(kept_outputs, kept_output) kept; /* oldest first */
};

/* --- session.c: the sessions --- */

void sessions_open(struct sessions *sessions, struct loop *loop, struct log *log,
                   const struct settings *settings, struct pool *pool);
/* Ends every session without calling `done`. Does nothing to a zeroed struct, which was not opened.
 */
void sessions_close(struct sessions *sessions);
/* Starts what the sessions need and the supervisor may not start later, and confines it: see
 * pool_confine_supervisor. False with *error. */
bool sessions_confine_supervisor(struct sessions *sessions, struct error *error);

/* The session of that name, or NULL. */
struct session *sessions_find(const struct sessions *sessions, struct span name);
/* The session of that name, created if missing, which is never closed to make room. NULL when out
 * of memory. */
struct session *sessions_own(struct sessions *sessions, const char *name);
/* A new session with an unguessable name. If session.max is reached, the least recently used idle
 * session is closed. NULL if none is idle, or when out of memory. */
struct session *sessions_make(struct sessions *sessions);
/* The session after AFTER, oldest first; NULL: the first, or none is left. */
struct session *sessions_next(const struct sessions *sessions, const struct session *after);

const char *session_name(const struct session *session);
/* What list-sessions reports. */
struct session_facts {
    const char *name;
    int64_t age_s, idle_s;
    uint64_t number;             /* of the present state: calls kept */
    size_t history;              /* calls that can be rolled back */
    size_t memory_bytes;         /* of all its processes */
    bool memory_is_proportional; /* shared pages count in proportion; false: resident sizes */
    size_t states_dropped;       /* because of memory */
    bool busy;
};
struct session_facts session_facts(const struct session *session);

/* Calls WEIGHED once the memory of all sessions is known, as far as it can be in a short time. */
void sessions_weigh(struct sessions *all, void (*weighed)(void *context), void *context);

/* While HELD, no call starts. */
void sessions_hold(struct sessions *sessions, bool held);
/* Cancels every call for CAUSE. */
void sessions_cancel_all(struct sessions *sessions, const char *cause);

/* Queues a call, which session_step starts. NULL, and `done` is not called, if the queue is full
 * (session.queue calls, SESSION_QUEUE_BYTES_MAX) or when out of memory. */
struct call *session_submit(struct session *session, const struct call_request *request);
/* Starts what can start now. May call `done`, and may free SESSION. */
void session_step(struct session *session);

/* --- transient.c: sessions for one call --- */

/* Queues a CALL_RUN in a new session that ends with it, has no name for clients and keeps no state.
 * It does not count for session.max, but at most that many may be busy. NULL as session_submit, or
 * if so many are busy. */
struct call *session_submit_once(struct sessions *sessions, const struct call_request *request);
/* The number of transient sessions busy with a run of KIND; RUN_KIND_COUNT: of any kind. */
size_t sessions_busy_with(const struct sessions *sessions, enum run_kind kind);
/* Parks a call that waits for a client which may never return: it no longer counts as busy. The
 * caller parks at most sessions_parked_max calls. */
void call_park(struct call *call, bool parked);
size_t sessions_parked_max(const struct settings *settings);

/* --- call.c --- */

/* The session of CALL, for session_step. It may be gone once `done` was called. */
struct session *call_session(const struct call *call);
/* The number of the call in log events. */
uint32_t call_number(const struct call *call);

struct call_progress {
    bool running;
    int64_t elapsed_ms, timeout_ms;
    size_t printed_bytes; /* to standard output, as read so far */
};
struct call_progress call_progress(const struct call *call);

/* Answers the question that the call asks. JSON as run_ask_decode describes, copied. False if no
 * question is open. May be called within `ask`. */
bool call_answer(struct call *call, struct span json);

/* Cancels the call, queued or running, for CAUSE. `done` is called later. False if the call has
 * already ended, or is a copy that is being forked. */
bool call_cancel(struct call *call, const char *cause);

#endif
