/* One look at a project, in steps that are each short: a portion of names, a portion of one file,
 * one entry. It ends with a snapshot, or fails and leaves nothing. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_SCAN_H
#define ECLAVE_SUPERVISOR_REGISTRY_SCAN_H

#include "common/error.h"
#include "supervisor/registry/discover.h"
#include "supervisor/registry/file.h"
#include "supervisor/registry/make.h"
#include "supervisor/registry/override.h"
#include "supervisor/registry/snapshot.h"
#include "supervisor/registry/watch.h"
#include <stdbool.h>
#include <stddef.h>

enum { SOURCE_MAX_BYTES = 1024 * 1024 };

struct scan_limits {
    size_t bytes;          /* of all that is held */
    size_t entries;        /* of one kind */
    size_t resource_bytes; /* of one resource */
    double timeout_s;      /* of one call: a longer one is cut to it */
};

struct scan {
    const char *path; /* borrowed: the project's directory */
    struct scan_limits limits;
    struct maker maker;
    const struct snapshot *before; /* owned: entries that did not change are taken from it */
    struct watch *watch;           /* borrowed */
    bool unwatched;                /* there is something that no watch tells of */
    bool (*step)(struct scan *scan, struct error *error); /* NULL: done */
    int root;
    struct file_reader reader;
    struct override override;
    bool overridden[FOLDER_COUNT];
    enum project_folder folder; /* being discovered */
    struct discovery discovery;
    struct job *jobs; /* owned */
    size_t job_count, job_capacity, next_job;
    struct file_content sidecar;  /* of the present job */
    struct registry_entry *entry; /* owned: made of it, and not added yet */
    unsigned stage;               /* of finishing the snapshot */
    struct snapshot *made;        /* owned */
};

enum scan_progress { SCAN_MORE, SCAN_DONE, SCAN_FAILED };

/* Begins a look at PATH; what is the same as in BEFORE is not read again. */
bool scan_begin(struct scan *scan, const char *path, const struct scan_limits *limits,
                const struct maker *maker, const struct snapshot *before, struct watch *watch,
                struct error *error);
/* With SCAN_DONE scan->made is the snapshot, which the caller may take. */
enum scan_progress scan_step(struct scan *scan, struct error *error);
/* Frees what is left of it, done or not. */
void scan_end(struct scan *scan);

#endif
