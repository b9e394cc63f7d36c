/* The layer descriptors: closes inherited descriptors and wipes the environment, which describes
 * the host. */
#include "policy/policy_internal.h"

#include <string.h>
#include <unistd.h>

enum { CHANNEL = 3 };

/* Set for the worker itself: its time zone, and one thread for the collector. */
static bool may_stay(const char *entry) {
    return strncmp(entry, "TZ=", 3) == 0 || strncmp(entry, "GC_MARKERS=", 11) == 0;
}

/* Overwrites the strings, which clearenv would leave readable in memory. A fork of a process that
 * has done this writes nothing and so copies no page. */
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

bool policy_enter_descriptors(const struct policy_context *context, struct error *error) {
    (void)context;
    policy_descriptors_wipe_environment();
    return close_range(CHANNEL + 1, ~0U, 0) == 0 ||
           error_set(error, errno, "cannot close descriptors");
}
