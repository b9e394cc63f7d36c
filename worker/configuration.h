/* What the zygote was told to be, decoded from its first frame. */
#ifndef ECLAVE_WORKER_CONFIGURATION_H
#define ECLAVE_WORKER_CONFIGURATION_H

#include "common/frame.h"
#include "policy/policy.h"

enum { CONFIGURATION_PATHS_MAX = 64 };

struct configuration {
    struct worker_configuration fixed;
    const char *readable[CONFIGURATION_PATHS_MAX]; /* point into the payload */
    const char *preload[CONFIGURATION_PATHS_MAX];
};

/* False when PAYLOAD is not a configuration. The paths point into PAYLOAD. */
bool configuration_decode(const unsigned char *payload, size_t length,
                          struct configuration *configuration);

/* What workers are held to. Points into CONFIGURATION. */
struct policy configuration_policy(const struct configuration *configuration);

#endif
