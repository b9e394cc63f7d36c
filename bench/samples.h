/* Measured values and their statistics, in any unit. A value that could not be measured is negative
 * and is left out. */
#ifndef ECLAVE_TESTS_BENCH_SAMPLES_H
#define ECLAVE_TESTS_BENCH_SAMPLES_H

#include <stddef.h>

/* All zero is an empty list. Free with samples_free. */
struct samples {
    double *values;
    size_t count, capacity;
    size_t round_begin; /* index of the current round's first value */
    double low, high;   /* lowest and highest median of a round so far; 0 before the first */
};

/* Appends VALUE, unless it is negative. */
void samples_add(struct samples *samples, double value);

/* Ends a round: returns its median, which is included in low and high. NAN when it had no value. */
double samples_end_round(struct samples *samples);

/* The percentile; 50 is the median. NAN when there are no values. */
double samples_percentile(const struct samples *samples, double percent);
double samples_median(const struct samples *samples);

void samples_free(struct samples *samples);

#endif
