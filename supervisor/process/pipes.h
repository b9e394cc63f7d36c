/* What one session prints: the reading ends of its standard output and error output, always
 * drained, counted while read. All processes of a session share them, and only the one that
 * evaluates is listened to. */
#ifndef ECLAVE_SUPERVISOR_PROCESS_PIPES_H
#define ECLAVE_SUPERVISOR_PROCESS_PIPES_H

#include "common/buffer.h"
#include "supervisor/base/loop.h"
#include "supervisor/settings/settings.h"
#include <stdbool.h>

struct pipes;

struct captured_stream {
    struct pipes *pipes;
    const char *name, *setting; /* "stdout" or "stderr"; what limits it */
    int fd;                     /* -1 when nobody holds the other end any more */
    struct loop_watch watch;
    struct buffer bytes;
    size_t limit; /* bytes */
};

struct pipes {
    struct loop *loop;
    struct captured_stream output, error_output;
    bool capturing; /* between the start of a call and its end; otherwise bytes are dropped */
    /* STREAM went over its limit; called once a call. */
    void (*flooded)(void *context, const struct captured_stream *stream);
    void *context;
    bool flood_told;
};

/* Makes the pipes. WRITE_ENDS (standard output, error output) go to the zygote or to a fork and
 * are the caller's to close. NULL with *error. */
struct pipes *pipes_open(struct loop *loop, const struct settings *settings, int write_ends[2],
                         struct error *error);
/* OUTLET may be NULL. */
void pipes_close(struct pipes *pipes);

/* Begins to capture for a call, from nothing; what is left of earlier ones is dropped. */
void pipes_begin(struct pipes *pipes,
                 void (*flooded)(void *context, const struct captured_stream *stream),
                 void *context);
/* Reads what is in the pipes now. Bounded: something that writes without end holds nobody here. */
void pipes_drain(struct pipes *pipes);
/* Ends capturing and gives the memory back. */
void pipes_end(struct pipes *pipes);

/* What was captured, at most the limit; valid until pipes_end. */
struct span pipes_captured(const struct captured_stream *stream);

#endif
