/* How a worker that was forked from a state of its session becomes a later one: the pages that the
 * calls between them have written are put in their places. */
#ifndef ECLAVE_WORKER_PAGES_H
#define ECLAVE_WORKER_PAGES_H

#include <stdint.h>

/* Makes a userfaultfd, with which the supervisor learns what this process writes. Returns the
 * descriptor; -1 if the kernel or this processor has no use for it. */
int32_t pages_track(void);

/* Puts the pages of FD, as of FRAME_PAGES, in their places, closes it, and continues as they say:
 * the setjmp of `parked` returns PARKED_PAGES. Exits if it cannot. */
_Noreturn void pages_put(int fd);

/* The first thing that the process does then. */
void pages_finish(void);

#endif
