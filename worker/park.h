/* How a worker waits for the next frame: so that its memory alone says how it continues. Between
 * the last byte of what it sends and the first of what it receives it changes nothing but the stack
 * below the place where it continues. Whoever copies its memory meanwhile, or forks the process,
 * has a state of the session, and another process with that memory continues in the same way. */
#ifndef ECLAVE_WORKER_PARK_H
#define ECLAVE_WORKER_PARK_H

#include <fenv.h>
#include <setjmp.h>
#include <stddef.h>

/* What the setjmp returns. */
enum parked_return {
    PARKED_FIRST,  /* set */
    PARKED_FRAME,  /* a frame is there */
    PARKED_PAGES,  /* the memory is that of another state, which pages_put has made */
    PARKED_ADOPTED /* the memory is that of a session, which adopt_session has made */
};

/* Where a worker continues, in its memory and so in each copy of it. */
struct parked {
    jmp_buf registers;
    fenv_t floating;
};
extern struct parked parked;

/* Sends the SIZE bytes LAST on CHANNEL, waits for a frame and continues at `parked`. The process
 * exits at the end of the channel. */
_Noreturn void park(int channel, const void *last, size_t size);

#endif
