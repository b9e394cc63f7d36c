/* One worker process as the supervisor sees it: its channel, its two pipes, its seccomp listener
 * and its death. Everything that comes from it is hostile. This file moves bytes and counts them;
 * what an ending means is decided in call.c. */
#ifndef ECLAVE_SUPERVISOR_WORKER_PROCESS_H
#define ECLAVE_SUPERVISOR_WORKER_PROCESS_H

#include "common/buffer.h"
#include "common/frame.h"
#include "policy/policy.h"
#include "supervisor/log.h"
#include "supervisor/loop.h"
#include "supervisor/settings.h"
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

enum worker_state {
    WORKER_STARTING, /* asked for; its pid is not proven yet */
    WORKER_READY,    /* confined and waiting for a call */
    WORKER_BUSY,     /* evaluating */
    WORKER_ENDING    /* killed or gone; waiting to be reaped */
};

struct worker_process;
struct captured_stream;

/* What a worker's owner is told. Only `ended` may destroy the worker. */
struct worker_events {
    void (*ready)(void *context, struct worker_process *worker);
    /* A whole FRAME_RESULT for the running call; PAYLOAD is valid during the call only. */
    void (*result)(void *context, struct worker_process *worker, const unsigned char *payload,
                   size_t size);
    /* It sent what no worker sends, or closed its channel. The sender is already being killed. */
    void (*malformed)(void *context, struct worker_process *worker, const char *what);
    /* A notified call that the policy kills for; the worker is already being killed. */
    void (*violation)(void *context, struct worker_process *worker, const char *call_name);
    /* STREAM went over its limit; the worker is already being killed. */
    void (*flooded)(void *context, struct worker_process *worker,
                    const struct captured_stream *stream);
    /* Reaped, and all that it wrote has been read. STATUS as from waitpid; 0 for one that was
     * given up before its pid was proven. */
    void (*ended)(void *context, struct worker_process *worker, int status);
};

struct captured_stream {
    struct worker_process *worker;
    const char *name; /* "stdout" or "stderr" */
    int fd;
    struct loop_watch watch;
    struct buffer bytes;
    size_t limit;
};

struct worker_process {
    struct loop *loop;
    struct log *log;
    enum worker_state state;
    pid_t pid;     /* 0 until proven by the kernel */
    uint32_t call; /* number of the running call */
    int channel, listener;
    struct loop_watch channel_watch, listener_watch;
    struct captured_stream output, error_output;
    /* The frame that is arriving. */
    struct frame_header header;
    size_t header_have;
    unsigned char *payload;
    size_t payload_have;
    struct buffer outgoing;
    struct loop_timer kill_timer;
    size_t refusals; /* refused system calls of this call */
    const struct worker_events *events;
    void *context;
    struct worker_process *next;
};

/* The descriptors a new worker is to get, made by worker_create: its channel end, and the write
 * ends of its standard output and error output. The caller passes them on and closes them. */
struct worker_ends {
    int channel, output, error_output;
};

/* A worker in state STARTING, and what to give to the zygote. NULL with *error. */
struct worker_process *worker_create(struct loop *loop, struct log *log,
                                     const struct settings *settings,
                                     const struct worker_events *events, void *context,
                                     struct worker_ends *ends, struct error *error);
/* Changes who is told. */
void worker_set_owner(struct worker_process *worker, const struct worker_events *events,
                      void *context);

/* Sends one evaluation (the payload of a FRAME_EVALUATE) and makes the worker busy with CALL. */
void worker_evaluate(struct worker_process *worker, uint32_t call, const struct buffer *payload);

/* Gives back the memory of what was captured. */
void worker_forget_output(struct worker_process *worker);

/* Kills at once. */
void worker_kill(struct worker_process *worker);
/* Asks the worker to write out what it still holds of its output and to end, and kills it a moment
 * later when it has not. For time-outs, so that text printed before is not lost. */
void worker_stop(struct worker_process *worker);

/* Resident memory in bytes, 0 when it cannot be read. */
size_t worker_resident_bytes(const struct worker_process *worker);

/* Called by who reaps: the worker with that pid has ended. */
void worker_reaped(struct worker_process *worker, int status);

/* Reads what is still in the pipes. */
void worker_drain(struct worker_process *worker);

/* Frees everything. The process must have been reaped, or never have been proven. */
void worker_destroy(struct worker_process *worker);

#endif
