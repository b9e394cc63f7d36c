/* Lines to the client. Everything that leaves passes this gate: it checks that a line is one JSON
 * object or array in UTF-8, has no newline inside and is not over response.max_bytes, and replaces
 * a bad line by a -32603. A long line is checked in slices before it is written. Writing never
 * blocks, and a line is not split while the whole can be written. */
#ifndef ECLAVE_SUPERVISOR_MCP_OUTPUT_H
#define ECLAVE_SUPERVISOR_MCP_OUTPUT_H

#include "common/buffer.h"
#include "supervisor/base/log.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/stdio.h"
#include "supervisor/json/json_inspect.h"
#include "supervisor/settings/settings.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

enum output_end {
    OUTPUT_OPEN,
    OUTPUT_LOST,   /* it cannot be written: exit status 70 */
    OUTPUT_CORRUPT /* corruption.threshold was reached: exit status 2 */
};

/* A long line of the queue that is being checked in slices. Nothing from its start on is sent. */
struct unchecked_line {
    TAILQ_ENTRY(unchecked_line) entry;
    size_t start, length; /* in the queue */
    struct json_inspector inspector;
    struct json_shape shape;
    struct buffer request_id;
    bool has_id;
};

struct output {
    struct loop *loop;
    struct log *log;
    const struct settings *settings;
    struct stream stream;
    struct loop_watch watch;
    struct loop_timer retry;
    struct buffer queue;
    size_t sent;                            /* bytes of queue that are already written */
    size_t line_start;                      /* offset of the line being built */
    TAILQ_HEAD(, unchecked_line) unchecked; /* in the order of the queue */
    int64_t *incidents_ns;                  /* ring of corruption.threshold times */
    size_t incident_count;
    enum output_end end;
    int failure;                      /* errno of the last write that failed; or 0 */
    void (*on_change)(void *context); /* the backlog changed, or the output ended */
    void *context;
};

bool output_open(struct output *output, struct loop *loop, struct log *log,
                 const struct settings *settings, void (*on_change)(void *context), void *context,
                 struct error *error);
void output_close(struct output *output);

/* Begins a line. The caller appends one JSON object to the returned buffer and calls
 * output_line_end. One line is built at a time. */
struct buffer *output_line_begin(struct output *output);

/* Begins a notification; the caller appends the members of `params`. */
struct buffer *output_notification_begin(struct output *output, const char *method);
void output_notification_end(struct output *output);

/* Ends the line. REQUEST_ID is the raw JSON of the id that it answers; bytes NULL when it answers
 * none, and then a bad line is dropped. */
void output_line_end(struct output *output, struct span request_id);

/* Checks TEXT, the response to REQUEST_ID, as a line is checked, and appends to OUT either TEXT or
 * the error that replaces it. TRUNCATED: not all of the response fitted. For elements of a batch.
 */
void output_check(struct output *output, struct buffer *out, struct span text, bool truncated,
                  struct span request_id);

/* Writes what the reader takes now, up to a bound while the output is open. Called once in each
 * round of the loop, and at the end. */
void output_flush(struct output *output);

/* Bytes that the reader has not taken yet. */
size_t output_backlog(const struct output *output);
/* The backlog is so large that nothing more should be read, started or sent until it shrinks. */
bool output_is_behind(const struct output *output);

#endif
