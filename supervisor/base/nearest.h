/* "Did you mean": finds the one of several names that a mistyped word most likely stands for. Never
 * reads past NEAREST_MAX_BYTES of a word or a name: a longer one is near to nothing. */
#ifndef ECLAVE_SUPERVISOR_BASE_NEAREST_H
#define ECLAVE_SUPERVISOR_BASE_NEAREST_H

#include <stddef.h>

enum { NEAREST_MAX_BYTES = 64 };

/* How many bytes must be put in, left out or replaced to make LEFT of RIGHT. NEAREST_MAX_BYTES when
 * one of them is as long as that. */
size_t nearest_distance(const char *left, const char *right);

struct nearest {
    const char *word; /* borrowed */
    size_t distance;
    char name[NEAREST_MAX_BYTES]; /* the best so far; empty while none is near enough */
};

struct nearest nearest_to(const char *word);
/* Takes NAME if it is near enough and nearer than what was offered before. */
void nearest_offer(struct nearest *nearest, const char *name);

#endif
