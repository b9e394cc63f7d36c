/* The Lisp image: ECL booted in this process with our runtime in it, ready to be forked. */
#ifndef ECLAVE_WORKER_IMAGE_H
#define ECLAVE_WORKER_IMAGE_H

#include "common/error.h"
#include "common/frame.h"

#include <stdbool.h>

/* Boots, once in a process. False with *error. */
bool image_boot(const struct worker_configuration *configuration, struct error *error);

/* Loads a file of trusted Lisp: what it defines is in every session from the beginning. False with
 * *error that says how it failed. */
bool image_load(const struct worker_configuration *configuration, const char *path,
                struct error *error);

/* Is there one thread only, and the heap as a fork should find it? Once, when all is loaded. False
 * with *error. */
bool image_is_forkable(struct error *error);

/* What a fork of the image needs before its first evaluation: its own random numbers. */
void image_become_worker(void);

/* After an evaluation: puts back the limits of heap and stacks that it used up or moved, and gives
 * memory back when the heap was exhausted. */
void image_recover(const struct worker_configuration *configuration);

/* Before a fork: gives back to the kernel what a large evaluation has left, when there is enough of
 * it to pay. A fork costs its page tables, and what it touches later is copied. */
void image_settle(void);

#endif
