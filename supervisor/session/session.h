/* Sessions and their calls. A session is the state of one Lisp process, which its head holds, and
 * the states before its last calls, each held by a parked fork of the head, a checkpoint. The calls
 * of a session run in order; sessions run side by side. The outcome of a call is decided here,
 * once, from what the kernel and the worker report; how a client reads it is not known here.
 *
 * The state after the N-th call of a session has the number N; a session begins with number 0. A
 * call that ends its process changes nothing: the newest checkpoint becomes the head. */
#ifndef ECLAVE_SUPERVISOR_SESSION_SESSION_H
#define ECLAVE_SUPERVISOR_SESSION_SESSION_H

#include "supervisor/process/imager.h"
#include "supervisor/process/pool.h"
#include "supervisor/process/weigher.h"
#include "supervisor/session/evaluation.h"
#include "supervisor/session/run.h"
#include "supervisor/state/store.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct call;
struct session;

enum {
    SESSION_QUEUE_BYTES_MAX = 64 << 20, /* of the calls that wait on one session */
    SESSIONS_QUEUE_BYTES_MAX = 1 << 30, /* of those that wait on all */
    SESSION_NAME_CHARS = 64,
    SESSION_NAME_BYTES,
    SESSIONS_GONE_MAX = 4096 /* names that are remembered after their session, of each kind */
};

typedef void (*call_done)(void *context, const struct evaluation *evaluation);

enum call_kind {
    CALL_EVALUATE,
    CALL_RUN,      /* evaluates a source and calls what it defines: run.h */
    CALL_ROLLBACK, /* returns to the state before the last `steps` calls */
    CALL_RESET,    /* returns to a fresh state */
    CALL_OPEN,     /* does nothing but to open the session, which it is the first call of */
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
    struct span input;      /* CALL_EVALUATE: standard input; bytes NULL: it is empty */
    struct span files;      /* CALL_EVALUATE: see evaluate_message; bytes NULL: none */
    int64_t timeout_ms;     /* CALL_EVALUATE, CALL_RUN; CALL_COPY: to fork; 0: as long as it may */
    int64_t cpu_ms;         /* CALL_EVALUATE: processor time; 0: no limit but timeout_ms */
    int64_t steps;          /* CALL_ROLLBACK; at least 1 */
    int64_t at;             /* CALL_COPY, an inspection; -1: the present state */
    struct span name;       /* CALL_COPY: valid, and that of no session; bytes NULL: a handle */
    struct run_request run; /* CALL_RUN */
    bool goes_on; /* CALL_EVALUATE: its process stays after the answer, also with reports_usage */
    size_t held_bytes; /* memory that the caller holds for the call, for the queue's limit */
    /* CALL_RUN. Either may be NULL: events are then dropped, and questions answered with an error.
     * The arguments are valid until the callback returns; QUESTIONS as from run_ask_decode. */
    void (*event)(void *context, const struct run_event *event);
    void (*ask)(void *context, struct json_object *questions);
    /* Called once for each submitted call, never within session_submit. The outcome of a call that
     * is neither CALL_EVALUATE nor CALL_RUN is VALUE, with `reply` (of a copy: its name), or
     * REFUSED, with `cause`; or CANCELLED. */
    call_done done;
    void *context;
};

struct kept_output;
struct memory_waiter;
struct keeper;

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

/* Of durable_image.c: the image that is being made, of one session at a time. */
struct images {
    struct imager imager;
    struct loop_timer timer;
    bool off; /* no more are made */
    unsigned failures;
    struct session *session; /* NULL: none is being made */
    /* What it is of, and the session's numbers when it was begun: */
    struct worker_process *worker;
    pid_t pid;
    uint64_t wakes, changes;
    int64_t cost_ns, begun_ns;
    struct saved_image image;
};

/* Why a name has no session any more. */
enum session_end {
    SESSION_CLOSED,  /* by a CALL_CLOSE */
    SESSION_LOST,    /* its state was lost between calls */
    SESSION_DROPPED, /* it was unnamed, and newer ones took its place */
    SESSION_ENDS
};

struct session_gone {
    char name[SESSION_NAME_BYTES];
    enum session_end end;
    const char *why; /* of SESSION_LOST; static; NULL: the reason is unknown */
    TAILQ_ENTRY(session_gone) entry;
};

/* Oldest first. */
struct session_names {
    TAILQ_HEAD(, session_gone) list;
    size_t count;
};

struct sessions {
    struct loop *loop;
    struct log *log;
    const struct settings *settings;
    struct pool *pool;
    TAILQ_HEAD(, session) list; /* oldest first */
    struct session_names gone[SESSION_ENDS];
    size_t active;               /* calls submitted and not done */
    size_t running;              /* calls that count towards call.running_max */
    size_t queued_bytes;         /* of all sessions */
    struct loop_timer admission; /* starts the calls that wait for others to end */
    uint32_t last_call;          /* number of the newest call */
    uint64_t last_serial;        /* of the newest session */
    struct pipes *fresh_pipes;   /* that no worker has, with the ends for it; NULL: none */
    int fresh_ends[2];
    bool held; /* no call starts: the client does not read its answers */
    /* A call of session_submit_once is done when its process is reaped, with the resources that the
     * process used. */
    bool reports_usage;
    bool unlogged;  /* outcomes are not logged, because the caller reports each */
    bool no_client; /* a person calls: messages advise no arguments of tools */
    bool unbounded; /* the caller limits how many calls wait, and their bytes */
    struct memory_watch memory;
    struct keeper *keeper; /* saves the sessions; NULL: they end with the server */
    struct images images;
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

/* Saves sessions in the directory that the settings name, and adds those that are saved there.
 * Before sessions_confine_supervisor. False with *error. */
bool sessions_save(struct sessions *sessions, struct error *error);

/* The session of that name, or NULL. A copy that is being made is found. */
struct session *sessions_find(const struct sessions *sessions, struct span name);
/* The session of that name, created if missing, which calls that name none use. It does not count
 * towards session.max. NULL when out of memory. */
struct session *sessions_own(struct sessions *sessions, const char *name);
/* Whether another session may be opened or kept: session.max. */
bool sessions_have_room(const struct sessions *sessions);
/* A new session, for which there is room. NAME is valid and that of no session; bytes NULL: a
 * handle. NULL when out of memory. */
struct session *sessions_make(struct sessions *sessions, struct span name);
/* A new session for a call that names none. Once it is idle, the newest session.unnamed_max of its
 * kind are kept, and older ones are dropped. NULL when out of memory. */
struct session *sessions_make_unnamed(struct sessions *sessions);
/* Keeps SESSION, to which a call has come back, until it is closed. False, with nothing changed, if
 * there is no room for it. */
bool session_keep(struct session *session);
/* Frees the session and its calls without calling `done`, and without remembering its name. */
void session_destroy(struct session *session);
/* The number of sessions that sessions_next finds. */
size_t sessions_count(const struct sessions *sessions);
/* The session after AFTER, oldest first; NULL: the first, or none is left. */
struct session *sessions_next(const struct sessions *sessions, const struct session *after);

const char *session_name(const struct session *session);
/* Whether closing SESSION makes room for another, and no call of it runs or waits. */
bool session_is_closable(const struct session *session);
/* When a call last came to it or was answered; monotonic. */
int64_t session_used_ns(const struct session *session);
/* What list-sessions reports. */
struct session_facts {
    const char *name;
    bool unnamed; /* dropped when newer ones take its place */
    bool waits;   /* none of its calls has started yet */
    int64_t age_s, idle_s;
    uint64_t number;             /* of the present state: calls kept */
    size_t history;              /* calls that can be rolled back */
    size_t memory_bytes;         /* of all its processes */
    bool memory_is_proportional; /* shared pages count in proportion; false: resident sizes */
    size_t states_dropped;       /* because of memory */
    bool busy;
    bool dormant;         /* an earlier server saved it, and no call has used it here */
    uint64_t saved_bytes; /* of a dormant one */
};
struct session_facts session_facts(const struct session *session);

/* Calls WEIGHED once the memory of all sessions is known, as far as it can be in a short time. */
void sessions_weigh(struct sessions *all, void (*weighed)(void *context), void *context);

/* While HELD, no call starts. */
void sessions_hold(struct sessions *sessions, bool held);
/* Cancels every call for CAUSE. */
void sessions_cancel_all(struct sessions *sessions, const char *cause);

/* Queues a call, which session_step starts. NULL, and `done` is not called, if the queue is full
 * (session.queue calls, SESSION_QUEUE_BYTES_MAX) or when out of memory. Unnamed sessions share one
 * queue. For a CALL_COPY there must be room for a session. */
struct call *session_submit(struct session *session, const struct call_request *request);
/* Starts what can start now. May call `done`, and may free SESSION. */
void session_step(struct session *session);

/* --- names.c --- */

#define SESSION_NAME_RULE "1 to 64 letters, digits, dots, dashes or underscores (A-Z a-z 0-9 . - _)"

bool session_name_is_valid(struct span name);
/* The name of a session that is no more; NULL: no session had it, or it is forgotten. */
const struct session_gone *sessions_gone(const struct sessions *sessions, struct span name);

/* --- transient.c: sessions for one call --- */

/* Queues a CALL_RUN in a new session that ends with it, has no name for clients and keeps no state.
 * It does not count towards session.max. NULL as session_submit; all such calls share one queue. */
struct call *session_submit_once(struct sessions *sessions, const struct call_request *request);
/* Queues a CALL_EVALUATE in a new session, whose process can be forked once it has answered. The
 * session, the source of these forks, keeps no states and stays until session_finish. NULL when out
 * of memory. */
struct call *session_submit_source(struct sessions *sessions, const struct call_request *request);
/* Queues a CALL_EVALUATE for a fork of the process of SOURCE, in a session that ends with it. It is
 * REFUSED if there can be no fork. NULL when out of memory. session_step(SOURCE) starts it. */
struct call *session_submit_fork(struct session *source, const struct call_request *request);
/* Queues the last call of SOURCE, with which its process ends, so that its usage is known; it is
 * REFUSED if the process has ended before. NULL when out of memory. REQUEST may be NULL: then the
 * process is killed, and the result is NULL. SOURCE is freed once its calls are done. */
struct call *session_finish(struct session *source, const struct call_request *request);
/* Whether SOURCE still has its process. */
bool session_has_process(const struct session *source);
/* Processor time of that process so far, in microseconds; 0 if there is none. */
int64_t session_cpu_us(const struct session *source);
/* The number of transient sessions busy with a run of KIND; RUN_KIND_COUNT: of any kind. */
size_t sessions_busy_with(const struct sessions *sessions, enum run_kind kind);
/* Parks a call that waits for a client which may never return: it is no longer busy. The caller
 * parks at most sessions_parked_max calls. */
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
