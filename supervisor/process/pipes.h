/* The output of a session: the reading ends of its standard output and error output. A head and its
 * forks share the pipes until the head is given new ones. They are always drained, and captured
 * only while a call runs. */
#ifndef ECLAVE_SUPERVISOR_PROCESS_PIPES_H
#define ECLAVE_SUPERVISOR_PROCESS_PIPES_H

#include "common/buffer.h"
#include "supervisor/base/loop.h"
#include "supervisor/settings/settings.h"
#include <stdbool.h>
#include <stdint.h>

struct pipes;

struct captured_stream {
    struct pipes *pipes;
    const char *name;    /* "stdout" or "stderr" */
    const char *setting; /* the setting of its limit */
    int fd;              /* -1: no process has the other end open */
    struct loop_watch watch;
    struct buffer bytes;
    size_t limit; /* bytes */
};

struct pipes {
    struct loop *loop;
    uint64_t serial; /* no two pipes of this process have the same */
    bool shared;     /* a process that is not stopped, and not the head, may still write to them */
    struct captured_stream output, error_output;
    bool capturing; /* a call runs; otherwise bytes are dropped */
    /* STREAM exceeded its limit; called at most once per call. */
    void (*flooded)(void *context, const struct captured_stream *stream);
    void *context;
    bool flood_reported;
};

/* Creates the pipes. WRITE_ENDS (standard output, error output) are for the zygote or a fork, and
 * the caller's to close. NULL with *error. */
struct pipes *pipes_open(struct loop *loop, const struct settings *settings, int write_ends[2],
                         struct error *error);
/* PIPES may be NULL. */
void pipes_close(struct pipes *pipes);

/* Drops the output of earlier calls and starts capturing. */
void pipes_begin(struct pipes *pipes,
                 void (*flooded)(void *context, const struct captured_stream *stream),
                 void *context);
/* Reads what the pipes hold now. */
void pipes_drain(struct pipes *pipes);
/* Stops capturing and frees the captured bytes. */
void pipes_end(struct pipes *pipes);

/* The captured bytes, at most the limit; valid until pipes_end. */
struct span pipes_captured(const struct captured_stream *stream);
/* Hands these bytes over with their memory, so that they need not be copied. The stream is empty
 * afterwards. */
struct buffer pipes_take(struct captured_stream *stream);

#endif
