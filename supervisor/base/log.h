/* The log: one line an event on stderr, rate-limited and lossy, so that an unread stderr costs
 * lines and never time; and the same events to the client as notifications/message, through a
 * hook. Events never hold code text, host paths or secrets. */
#ifndef ECLAVE_SUPERVISOR_BASE_LOG_H
#define ECLAVE_SUPERVISOR_BASE_LOG_H

#include "supervisor/base/rate.h"
#include "supervisor/base/stdio.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* RFC 5424's levels as MCP names them, least first; settings.def has them in this order. */
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

/* "debug" … "emergency". */
const char *log_level_name(enum log_level level);
/* The level of that name in any letter case, or -1. */
int log_level_of(const char *name);

struct log_event {
    enum log_level level;
    const char *name;    /* "worker-crash", "limit", … */
    const char *session; /* NULL outside sessions */
    uint32_t call;       /* 0 outside calls */
    pid_t pid;           /* 0: of no worker */
    bool lasts;          /* the client hears of it later if it is not there yet */
};

typedef void (*log_hook)(void *context, const struct log_event *event, const char *cause);

struct log {
    struct stream out;
    enum log_level least;
    bool json;
    struct rate rate, trace_rate;
    uint64_t dropped; /* lines not written since the last one that was */
    log_hook hook;
    enum log_level hook_least; /* the hook is not called for less, except for what lasts */
    void *hook_context;
};

/* Takes stderr. Always succeeds in giving a usable log, if need be one that writes nothing. */
void log_open(struct log *log, enum log_level least, bool json);
void log_close(struct log *log);

/* Traces go to stderr only, at the level debug, with a rate of their own. Everything that happens
 * to frames, workers and sessions has one; without the level they cost a comparison. */
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

/* From now on the hook receives events from LEVEL on, if it did not already. */
static inline void log_hook_lower(struct log *log, enum log_level level) {
    if (level < log->hook_least)
        log->hook_least = level;
}

/* Would anybody receive the event? */
static inline bool log_is_wanted(const struct log *log, const struct log_event *event) {
    return event->level >= log->least || event->level >= log->hook_least || event->lasts;
}
__attribute__((format(printf, 3, 4))) void
log_write_wanted(struct log *log, const struct log_event *event, const char *cause_format, ...);
#define log_write(log, event, ...)                                                                 \
    do {                                                                                           \
        if (log_is_wanted(log, event))                                                             \
            log_write_wanted(log, event, __VA_ARGS__);                                             \
    } while (0)

#endif
