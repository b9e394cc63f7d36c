/* The Lisp image: ECL and the runtime in this process, ready to be forked. */
#ifndef ECLAVE_WORKER_IMAGE_H
#define ECLAVE_WORKER_IMAGE_H

#include "common/error.h"
#include "common/frame.h"

#include <stdbool.h>
#include <stdint.h>

/* Boots ECL, once, and loads the runtime. Afterwards the process has one thread and the signal
 * handlers of fault.c. False with *error. */
bool image_boot(const struct worker_configuration *configuration, struct error *error);

/* Names the directories that code may read, where a session finds ASDF systems. False with
 * *error. */
bool image_make_readable(const char *const *directories, size_t count, struct error *error);

/* Called when all are loaded: sessions do not learn where they came from. False with *error. */
bool image_forget_places(struct error *error);

/* Checks that there is only one thread and records the size of the heap. Called once, after all
 * files are loaded. False with *error. */
bool image_is_forkable(struct error *error);

/* Called in a process that was made of an image file: limits its stack, and keeps new heap clear of
 * addresses that the collector would misread. False with *error. */
bool image_continue(struct error *error);

/* The same in a worker that has become a session which a worker of an earlier server held. */
void image_adopted(void);

/* Called in a fork before its first evaluation: seeds its random numbers. */
void image_become_worker(void);

/* Called after an evaluation: restores the limits of the heap and the stacks and, if the heap was
 * exhausted, returns memory to the kernel. */
void image_recover(const struct worker_configuration *configuration);

/* The part of the C stack, in whole pages, that is below the frames that last from call to call,
 * with room for those of a call that is small. */
void image_unused_stack(uint64_t *low, uint64_t *high);

/* Called at the end of a call: whether image_settle, before the next fork, has something to do. */
bool image_is_to_settle(void);

/* Called before a fork: returns free memory to the kernel if there may be enough of it. A fork
 * copies the page tables at once, and each page that it changes later. */
void image_settle(void);

#endif
