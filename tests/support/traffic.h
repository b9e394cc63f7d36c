/* Mixed traffic at random: requests of both eras, evaluations, subscriptions, cancellations,
 * batches and nonsense, interleaved. What should come back is the ledger's business. */
#ifndef ECLAVE_TESTS_SUPPORT_TRAFFIC_H
#define ECLAVE_TESTS_SUPPORT_TRAFFIC_H

#include "tests/support/random.h"
#include "tests/support/script.h"

/* COUNT lines or a few more into SCRIPT: some before the handshake, then the handshake for
 * REVISION, then the rest. Evaluations that would not end by themselves are cancelled a few lines
 * later. */
void traffic_generate(struct random *random, const char *revision, size_t count,
                      struct script *script);

#endif
