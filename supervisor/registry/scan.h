/* A scan of a project, in short steps: some names of a folder, a part of one file, one entry. It
 * ends with a snapshot, or fails. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_SCAN_H
#define ECLAVE_SUPERVISOR_REGISTRY_SCAN_H

#include "common/error.h"
#include "supervisor/registry/discover.h"
#include "supervisor/registry/entry_internal.h"
#include "supervisor/registry/override.h"
#include "supervisor/registry/snapshot.h"
#include "supervisor/registry/watch.h"
#include <stdbool.h>
#include <stddef.h>

enum { SOURCE_MAX_BYTES = 1024 * 1024 };

struct scan_limits {
    size_t bytes;          /* registry.max_bytes */
    size_t entries;        /* of one kind */
    size_t resource_bytes; /* of one resource */
    double timeout_s;      /* of one call; longer ones are reduced to it */
    bool follows;          /* the path of the project may lead through symbolic links */
};

struct scan {
    const char *path; /* borrowed: the directory of the project */
    struct scan_limits limits;
    struct entry_options options;
    const struct snapshot *before; /* owned: unchanged entries are taken from it */
    struct watch *watch;           /* borrowed */
    bool unwatched;                /* something is outside the watched folders */
    bool (*step)(struct scan *scan, struct error *error); /* the next one; NULL: done */
    int root;
    struct file_reader reader;
    struct override override;
    bool overridden[FOLDER_COUNT];
    enum project_folder folder; /* being read */
    struct discovery discovery;
    struct candidate *candidates; /* owned */
    size_t candidate_count, candidate_capacity, next_candidate;
    struct file_content sidecar;  /* of the current candidate */
    struct registry_entry *entry; /* owned: made from it, not added yet */
    unsigned stage;               /* of snapshot_finish */
    struct snapshot *made;        /* owned */
};

enum scan_progress { SCAN_MORE, SCAN_DONE, SCAN_FAILED };

/* Begins to scan PATH. Files that are unchanged since BEFORE was made are not read again. */
bool scan_begin(struct scan *scan, const char *path, const struct scan_limits *limits,
                const struct entry_options *options, const struct snapshot *before,
                struct watch *watch, struct error *error);
/* With SCAN_DONE, scan->made is the snapshot, which the caller may take; with SCAN_FAILED, *error
 * is the reason. */
enum scan_progress scan_step(struct scan *scan, struct error *error);
/* Frees what the scan holds, whether it is done or not. */
void scan_end(struct scan *scan);

#endif
