/* What a process is born with and must not keep: descriptors beyond its own four, and what its
 * environment says about the host. */
#include "policy/layers.h"

#include <string.h>
#include <unistd.h>

enum { CHANNEL = 3 };

/* The time zone and the collector's one thread are the worker's own. */
static bool may_stay(const char *entry) {
    return strncmp(entry, "TZ=", 3) == 0 || strncmp(entry, "GC_MARKERS=", 11) == 0;
}

/* In place: clearenv leaves the strings where they were, and any address can be read. Writes
 * nothing where nothing is to go: a fork of a process that did this only looks. */
void policy_descriptors_wipe_environment(void) {
    char **kept = environ;
    for (char **entry = environ; entry && *entry; entry++) {
        if (!may_stay(*entry))
            explicit_bzero(*entry, strlen(*entry));
        else if (kept++ != entry)
            kept[-1] = *entry;
    }
    if (kept && *kept)
        *kept = NULL;
}

bool policy_enter_descriptors(const struct policy_entry *entry, struct error *error) {
    (void)entry;
    policy_descriptors_wipe_environment();
    return close_range(CHANNEL + 1, ~0U, 0) == 0 || error_set(error, errno, "closing descriptors");
}
