/* Turns settings into a policy. Holds every number that the policy gets from here, and enforces
 * none. */
#include "supervisor/process/confinement.h"

#include <unistd.h>

enum {
    NOBODY = 65534,
    /* Address space: the program, its stack, the collector's tables, and the heap several times
     * over, because what is given back stays reserved. Lisp's limit on memory in use comes first,
     * the supervisor's look at the resident size second. */
    ADDRESS_SPACE_MARGIN = 512 << 20,
    ADDRESS_SPACE_HEAPS = 4,
    /* All together, of a session: the heap, and as much again for what is copied while it is
     * collected; processes beside its head and its history: one being forked, one ending. */
    SESSION_HEAPS = 2,
    SESSION_PROCESSES = 3,
    OTHER_PROCESSES = 8
};

struct policy confinement_policy(const struct settings *settings) {
    uint64_t memory = (uint64_t)settings->session_memory_mb << 20;
    uint64_t scratch = (uint64_t)settings->scratch_mb << 20;
    uint64_t sessions = (uint64_t)settings->session_max + 1;
    return (struct policy){
        .layers = POLICY_LAYERS_ALL & ~settings->without,
        .required = settings->require,
        .degraded = settings->degraded != 0,
        .user = geteuid() == 0 ? NOBODY : 0,
        .address_space_bytes = ADDRESS_SPACE_HEAPS * memory + ADDRESS_SPACE_MARGIN,
        .all_memory_bytes = sessions * (SESSION_HEAPS * memory + scratch) + ADDRESS_SPACE_MARGIN,
        .all_processes =
            (uint32_t)(sessions * ((uint64_t)settings->session_history + SESSION_PROCESSES) +
                       OTHER_PROCESSES),
        .scratch_bytes = scratch,
        .readable = (const char *const *)settings->allow_read.paths,
        .readable_count = settings->allow_read.count};
}

bool confinement_is_possible(const struct settings *settings, struct error *error) {
    struct policy policy = confinement_policy(settings);
    /* Nobody waits here for layers that may be missing; the zygote finds out about them. */
    if (!policy_grants(&policy))
        policy.layers &= ~policy_optional_layers() | policy.required;
    policy.address_space_bytes = 0; /* as a worker has it, it may be too little for this program */
    return policy_probe(&policy, NULL, error);
}

bool confinement_without_grants_is_possible(const struct settings *settings) {
    struct settings less = *settings;
    less.allow_read.count = 0;
    less.scratch_mb = 0;
    return confinement_is_possible(&less, NULL);
}
