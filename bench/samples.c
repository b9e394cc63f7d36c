/* See samples.h. */
#include "bench/samples.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void samples_add(struct samples *samples, double value) {
    if (value < 0 || isnan(value))
        return;
    if (samples->count == samples->capacity) {
        size_t capacity = samples->capacity ? 2 * samples->capacity : 64;
        double *values = reallocarray(samples->values, capacity, sizeof *values);
        if (!values)
            abort();
        samples->values = values;
        samples->capacity = capacity;
    }
    samples->values[samples->count++] = value;
}

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Nearest rank, which is always a measured value. */
static double percentile(const double *values, size_t count, double percent) {
    if (count == 0)
        return NAN;
    double *sorted = calloc(count, sizeof *sorted);
    if (!sorted)
        abort();
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare);
    size_t rank = (size_t)ceil(percent / 100 * (double)count);
    double value = sorted[rank ? rank - 1 : 0];
    free(sorted);
    return value;
}

double samples_end_round(struct samples *samples) {
    size_t begin = samples->round_begin;
    if (samples->count == begin)
        return NAN;
    double median = percentile(samples->values + begin, samples->count - begin, 50);
    if (begin == 0 || median < samples->low)
        samples->low = median;
    if (begin == 0 || median > samples->high)
        samples->high = median;
    samples->round_begin = samples->count;
    return median;
}

double samples_percentile(const struct samples *samples, double percent) {
    return percentile(samples->values, samples->count, percent);
}

double samples_median(const struct samples *samples) {
    return samples_percentile(samples, 50);
}

void samples_free(struct samples *samples) {
    free(samples->values);
    *samples = (struct samples){0};
}
