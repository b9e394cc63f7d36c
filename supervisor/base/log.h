/* The log: one line per event on stderr, and the same events to a hook, which sends them to the
 * client. Lines are limited in rate, and lost when stderr is full, so that logging never blocks.
 * Events never hold code, host paths or secrets. */
#ifndef ECLAVE_SUPERVISOR_BASE_LOG_H
#define ECLAVE_SUPERVISOR_BASE_LOG_H

#include "supervisor/base/clock.h"
#include "supervisor/base/stdio.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* RFC 5424's levels as MCP names them, least severe first: a name for each enum log_level. */
#define LOG_LEVEL_NAMES(separator)                                                                 \
    "debug" separator "info" separator "notice" separator "warning" separator "error" separator    \
    "critical" separator "alert" separator "emergency"

enum log_level {
    LOG_DEBUG_LEVEL,
    LOG_INFO_LEVEL,
    LOG_NOTICE_LEVEL,
    LOG_WARNING_LEVEL,
    LOG_ERROR_LEVEL,
    LOG_CRITICAL_LEVEL,
    LOG_ALERT_LEVEL,
    LOG_EMERGENCY_LEVEL,
    LOG_LEVEL_COUNT
};

/* NULL follows the last name. */
extern const char *const log_level_names[LOG_LEVEL_COUNT + 1];
/* The level called NAME, in any letter case, or -1. */
int log_level_of(const char *name);

enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };

struct log_event {
    enum log_level level;
    const char *name;    /* "worker-crash", "limit", … */
    const char *session; /* NULL outside sessions */
    uint32_t call;       /* 0 outside calls */
    pid_t pid;           /* 0: no worker */
    bool lasts;          /* kept for a client that has not initialized yet */
};

typedef void (*log_hook)(void *context, const struct log_event *event, const char *cause);

struct log {
    struct stream out;
    enum log_level least; /* the least severe that is written */
    enum log_format format;
    struct rate rate, trace_rate;
    uint64_t dropped; /* lines lost since the last one written */
    log_hook hook;
    enum log_level
        hook_least; /* the hook receives this level and above, and every event that lasts */
    void *hook_context;
};

/* Logs events of level LEAST and above to stderr, or nothing if stderr cannot be used. */
void log_open(struct log *log, enum log_level least, enum log_format format);
void log_close(struct log *log);

/* A trace is an event of a frame, a worker or a session. It is written at the level debug only, to
 * stderr only, with a rate limit of its own; at other levels it costs a comparison. */
static inline bool log_traces(const struct log *log) {
    return log->least == LOG_DEBUG_LEVEL && log->out.fd >= 0;
}
__attribute__((format(printf, 3, 4))) void log_trace(struct log *log, const struct log_event *event,
                                                     const char *format, ...);
#define LOG_TRACE(log, event, ...)                                                                 \
    do {                                                                                           \
        if (log_traces(log))                                                                       \
            log_trace(log, event, __VA_ARGS__);                                                    \
    } while (0)

/* Makes the hook receive events of LEVEL and above too. */
static inline void log_hook_lower(struct log *log, enum log_level level) {
    if (level < log->hook_least)
        log->hook_least = level;
}

static inline bool log_is_wanted(const struct log *log, const struct log_event *event) {
    return event->level >= log->least || event->level >= log->hook_least || event->lasts;
}
/* Writes EVENT and calls the hook, as their levels say. The cause is formatted only if needed. */
__attribute__((format(printf, 3, 4))) void
log_write_wanted(struct log *log, const struct log_event *event, const char *cause_format, ...);
#define log_write(log, event, ...)                                                                 \
    do {                                                                                           \
        if (log_is_wanted(log, event))                                                             \
            log_write_wanted(log, event, __VA_ARGS__);                                             \
    } while (0)

#endif
