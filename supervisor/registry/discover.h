/* Finds the candidates in one folder of a project: which of its files make one entry. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_DISCOVER_H
#define ECLAVE_SUPERVISOR_REGISTRY_DISCOVER_H

#include "common/error.h"
#include "supervisor/registry/entry_internal.h"
#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>

/* The state of reading a folder in steps. */
struct discovery {
    enum project_folder folder;
    size_t maximum; /* entries */
    DIR *stream;    /* owned; NULL when all names have been read */
    char **names;   /* owned; sorted when all have been read */
    size_t count, capacity, next, entries;
};

enum discovery_progress {
    DISCOVERY_MORE,      /* call again */
    DISCOVERY_CANDIDATE, /* *candidate is the next, the caller's */
    DISCOVERY_REFUSED,   /* the same, but *error says why it makes no entry */
    DISCOVERY_DONE,
    DISCOVERY_FAILED /* the whole scan fails with *error: too many entries, or out of memory */
};

/* Begins to read FOLDER, open as FD, which is taken over. MAXIMUM: entries. */
bool discovery_begin(struct discovery *discovery, enum project_folder folder, int fd,
                     size_t maximum, struct error *error);
enum discovery_progress discovery_step(struct discovery *discovery, struct candidate *candidate,
                                       struct error *error);
void discovery_end(struct discovery *discovery);

#endif
