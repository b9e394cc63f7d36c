/* Monotonic time, the time of day, and rate limits. Deadlines are absolute and in nanoseconds. */
#ifndef ECLAVE_SUPERVISOR_BASE_CLOCK_H
#define ECLAVE_SUPERVISOR_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum {
    CLOCK_NS_PER_US = 1000,
    CLOCK_NS_PER_MS = 1000000,
    CLOCK_US_PER_MS = 1000,
    CLOCK_MS_PER_S = 1000
};

static inline int64_t clock_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t clock_elapsed_ms(int64_t since_ns) {
    return (clock_now_ns() - since_ns) / CLOCK_NS_PER_MS;
}

/* Milliseconds since 1970. */
static inline int64_t clock_realtime_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * CLOCK_MS_PER_S + now.tv_nsec / CLOCK_NS_PER_MS;
}

enum { CLOCK_UTC_BYTES = 48 };

/* Writes a time of clock_realtime_ms as 2026-07-28T12:00:00.000Z. */
static inline void clock_write_utc(char text[static CLOCK_UTC_BYTES], int64_t time_ms) {
    const time_t seconds = (time_t)(time_ms / CLOCK_MS_PER_S);
    struct tm utc;
    size_t length = 0;
    if (gmtime_r(&seconds, &utc))
        length = strftime(text, CLOCK_UTC_BYTES - 8, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text + length, CLOCK_UTC_BYTES - length, ".%03dZ", (int)(time_ms % CLOCK_MS_PER_S));
}

/* A token bucket that holds time: each event costs a share of the minute. */
struct rate {
    int64_t cost_ns;
    int64_t burst_ns; /* the maximum of credit_ns */
    int64_t credit_ns;
    int64_t updated_ns;
};

/* Allows BURST events at once and COUNT per minute in the long run. */
static inline struct rate rate_per_minute(int64_t count, int64_t burst) {
    int64_t cost_ns = INT64_C(60000000000) / count;
    return (struct rate){.cost_ns = cost_ns,
                         .burst_ns = cost_ns * burst,
                         .credit_ns = cost_ns * burst,
                         .updated_ns = clock_now_ns()};
}

/* Counts one event. False, with nothing counted, if it exceeds the rate. */
static inline bool rate_take(struct rate *rate) {
    int64_t now_ns = clock_now_ns();
    rate->credit_ns += now_ns - rate->updated_ns;
    rate->updated_ns = now_ns;
    if (rate->credit_ns > rate->burst_ns)
        rate->credit_ns = rate->burst_ns;
    if (rate->credit_ns < rate->cost_ns)
        return false;
    rate->credit_ns -= rate->cost_ns;
    return true;
}

#endif
