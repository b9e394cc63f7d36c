/* Sessions and their calls. A session is one Lisp world held by one worker; its calls run in
 * order, sessions run side by side. Here the outcome of each call is decided, once, from what the
 * kernel and the worker show; how it is worded for a client is not known here. */
#ifndef ECLAVE_SUPERVISOR_SESSION_H
#define ECLAVE_SUPERVISOR_SESSION_H

#include "supervisor/evaluation.h"
#include "supervisor/pool.h"
#include <stdbool.h>
#include <stdint.h>

struct call;
struct session;

typedef void (*call_done)(void *context, const struct evaluation *evaluation);

/* What to evaluate. The spans are copied. */
struct call_request {
    struct span code;
    struct span package; /* bytes NULL: the session's own */
    int64_t timeout_ms;
    call_done done; /* called exactly once for each submitted call, never within session_submit */
    void *context;
};

struct sessions {
    struct loop *loop;
    struct log *log;
    const struct settings *settings;
    struct pool *pool;
    struct session *first;
    size_t active;      /* calls submitted and not yet done */
    uint32_t last_call; /* number of the newest call */
    bool held;          /* no new evaluation starts: the client does not read its answers */
    bool one_shot;      /* no word about state: nothing outlives the call */
};

void sessions_open(struct sessions *sessions, struct loop *loop, struct log *log,
                   const struct settings *settings, struct pool *pool);
/* Forgets every session, and calls that are not done: an output that is gone takes no answer. */
void sessions_close(struct sessions *sessions);

/* The session of that name, made when MAKE; NULL otherwise, or with no memory. */
struct session *sessions_find(struct sessions *sessions, const char *name, bool make);

/* While held, queued calls wait. */
void sessions_hold(struct sessions *sessions, bool held);

/* Ends every call as cancelled for CAUSE. */
void sessions_cancel_all(struct sessions *sessions, const char *cause);

/* Queues a call; session_run starts it when its turn has come. NULL when the session's queue is
 * full (session.queue calls, or as many bytes of code as SESSION_QUEUE_BYTES_MAX) or there is no
 * memory; `done` is not called then. */
struct call *session_submit(struct session *session, const struct call_request *request);

/* Starts the next queued call unless one is running. `done` may be called before this returns. */
void session_run(struct session *session);

/* Ends the call as cancelled, queued or running, for CAUSE. `done` comes in its own time. */
void call_cancel(struct call *call, const char *cause);

enum { SESSION_QUEUE_BYTES_MAX = 64 << 20 };

#endif
