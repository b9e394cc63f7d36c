/* A Lisp character output stream whose characters end up, as UTF-8, in memory that C owns. ECL's
 * own streams cost a system call or a chain of calls for each character; this one costs a store.
 * A sink never signals a Lisp error and never loses its memory to a CLOSE by user code. */
#ifndef ECLAVE_WORKER_SINK_H
#define ECLAVE_WORKER_SINK_H

#include <ecl/ecl.h>
#include <stdbool.h>
#include <stddef.h>

struct sink {
    unsigned char *bytes;
    size_t length;
    size_t capacity;
    size_t room;      /* characters that may still be kept; SIZE_MAX: any number */
    size_t dropped;   /* characters that came when there was no room */
    bool takes_bytes; /* whoever reads the bytes repairs them: WRITE-BYTE passes */

    /* Makes place for at least SIZE more bytes (growing, or emptying the memory elsewhere). False
     * when there is none: the bytes are lost. */
    bool (*make_place)(struct sink *sink, size_t size);

    /* FINISH-OUTPUT and FORCE-OUTPUT; may be NULL. */
    void (*flush)(struct sink *sink);
};

/* A stream that writes to SINK, which must outlive it. NAME is what the stream prints as. The
 * caller keeps the stream reachable for the collector. */
cl_object sink_stream_make(struct sink *sink, const char *name);

/* Appends one character, by its code. A surrogate becomes U+FFFD. */
void sink_put(struct sink *sink, ecl_character code);

#endif
