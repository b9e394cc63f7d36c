/* Logging. Never blocks and never fails: a line that cannot be written now is counted and lost. */
#include "supervisor/log.h"
#include "common/buffer.h"
#include "supervisor/clock.h"
#include "supervisor/json_write.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

enum {
    LINES_PER_SECOND = 20,
    LINES_IN_A_BURST = 200,
    CAUSE_MAX_BYTES = 512,
    LINE_MAX_BYTES = 2048
};

static const char *const level_names[LOG_LEVEL_COUNT] = {
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"};

const char *log_level_name(enum log_level level) {
    return level_names[level];
}

int log_level_of(const char *name) {
    for (int level = 0; level < LOG_LEVEL_COUNT; level++)
        if (strcasecmp(name, level_names[level]) == 0)
            return level;
    return -1;
}

void log_open(struct log *log, enum log_level least, bool json) {
    *log = (struct log){
        .least = least, .json = json, .rate = rate_make(LINES_PER_SECOND, LINES_IN_A_BURST)};
    if (!stream_open(&log->out, STDERR_FILENO, true, NULL))
        log->out.fd = -1;
}

void log_close(struct log *log) {
    stream_close(&log->out);
}

static void format_text(struct buffer *line, const struct log *log, const struct log_event *event,
                        const char *cause) {
    buffer_append_format(line, "eclave: %s: %s", log_level_name(event->level), event->name);
    if (event->session)
        buffer_append_format(line, " session=%s", event->session);
    if (event->call)
        buffer_append_format(line, " call=%u", event->call);
    if (*cause)
        buffer_append_format(line, ": %s", cause);
    if (log->dropped)
        buffer_append_format(line, " (%llu lines dropped)", (unsigned long long)log->dropped);
}

static void format_json(struct buffer *line, const struct log *log, const struct log_event *event,
                        const char *cause) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    struct tm utc;
    char stamp[32] = "";
    if (gmtime_r(&now.tv_sec, &utc))
        strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &utc);
    buffer_append_format(line, "{\"time\":\"%s.%03ldZ\",\"level\":\"%s\",\"event\":", stamp,
                         now.tv_nsec / CLOCK_NS_PER_MS, log_level_name(event->level));
    json_write_string(line, event->name);
    if (event->session) {
        buffer_append_text(line, ",\"session\":");
        json_write_string(line, event->session);
    }
    if (event->call)
        buffer_append_format(line, ",\"call\":%u", event->call);
    buffer_append_text(line, ",\"cause\":");
    json_write_string(line, cause);
    if (log->dropped)
        buffer_append_format(line, ",\"dropped\":%llu", (unsigned long long)log->dropped);
    buffer_append_text(line, "}");
}

void log_write(struct log *log, const struct log_event *event, const char *cause_format, ...) {
    char cause[CAUSE_MAX_BYTES];
    va_list arguments;
    va_start(arguments, cause_format);
    vsnprintf(cause, sizeof cause, cause_format, arguments);
    va_end(arguments);
    for (char *byte = cause; *byte; byte++)
        if (iscntrl((unsigned char)*byte))
            *byte = ' ';
    if (log->hook)
        log->hook(log->hook_context, event, cause);
    if (event->level < log->least || log->out.fd < 0)
        return;
    if (!rate_take(&log->rate)) {
        log->dropped++;
        return;
    }
    cleanup_buffer struct buffer line = buffer_make(LINE_MAX_BYTES);
    (log->json ? format_json : format_text)(&line, log, event, cause);
    buffer_append_text(&line, "\n");
    if (!line.failed && stream_write(&log->out, line.data, line.length) == (ssize_t)line.length)
        log->dropped = 0;
    else
        log->dropped++;
}
