/* Logging. */
#include "supervisor/base/log.h"
#include "common/buffer.h"
#include "common/utf8.h"
#include "supervisor/base/terminal.h"
#include "supervisor/json/json_write.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

enum {
    LINES_PER_MINUTE = 20 * 60,
    LINES_IN_A_BURST = 200,
    TRACES_PER_MINUTE = 2000 * 60,
    TRACES_IN_A_BURST = 10000,
    CAUSE_MAX_BYTES = 512,
    LINE_MAX_BYTES = 4096
};

#define COMMA ,
const char *const log_level_names[] = {LOG_LEVEL_NAMES(COMMA), NULL};

int log_level_of(const char *name) {
    for (int level = 0; level < LOG_LEVEL_COUNT; level++)
        if (strcasecmp(name, log_level_names[level]) == 0)
            return level;
    return -1;
}

void log_open(struct log *log, enum log_level least, enum log_format format) {
    *log = (struct log){.least = least,
                        .format = format,
                        .rate = rate_per_minute(LINES_PER_MINUTE, LINES_IN_A_BURST),
                        .trace_rate = rate_per_minute(TRACES_PER_MINUTE, TRACES_IN_A_BURST)};
    if (!stream_open(&log->out, STDERR_FILENO, true, NULL))
        log->out.fd = -1;
}

void log_close(struct log *log) {
    stream_close(&log->out);
}

static void format_text(struct buffer *line, const struct log *log, const struct log_event *event,
                        const char *cause) {
    buffer_append_format(line, "eclave: %s: %s", log_level_names[event->level], event->name);
    if (event->session)
        buffer_append_format(line, " session=%s", event->session);
    if (event->call)
        buffer_append_format(line, " call=%u", event->call);
    if (event->pid)
        buffer_append_format(line, " pid=%d", event->pid);
    if (*cause)
        buffer_append_format(line, ": %s", cause);
    if (log->dropped)
        buffer_append_format(line, " (%llu lines dropped)", (unsigned long long)log->dropped);
}

static void format_json(struct buffer *line, const struct log *log, const struct log_event *event,
                        const char *cause) {
    char stamp[CLOCK_UTC_BYTES];
    clock_write_utc(stamp, clock_realtime_ms());
    buffer_append_format(line, "{\"time\":\"%s\",\"level\":\"%s\",\"event\":", stamp,
                         log_level_names[event->level]);
    json_write_string(line, event->name);
    if (event->session) {
        buffer_append_text(line, ",\"session\":");
        json_write_string(line, event->session);
    }
    if (event->call)
        buffer_append_format(line, ",\"call\":%u", event->call);
    if (event->pid)
        buffer_append_format(line, ",\"pid\":%d", event->pid);
    buffer_append_text(line, ",\"cause\":");
    json_write_string(line, cause);
    if (log->dropped)
        buffer_append_format(line, ",\"dropped\":%llu", (unsigned long long)log->dropped);
    buffer_append_text(line, "}");
}

/* Removes the incomplete character at the end of TEXT, which was cut at LENGTH bytes. */
static void trim_character(char *text, size_t length) {
    size_t last = length - 1;
    while (last && utf8_is_continuation((unsigned char)text[last]))
        last--;
    if (!utf8_sequence_length((const unsigned char *)text + last, length - last))
        text[last] = 0;
}

static void format_cause(char cause[CAUSE_MAX_BYTES], const char *format, va_list arguments) {
    int wanted = vsnprintf(cause, CAUSE_MAX_BYTES, format, arguments);
    if (wanted >= CAUSE_MAX_BYTES)
        trim_character(cause, CAUSE_MAX_BYTES - 1);
    for (char *byte = cause; *byte; byte++)
        if (iscntrl((unsigned char)*byte))
            *byte = ' ';
}

/* Writes the line. stderr may be a terminal; the escapes are valid JSON too, inside its strings. */
static bool write_line(struct log *log, const struct log_event *event, const char *cause) {
    cleanup_buffer struct buffer line = buffer_make(LINE_MAX_BYTES);
    cleanup_buffer struct buffer shown = buffer_make(LINE_MAX_BYTES);
    (log->format == LOG_FORMAT_JSON ? format_json : format_text)(&line, log, event, cause);
    return !line.failed &&
           shown_append(&shown, (struct span){line.data, line.length}, SHOWN_AS_LINE) &&
           buffer_append_text(&shown, "\n") &&
           stream_write(&log->out, shown.data, shown.length) == (ssize_t)shown.length;
}

static void write_or_drop(struct log *log, struct rate *rate, const struct log_event *event,
                          const char *cause) {
    bool written = rate_take(rate) && write_line(log, event, cause);
    log->dropped = written ? 0 : log->dropped + 1;
}

void log_write_wanted(struct log *log, const struct log_event *event, const char *cause_format,
                      ...) {
    char cause[CAUSE_MAX_BYTES];
    va_list arguments;
    va_start(arguments, cause_format);
    format_cause(cause, cause_format, arguments);
    va_end(arguments);
    if (log->hook && (event->level >= log->hook_least || event->lasts))
        log->hook(log->hook_context, event, cause);
    if (event->level >= log->least && log->out.fd >= 0)
        write_or_drop(log, &log->rate, event, cause);
}

void log_trace(struct log *log, const struct log_event *event, const char *format, ...) {
    char cause[CAUSE_MAX_BYTES];
    va_list arguments;
    va_start(arguments, format);
    format_cause(cause, format, arguments);
    va_end(arguments);
    write_or_drop(log, &log->trace_rate, event, cause);
}
