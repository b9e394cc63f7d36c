/* The worker role: a confined process that holds one session's Lisp world. */
#ifndef ECLAVE_WORKER_WORKER_H
#define ECLAVE_WORKER_WORKER_H

#include "common/frame.h"
#include "policy/policy.h"

/* Descriptors that a worker is born with; it moves them to 3, 1 and 2 and closes all others. */
struct worker_descriptors {
    int channel;
    int output;
    int error;
};

/* The rest of the life of a process just forked from the zygote. */
void worker_live(const struct worker_configuration *configuration,
                 const struct policy_prepared *prepared,
                 const struct worker_descriptors *descriptors) __attribute__((noreturn));

#endif
