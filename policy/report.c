/* Names of layers and the account of how each was put on. Puts none on. */
#include "policy/layers.h"

static const struct {
    const char *name;
    bool optional;
    const char *stops;
} layers[POLICY_LAYER_COUNT] = {
#define LAYER(id, text, may_miss, what) [POLICY_LAYER_##id] = {text, may_miss, what},
#include "policy/layers.def"
#undef LAYER
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
    return grants;
}

uint32_t policy_layers_in(const struct policy_report *report, enum policy_state state) {
    uint32_t bits = 0;
    for (unsigned layer = 0; layer < POLICY_LAYER_COUNT; layer++)
        if (report->layers[layer].state == state)
            bits |= POLICY_LAYER_BIT(layer);
    return bits;
}

bool policy_wants(const struct policy *policy, enum policy_layer layer) {
    return policy->layers & POLICY_LAYER_BIT(layer);
}

static bool is_required(const struct policy *policy, enum policy_layer layer) {
    return !layers[layer].optional || policy->required & POLICY_LAYER_BIT(layer);
}

bool policy_report_note(struct policy_report *report, const struct policy *policy,
                        enum policy_layer layer, bool good, struct error *error) {
    report->layers[layer].state = good ? POLICY_ACTIVE : POLICY_UNAVAILABLE;
    if (good)
        return true;
    snprintf(report->layers[layer].why, sizeof report->layers[layer].why, "%.*s",
             (int)sizeof report->layers[layer].why - 1, error->text);
    if (!is_required(policy, layer))
        return true;
    struct error cause = *error;
    return error_set(error, 0, "layer %s: %.200s", layers[layer].name, cause.text);
}
