/* The kernel's accounting of a process from its fork to its end. */
#ifndef ECLAVE_SUPERVISOR_BASE_USAGE_H
#define ECLAVE_SUPERVISOR_BASE_USAGE_H

#include <stdint.h>
#include <sys/resource.h>

struct usage {
    int64_t cpu_us;  /* user and system time */
    int64_t peak_kb; /* the maximum resident size; a fork starts at its parent's */
};

/* Counts another process: times add up, and sizes do not. */
static inline void usage_add(struct usage *usage, struct usage other) {
    usage->cpu_us += other.cpu_us;
    if (other.peak_kb > usage->peak_kb)
        usage->peak_kb = other.peak_kb;
}

static inline struct usage usage_of(const struct rusage *counted) {
    const struct timeval *user = &counted->ru_utime, *kernel = &counted->ru_stime;
    return (struct usage){.cpu_us = ((int64_t)user->tv_sec + kernel->tv_sec) * 1000000 +
                                    user->tv_usec + kernel->tv_usec,
                          .peak_kb = counted->ru_maxrss};
}

#endif
