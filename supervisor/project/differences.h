/* Which URIs mean something else in one snapshot than in another. */
#ifndef ECLAVE_SUPERVISOR_PROJECT_DIFFERENCES_H
#define ECLAVE_SUPERVISOR_PROJECT_DIFFERENCES_H

#include "supervisor/registry/snapshot.h"
#include <stdbool.h>
#include <stddef.h>

struct differences {
    struct snapshot *before, *now; /* held */
    /* The templates that are in only one of them, or another in each; borrowed from them. */
    const struct registry_entry **templates;
    size_t template_count;
    bool unknown; /* for want of memory: any template may be one */
};

/* Compares two snapshots, about a millisecond for 5,000 entries. */
void differences_open(struct differences *differences, const struct snapshot *before,
                      const struct snapshot *now);

/* Does URI come from another entry now, or from one that has changed? Dear only where it matches a
 * template that changed. */
bool differences_have(const struct differences *differences, const char *uri);

/* Lets go of one entry, or of all that is left, as snapshot_drop_some does. True when it is done.
 */
bool differences_close_some(struct differences *differences);
void differences_close(struct differences *differences);

#endif
