/* What the names in one folder of a project mean: which files make one entry. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_DISCOVER_H
#define ECLAVE_SUPERVISOR_REGISTRY_DISCOVER_H

#include "common/error.h"
#include "supervisor/registry/make.h"
#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>

/* A folder while it is gone through, in steps. */
struct discovery {
    enum project_folder folder;
    size_t maximum; /* entries */
    DIR *stream;    /* owned; NULL when all names are there */
    char **names;   /* owned; sorted when all are there */
    size_t count, capacity, next, entries;
};

enum discovery_progress {
    DISCOVERY_MORE,    /* nothing yet */
    DISCOVERY_JOB,     /* *job is one, the caller's */
    DISCOVERY_REFUSED, /* *job has only its body, or sidecar, and *error says why */
    DISCOVERY_DONE,
    DISCOVERY_FAILED /* the whole refresh fails with *error: too many, or no memory */
};

/* Begins with the folder open as FD, which is taken over. */
bool discovery_begin(struct discovery *discovery, enum project_folder folder, int fd,
                     size_t maximum, struct error *error);
enum discovery_progress discovery_step(struct discovery *discovery, struct job *job,
                                       struct error *error);
void discovery_end(struct discovery *discovery);

#endif
