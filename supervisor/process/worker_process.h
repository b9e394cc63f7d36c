/* One worker process as the supervisor sees it: its channel, its forks, its notified system calls
 * and its end. Everything that comes from it is hostile. This module checks that a frame or a
 * system call is allowed now; session.c decides what an ending means.
 *
 * The head of a session and a parked checkpoint are the same to this module: a worker that waits
 * for a frame. */
#ifndef ECLAVE_SUPERVISOR_PROCESS_WORKER_PROCESS_H
#define ECLAVE_SUPERVISOR_PROCESS_WORKER_PROCESS_H

#include "common/buffer.h"
#include "common/frame.h"
#include "policy/policy.h"
#include "supervisor/base/log.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/usage.h"
#include "supervisor/process/compiler.h"
#include "supervisor/process/tracker.h"
#include <stdbool.h>
#include <sys/queue.h>
#include <sys/types.h>

enum worker_state {
    WORKER_STARTING, /* requested; its pid is not proven yet */
    WORKER_READY,    /* confined, waits for a frame */
    WORKER_BUSY,     /* works, as `work` says */
    WORKER_ASKING,   /* runs a call, and waits for the answer to its question */
    WORKER_FORKING,  /* was asked to fork; the child has not announced itself yet */
    WORKER_ENDING    /* killed or ended, not reaped yet */
};

struct worker_process;
struct workers;

/* What the owner of a worker is notified of. Only `ended` may destroy the worker. A PAYLOAD is
 * valid until the callback returns. An owner leaves out what cannot happen to its workers. */
struct worker_events {
    /* STARTING or FORKING is over. */
    void (*ready)(void *context, struct worker_process *worker);
    /* FRAME_RESULT of the running call. */
    void (*result)(void *context, struct worker_process *worker, const unsigned char *payload,
                   size_t size);
    /* FRAME_EVENT of the running call. */
    void (*event)(void *context, struct worker_process *worker, const unsigned char *payload,
                  size_t size);
    /* FRAME_ASK of the running call; the worker waits for worker_answer. */
    void (*ask)(void *context, struct worker_process *worker, const unsigned char *payload,
                size_t size);
    /* The reply to worker_refine is in worker->native.coarse. The worker is READY. */
    void (*refined)(void *context, struct worker_process *worker);
    /* The reply to worker_track is in worker->tracking. */
    void (*tracks)(void *context, struct worker_process *worker);
    /* The kernel makes the requested fork, worker->child. */
    void (*cloned)(void *context, struct worker_process *worker);
    /* The requested fork failed, for the reason WHAT. WORKER is READY again or ENDING. */
    void (*fork_failed)(void *context, struct worker_process *worker, const char *what);
    /* The worker broke the protocol, as WHAT says, and is being killed. */
    void (*malformed)(void *context, struct worker_process *worker, const char *what);
    /* The worker made a system call for which the policy kills, and is being killed. */
    void (*violation)(void *context, struct worker_process *worker, const char *call_name);
    /* Reaped; STATUS as from waitpid. 0 if the worker was abandoned before its pid was proven. */
    void (*ended)(void *context, struct worker_process *worker, int status);
};

/* Memory of a worker, as last measured. */
struct memory_use {
    size_t resident_bytes, faults; /* of worker_measure */
    size_t weighed_bytes;          /* of the weigher */
    size_t weighed_faults;         /* before it was weighed */
    enum { UNWEIGHED, WEIGHED, WEIGHED_IN_VAIN } weighed;
    bool due;           /* to be weighed */
    bool settled;       /* was measured while it was stopped, and does not change until it wakes */
    uint32_t round;     /* in which it was last measured */
    const char *excess; /* why it was killed; NULL: not for its memory */
    enum worker_place { PLACE_UNKNOWN, PLACE_HEAD, PLACE_PARKED } place; /* policy_oom_prefer */
};

/* Native code of a worker. */
struct native_use {
    struct compilation *compilation; /* that it waits for; NULL: none */
    int sealed;                      /* code that it may map, once; -1: none */
    size_t sealed_bytes;
    size_t units, bytes; /* that were sealed for it and for those that it is a fork of */
    bool coarse;         /* it has functions for worker_refine, as far as is known */
};

/* How the writes of a worker are tracked. */
struct tracking {
    enum {
        TRACKING_NOT,    /* nobody has asked for it */
        TRACKING_ASKED,  /* it may make its userfaultfd, */
        TRACKING_MADE,   /* has made the call, and will say its number */
        TRACKING_SAID,   /* has said it */
        TRACKING_SETTLED /* `tracker` is all that there will be */
    } state;
    struct tracked_message said; /* from TRACKING_SAID on */
    bool gives_up;               /* the worker is to close its userfaultfd */
    struct tracker *tracker;     /* NULL: none */
    bool registered;             /* the tracker knows all mappings, as far as is known */
    bool armed; /* the tracker has noted all writes since state AT of the session */
    uint64_t at;
    uint64_t wakes;        /* worker_process.wakes when it sent its last result */
    struct {               /* the call that wrote tracker_written, */
        int64_t lasted_ns; /* 0: it is unknown */
        uint64_t pages;
        unsigned uses; /* and for how many calls after it it was used */
    } model;
};

struct worker_process {
    struct workers *workers;
    enum worker_state state;
    pid_t pid;     /* 0: not proven by the kernel yet */
    bool reaped;   /* the pid may have been reused, and is not signalled */
    uint32_t call; /* number of the running call */
    enum worker_work {
        WORK_EVALUATE, /* a FRAME_EVALUATE, or a FRAME_ADOPT */
        WORK_RUN,      /* a FRAME_RUN, which may send events and questions */
        WORK_REFINE    /* a FRAME_REFINE, which is no call: its frames have the number 0 */
    } work;
    int channel;
    struct loop_watch channel_watch;
    struct frame_header header; /* of the frame being received */
    size_t header_have;         /* bytes */
    unsigned char *payload;
    size_t payload_have; /* bytes */
    struct buffer outgoing;
    size_t sent;                   /* bytes of it */
    struct loop_timer timer;       /* of a kill or a fork */
    struct listener *listener;     /* shared with its forks */
    struct worker_process *parent; /* while STARTING as a fork */
    struct worker_process *child;  /* while FORKING */
    bool is_fork;                  /* forked by a worker, not by the zygote */
    bool clone_expected;           /* FORKING, and has not called clone yet */
    unsigned clones;               /* made again for this fork, after a signal */
    bool spoilt;                   /* STARTING, and is to fail */
    int gift;               /* of a fork: its end of the channel, yet to be given; -1: none */
    size_t notified;        /* system calls notified since the call began */
    unsigned stray_retries; /* how often the search for strays was postponed */
    uint64_t outputs;       /* serial of the pipes that it writes to */
    enum { REST_NONE, REST_REQUESTED, REST_STOPPED } rest;
    bool settles;       /* it still has a frame without a reply, */
    bool rests;         /* and is stopped afterwards */
    struct usage usage; /* once reaped */
    bool killed;        /* by this program */
    uint64_t wakes;     /* how often it was woken: if not since, its memory is the same */
    struct memory_use memory;
    struct native_use native;
    struct tracking tracking;
    const struct worker_events *events;
    void *context;
    const char *session; /* for the log: the owning session; NULL: none */
    LIST_ENTRY(worker_process) entry;
};

/* All workers of the supervisor. */
struct workers {
    struct loop *loop;
    struct log *log;
    LIST_HEAD(, worker_process) list;
    uint32_t grants;                        /* policy_grants, of all of them */
    struct compiler *compiler;              /* of native code; NULL: none */
    pid_t zygote;                           /* a child that is not a worker; 0: none */
    const struct policy_launcher *launcher; /* NULL: none, as in tests */
    bool may_signal;                        /* otherwise the launcher does it, if there is one */
    bool left_alone; /* nothing is signalled any more: what there is ends with its namespace, or by
                        its death signal; thousands of kills would take a second */
};

/* A worker in state STARTING. *THEIR_CHANNEL is its end of the channel, for the zygote to pass on,
 * and the caller's to close. NULL with *error. */
struct worker_process *worker_create(struct workers *workers, const struct worker_events *events,
                                     void *context, int *their_channel, struct error *error);

/* Asks PARENT, which must be READY, to fork, and returns the child, in state STARTING. OUTPUTS are
 * the write ends of another session's pipes; NULL: the child uses those of its parent. If APART,
 * the kernel gives the child its channel, which PARENT never has: what PARENT has, all its forks
 * can inherit. Then no other fork of the same first worker may be STARTING. NULL with *error if
 * nothing was sent. */
struct worker_process *worker_fork(struct worker_process *parent,
                                   const struct worker_events *events, void *context,
                                   const char *session, const int outputs[2], bool apart,
                                   struct error *error);
/* PARENT, which was asked to fork, has LIMIT_MS from now on, but at least 2 s, and at most the 10 s
 * that it has without this. */
void worker_limit_fork(struct worker_process *parent, int64_t limit_ms);
/* A worker without a listener cannot be forked, because its clone could not be checked. */
bool worker_can_fork(const struct worker_process *worker);

/* Has a READY worker make its own copies of these pages, before its next frame and before
 * worker_rest stops it. Does nothing in other states. */
void worker_prefault(struct worker_process *worker, const struct page_runs *runs);

/* Asks a READY worker for its userfaultfd, once; `tracks` is called later. */
void worker_track(struct worker_process *worker);
/* Ends that: the worker closes its own descriptor before its next frame, and is tracked with
 * TRACKER, which the worker now owns; NULL: it is not. */
void worker_set_tracker(struct worker_process *worker, struct tracker *tracker);
/* Ends it as well, so that worker_track may be called again. */
void worker_track_again(struct worker_process *worker);
/* Whether the process has answered a call. */
bool worker_has_answered(const struct worker_process *worker);
/* Whether the worker has done nothing since it sent its last result but wait. */
bool worker_is_unchanged(const struct worker_process *worker);
/* Gives a worker that has had no frame, a fork of an earlier state that is STARTING or READY, the
 * pages of SET. False with *error if nothing was sent. */
bool worker_put_pages(struct worker_process *worker, const struct page_set *set,
                      struct error *error);

/* Has a fork that is STARTING fail once it announces itself, since the clone of its parent cannot
 * be called off: its owner could not make it what was wanted. */
void worker_spoil(struct worker_process *worker);

/* Changes the receiver of events. SESSION is the owner's name and must live as long as it owns the
 * worker; NULL: no session. */
void worker_set_owner(struct worker_process *worker, const struct worker_events *events,
                      void *context, const char *session);

/* Sends a FRAME_EVALUATE with PAYLOAD as call number CALL. The worker is then BUSY. False, with
 * nothing sent, when out of memory. */
bool worker_evaluate(struct worker_process *worker, uint32_t call, const struct buffer *payload);
/* The same with a FRAME_ADOPT, for a worker that has evaluated nothing, which reads from FD, the
 * caller's. Also false if it cannot be sent. */
bool worker_adopt(struct worker_process *worker, uint32_t call, const struct buffer *payload,
                  int fd);
/* The same with a FRAME_RUN. */
bool worker_run(struct worker_process *worker, uint32_t call, const struct buffer *payload);
/* Sends a FRAME_REFINE to a READY worker, which is then BUSY; `refined` is called later. False,
 * with nothing sent, when out of memory. */
bool worker_refine(struct worker_process *worker);
/* Answers the worker's question. False if it is not ASKING, or when out of memory. */
bool worker_answer(struct worker_process *worker, struct span answer);

/* Stops a worker that waits for a frame, until the next one is sent: code that took the process
 * over computes nothing meanwhile. Does nothing in other states. */
void worker_rest(struct worker_process *worker);
/* Whether the kernel has stopped it. It then writes nothing until its next frame. */
bool worker_is_stopped(struct worker_process *worker);
/* Gives a READY worker the write ends OUTPUTS of pipes SERIAL, before its next frame. They stay the
 * caller's. False with *error. A worker that has ended counts as served. */
bool worker_set_outputs(struct worker_process *worker, const int outputs[2], uint64_t serial,
                        struct error *error);

/* Whether part of the answer to its call has been received. */
bool worker_is_answering(const struct worker_process *worker);

/* Kills at once; the next event is `ended`. */
void worker_kill(struct worker_process *worker);
/* The same in the next round of the loop, for a worker that is READY. */
void worker_kill_later(struct worker_process *worker);
/* Asks the worker to flush its output and exit, and kills it after a grace period. For time-outs,
 * so that output printed before is not lost. */
void worker_stop(struct worker_process *worker);

/* Processor time of the process so far, in microseconds. Where the kernel does not show it, or the
 * process has been reaped: the time of the clock, which advances at least as fast. */
int64_t worker_cpu_us(const struct worker_process *worker);

/* Resident memory in bytes, 0 if it cannot be read. */
size_t worker_resident_bytes(const struct worker_process *worker);
/* Updates the resident memory and the number of page faults. Constant time, whatever the worker
 * has mapped. */
void worker_measure(struct worker_process *worker);

/* The worker with that pid, or NULL. */
struct worker_process *workers_find(const struct workers *workers, pid_t pid);
/* Sends NUMBER to the child PID. */
void workers_signal(const struct workers *workers, pid_t pid, int number);
/* As policy_oom_prefer, policy_launcher_group and policy_oom_open, with the rights of the launcher.
 */
void workers_prefer(const struct workers *workers, pid_t pid, enum policy_oom_order order);
void workers_group(const struct workers *workers, pid_t pid, uint64_t session);
int workers_open_oom(const struct workers *workers);
/* Kills every worker, and every child that is neither zygote nor launcher. The caller reaps them.
 */
void workers_kill_all(const struct workers *workers);
/* Called when WORKER was reaped, with its status and the kernel's figures. */
void worker_reaped(struct worker_process *worker, int status, struct usage usage);

/* Frees the worker, which must have been reaped, or never have had a proven pid. */
void worker_destroy(struct worker_process *worker);

#endif
