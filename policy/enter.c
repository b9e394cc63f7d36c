/* Prepares a process for its forks and puts the layers on each of them, in the one order that
 * works. Never leaves out one that it was given: the first that fails ends the whole. */
#include "policy/layers.h"
#include "policy/program.h"

#include <stdlib.h>

static const struct {
    enum policy_layer layer;
    policy_layer_enter *enter;
} order[] = {
    /* Mounting needs a capability. */
    {POLICY_LAYER_NAMESPACES, policy_enter_scratch},
    /* The rest needs no privilege, and must not keep any. */
    {POLICY_LAYER_PRIVILEGES, policy_enter_privileges},
    /* Before the filter, which allows no setrlimit. */
    {POLICY_LAYER_LIMITS, policy_enter_limits},
    /* After the change of user: the kernel clears the death signal then and may allow dumping. */
    {POLICY_LAYER_PROCESS, policy_enter_process},
    /* Needs descriptors for a moment. */
    {POLICY_LAYER_LANDLOCK, policy_enter_landlock},
    {POLICY_LAYER_DESCRIPTORS, policy_enter_descriptors},
    /* Last: the filter allows nothing of the above. */
    {POLICY_LAYER_SECCOMP, policy_enter_seccomp},
};

/* What only Landlock and, for the scratch directory, a mount can hold to its bounds. */
static bool grants_are_held(const struct policy *policy, struct error *error) {
    uint32_t grants = policy_grants(policy);
    if (grants && !policy_wants(policy, POLICY_LAYER_LANDLOCK))
        return error_set(error, 0, "files are granted only with the layer landlock");
    if (grants && policy->degraded)
        return error_set(error, 0, "files are granted only with seccomp notifications");
    for (size_t i = 0; i < policy->readable_count; i++)
        if (strcmp(policy->readable[i], "/") == 0)
            return error_set(error, 0,
                             "the whole machine is not granted: name a directory below /");
    return !(grants & POLICY_GRANT_WRITE) || policy_wants(policy, POLICY_LAYER_NAMESPACES) ||
           error_set(error, 0, "a scratch directory needs the layer namespaces");
}

/* Finds out by PUT_ON whether an optional layer is to be had, and leaves it out of POLICY if not.
 * False when it is required. */
static bool settle(struct policy *policy, enum policy_layer layer,
                   bool (*put_on)(const struct policy *policy, struct error *error),
                   struct policy_report *report, struct error *error) {
    if (!policy_wants(policy, layer))
        return true;
    bool good = put_on(policy, error);
    if (!good)
        policy->layers &= ~POLICY_LAYER_BIT(layer);
    return policy_report_note(report, policy, layer, good, error);
}

static bool prepare(struct policy_ground *ground, struct policy_report *report,
                    struct error *error) {
    struct policy *policy = &ground->policy;
    /* What policy_launch did not get. */
    policy->layers &= ~policy_layers_in(report, POLICY_UNAVAILABLE);
    if (!settle(policy, POLICY_LAYER_LANDLOCK, policy_landlock_available, report, error) ||
        !grants_are_held(policy, error) ||
        !settle(policy, POLICY_LAYER_NAMESPACES, policy_namespaces_enclose, report, error) ||
        /* Once more: a scratch directory was perhaps lost with the namespaces. */
        !grants_are_held(policy, error) ||
        (policy_wants(policy, POLICY_LAYER_PRIVILEGES) && !policy_privileges_forbid_new(error)) ||
        (policy_wants(policy, POLICY_LAYER_LIMITS) && !policy_limits_lower(error)) ||
        (policy_wants(policy, POLICY_LAYER_PROCESS) && !policy_process_forbid_new_code(error)))
        return false;
    if (policy_wants(policy, POLICY_LAYER_SECCOMP))
        ground->program = policy_program_build(policy->degraded, policy_grants(policy), error);
    if (policy_wants(policy, POLICY_LAYER_DESCRIPTORS))
        policy_descriptors_wipe_environment();
    return ground->program || !policy_wants(policy, POLICY_LAYER_SECCOMP);
}

struct policy_ground *policy_prepare(const struct policy *policy, struct policy_report *report,
                                     struct error *error) {
    struct policy_ground *ground = calloc(1, sizeof *ground);
    if (!ground) {
        error_set(error, ENOMEM, "the policy");
        return NULL;
    }
    ground->policy = *policy;
    if (prepare(ground, report, error)) {
        /* Each fork puts these on, or ends. */
        for (size_t i = 0; i < sizeof order / sizeof *order; i++)
            if (policy_wants(&ground->policy, order[i].layer))
                report->layers[order[i].layer].state = POLICY_ACTIVE;
        return ground;
    }
    policy_ground_free(ground);
    return NULL;
}

void policy_ground_free(struct policy_ground *ground) {
    if (ground)
        policy_program_free(ground->program);
    free(ground);
}

bool policy_enter(const struct policy_ground *ground, int *listener, struct error *error) {
    const struct policy_entry entry = {&ground->policy, ground->program, listener};
    *listener = -1;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (policy_wants(&ground->policy, order[i].layer) && !order[i].enter(&entry, error))
            return false;
    return true;
}
