/* Overwrites what loading the operator's files leaves in memory: their paths and their text. */
#ifndef ECLAVE_WORKER_SCRUB_H
#define ECLAVE_WORKER_SCRUB_H

/* Called before the files are loaded: from now on the C library overwrites memory that is freed. */
void scrub_begin(void);

/* Called after the last file, with no Lisp running: overwrites what no live Lisp object uses, and
 * the stack. What definitions of the files refer to stays. */
void scrub_end(void);

#endif
