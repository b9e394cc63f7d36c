/* A worker: a confined fork of the zygote, or of another worker, that holds one session. */
#ifndef ECLAVE_WORKER_WORKER_H
#define ECLAVE_WORKER_WORKER_H

#include "common/frame.h"
#include "policy/policy.h"

enum { EXIT_FAILED = 70 }; /* status after an internal error */

/* The descriptors of a new worker, which moves them to 3, 1 and 2 and closes all others. */
struct worker_descriptors {
    int channel;
    int output;
    int error;
};

/* Turns a process just forked from the zygote into a worker. */
void worker_live(const struct worker_configuration *configuration,
                 const struct policy_prepared *prepared,
                 const struct worker_descriptors *descriptors) __attribute__((noreturn));

/* In a fork of the zygote, which ends after it: does what a call does, and sends nothing. */
void worker_rehearse(const struct worker_configuration *configuration);

#endif
