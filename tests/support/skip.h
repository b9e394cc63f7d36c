/* Skips the running Criterion test, with the reason, where this machine lacks what it needs.
 * scripts/test lists the tests that were skipped. */
#ifndef ECLAVE_TESTS_SUPPORT_SKIP_H
#define ECLAVE_TESTS_SUPPORT_SKIP_H

#include <stdbool.h>
#include <stdint.h>

/* Unless each of LAYERS (bits) can be put on a worker of this process, or of nobody's. */
void skip_without_layers(uint32_t layers, bool nobody);

/* Unless this process may make namespaces, which is less than what the layer takes. */
void skip_without_unshare(void);

/* Unless this process may mount something that no other namespace sees. */
void skip_without_mounts(void);

void skip_unless_root(void);

/* Unless root's workers can each take a user of its own. */
void skip_without_separate_users(void);

/* Unless this process may look into the workers, which are other users' or not dumpable. */
void skip_without_inspection(void);

/* Unless the kernel notes what a process writes (Linux 6.7), and this process may ask. */
void skip_without_tracking(void);

/* Unless a server keeps earlier states as the pages that were written, here and by its default. */
void skip_without_pages(void);

#endif
