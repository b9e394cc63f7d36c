/* The working set of a call: the pages that nearly every call writes. After a fork they are shared,
 * and the call that writes one first waits until the kernel has copied it. A worker that waits for
 * its next call has them copied before it comes. */
#ifndef ECLAVE_WORKER_WORKING_SET_H
#define ECLAVE_WORKER_WORKING_SET_H

#include "common/frame.h"

/* Before the collector learns which static data it has to scan: has it leave out the addresses of
 * these pages. Where an object starts a page they look like a reference to it. */
void working_set_hide_from_collector(void);

/* Called in the zygote, once everything is loaded and before it is confined: finds the pages by a
 * call in a fork of this process. Where the kernel does not tell, there are none. */
void working_set_learn(const struct worker_configuration *configuration);

/* Called in a worker: makes its own copies of these pages. */
void working_set_copy(void);
/* The same with COUNT other runs of pages. */
void working_set_copy_runs(const struct page_run *runs, size_t count);

#endif
