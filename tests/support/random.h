/* Random numbers for tests, the same for the same seed on every machine. A test prints its seed;
 * TEST_SEED=<seed> repeats the run. */
#ifndef ECLAVE_TESTS_SUPPORT_RANDOM_H
#define ECLAVE_TESTS_SUPPORT_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct random {
    uint64_t state;
};

/* A generator from the given seed. */
struct random random_from(uint64_t seed);

/* A generator from TEST_SEED; else from a fixed seed, or with TEST_THOROUGH=1 from a fresh one.
 * Prints the seed with the test's NAME on stderr. */
struct random random_for(const char *name);

uint64_t random_bits(struct random *random);
/* 0 <= result < LIMIT; LIMIT at least 1. */
size_t random_below(struct random *random, size_t limit);
long random_between(struct random *random, long low, long high); /* both included */
bool random_percent(struct random *random, unsigned percent);

/* One of the elements of a table. */
#define random_pick(random, table)                                                                 \
    ((table)[random_below((random), sizeof(table) / sizeof((table)[0]))])

/* TRIALS, or THOROUGH, if more, with TEST_THOROUGH=1 in the environment. */
size_t random_trials(size_t trials, size_t thorough);

#endif
