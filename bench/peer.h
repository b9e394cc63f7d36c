/* A process that is spoken to in lines over its stdin and stdout, and the clock. Never waits for
 * ever. What goes wrong becomes a problem in the report, once; from then on every call on that peer
 * fails at once, so that a measurement need not look at each step. */
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
    struct buffer received; /* what was read; the bytes up to `taken` have been handed out */
    size_t taken, searched; /* no newline stands between these two */
    bool failed;
};

/* Starts ARGUMENTS (ends with NULL; the program is searched on PATH) with stderr on the null
 * device. End with peer_finish, also after a failure. */
bool peer_start(struct peer *peer, const char *name, struct report *report,
                const char *const *arguments);

/* Closes the process's stdin, waits for its end and kills it when that does not come. */
void peer_finish(struct peer *peer);

/* Writes all bytes, as the process takes them, and keeps what it writes meanwhile. */
bool peer_send(struct peer *peer, const void *bytes, size_t size);

/* The next line, terminated in place of its newline, or NULL. Good until the next call. */
const char *peer_line(struct peer *peer, size_t *length);

/* Waits until COUNT lines are there that were not taken. Takes none. */
bool peer_await_lines(struct peer *peer, size_t count);

/* Notes a problem with this peer; false. */
__attribute__((format(printf, 2, 3))) bool peer_fail(struct peer *peer, const char *format, ...);

/* Runs ARGUMENTS to their end with all three streams on the null device: the time from fork to
 * the end in milliseconds, or -1 with a problem in REPORT when its exit status is not 0. */
double run_to_end_ms(struct report *report, const char *const *arguments);

#endif
