/* Makes texts repeatable and fit for a line. Works in place on UTF-8 and leaves UTF-8; knows
 * nothing of Lisp objects but how they print. */
#ifndef ECLAVE_WORKER_TIDY_H
#define ECLAVE_WORKER_TIDY_H

#include <stddef.h>

/* Takes addresses out of TEXT (" 0x55d0c1a2b3f0" before a ">") and replaces each unreadable stream
 * object by the words "a stream". Returns the new length, at most LENGTH. */
size_t tidy_text(unsigned char *text, size_t length);

/* Replaces control characters by blanks. */
void tidy_line(unsigned char *text, size_t length);

#endif
