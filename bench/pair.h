/* The minimum of a round trip: two processes and a socket pair. */
#ifndef ECLAVE_TESTS_BENCH_PAIR_H
#define ECLAVE_TESTS_BENCH_PAIR_H

#include "bench/report.h"
#include <sys/types.h>

struct pair {
    int fd;
    pid_t pid;
    struct report *report;
};

/* Forks the process at the other end, which returns every message. End with pair_finish. */
void pair_start(struct pair *pair, struct report *report);
void pair_finish(struct pair *pair);

/* One message of a hundred bytes there and back in milliseconds, or -1. */
double pair_round_trip(struct pair *pair);

#endif
