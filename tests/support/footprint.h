/* What a server has when it is at rest, for tests that want nothing left behind. */
#ifndef ECLAVE_TESTS_SUPPORT_FOOTPRINT_H
#define ECLAVE_TESTS_SUPPORT_FOOTPRINT_H

#include "tests/support/client.h"

/* Waits until the server's processes are its zygote and WORKERS confined ones, the spare among
 * them, and no zombie; returns how many descriptors it has then, -1 where nobody may look. */
int footprint_descriptors(struct client *client, size_t workers);

/* The same, and waits until the descriptors are no more than WANTED; the test fails if they never
 * are. */
void footprint_expect_descriptors(struct client *client, size_t workers, int wanted);

#endif
