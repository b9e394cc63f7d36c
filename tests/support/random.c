/* See random.h. The generator is splitmix64, for which any seed is good. */
#include "tests/support/random.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { DEFAULT_SEED = 20261127 };

struct random random_from(uint64_t seed) {
    return (struct random){seed};
}

struct random random_for(const char *name) {
    uint64_t seed = DEFAULT_SEED;
    const char *text = getenv("TEST_SEED");
    if (text)
        seed = strtoull(text, NULL, 10);
    else if (getenv("TEST_THOROUGH") && getrandom(&seed, sizeof seed, 0) != sizeof seed)
        abort();
    fprintf(stderr, "%s: TEST_SEED=%llu\n", name, (unsigned long long)seed);
    return random_from(seed);
}

uint64_t random_bits(struct random *random) {
    uint64_t bits = (random->state += UINT64_C(0x9e3779b97f4a7c15));
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    return bits ^ bits >> 31;
}

size_t random_below(struct random *random, size_t limit) {
    return (size_t)(random_bits(random) % limit);
}

long random_between(struct random *random, long low, long high) {
    return low + (long)random_below(random, (size_t)(high - low) + 1);
}

bool random_percent(struct random *random, unsigned percent) {
    return random_below(random, 100) < percent;
}

size_t random_trials(size_t trials, size_t thorough) {
    const char *text = getenv("TEST_THOROUGH");
    return text && strcmp(text, "1") == 0 && thorough > trials ? thorough : trials;
}
