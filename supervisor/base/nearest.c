/* Edit distances of short words. */
#include "supervisor/base/nearest.h"

#include <stdio.h>
#include <string.h>

static size_t least(size_t left, size_t right) {
    return left < right ? left : right;
}

size_t nearest_distance(const char *left, const char *right) {
    size_t rows = strnlen(left, NEAREST_MAX_BYTES), columns = strnlen(right, NEAREST_MAX_BYTES);
    size_t costs[NEAREST_MAX_BYTES]; /* one row of the table of distances between prefixes */
    if (rows == NEAREST_MAX_BYTES || columns == NEAREST_MAX_BYTES)
        return NEAREST_MAX_BYTES;
    for (size_t column = 0; column <= columns; column++)
        costs[column] = column;
    for (size_t row = 1; row <= rows; row++) {
        size_t diagonal = costs[0];
        costs[0] = row;
        for (size_t column = 1; column <= columns; column++) {
            size_t replaced = diagonal + (left[row - 1] != right[column - 1]);
            diagonal = costs[column];
            costs[column] = least(replaced, 1 + least(costs[column], costs[column - 1]));
        }
    }
    return costs[columns];
}

struct nearest nearest_to(const char *word) {
    return (struct nearest){.word = word, .distance = NEAREST_MAX_BYTES};
}

void nearest_offer(struct nearest *nearest, const char *name) {
    size_t length = strnlen(name, NEAREST_MAX_BYTES);
    size_t distance = nearest_distance(nearest->word, name);
    if (distance >= length || distance > 1 + length / 4 || distance >= nearest->distance)
        return;
    nearest->distance = distance;
    memcpy(nearest->name, name, length + 1);
}

struct hint nearest_hint(const struct nearest *nearest, const char *quote) {
    struct hint hint = {""};
    if (nearest->name[0])
        snprintf(hint.text, sizeof hint.text, "; did you mean %s%s%s?", quote, nearest->name,
                 quote);
    return hint;
}
