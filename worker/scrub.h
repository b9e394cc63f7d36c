/* Overwrites what the start of the zygote leaves in memory: paths, which the collector has read in
 * /proc/self/maps, and the text of the operator's files. */
#ifndef ECLAVE_WORKER_SCRUB_H
#define ECLAVE_WORKER_SCRUB_H

/* Called first: from now on the C library overwrites memory that is freed. */
void scrub_begin(void);

/* Called after the last file, with no Lisp running: overwrites what no live Lisp object uses. What
 * definitions of the files refer to stays. */
void scrub_lisp(void);

/* Called last: overwrites what the C library keeps of freed memory, and the stack below the
 * caller. */
void scrub_end(void);

#endif
