/* Lisp character output streams that write UTF-8 to memory owned by C (a sink), and the worker's
 * standard output and error. ECL's own streams make a system call or a chain of function calls for
 * each character, these a store. They signal no Lisp errors, and CLOSE by user code has no effect.
 */
#ifndef ECLAVE_WORKER_STREAMS_H
#define ECLAVE_WORKER_STREAMS_H

#include <ecl/ecl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

struct sink {
    unsigned char *bytes;
    size_t length;
    size_t capacity;
    size_t room;      /* characters that may still be kept; SIZE_MAX: any number */
    size_t dropped;   /* characters that were not kept */
    bool takes_bytes; /* the reader of the bytes repairs UTF-8, so WRITE-BYTE may write any */

    /* Makes room for at least SIZE more bytes by growing the memory or writing it out. False if it
     * cannot: the bytes are lost. */
    bool (*make_room)(struct sink *sink, size_t size);

    /* FINISH-OUTPUT and FORCE-OUTPUT; may be NULL. */
    void (*flush)(struct sink *sink);
};

/* A stream that writes to SINK, which must outlive it, and prints as NAME. The caller keeps the
 * stream reachable for the collector. */
cl_object streams_make(struct sink *sink, const char *name);

/* Standard output and error: descriptors 1 and 2, with a buffer of 64 KiB each. A buffer is written
 * when it is full, by FINISH-OUTPUT, before each result, at exit, and when the supervisor sends
 * STREAMS_END_SIGNAL at a time-out, whose handler then exits with status 0. A failed write loses
 * the bytes and is not reported to Lisp. */
enum { STREAMS_BUFFER_BYTES = 64 * 1024, STREAMS_END_SIGNAL = SIGUSR1 };

/* Makes both streams, the values of ECLAVE::*STDOUT* and ECLAVE::*STDERR*. Called once. */
void streams_open(void);

/* Writes both buffers. */
void streams_flush(void);

/* The same for signal handlers, which must not return to Lisp. */
void streams_write_rest(void);

/* Drops the contents of both buffers: output of the zygote's warm-up. */
/* The next output begins a line, whatever the last call has written. */
void streams_begin_call(void);
void streams_discard(void);

#endif
