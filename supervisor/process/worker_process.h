/* One worker process as the supervisor sees it: its channel, its forks and its death. Everything
 * that comes from it is hostile. This file moves frames and checks that they are lawful; what an
 * ending means is decided in session.c.
 *
 * A worker waits for frames, whether it is a session's head or a parked checkpoint: the two differ
 * only in what the session does with them. All processes forked from one worker share a seccomp
 * filter and with it one listener, so they share one struct listener. */
#ifndef ECLAVE_SUPERVISOR_PROCESS_WORKER_PROCESS_H
#define ECLAVE_SUPERVISOR_PROCESS_WORKER_PROCESS_H

#include "common/buffer.h"
#include "common/frame.h"
#include "supervisor/base/log.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/usage.h"
#include <stdbool.h>
#include <sys/types.h>

enum worker_state {
    WORKER_STARTING, /* asked for; its pid is not proven yet */
    WORKER_READY,    /* confined and waiting for a frame */
    WORKER_BUSY,     /* evaluating */
    WORKER_ASKING,   /* in the middle of a run, waiting for an answer */
    WORKER_FORKING,  /* asked for a child that has not announced itself yet */
    WORKER_ENDING    /* killed or gone; waiting to be reaped */
};

struct worker_process;
struct workers;

/* What a worker's owner is told. Only `ended` may destroy the worker. */
struct worker_events {
    /* STARTING or FORKING is over and it waits for frames. */
    void (*ready)(void *context, struct worker_process *worker);
    /* A whole FRAME_RESULT for the running call; PAYLOAD is valid during the call only. */
    void (*result)(void *context, struct worker_process *worker, const unsigned char *payload,
                   size_t size);
    /* A whole FRAME_EVENT or FRAME_ASK of the run that it works on; PAYLOAD likewise. After a
     * question it waits for worker_answer. */
    void (*event)(void *context, struct worker_process *worker, const unsigned char *payload,
                  size_t size);
    void (*ask)(void *context, struct worker_process *worker, const unsigned char *payload,
                size_t size);
    /* The fork that was asked for came to nothing; the worker itself is ready again or ending. */
    void (*fork_failed)(void *context, struct worker_process *worker, const char *what);
    /* It sent what no worker sends, or closed its channel; it is already being killed. */
    void (*malformed)(void *context, struct worker_process *worker, const char *what);
    /* A notified call that the policy kills for; the worker is already being killed. */
    void (*violation)(void *context, struct worker_process *worker, const char *call_name);
    /* Reaped. STATUS as from waitpid; 0 for one that was given up before its pid was proven. */
    void (*ended)(void *context, struct worker_process *worker, int status);
};

enum { LISTENER_TIED_MAX = 8 }; /* forks of one worker that announce themselves at the same time */

/* The listener that a worker and all its forks have in common. */
struct listener {
    struct workers *workers;
    struct loop_watch watch;
    int fd;       /* -1 when degraded */
    pid_t leader; /* of the first member; the session id of all of them; 0 until proven */
    /* Forks that have not announced themselves and were seen to set their death signal. */
    pid_t tied[LISTENER_TIED_MAX];
    size_t tied_next;
    size_t members;
};

struct worker_process {
    struct workers *workers;
    enum worker_state state;
    pid_t pid;     /* 0 until proven by the kernel */
    bool reaped;   /* the pid may be another's by now: never signalled again */
    uint32_t call; /* number of the running call */
    bool runs;     /* that one is a run, and may send events and ask */
    int channel;
    struct loop_watch channel_watch;
    struct frame_header header; /* of the frame that is arriving */
    size_t header_have;
    unsigned char *payload;
    size_t payload_have;
    struct buffer outgoing;
    struct loop_timer timer; /* kill, or the limit of a fork */
    struct listener *listener;
    struct worker_process *parent; /* while STARTING as a fork */
    struct worker_process *child;  /* while FORKING */
    bool is_fork;                  /* came from another worker, not from the zygote */
    bool clone_expected;           /* FORKING, and the one clone has not been made yet */
    size_t notified;               /* system calls that the listener saw since the call began */
    unsigned stray_looks;          /* how often the look for its strays was put off */
    struct usage usage;            /* once reaped */
    const struct worker_events *events;
    void *context;
    const char *session; /* for traces: the name of the session that owns it; NULL: none */
    struct worker_process *next;
};

/* All workers there are; one table, so that a pid finds its process. */
struct workers {
    struct loop *loop;
    struct log *log;
    struct worker_process *first;
    uint32_t grants; /* of policy/policy.h, to all of them */
    pid_t zygote;    /* a child that is not among them */
};

/* A worker in state STARTING. *their_channel is the end that the zygote is to give it; the
 * caller's to close. NULL with *error. */
struct worker_process *worker_create(struct workers *workers, const struct worker_events *events,
                                     void *context, int *their_channel, struct error *error);

/* Asks PARENT, which must be READY, for a fork of itself and returns the child, in state STARTING.
 * OUTPUTS are the write ends of another session's pipes, or NULL: then the child shares those of
 * its parent. NULL with *error; then nothing was asked. */
struct worker_process *worker_fork(struct worker_process *parent,
                                   const struct worker_events *events, void *context,
                                   const char *session, const int outputs[2], struct error *error);
/* Can it be forked at all? Not without a listener. */
bool worker_can_fork(const struct worker_process *worker);

/* Changes who receives the events. SESSION is the owner's name, for traces; it must outlive the
 * ownership. NULL: no session. */
void worker_set_owner(struct worker_process *worker, const struct worker_events *events,
                      void *context, const char *session);

/* Sends one evaluation (the payload of a FRAME_EVALUATE) and makes the worker busy with CALL. False
 * when out of memory: nothing was sent. */
bool worker_evaluate(struct worker_process *worker, uint32_t call, const struct buffer *payload);

/* The same for the payload of a FRAME_RUN. */
bool worker_run(struct worker_process *worker, uint32_t call, const struct buffer *payload);
/* Answers the question that the worker asked. False when it waits for none, or with no memory. */
bool worker_answer(struct worker_process *worker, struct span answer);

/* Kills at once. Tells nobody before `ended`. */
void worker_kill(struct worker_process *worker);
/* Asks the worker to write out what it still holds of its output and to end, and kills it a moment
 * later when it has not. For time-outs, so that text printed before is not lost. */
void worker_stop(struct worker_process *worker);

/* Resident memory in bytes, 0 when it cannot be read. */
size_t worker_resident_bytes(const struct worker_process *worker);
/* Its proportional share of memory in bytes: what would be free without it. Falls back to the
 * resident memory (then *exact is false) where the kernel does not tell. */
size_t worker_proportional_bytes(const struct worker_process *worker, bool *exact);

/* Finds by pid; NULL. */
struct worker_process *workers_find(const struct workers *workers, pid_t pid);
/* Kills every worker, known or not. The caller reaps. */
void workers_kill_all(const struct workers *workers);
/* Called by who reaps: that worker has ended, and the kernel counted USAGE. */
void worker_reaped(struct worker_process *worker, int status, struct usage usage);

/* Frees everything. The process must have been reaped, or never have been proven. */
void worker_destroy(struct worker_process *worker);

#endif
