/* How many lines ended how. */
#ifndef ECLAVE_SUPERVISOR_BATCH_TALLY_H
#define ECLAVE_SUPERVISOR_BATCH_TALLY_H

#include "supervisor/batch/record.h"
#include <stdint.h>
#include <stdio.h>

enum { TALLY_WORDS_MAX = 16 };

struct tally {
    struct {
        const char *word;
        uint64_t lines;
    } outcomes[TALLY_WORDS_MAX]; /* in the order in which they first came */
    uint64_t lines, met, unmet, failed, broken, earlier;
    double wall_ms; /* of all lines together */
};

void tally_add(struct tally *tally, const struct record *record);

/* "12 lines (3 of them earlier): 9 value, 2 error, 1 timeout; expectations: 8 met, 3 not" */
void tally_print(const struct tally *tally, FILE *out);

#endif
