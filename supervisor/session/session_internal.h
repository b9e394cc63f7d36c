/* What session.c, call.c and history.c share of a session; nobody else includes this. */
#ifndef ECLAVE_SUPERVISOR_SESSION_SESSION_INTERNAL_H
#define ECLAVE_SUPERVISOR_SESSION_SESSION_INTERNAL_H

#include "supervisor/base/clock.h"
#include "supervisor/session/session.h"

/* What a CALL_RUN has besides. */
struct run_state {
    enum run_kind kind;
    struct run_result result; /* with OUTCOME_VALUE */
    struct rate rate, progress_rate, log_rate;
    size_t events, events_bytes, asks, dropped;
    double progress;               /* the last that was handed on */
    bool asking;                   /* and not answered yet */
    bool parked;                   /* its client may never come back */
    int64_t left_ms, wait_left_ms; /* of the two time limits, when since_ns began */
    int64_t since_ns;              /* when it last began to work or to wait */
};

struct call {
    struct session *session;
    struct call *next; /* in the queue */
    enum call_kind kind;
    uint32_t number;
    struct buffer payload; /* of the FRAME_EVALUATE or FRAME_RUN */
    size_t size;           /* of the payload, as counted by the queue */
    int64_t timeout_ms, steps, at;
    int64_t started_ns; /* 0 until a worker has it */
    struct run_state run;
    void (*event)(void *context, const struct run_event *event);
    void (*ask)(void *context, struct json_object *questions);
    int64_t decided_ns;
    call_done done;
    void *context;
    bool decided;
    enum outcome outcome; /* when decided */
    char cause[200];
    char reply[200]; /* with OUTCOME_VALUE of a call that evaluates nothing */
    const char *limit_stream, *limit_name;
    size_t limit;
    struct buffer kept_result; /* of a one-shot call, until its process is reaped */
    struct usage usage;        /* then */
};

/* A parked process and the number of the state that it holds. */
struct checkpoint {
    struct worker_process *worker;
    uint64_t number;
    struct checkpoint *older;
};

/* What a session is doing. Which state may follow which is a table in session.c. */
enum session_state {
    SESSION_NASCENT,       /* a copy being forked: nothing finds it, and nothing of it runs */
    SESSION_IDLE,          /* the next queued call may start */
    SESSION_CHECKPOINTING, /* the head forks a checkpoint: `taking` */
    SESSION_WAITING,       /* the running call waits for a worker of the pool */
    SESSION_EVALUATING,    /* the head evaluates the running call, or is being killed for it */
    SESSION_COPYING,       /* a process of the session is being forked: `copy` */
    SESSION_STATES
};

struct session {
    struct sessions *all;
    struct session *next;
    enum session_state state;
    char name[SESSION_NAME_MAX];
    int64_t born_ns, used_ns;
    bool own;       /* the connection's: never closed to make room */
    bool transient; /* for one call: nobody finds it, and nothing of it is kept */

    struct worker_process *head; /* NULL: the world is fresh, or there is none yet */
    struct pipes *pipes;         /* with head */
    uint64_t number;             /* of the state in head */
    bool began_fresh;            /* state 0 is a fresh world, which needs no process */
    struct checkpoint *newest;
    struct checkpoint *taking; /* asked for, not announced yet */
    bool unprotected;          /* the present state could not be kept: do not try again */

    struct pool_waiter waiter;
    struct call *running;
    struct call *queue;
    struct call *cancelled; /* before they ran; told in the next step */
    size_t queued, queued_bytes;
    struct session *copy; /* being made by the running CALL_COPY */
    struct loop_timer time_limit, memory_check, step;
    char loss[200]; /* a state was lost between calls; told with the next answer */
};

/* call.c */
__attribute__((format(printf, 3, 4))) void call_decide(struct call *call, enum outcome outcome,
                                                       const char *format, ...);
/* Decides on OUTCOME_VALUE, with what a call that evaluates nothing answers. */
__attribute__((format(printf, 2, 3))) void call_reply(struct call *call, const char *format, ...);
/* Decides by the way the process ended, when nothing was decided before. */
void call_decide_by_status(struct call *call, bool inside_frame, int status);
/* Tells the caller how its call ended, by what was decided, and frees the call. RESULT is NULL when
 * the worker gave none; OUTLET is NULL for a call that never ran. */
void call_conclude(struct call *call, struct result_message *result, const struct pipes *pipes,
                   int status, bool state_lost);

/* Frees a call that is told nothing any more. */
void call_free(struct call *call);

/* history.c */
/* Does the present state still need a checkpoint before the next call? */
bool history_is_due(const struct session *session);
/* Asks the head for one. */
void history_take(struct session *session);
/* The one that was being taken is there. */
void history_taken(struct session *session);
/* The one that was being taken came to nothing. */
void history_failed(struct session *session, const char *what);
/* How many calls can be rolled back now. */
size_t history_length(const struct session *session);
/* The process that holds that state, parked or head; NULL when none does. */
struct worker_process *history_holder(const struct session *session, uint64_t number);
/* Puts the session into the state NUMBER, which history_length says can be had. */
void history_return(struct session *session, uint64_t number);
/* The head is gone: the newest checkpoint takes its place. False when the state that the head held
 * is not to be had any more; the session is then as near to it as can be. */
bool history_restore(struct session *session);
/* A parked process has died. */
void history_lost(struct session *session, const struct worker_process *worker);
/* Ends every process of the session. */
void history_clear(struct session *session);

/* session_run.c */
void call_begin_run(struct call *call);
/* Of worker_events, for session_events. */
void call_run_event(void *context, struct worker_process *worker, const unsigned char *payload,
                    size_t size);
void call_run_ask(void *context, struct worker_process *worker, const unsigned char *payload,
                  size_t size);
/* Is RESULT what a call of this kind gives? Keeps that of a run, which points into RESULT. */
bool call_take_result(struct call *call, const struct result_message *result);

/* session.c */
/* Changes the state; a transition that the table does not have is a bug, logged as critical. */
void session_enter(struct session *session, enum session_state state);
extern const struct worker_events session_events;
/* A session that no name finds when PASSING. NULL with no memory. */
struct session *session_add(struct sessions *sessions, const char *name, bool transient);
/* Calls that it still has are told nothing. */
void session_destroy(struct session *session);
void session_on_time_limit(void *context);

#endif
