/* The forks of bench-confined, by number. */
#ifndef ECLAVE_TESTS_BENCH_CONFINED_H
#define ECLAVE_TESTS_BENCH_CONFINED_H

enum confined_fork {
#define FORK(id, ...) CONFINED_##id,
#include "bench/confined.def"
#undef FORK
    CONFINED_COUNT
};

#endif
