/* Lines to the client: the one gate through which everything leaves. It checks each line as a
 * stranger would (one JSON object, UTF-8, no newline inside, not over response.max_bytes) and puts
 * a safe -32603 in the place of a bad one; it queues, never blocks and never writes half a line
 * when the whole can be written. */
#ifndef ECLAVE_SUPERVISOR_MCP_OUTPUT_H
#define ECLAVE_SUPERVISOR_MCP_OUTPUT_H

#include "common/buffer.h"
#include "supervisor/base/log.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/stdio.h"
#include "supervisor/settings/settings.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum output_end {
    OUTPUT_OPEN,
    OUTPUT_PEER_GONE, /* the reader closed: end quietly */
    OUTPUT_CORRUPT    /* corruption.threshold reached: exit status 2 */
};

struct output {
    struct loop *loop;
    struct log *log;
    const struct settings *settings;
    struct stream stream;
    struct loop_watch watch;
    struct loop_timer retry;
    struct buffer queue;
    size_t sent;           /* bytes of queue already written */
    size_t line_start;     /* offset of the line being built */
    int64_t *incidents_ns; /* ring of corruption.threshold times */
    size_t incident_count;
    enum output_end end;
    void (*on_change)(void *context); /* the backlog grew or shrank, or the output ended */
    void *context;
};

bool output_open(struct output *output, struct loop *loop, struct log *log,
                 const struct settings *settings, void (*on_change)(void *context), void *context,
                 struct error *error);
void output_close(struct output *output);

/* Begins a line; the caller appends one JSON object to the returned buffer and then calls
 * output_line_end. Lines are built one at a time. */
struct buffer *output_line_begin(struct output *output);

/* Begins a notification; the caller appends the members of `params`. */
struct buffer *output_notification_begin(struct output *output, const char *method);
void output_notification_end(struct output *output);

/* Ends the line. REQUEST_ID is the raw JSON text of the id that it answers (bytes NULL when it
 * answers none: then a bad line is dropped). */
void output_line_end(struct output *output, struct span request_id);

/* Checks TEXT, a response to REQUEST_ID, as the gate would (TRUNCATED: there was no room for all of
 * it) and appends to OUT either it or the error in its place. For the elements of a batch, which
 * leave together. */
void output_check(struct output *output, struct buffer *out, struct span text, bool truncated,
                  struct span request_id);

/* Writes what can be written now, at most a part of it while the output is open: the loop goes on
 * with the rest. Called once a round of the loop, and at the end. */
void output_flush(struct output *output);

/* Bytes not yet taken by the reader. */
size_t output_backlog(const struct output *output);
/* So many that nothing should be read, begun or told before the reader has taken some. */
bool output_is_behind(const struct output *output);

#endif
