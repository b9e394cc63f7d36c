/* Which resources differ between two snapshots. */
#ifndef ECLAVE_SUPERVISOR_PROJECT_DIFFERENCES_H
#define ECLAVE_SUPERVISOR_PROJECT_DIFFERENCES_H

#include "supervisor/registry/snapshot.h"
#include <stdbool.h>
#include <stddef.h>

struct differences {
    struct snapshot *before, *now; /* referenced */
    /* The templates that are in one of them only, or differ; borrowed from them. */
    const struct registry_entry **templates;
    size_t template_count;
    bool unknown; /* out of memory: any template may be one of them */
};

/* Compares two snapshots, in about a millisecond for 5,000 entries. */
void differences_open(struct differences *differences, const struct snapshot *before,
                      const struct snapshot *now);

/* Is URI served by another entry now, or by one that has changed? Slow only for a URI that matches
 * a template that has changed. */
bool differences_have(const struct differences *differences, const char *uri);

/* Frees one entry of the snapshots, as snapshot_drop_some does; or all. True when done. */
bool differences_close_some(struct differences *differences);
void differences_close(struct differences *differences);

#endif
