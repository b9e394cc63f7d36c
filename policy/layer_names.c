/* The names of the layers, for settings, logs and messages. Holds no rule of its own. */
#include "policy/policy.h"

const char *policy_layer_name(enum policy_layer layer) {
    static const char *const names[] = {
#define LAYER(id, name, optional, stops) name,
#include "policy/layers.def"
#undef LAYER
    };
    return layer < POLICY_LAYER_COUNT ? names[layer] : "unknown";
}
