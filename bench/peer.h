/* A process with a protocol of lines on its stdin and stdout, and the clock. Waits are limited. The
 * first failure is reported as a problem; later calls on that peer fail at once, so that a
 * measurement need not check each step. */
#ifndef ECLAVE_TESTS_BENCH_PEER_H
#define ECLAVE_TESTS_BENCH_PEER_H

#include "bench/report.h"
#include "common/buffer.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Monotonic time in milliseconds. */
double now_ms(void);
void sleep_ms(double ms);

struct peer {
    const char *name; /* for messages */
    struct report *report;
    pid_t pid; /* 0: none */
    int input, output;
    struct buffer received; /* received bytes, returned up to `taken` */
    size_t taken, searched; /* no newline between `taken` and this */
    bool failed;
};

/* Starts ARGUMENTS (end with NULL; the program is searched in PATH) with stderr on the null device.
 * End with peer_finish, also after a failure. */
bool peer_start(struct peer *peer, const char *name, struct report *report,
                const char *const *arguments);

/* Closes the process's stdin and waits for its end, or kills it. */
void peer_finish(struct peer *peer);

/* Writes all bytes, and keeps the output that arrives meanwhile. */
bool peer_send(struct peer *peer, const void *bytes, size_t size);

/* The next line, terminated in place of its newline, or NULL. Valid until the next call. */
const char *peer_line(struct peer *peer, size_t *length);

/* Waits until COUNT lines are available. Returns none of them. */
bool peer_await_lines(struct peer *peer, size_t count);

/* Reports a problem with this peer; returns false. */
__attribute__((format(printf, 2, 3))) bool peer_fail(struct peer *peer, const char *format, ...);

/* Runs ARGUMENTS to the end with all three streams on the null device. The milliseconds from fork
 * to the end, or -1 with a problem in REPORT when the exit status is not 0. */
double run_to_end_ms(struct report *report, const char *const *arguments);
/* The same, and in *own_ms the processor time of that process alone, or -1. */
double run_to_end_own_ms(struct report *report, const char *const *arguments, double *own_ms);

#endif
