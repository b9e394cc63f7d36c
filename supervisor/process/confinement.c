/* Computes the limits of the policy from the settings. */
#include "supervisor/process/confinement.h"

#include <unistd.h>

enum {
    NOBODY = 65534,
    /* Address space of a worker: the program, its stack and the collector's tables; and several
     * heaps, because pages that the collector returns stay reserved. Lisp's heap limit and the
     * supervisor's memory check take effect first. */
    ADDRESS_SPACE_MARGIN = 512 << 20,
    ADDRESS_SPACE_HEAPS = 4,
    /* Of a worker, above twice its heap: the program, and what Lisp does not manage. The
     * collector's mark stack grows to the size of a heap that is full of small lists. */
    WORKER_MARGIN = 64 << 20,
    SESSION_WORKERS = 2, /* of the largest size */
    /* The control group of all workers, for each session besides its history: its head, one process
     * being forked and one ending. */
    SESSION_PROCESSES = 3,
    /* For each call that may run: that of a project's definition; half of one that waits for its
     * client; and one or the other ending. */
    RUN_PROCESSES = 3,
    OTHER_PROCESSES = 8,
    COMPILER_PROCESSES = 80 /* those of compiler.c, and the program */
};

size_t confinement_worker_bytes(const struct settings *settings) {
    return 2 * ((size_t)settings->session_memory_mb << 20) + WORKER_MARGIN;
}

size_t confinement_session_bytes(const struct settings *settings) {
    return settings->session_total_mb ? (size_t)settings->session_total_mb << 20
                                      : SESSION_WORKERS * confinement_worker_bytes(settings);
}

uint64_t confinement_sessions(const struct settings *settings) {
    enum { OWN = 1 };
    return (uint64_t)settings->session_max + OWN + (uint64_t)settings->session_unnamed_max +
           (uint64_t)settings->call_running_max;
}

struct policy confinement_policy(const struct settings *settings) {
    uint64_t memory = (uint64_t)settings->session_memory_mb << 20;
    uint64_t scratch = (uint64_t)settings->scratch_mb << 20;
    /* Sessions that run a call may use all of their memory; the others hold a heap each. */
    uint64_t sessions = confinement_sessions(settings);
    uint64_t running = (uint64_t)settings->call_running_max + 1;
    return (struct policy){
        .layers = POLICY_LAYERS_ALL & ~settings->without,
        .required = settings->require,
        .degraded = settings->degraded != 0,
        .native = settings->native != 0,
        .user = geteuid() == 0 ? NOBODY : 0,
        .address_space_bytes = ADDRESS_SPACE_HEAPS * memory + ADDRESS_SPACE_MARGIN,
        .all_memory_bytes = running * confinement_session_bytes(settings) +
                            (sessions - running) * memory + sessions * scratch +
                            ADDRESS_SPACE_MARGIN,
        .all_processes =
            (uint32_t)(sessions * ((uint64_t)settings->session_history + SESSION_PROCESSES) +
                       RUN_PROCESSES * (uint64_t)settings->call_running_max + OTHER_PROCESSES +
                       (settings->native ? COMPILER_PROCESSES : 0)),
        .session_memory_bytes = confinement_session_bytes(settings),
        .scratch_bytes = scratch,
        .readable = (const char *const *)settings->allow_read.paths,
        .readable_count = settings->allow_read.count};
}

struct policy_supervisor confinement_supervisor(const struct settings *settings) {
    return (struct policy_supervisor){.layers = policy_supervisor_layers() & ~settings->without,
                                      .required = settings->require,
                                      .readable = (const char *const *)settings->project.paths,
                                      .readable_count = settings->project.count,
                                      .native = settings->native != 0,
                                      .moving = settings->project.link ? settings->project.paths[0]
                                                                       : NULL};
}

bool confinement_is_possible(const struct settings *settings, struct error *error) {
    struct policy policy = confinement_policy(settings);
    /* The zygote checks the optional layers; here they would only delay the start. */
    if (!policy_grants(&policy))
        policy.layers &= ~policy_optional_layers() | policy.required;
    policy.address_space_bytes = 0; /* the limit of a worker may be too low for this process */
    return policy_probe(&policy, NULL, error);
}

bool confinement_without_grants_is_possible(const struct settings *settings) {
    struct settings less = *settings;
    less.allow_read.count = 0;
    less.scratch_mb = 0;
    return confinement_is_possible(&less, NULL);
}
