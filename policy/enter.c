/* Puts the layers on in the one order that works. Never leaves one out: the first that fails ends
 * the whole. */
#include "policy/layers.h"

static policy_layer *const layers[] = {
    /* First: the rest needs no privilege, and later layers must not keep any. */
    policy_enter_privileges,
    /* Before the filter, which allows no setrlimit. */
    policy_enter_limits,
    /* After the change of user: the kernel clears the death signal then and may allow dumping. */
    policy_enter_process,
    /* Last: the filter allows nothing of the above. */
    policy_enter_seccomp,
};

bool policy_enter(const struct policy_program *program, const struct policy_limits *limits,
                  int *listener, struct error *error) {
    const struct policy_entry entry = {program, limits, listener};
    *listener = -1;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        if (!layers[i](&entry, error))
            return false;
    return true;
}
