/* Monotonic time. Every deadline is absolute and in nanoseconds. */
#ifndef ECLAVE_SUPERVISOR_BASE_CLOCK_H
#define ECLAVE_SUPERVISOR_BASE_CLOCK_H

#include <stdint.h>
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

#endif
