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
    FLUSH_BYTES = 1 << 20, /* written in one go, so that a fast reader does not delay the loop */
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
    output->incidents_ns =
        calloc((size_t)settings->corruption_threshold, sizeof *output->incidents_ns);
    if (!output->incidents_ns)
        return error_set(error, ENOMEM, "output");
    if (!stream_open(&output->stream, STDOUT_FILENO, true, error))
        return false;
    return loop_watch_add(loop, &output->watch, output->stream.fd, EPOLLOUT, on_writable, output,
                          error);
}

void output_close(struct output *output) {
    if (!output->loop)
        return;
    loop_timer_stop(output->loop, &output->retry);
    loop_watch_remove(output->loop, &output->watch);
    stream_close(&output->stream);
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

/* Counts a bad line or a failed write. At the threshold within the window the output ends. */
static void count_incident(struct output *output, const char *cause) {
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
        end_output(output, OUTPUT_CORRUPT);
    }
}

/* What is wrong with a line, or NULL. *oversize is set when it is only too long. */
static const char *line_problem(const struct output *output, struct span line, bool truncated,
                                bool *oversize) {
    static const struct json_limits limits = {.depth = JSON_DEPTH_MAX};
    *oversize = truncated || line.length > (size_t)output->settings->response_max_bytes;
    if (*oversize)
        return "response over response.max_bytes";
    if (memchr(line.bytes, '\n', line.length) || memchr(line.bytes, '\r', line.length))
        return "a newline inside a line";
    struct json_shape shape;
    switch (json_inspect(line.bytes, line.length, limits, &shape)) {
    case JSON_FINE:
        return shape.kind == JSON_OBJECT || shape.kind == JSON_ARRAY ? NULL : "not an object";
    case JSON_NOT_UTF8:
        return "a line that is not UTF-8";
    default:
        return "a line that is not JSON";
    }
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
        count_incident(output, problem);
    }
}

struct buffer *output_line_begin(struct output *output) {
    output->line_start = output->queue.length;
    output->queue.maximum =
        output->line_start + (size_t)output->settings->response_max_bytes + SLACK_BYTES;
    return &output->queue;
}

void output_line_end(struct output *output, struct span request_id) {
    struct buffer *queue = &output->queue;
    struct span line = {queue->data + output->line_start, queue->length - output->line_start};
    bool oversize = false;
    const char *problem = line_problem(output, line, queue->failed, &oversize);
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
    if (code == EPIPE || code == ECONNRESET || code == EBADF) {
        end_output(output, OUTPUT_PEER_GONE);
        return;
    }
    char cause[80];
    snprintf(cause, sizeof cause, "writing failed: %s", strerror(code));
    count_incident(output, cause);
    if (output->end == OUTPUT_OPEN)
        loop_timer_start(output->loop, &output->retry, RETRY_MS, on_retry, output);
}

void output_flush(struct output *output) {
    struct buffer *queue = &output->queue;
    bool blocked = output->retry.active;
    size_t before = output_backlog(output);
    /* Lines queued before the output ended for corruption are checked, and are still written. */
    size_t least = output->end == OUTPUT_OPEN && before > FLUSH_BYTES ? before - FLUSH_BYTES : 0;
    while (output->end != OUTPUT_PEER_GONE && !blocked && output_backlog(output) > least) {
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
        output->sent = 0;
    }
    loop_watch_change(output->loop, &output->watch,
                      queue->length && !output->retry.active ? EPOLLOUT : 0);
    if (output_backlog(output) != before)
        output->on_change(output->context);
}
