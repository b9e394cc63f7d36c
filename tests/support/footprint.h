/* The descriptors and processes of an idle server. */
#ifndef ECLAVE_TESTS_SUPPORT_FOOTPRINT_H
#define ECLAVE_TESTS_SUPPORT_FOOTPRINT_H

#include "tests/support/client.h"

/* Waits until the server's processes are its zygote and WORKERS confined ones, the spare included,
 * without zombies. Returns the number of descriptors, -1 where they cannot be read. */
int footprint_descriptors(struct client *client, size_t workers);

/* The same, and waits until there are at most WANTED descriptors. */
void footprint_expect_descriptors(struct client *client, size_t workers, int wanted);

#endif
