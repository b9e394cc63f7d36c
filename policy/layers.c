/* The layers: their names, the order in which they are put on, and the report on them. */
#include "policy/policy_internal.h"

#include <stdlib.h>

static const struct {
    const char *name;
    bool optional;
    const char *stops;
} layers[POLICY_LAYER_COUNT] = {
#define LAYER(id, text, may_miss, what) [POLICY_LAYER_##id] = {text, may_miss, what},
#include "policy/layers.def"
#undef LAYER
};

/* The layers that each fork puts on itself, in the one order that works. */
static const struct {
    enum policy_layer layer;
    policy_layer_enter *enter;
} order[] = {
    /* Mounting needs a capability. */
    {POLICY_LAYER_NAMESPACES, policy_enter_scratch},
    /* The rest needs no privilege and must not retain any. */
    {POLICY_LAYER_PRIVILEGES, policy_enter_privileges},
    /* Before the filter, which allows no setrlimit. */
    {POLICY_LAYER_LIMITS, policy_enter_limits},
    /* After the change of user, when the kernel clears the death signal and may allow dumps. */
    {POLICY_LAYER_PROCESS, policy_enter_process},
    /* Opens descriptors for a moment. */
    {POLICY_LAYER_LANDLOCK, policy_enter_landlock},
    {POLICY_LAYER_DESCRIPTORS, policy_enter_descriptors},
    /* Last: the filter allows nothing of the above. */
    {POLICY_LAYER_SECCOMP, policy_enter_seccomp},
};

const char *policy_layer_name(enum policy_layer layer) {
    return layers[layer].name;
}

const char *policy_layer_stops(enum policy_layer layer) {
    return layers[layer].stops;
}

uint32_t policy_optional_layers(void) {
    uint32_t bits = 0;
    for (unsigned layer = 0; layer < POLICY_LAYER_COUNT; layer++)
        if (layers[layer].optional)
            bits |= POLICY_LAYER_BIT(layer);
    return bits;
}

uint32_t policy_grants(const struct policy *policy) {
    uint32_t grants = 0;
    if (policy->readable_count || policy->scratch_bytes)
        grants |= POLICY_GRANT_READ;
    if (policy->scratch_bytes)
        grants |= POLICY_GRANT_WRITE;
    if (policy->native)
        grants |= POLICY_GRANT_NATIVE;
    return grants;
}

bool policy_has_layer(const struct policy *policy, enum policy_layer layer) {
    return policy->layers & POLICY_LAYER_BIT(layer);
}

/* --- the report --- */

uint32_t policy_layers_in(const struct policy_report *report, enum policy_state state) {
    uint32_t bits = 0;
    for (unsigned layer = 0; layer < POLICY_LAYER_COUNT; layer++)
        if (report->layers[layer].state == state)
            bits |= POLICY_LAYER_BIT(layer);
    return bits;
}

static bool name_layer(enum policy_layer layer, struct error *error) {
    const struct error cause = *error;
    return error_set(error, 0, "layer %s: %.200s", layers[layer].name, cause.text);
}

bool policy_report_note(struct policy_report *report, const struct policy *policy,
                        enum policy_layer layer, bool good, struct error *error) {
    report->layers[layer].state = good ? POLICY_ACTIVE : POLICY_UNAVAILABLE;
    if (good)
        return true;
    snprintf(report->layers[layer].why, sizeof report->layers[layer].why, "%.*s",
             (int)sizeof report->layers[layer].why - 1, error->text);
    bool required = !layers[layer].optional || policy->required & POLICY_LAYER_BIT(layer);
    return !required || name_layer(layer, error);
}

/* --- once, before the forks --- */

/* Only Landlock confines a process to what is granted and, for the scratch directory, a mount. */
static bool grants_are_confined(const struct policy *policy, struct error *error) {
    uint32_t grants = policy_grants(policy) & (POLICY_GRANT_READ | POLICY_GRANT_WRITE);
    if (policy->native && policy->degraded)
        return error_set(error, 0, "native code requires seccomp notifications");
    if (grants && !policy_has_layer(policy, POLICY_LAYER_LANDLOCK))
        return error_set(error, 0, "granting files requires the layer landlock");
    if (grants && policy->degraded)
        return error_set(error, 0, "granting files requires seccomp notifications");
    for (size_t i = 0; i < policy->readable_count; i++)
        if (strcmp(policy->readable[i], "/") == 0)
            return error_set(error, 0, "cannot grant / itself: name a directory below it");
    return !(grants & POLICY_GRANT_WRITE) || policy_has_layer(policy, POLICY_LAYER_NAMESPACES) ||
           error_set(error, 0, "a scratch directory requires the layer namespaces");
}

/* Calls PUT_ON for an optional layer and removes the layer from POLICY if that fails. False if the
 * layer is required. */
static bool put_on_optional(struct policy *policy, enum policy_layer layer,
                            bool (*put_on)(const struct policy *policy, struct error *error),
                            struct policy_report *report, struct error *error) {
    if (!policy_has_layer(policy, layer))
        return true;
    bool good = put_on(policy, error);
    if (!good)
        policy->layers &= ~POLICY_LAYER_BIT(layer);
    return policy_report_note(report, policy, layer, good, error);
}

static bool put_on_early(const struct policy *policy, enum policy_layer layer,
                         bool (*put_on)(struct error *error), struct error *error) {
    return !policy_has_layer(policy, layer) || put_on(error) || name_layer(layer, error);
}

static bool prepare(struct policy_prepared *prepared, struct policy_report *report,
                    struct error *error) {
    struct policy *policy = &prepared->policy;
    /* While /proc is there. Where it fails, the kernel chooses by size alone. */
    if (policy_has_layer(policy, POLICY_LAYER_LIMITS))
        policy_oom_prefer(0, POLICY_OOM_WORKER);
    /* What was unavailable to policy_launch. */
    policy->layers &= ~policy_layers_in(report, POLICY_UNAVAILABLE);
    if (!put_on_optional(policy, POLICY_LAYER_LANDLOCK, policy_landlock_available, report, error) ||
        !grants_are_confined(policy, error) ||
        !put_on_optional(policy, POLICY_LAYER_NAMESPACES, policy_namespaces_enclose, report,
                         error) ||
        /* Again: without the namespaces there may be no scratch directory. */
        !grants_are_confined(policy, error) ||
        !put_on_early(policy, POLICY_LAYER_PRIVILEGES, policy_privileges_forbid_new, error) ||
        !put_on_early(policy, POLICY_LAYER_LIMITS, policy_limits_lower, error) ||
        !put_on_early(policy, POLICY_LAYER_PROCESS, policy_process_forbid_new_code, error))
        return false;
    if (policy_has_layer(policy, POLICY_LAYER_SECCOMP))
        prepared->program =
            policy->compiles ? policy_program_build_compiler(error)
                             : policy_program_build(policy->degraded, policy_grants(policy), error);
    if (policy_has_layer(policy, POLICY_LAYER_DESCRIPTORS))
        policy_descriptors_wipe_environment();
    if (policy_has_layer(policy, POLICY_LAYER_PRIVILEGES))
        policy_privileges_choose_user(prepared);
    /* After all that takes a capability. */
    if (policy_has_layer(policy, POLICY_LAYER_PRIVILEGES) &&
        !policy_privileges_reduce(policy, error))
        return name_layer(POLICY_LAYER_PRIVILEGES, error);
    return prepared->program || !policy_has_layer(policy, POLICY_LAYER_SECCOMP) ||
           name_layer(POLICY_LAYER_SECCOMP, error);
}

struct policy_prepared *policy_prepare(const struct policy *policy, struct policy_report *report,
                                       struct error *error) {
    struct policy_prepared *prepared = calloc(1, sizeof *prepared);
    if (!prepared) {
        error_set(error, ENOMEM, "cannot prepare the confinement");
        return NULL;
    }
    prepared->policy = *policy;
    if (prepare(prepared, report, error)) {
        /* Each fork puts these on or exits. */
        for (size_t i = 0; i < sizeof order / sizeof *order; i++)
            if (policy_has_layer(&prepared->policy, order[i].layer))
                report->layers[order[i].layer].state = POLICY_ACTIVE;
        return prepared;
    }
    policy_prepared_free(prepared);
    return NULL;
}

void policy_prepared_free(struct policy_prepared *prepared) {
    if (prepared)
        policy_program_free(prepared->program);
    free(prepared);
}

/* --- in each fork --- */

bool policy_enter(const struct policy_prepared *prepared, int *listener, struct error *error) {
    const struct policy_context context = {&prepared->policy, prepared->program, prepared->user,
                                           listener};
    *listener = -1;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (policy_has_layer(&prepared->policy, order[i].layer) && !order[i].enter(&context, error))
            return name_layer(order[i].layer, error);
    return true;
}
