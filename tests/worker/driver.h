/* Plays the supervisor for one zygote and its workers: spawns, evaluates, answers the seccomp
 * listener from the policy, captures the output, and reports how a call ended. */
#ifndef ECLAVE_TESTS_WORKER_DRIVER_H
#define ECLAVE_TESTS_WORKER_DRIVER_H

#include "common/buffer.h"
#include "common/frame.h"
#include "common/message.h"
#include "tests/support/span.h"

#include <stdbool.h>
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
    struct buffer sent; /* by a run before its end: "event JSON" or "ask JSON", one a line */
};

struct worker_configuration driver_configuration(void);

/* Starts the worker program as a zygote and waits until it has booted. False with *error. */
bool driver_start(struct zygote_end *started, const struct worker_configuration *configuration,
                  struct error *error);

/* The zygote and the worker of the running test, which these fixtures start and end. */
extern struct zygote_end zygote;
extern struct worker_end worker;
void driver_begin(void);
void driver_end(void);

/* Ends the worker and starts another one. */
void driver_renew(void);

/* Closes the channel, or the control socket, and reaps. Returns the wait status, 0 when it has
 * ended already. */
int driver_close(void);
int driver_stop(void);

enum { DRIVER_PATIENCE_MS = 60000 }; /* for a call that ends by itself, even on a busy machine */

/* Evaluates CODE in PACKAGE (NULL: the current one) and waits for the end, TIMEOUT_MS at most; then
 * the worker is made to flush its output and is killed. The result is valid until the next call. */
const struct call_end *driver_call(const char *code, const char *package, int timeout_ms);

/* The same for MESSAGE. Each question of the worker gets the next of ANSWERS, which end with NULL;
 * later questions get no answer. */
const struct call_end *driver_run(const struct run_message *message, const char *const *answers,
                                  int timeout_ms);

bool buffer_is(const struct buffer *buffer, const char *string);

/* Prints the end of a call on stderr. */
void driver_describe(const struct call_end *end);

#endif
