/* Plays the supervisor for one zygote and its workers, so that the worker can be tested without the
 * rest of the server: spawns, evaluates, answers the seccomp listener from the policy, captures the
 * output, and tells how a call ended. Must run in a pid namespace of its own when the code is
 * hostile; signals only processes that it was given by the kernel. */
#ifndef ECLAVE_TESTS_WORKER_DRIVER_H
#define ECLAVE_TESTS_WORKER_DRIVER_H

#include "common/buffer.h"
#include "common/frame.h"
#include "common/message.h"

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

struct zygote_end {
    pid_t pid;
    int control;
};

struct worker_end {
    pid_t pid;
    int channel, output, error, listener;
    uint32_t calls;
};

enum end_kind {
    END_RESULT,
    END_EXIT,      /* `number` is the status */
    END_SIGNAL,    /* `number` is the signal */
    END_VIOLATION, /* `text` is the call */
    END_TIMEOUT,
    END_FAILED,   /* FRAME_FAILED; `text` says why */
    END_MALFORMED /* a bad frame */
};

struct call_end {
    enum end_kind kind;
    int number;
    char text[256];
    unsigned char *payload; /* what `result` points into */
    struct result_message result;
    struct buffer output, error;
    struct buffer said; /* what a run said before its end: "event JSON" or "ask JSON", one a line */
    struct rusage used; /* when the process ended */
    double ms;
};

struct worker_configuration driver_configuration(void);

/* Starts PROGRAM as a zygote and waits until it has booted. False with *error. */
bool driver_start(struct zygote_end *zygote, const char *program,
                  const struct worker_configuration *configuration, struct error *error);

/* Ends the zygote by closing its socket. Returns its wait status. */
int driver_stop(struct zygote_end *zygote);

/* Spawns a worker and waits until it is confined. False with *error. */
bool driver_spawn(struct zygote_end *zygote, struct worker_end *worker, struct error *error);

enum {
    DRIVER_PATIENCE_MS = 60000
}; /* for a call that is to end by itself, on a busy machine too */

/* Both, of the worker under test and as it is configured usually; the test fails when they cannot
 * be had. */
struct zygote_end driver_zygote(void);
struct worker_end driver_worker(struct zygote_end *zygote);

/* Sends CODE (PACKAGE may be NULL) and waits for its end, TIMEOUT_MS at most; then the worker is
 * told to write out what it holds and is reaped. Free with call_end_free. */
void driver_call(struct worker_end *worker, const char *code, size_t length, const char *package,
                 int timeout_ms, struct call_end *end);

/* Sends MESSAGE likewise. Each question of the worker gets the next of ANSWERS, which a NULL ends;
 * beyond them none. */
void driver_run(struct worker_end *worker, const struct run_message *message,
                const char *const *answers, int timeout_ms, struct call_end *end);

/* Closes the channel and reaps. Returns the wait status; nothing when it has ended already. */
int driver_close(struct worker_end *worker);

void call_end_free(struct call_end *end);

#endif
