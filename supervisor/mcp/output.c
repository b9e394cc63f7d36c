/* The gate that checks each line, and the queue after it. */
#include "supervisor/mcp/output.h"
#include "supervisor/base/clock.h"
#include "supervisor/json/json_inspect.h"
#include "supervisor/json/json_write.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    KEEP_BYTES = 256 * 1024,
    SLACK_BYTES = 4096, /* room after a full line for the error that replaces it */
    ERROR_BYTES = 256,  /* upper bound of that error without its id */
    COMPACT_BYTES = 1 << 20,
    FLUSH_BYTES = 1 << 20,  /* written in one go, so that a fast reader does not delay the loop */
    LONG_BYTES = 256 << 10, /* longer than any error that replaces a line */
    CHECK_BYTES = 256 << 10,
    RETRY_MS = 250
};

/* Only running calls add lines, and none starts above the high-water mark. */
static const size_t queue_max = (size_t)4 << 30;

static void on_writable(void *context, uint32_t events) {
    (void)events;
    output_flush(context);
}

static void on_retry(void *context) {
    output_flush(context);
}

bool output_open(struct output *output, struct loop *loop, struct log *log,
                 const struct settings *settings, void (*on_change)(void *context), void *context,
                 struct error *error) {
    *output = (struct output){.loop = loop,
                              .stream.fd = -1,
                              .log = log,
                              .settings = settings,
                              .queue = buffer_make(queue_max),
                              .on_change = on_change,
                              .context = context};
    TAILQ_INIT(&output->unchecked);
    output->incidents_ns =
        calloc((size_t)settings->corruption_threshold, sizeof *output->incidents_ns);
    if (!output->incidents_ns)
        return error_set(error, ENOMEM, "output");
    if (!stream_open(&output->stream, STDOUT_FILENO, true, error))
        return false;
    return loop_watch_add(loop, &output->watch, output->stream.fd, EPOLLOUT, on_writable, output,
                          error);
}

static void forget_line(struct output *output, struct unchecked_line *line) {
    TAILQ_REMOVE(&output->unchecked, line, entry);
    buffer_free(&line->request_id);
    free(line);
}

void output_close(struct output *output) {
    if (!output->loop)
        return;
    loop_timer_stop(output->loop, &output->retry);
    loop_watch_remove(output->loop, &output->watch);
    stream_close(&output->stream);
    while (!TAILQ_EMPTY(&output->unchecked))
        forget_line(output, TAILQ_FIRST(&output->unchecked));
    buffer_free(&output->queue);
    free(output->incidents_ns);
    output->incidents_ns = NULL;
}

size_t output_backlog(const struct output *output) {
    return output->queue.length - output->sent;
}

bool output_is_behind(const struct output *output) {
    enum { HIGH_WATER_BYTES = 1 << 20 };
    return output_backlog(output) > HIGH_WATER_BYTES;
}

static void end_output(struct output *output, enum output_end end) {
    if (output->end != OUTPUT_OPEN)
        return;
    output->end = end;
    loop_watch_remove(output->loop, &output->watch);
    loop_timer_stop(output->loop, &output->retry);
    output->on_change(output->context);
}

/* Counts a bad line or a failed write. At the threshold within the window the output ends, as END.
 */
static void count_incident(struct output *output, const char *cause, enum output_end end) {
    const struct log_event event = {.level = LOG_ERROR_LEVEL, .name = "output-corruption"};
    log_write(output->log, &event, "%s", cause);
    size_t threshold = (size_t)output->settings->corruption_threshold;
    int64_t now_ns = clock_now_ns();
    /* The ring has THRESHOLD slots: after this store the next slot holds the oldest incident. */
    output->incidents_ns[output->incident_count++ % threshold] = now_ns;
    if (output->incident_count < threshold)
        return;
    int64_t oldest_ns = output->incidents_ns[output->incident_count % threshold];
    if (now_ns - oldest_ns <= output->settings->corruption_window_s * 1000 * CLOCK_NS_PER_MS) {
        log_write(output->log, &event, "exiting after %zu incidents within %lld s", threshold,
                  (long long)output->settings->corruption_window_s);
        end_output(output, end);
    }
}

static const struct json_limits line_limits = {.depth = JSON_DEPTH_MAX};

static const char *json_problem(enum json_fault fault, const struct json_shape *shape) {
    switch (fault) {
    case JSON_FINE:
        return shape->kind == JSON_OBJECT || shape->kind == JSON_ARRAY ? NULL : "not an object";
    case JSON_NOT_UTF8:
        return "a line that is not UTF-8";
    default:
        return "a line that is not JSON";
    }
}

/* What is wrong with a line besides its JSON, or NULL. *oversize is set when it is only too long.
 */
static const char *form_problem(const struct output *output, struct span line, bool truncated,
                                bool *oversize) {
    *oversize = truncated || line.length > (size_t)output->settings->response_max_bytes;
    if (*oversize)
        return "response over response.max_bytes";
    if (memchr(line.bytes, '\n', line.length) || memchr(line.bytes, '\r', line.length))
        return "a newline inside a line";
    return NULL;
}

/* What is wrong with a line, or NULL. */
static const char *line_problem(const struct output *output, struct span line, bool truncated,
                                bool *oversize) {
    const char *problem = form_problem(output, line, truncated, oversize);
    struct json_shape shape;
    return problem
               ? problem
               : json_problem(json_inspect(line.bytes, line.length, line_limits, &shape), &shape);
}

static void append_error(struct buffer *out, const struct output *output, struct span request_id,
                         bool oversize) {
    buffer_append_text(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    bool fits = request_id.bytes &&
                request_id.length + ERROR_BYTES < (size_t)output->settings->response_max_bytes;
    if (fits)
        buffer_append(out, request_id.bytes, request_id.length);
    else
        buffer_append_text(out, "null");
    if (oversize)
        buffer_append_format(out,
                             ",\"error\":{\"code\":-32603,\"message\":\"Response exceeded the size "
                             "limit.\",\"data\":{\"limit\":%lld,\"name\":\"response.max_bytes\"}}}",
                             (long long)output->settings->response_max_bytes);
    else
        buffer_append_text(out,
                           ",\"error\":{\"code\":-32603,\"message\":\"The response was corrupt "
                           "and has been withheld.\"}}");
}

static void report_problem(struct output *output, const char *problem, bool oversize) {
    if (oversize) {
        const struct log_event event = {.level = LOG_ERROR_LEVEL, .name = "limit"};
        log_write(output->log, &event, "%s", problem);
    } else {
        count_incident(output, problem, OUTPUT_CORRUPT);
    }
}

struct buffer *output_line_begin(struct output *output) {
    output->line_start = output->queue.length;
    output->queue.maximum =
        output->line_start + (size_t)output->settings->response_max_bytes + SLACK_BYTES;
    return &output->queue;
}

/* --- long lines --- */

/* Lets the line that has just been built be checked in slices. False when out of memory. */
static bool check_later(struct output *output, struct span text, struct span request_id) {
    struct unchecked_line *line = calloc(1, sizeof *line);
    if (!line)
        return false;
    line->start = output->line_start;
    line->length = text.length;
    line->request_id = buffer_make(request_id.length);
    line->has_id = request_id.bytes != NULL;
    TAILQ_INSERT_TAIL(&output->unchecked, line, entry);
    if (!buffer_append(&line->request_id, request_id.bytes, request_id.length)) {
        forget_line(output, line);
        return false;
    }
    json_inspector_begin(&line->inspector, text.bytes, text.length, line_limits, &line->shape);
    return true;
}

/* Replaces a bad line in the middle of the queue by an error, or by nothing. */
static void replace_line(struct output *output, struct unchecked_line *line) {
    struct buffer *queue = &output->queue;
    cleanup_buffer struct buffer error = buffer_make(LONG_BYTES);
    if (line->has_id)
        append_error(&error, output, (struct span){line->request_id.data, line->request_id.length},
                     false);
    size_t taken = line->length + !error.length; /* without an error, its newline too */
    if (error.length)
        memcpy(queue->data + line->start, error.data, error.length);
    unsigned char *rest = queue->data + line->start + taken;
    memmove(queue->data + line->start + error.length, rest, queue->length - line->start - taken);
    queue->length -= taken - error.length;
    for (struct unchecked_line *next = TAILQ_NEXT(line, entry); next;
         next = TAILQ_NEXT(next, entry))
        next->start -= taken - error.length;
}

/* Checks the next slice of the first long line. */
static void check_slice(struct output *output) {
    struct unchecked_line *line = TAILQ_FIRST(&output->unchecked);
    enum json_fault fault;
    line->inspector.text = output->queue.data + line->start; /* the queue may have moved */
    if (json_inspector_step(&line->inspector, CHECK_BYTES, &fault))
        return;
    const char *problem = json_problem(fault, &line->shape);
    if (problem)
        replace_line(output, line);
    forget_line(output, line);
    if (problem) /* last, because it may write a line itself */
        count_incident(output, problem, OUTPUT_CORRUPT);
}

void output_line_end(struct output *output, struct span request_id) {
    struct buffer *queue = &output->queue;
    struct span line = {queue->data + output->line_start, queue->length - output->line_start};
    bool oversize = false;
    const char *problem = form_problem(output, line, queue->failed, &oversize);
    if (!problem && (line.length <= LONG_BYTES || !check_later(output, line, request_id)))
        problem = line_problem(output, line, false, &oversize);
    queue->failed = false;
    queue->maximum = queue_max;
    if (problem) {
        queue->length = output->line_start;
        if (request_id.bytes)
            append_error(queue, output, request_id, oversize);
    }
    if (queue->length > output->line_start)
        buffer_append(queue, "\n", 1);
    if (problem)
        report_problem(output, problem, oversize); /* last, because it may write a line itself */
}

struct buffer *output_notification_begin(struct output *output, const char *method) {
    struct buffer *out = output_line_begin(output);
    buffer_append_format(out, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":{", method);
    return out;
}

void output_notification_end(struct output *output) {
    buffer_append_text(&output->queue, "}}");
    output_line_end(output, (struct span){0});
}

void output_check(struct output *output, struct buffer *out, struct span text, bool truncated,
                  struct span request_id) {
    bool oversize = false;
    const char *problem = line_problem(output, text, truncated, &oversize);
    if (!problem) {
        buffer_append(out, text.bytes, text.length);
        return;
    }
    append_error(out, output, request_id, oversize);
    report_problem(output, problem, oversize);
}

/* EPIPE and the like end the output. Any other failure (a full disk) is counted and retried, so
 * that a partly written line can still be completed. */
static void write_failed(struct output *output, int code) {
    output->failure = code;
    if (code == EPIPE || code == ECONNRESET || code == EBADF) {
        end_output(output, OUTPUT_LOST);
        return;
    }
    char cause[80];
    snprintf(cause, sizeof cause, "writing failed: %s", strerror(code));
    count_incident(output, cause, OUTPUT_LOST);
    if (output->end == OUTPUT_OPEN)
        loop_timer_start(output->loop, &output->retry, RETRY_MS, on_retry, output);
}

void output_flush(struct output *output) {
    struct buffer *queue = &output->queue;
    bool blocked = output->retry.active;
    size_t before = output_backlog(output);
    while (!TAILQ_EMPTY(&output->unchecked)) {
        check_slice(output);
        if (output->end == OUTPUT_OPEN)
            break;
    }
    const struct unchecked_line *unchecked = TAILQ_FIRST(&output->unchecked);
    const size_t held = unchecked ? queue->length - unchecked->start : 0;
    /* Lines queued before the output ended for corruption are checked, and are still written. */
    const size_t now = output_backlog(output);
    size_t least =
        output->end == OUTPUT_OPEN && now > held + FLUSH_BYTES ? now - FLUSH_BYTES : held;
    while (output->end != OUTPUT_LOST && !blocked && output_backlog(output) > least) {
        ssize_t written = stream_write(&output->stream, queue->data + output->sent,
                                       output_backlog(output) - least);
        if (written > 0) {
            output->sent += (size_t)written;
        } else if (errno != EINTR) {
            blocked = true;
            if (written < 0 && errno != EAGAIN)
                write_failed(output, errno);
        }
    }
    if (output->sent == queue->length) {
        queue->length = output->sent = 0;
        buffer_shrink(queue, KEEP_BYTES);
    } else if (output->sent > COMPACT_BYTES && output->sent > queue->length / 2) {
        buffer_consume(queue, output->sent);
        struct unchecked_line *line;
        TAILQ_FOREACH(line, &output->unchecked, entry) {
            line->start -= output->sent;
        }
        output->sent = 0;
    }
    loop_watch_change(output->loop, &output->watch,
                      queue->length && !output->retry.active ? EPOLLOUT : 0);
    if (output_backlog(output) != before)
        output->on_change(output->context);
}
