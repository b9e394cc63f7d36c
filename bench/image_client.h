/* bench-image as a peer: a booted ECL that forks on request. */
#ifndef ECLAVE_TESTS_BENCH_IMAGE_CLIENT_H
#define ECLAVE_TESTS_BENCH_IMAGE_CLIENT_H

#include "bench/bench.h"
#include "bench/peer.h"

/* Boots an image and evaluates FORM in it (NULL: nothing). End with peer_finish. */
void image_start(struct peer *image, struct bench *bench, const char *form);

/* One fork, the child's _exit and the wait for it, in milliseconds, as the image measured it; or
 * -1. */
double image_fork(struct peer *image);

#endif
