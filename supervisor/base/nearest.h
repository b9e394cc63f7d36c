/* "Did you mean": finds the name that a mistyped word most likely stands for. */
#ifndef ECLAVE_SUPERVISOR_BASE_NEAREST_H
#define ECLAVE_SUPERVISOR_BASE_NEAREST_H

#include <stddef.h>

/* Words and names of this length or more are near to nothing. */
enum { NEAREST_MAX_BYTES = 64 };

/* The edit distance: how many bytes must be inserted, deleted or replaced to make one from the
 * other. NEAREST_MAX_BYTES if either is too long. */
size_t nearest_distance(const char *left, const char *right);

struct nearest {
    const char *word; /* borrowed */
    size_t distance;
    char name[NEAREST_MAX_BYTES]; /* the best so far; empty: none is near enough */
};

struct nearest nearest_to(const char *word);
/* Keeps NAME if it is near enough and nearer than all before. */
void nearest_offer(struct nearest *nearest, const char *name);

struct hint {
    char text[NEAREST_MAX_BYTES + 32];
};
/* "; did you mean NAME?", with QUOTE around the name; empty if none is near enough. */
struct hint nearest_hint(const struct nearest *nearest, const char *quote);

#endif
