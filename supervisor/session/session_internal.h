/* What the files of this folder share about a session and its calls. */
#ifndef ECLAVE_SUPERVISOR_SESSION_SESSION_INTERNAL_H
#define ECLAVE_SUPERVISOR_SESSION_SESSION_INTERNAL_H

#include "supervisor/base/clock.h"
#include "supervisor/session/session.h"
#include "supervisor/state/keeper.h"

/* The part of a call that only a CALL_RUN has. */
struct run_state {
    enum run_kind kind;
    bool wants_value;
    struct run_result result; /* with OUTCOME_VALUE */
    struct rate rate, progress_rate, log_rate;
    size_t events, events_bytes, asks, dropped;
    double progress;               /* the last one delivered */
    bool asking;                   /* a question is open */
    bool parked;                   /* call_park */
    int64_t left_ms, wait_left_ms; /* of the time limits of working and waiting, at since_ns */
    int64_t since_ns;              /* when it last began to work or to wait */
};

/* A result that is needed for longer than its event. */
struct kept_result {
    struct buffer payload;
    struct result_message message; /* points into it */
    struct run_decoder decoder;    /* of the message's JSON */
    bool opened;                   /* the message is decoded */
    bool decoding;                 /* its JSON is not yet */
    bool rested;                   /* a large one waited for a turn of the loop after that */
};

struct call {
    struct session *session;
    TAILQ_ENTRY(call) entry; /* in `queue` or `cancelled` of the session */
    enum call_kind kind;
    uint32_t number;
    struct buffer payload; /* of the FRAME_EVALUATE or FRAME_RUN */
    size_t size;           /* bytes, for the queue's limit */
    int64_t timeout_ms, cpu_ms, steps, at;
    int64_t started_ns;   /* 0: no worker has it yet */
    int64_t begun_cpu_us; /* processor time of its process when it started */
    bool cpu_used_up;     /* its time is over because of cpu_ms */
    bool counted;         /* in sessions.running */
    struct session *copy; /* of a CALL_COPY that is not done: NASCENT */
    struct run_state run;
    void (*event)(void *context, const struct run_event *event);
    void (*ask)(void *context, struct json_object *questions);
    call_done done;
    void *context;
    struct buffer answers; /* of its client, to be saved with it */
    bool replays;          /* it is brought back: durable.c */
    bool adopts;           /* its process becomes an image of the session: IMAGE_FD, its own */
    int image_fd;
    bool inspects; /* its effects are undone, */
    bool stays;    /* unless the session cannot return to its state */
    bool goes_on;  /* its process stays after the answer, also with reports_usage */
    bool rested;   /* a large one waited for a turn of the loop */
    bool decided;  /* the members below are set */
    int64_t decided_ns;
    enum outcome outcome;
    char cause[ERROR_TEXT_BYTES + 40];
    char reply[200]; /* with OUTCOME_VALUE, of a call that evaluates nothing */
    const char *limit_stream, *limit_name;
    size_t limit;
    struct kept_result *kept; /* while it is decoded, and until the process is reaped; or NULL */
    /* With reports_usage, from the answer until the process is reaped: */
    enum outcome answer;
    int64_t answered_ns; /* 0: no answer yet */
    bool answering;      /* its answer had begun when its time was over */
    bool cut_off;        /* killed because it did not end by itself */
    struct usage usage;  /* set when it is reaped */
};

/* A state of the session and its number: a parked process that has it, or else the pages that were
 * written since the next older checkpoint, to which they are added (history.c). */
struct checkpoint {
    struct worker_process *worker;
    struct page_set pages;
    uint64_t number;
    bool coarse;     /* native_use.coarse of its state */
    bool only_base;  /* it is no state to return to; newer ones begin with its process */
    bool wakes;      /* of `taking`: it becomes the head */
    bool tried;      /* the head was made of it, and no call was sent since */
    int64_t cost_ns; /* of the session then, as session_saved has it */
    LIST_ENTRY(checkpoint) entry;
};

/* session.c has a table of the transitions. */
enum session_state {
    SESSION_NASCENT,       /* a copy that is not made yet: nothing of it runs */
    SESSION_IDLE,          /* the next queued call may start */
    SESSION_CHECKPOINTING, /* the head forks a checkpoint: `taking` */
    SESSION_WAITING,       /* the running call waits for a worker of the pool, or for `taking` */
    SESSION_EVALUATING,    /* the head runs the running call, or is being killed for it */
    SESSION_REFINING, /* the head compiles what calls have defined, or is being killed for it */
    SESSION_SAVING,   /* its journal is being written, for the running call, or read */
    SESSION_COPYING,  /* a process of the session forks, for the copy of the running call */
    SESSION_STATES
};

/* What may end a session, besides a CALL_CLOSE. */
enum session_kind {
    SESSION_OWN,      /* of the calls that name none: nothing */
    SESSION_KEPT,     /* opened, named or continued: the loss of its state */
    SESSION_UNNAMED,  /* of one call, to which none has come back: newer ones too */
    SESSION_SOURCE,   /* of processes for other sessions: its owner; it has no name for clients */
    SESSION_TRANSIENT /* of one call, with which it ends; it has no name for clients */
};

struct replay;
/* FAILURE: a sentence without its full stop; NULL: it is saved. */
typedef void (*durable_then)(struct session *session, const char *failure);

/* What is saved of a session. */
struct session_saved {
    uint64_t number;   /* of the session, for the keeper; 0: nothing is saved */
    bool listed;       /* an earlier server saved it */
    bool open;         /* its journal is, and `count` is known */
    uint64_t bytes;    /* of what was listed */
    uint64_t count;    /* calls in force in the journal */
    uint64_t base;     /* of a copy: calls before its state 0 */
    durable_then then; /* while the journal is written */
    int64_t locked_ns; /* since when another process has had it; 0: none has */
    struct loop_timer retry;
    struct replay *replay; /* of the running call */
    uint64_t replayed, differed, left_out;
    uint64_t asked;                 /* the place of the call that is being read */
    uint64_t failed_at;             /* the place after a call that ended its process; 0: none */
    char difference[110];           /* the first one */
    bool drops;                     /* the call that was brought back last did not come back */
    struct saved_image image;       /* the kept one */
    char image_failure[120];        /* why it was not used; "": it was, or there was none */
    uint64_t adopted;               /* the number of the image that was used; 0: none was */
    unsigned adoptions;             /* since a call of a client was saved */
    int64_t cost_ns;                /* time that calls took here, also those brought back */
    int64_t image_cost_ns;          /* of it, what the image saves */
    bool image_hurries;             /* the last one was not done in time */
    uint64_t changes;               /* how often calls were taken out of force */
    char failure[ERROR_TEXT_BYTES]; /* of bringing back, for the call that waits */
    bool head_ended;                /* while the journal was written for the running call, */
    int end_status;                 /* with this status */
};

struct session {
    struct sessions *all;
    TAILQ_ENTRY(session) entry;
    enum session_state state;
    char name[SESSION_NAME_BYTES];
    uint64_t serial; /* no two sessions of a server have the same */
    int64_t born_ns, used_ns;
    enum session_kind kind;
    bool over;       /* nothing finds it; once it is idle it ends, and refuses with `loss` */
    bool finished;   /* of a source: it ends with its last call */
    bool spent;      /* of a source: its process has ended between calls, and there is no other */
    bool backlogged; /* its next call waits for calls of other sessions */

    struct worker_process *head;         /* NULL: there is no process, and the state is fresh, or
                                            that of the newest checkpoint: history_is_asleep */
    struct pipes *pipes;                 /* with head */
    uint64_t number;                     /* of the state in head */
    bool began_fresh;                    /* state 0 is a fresh image, which needs no process */
    LIST_HEAD(, checkpoint) checkpoints; /* newest first */
    struct checkpoint *taking; /* requested, not announced yet; if WAITING, of an earlier state */
    bool unprotected;          /* the checkpoint of the present state failed, and is not retried */
    bool parks;                /* the next checkpoint is to be a process */
    enum refines {
        REFINES_FIRST, /* before the next call, once, */
        REFINES_IDLE,  /* when no call waits, */
        REFINES_NEVER  /* or no more, since the head ended then */
    } refines;
    int64_t refining_ns, refined_ns; /* since when; for how long after the last call */
    int64_t lasted_ns, shorter_ns;   /* the last call; the shorter of the last two */

    struct pool_waiter waiter;
    struct call *running;
    TAILQ_HEAD(, call) queue;
    TAILQ_HEAD(, call) cancelled; /* before they ran; concluded in the next step */
    size_t queued, queued_bytes;
    struct loop_timer time_limit, cpu_limit, memory_check, step, decode;
    struct {
        bool wanted;                     /* its weight, by list-sessions */
        bool due;                        /* its processes are being weighed */
        uint32_t round;                  /* in which it was last checked */
        int64_t begun_ns, not_before_ns; /* of weighing it */
        size_t processes;                /* when it was last weighed */
        size_t dropped;                  /* states */
    } memory;
    struct session_saved saved;
    char loss[640]; /* a state was lost between calls; reported with the next answer */
};

/* --- session.c --- */

/* Changes the state. A transition that the table does not have is a bug, logged as critical. */
void session_enter(struct session *session, enum session_state state);
extern const struct worker_events session_events;
/* Of the waiter in a session. */
void session_on_served(void *context, struct worker_process *worker, struct pipes *pipes,
                       const char *reason);
/* It has no name for clients, and its state is not theirs. */
static inline bool session_is_anonymous(const struct session *session) {
    return session->kind == SESSION_TRANSIENT || session->kind == SESSION_SOURCE;
}
/* Nothing runs or waits. */
bool session_is_idle(const struct session *session);
/* Makes the fresh pipes, unless they are there. False with *error. */
bool sessions_prepare_pipes(struct sessions *sessions, struct error *error);
void sessions_discard_pipes(struct sessions *sessions);
/* Steps in the next round of the loop, after the output of this one is written. */
void session_step_later(struct session *session);
/* The call for which the journal was written is done: if the head ended meanwhile, that counts now.
 */
void session_note_end(struct session *session);
/* Runs the running call, which evaluates. */
void session_evaluate(struct session *session);
/* A number for a new call. */
uint32_t sessions_next_number(struct sessions *sessions);
/* Ends the running call's time in the session, which is then idle. */
struct call *session_take_running(struct session *session);
/* Takes CALL out of the queue. */
void session_unqueue(struct call *call);
/* Concludes the calls that were cancelled before they ran. */
void session_conclude_cancelled(struct session *session);
void session_on_time_limit(void *context);

/* --- table.c --- */

/* A new session, last in the list. NULL when out of memory. */
struct session *session_add(struct sessions *sessions, struct span name, enum session_kind kind);
/* Ends the session later; nothing finds it any more. WHY: as `loss`, for calls that wait on it. */
void session_abandon(struct session *session, const char *why);
/* Refuses the calls that wait on the session, for its `loss`, and frees it. */
void session_end(struct session *session);
/* Drops the idle unnamed sessions beyond session.unnamed_max, those first that were used longest
 * ago, but not USED. */
void sessions_drop_unnamed(struct sessions *sessions, const struct session *used);

/* --- names.c --- */

/* A new handle, that of no session. */
void names_make_handle(const struct sessions *sessions, char name[SESSION_NAME_BYTES]);
/* Remembers how the session of that name ended, and forgets the oldest of that kind beyond
 * SESSIONS_GONE_MAX. */
void names_remember(struct sessions *sessions, const char *name, enum session_end end,
                    const char *why);
/* Forgets NAME, which has a session again. */
void names_forget(struct sessions *sessions, struct span name);
void names_free(struct sessions *sessions);

/* --- admission.c: call.running_max --- */

/* Whether the next call of the session, which is ready for it, may start. If not, it starts when
 * others have ended, in order of arrival. */
bool admission_asks(struct session *session);
/* Counts a call that starts, and one that works again; and no longer. */
void admission_take(struct call *call);
void admission_release(struct call *call);
/* Another call may be able to start. */
void admission_open(struct sessions *sessions);

/* --- control.c: calls that act on the session itself --- */

/* Each carries out the running call. */
void session_roll_back(struct session *session);
void session_reset(struct session *session);
void session_open(struct session *session);
void session_close(struct session *session); /* frees SESSION */
void session_begin_copy(struct session *session);
/* Concludes the copy. WHAT: the reason why there is none; NULL: it is complete. */
void session_end_copy(struct session *session, const char *what);
/* A CALL_COPY is done; its copy remains only with OUTCOME_VALUE. */
void session_settle_copy(struct call *call);

/* --- durable.c: sessions that are saved --- */

/* Whether the session is saved at all. */
bool durable_saves(const struct session *session);
/* Something is to be done about its journal before its next call. */
bool durable_is_due(const struct session *session);
/* Calls are saved that are not in its state. */
bool durable_is_behind(const struct session *session);
/* The number of calls that state NUMBER of the session consists of. */
uint64_t durable_place(const struct session *session, uint64_t number);
/* Does it. */
void durable_step(struct session *session);
/* Each writes to the journal, during which the session is SAVING, and then calls THEN: the running
 * call, which has its result; a return to state NUMBER; a return to the fresh state; a copy with
 * state NUMBER; the removal of all that is saved. */
void durable_save_call(struct session *session, durable_then then);
void durable_return(struct session *session, uint64_t number, durable_then then);
void durable_reset(struct session *session, durable_then then);
void durable_copy(struct session *session, const struct session *copy, uint64_t number,
                  durable_then then);
void durable_remove(struct session *session, durable_then then);
/* Removes what is saved, without an answer. */
void durable_discard(struct session *session);
/* Has the next answer say how the session was brought back. */
void durable_report(struct session *session);
/* Its state was lost between calls. */
void durable_lost(struct session *session);
/* Of session_add and session_destroy. */
void durable_begin(struct session *session);
void durable_end(struct session *session);

/* Calls were taken out of force, so that COUNT are. */
void durable_changed(struct session *session, uint64_t count);

/* --- durable_image.c --- */

void durable_images_open(struct sessions *all);
void durable_images_close(struct sessions *all);
/* The session has a new state, with its checkpoint. */
void durable_image_note(struct session *session);
/* The session ends. */
void durable_image_forget(struct session *session);

/* --- transient.c --- */

/* Whether one more transient session may have a process. */
bool transient_has_room(const struct sessions *sessions);

/* --- history.c: checkpoints --- */

/* The present state needs a checkpoint before the next call. */
bool history_is_due(const struct session *session);
/* Takes it: the session is IDLE again, or CHECKPOINTING until the head has forked. */
void history_take(struct session *session);
/* The requested checkpoint is there. */
void history_taken(struct session *session);
/* The requested checkpoint failed. */
void history_failed(struct session *session, const char *what);
/* The number of calls that can be rolled back now. */
size_t history_length(const struct session *session);
/* The end of the head would lose nothing. */
bool history_is_safe(const struct session *session);
/* The process of which a fork can become state NUMBER; NULL: there is none. */
struct worker_process *history_holder(const struct session *session, uint64_t number);
/* The present state is that of the newest checkpoint, which is no process; the head is still to be
 * made of it. */
bool history_is_asleep(const struct session *session);
/* Makes it. */
void history_wake(struct session *session);
/* Has the present state, which is kept already, kept as a parked process too. */
void history_park(struct session *session);
/* The checkpoint with the process that the newest state begins with; NULL: there is none. */
struct checkpoint *history_base(const struct session *session);
/* The bytes of the pages of all states. */
size_t history_bytes(const struct session *session);
/* Of session_events. Gives a fork of an earlier state what was written since. */
void history_on_cloned(void *context, struct worker_process *holder);
void history_on_tracks(void *context, struct worker_process *worker);
/* Of the weigher, in all sessions. */
void history_on_tracked(void *context, pid_t pid, bool done, const struct tracker_parts *parts);
/* Returns to state NUMBER, which history_length allows. */
void history_return(struct session *session, uint64_t number);
/* Replaces a head that has ended by the newest checkpoint. False if that holds an earlier state
 * than the head did, or there is none and the session starts afresh. */
bool history_restore(struct session *session);
/* The process of a checkpoint has ended. */
void history_lost(struct session *session, const struct worker_process *worker);
/* Requests a process that holds the earlier state NUMBER for the running call, an inspection. False
 * with *error if there can be none. */
bool history_visit(struct session *session, uint64_t number, struct error *error);
/* It is there, and becomes the head. False if the present state has been lost meanwhile. */
bool history_visited(struct session *session);
/* Retires the head, so that FRESH can become it. False, and FRESH is retired instead, if the
 * present state has been lost meanwhile but for the head. */
bool history_vacate(struct session *session, struct worker_process *fresh);
/* A call was sent to the head. */
void history_began_call(struct session *session);
/* Forgets `taking`, if there is one. It may still announce itself. */
void history_abandon(struct session *session);
/* Ends every process of the session. */
void history_clear(struct session *session);

/* --- refine.c --- */

/* The head can be refined now. */
bool refine_is_due(const struct session *session);
/* The head has a new state, and is to be refined once before the next call. */
void refine_first(struct session *session);
/* Refines it: the session is REFINING. */
void refine_begin(struct session *session);
/* Of session_events. */
void refine_on_done(void *context, struct worker_process *worker);
/* The head has ended meanwhile. */
void refine_failed(struct session *session);
/* The session ends. */
void refine_abandon(struct session *session);

/* --- memory.c --- */

void memory_open(struct sessions *all);
void memory_close(struct sessions *all);
/* A session has a process: it is checked from now on. */
void memory_start(struct sessions *all);
/* Ends the running call if its process is too large. */
void memory_check_running(struct session *session);
/* A process of the session was reaped; before its loss has any effect. */
void memory_on_ended(struct session *session, struct worker_process *worker, int status);
/* Calls all callers of sessions_weigh with what is known now. */
void memory_answer_all(struct sessions *all);
void memory_add_facts(const struct session *session, struct session_facts *facts);

/* --- call.c --- */

/* Decides the outcome; does nothing if it is decided. */
__attribute__((format(printf, 3, 4))) void call_decide(struct call *call, enum outcome outcome,
                                                       const char *format, ...);
/* Decides on OUTCOME_VALUE, with the reply of a call that evaluates nothing. */
__attribute__((format(printf, 2, 3))) void call_reply(struct call *call, const char *format, ...);
/* Decides by the exit status of the process. INSIDE_FRAME: it ended within a frame. */
void call_decide_by_status(struct call *call, bool inside_frame, int status);
/* Reports a decided call to its caller, and frees it. RESULT: NULL if the worker sent none. PIPES:
 * NULL if the call never ran; loses what is kept of its output. */
void call_conclude(struct call *call, struct result_message *result, struct pipes *pipes,
                   int status, bool state_lost);
/* Frees a call without calling `done`. */
void call_free(struct call *call);

/* Starts the clocks and rates of a CALL_RUN. */
void call_begin_run(struct call *call);
/* Of session_events. */
void call_on_event(void *context, struct worker_process *worker, const unsigned char *payload,
                   size_t size);
void call_on_ask(void *context, struct worker_process *worker, const unsigned char *payload,
                 size_t size);
/* Keeps PAYLOAD, the result of the call. False when out of memory. */
bool call_keep_result(struct call *call, const unsigned char *payload, size_t size);
/* Decodes the next slice of the kept result. */
enum run_step call_decode_step(struct call *call);
/* Forgets the kept result. */
void call_drop_result(struct call *call);
/* Ends the running call, whose result exceeds a limit. */
void call_end_over_limit(struct session *session, const char *name, size_t limit,
                         const char *sentence);

#endif
