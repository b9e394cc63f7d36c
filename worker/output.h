/* The worker's standard output and standard error: two sinks in front of descriptors 1 and 2,
 * 64 KiB each. What is printed leaves when a buffer is full, on FINISH-OUTPUT, before each answer,
 * at exit, and when the process is told to go: the supervisor sends SIGUSR1 at a time-out, and the
 * handler writes out what the buffers still hold and ends the process with status 0. A SIGTERM
 * still kills. A failed write loses the bytes; it is never reported to Lisp. */
#ifndef ECLAVE_WORKER_OUTPUT_H
#define ECLAVE_WORKER_OUTPUT_H

#include "worker/sink.h"

#include <signal.h>

enum {
    OUTPUT_BUFFER_BYTES = 64 * 1024,
    OUTPUT_LAST_WORDS = SIGUSR1 /* the signal after which the process has no more to say */
};

/* The streams; made once, in the zygote, and kept for ever. */
cl_object output_standard(void);
cl_object output_error(void);

/* Makes the two streams. Needs a booted ECL. */
void output_open(void);

/* Writes out both buffers. */
void output_flush(void);

/* Forgets what both buffers hold: for what the zygote printed while it warmed up. */
void output_discard(void);

/* The same as output_flush, callable from a signal handler, which must not return to Lisp. */
void output_last_words(void);

#endif
