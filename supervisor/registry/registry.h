/* The registry of a project: the tools, resources, prompts and completions in its files. They are
 * read and checked, never evaluated, and kept as snapshots that do not change.
 *
 * A project is the directory of the setting `project`:
 *
 *   tools/NAME.lisp          a tool
 *   prompts/NAME.txt         a prompt: text with {{placeholders}} for arguments
 *   prompts/NAME.lisp        a prompt made by Lisp
 *   prompts/NAME.json        alone, with `messages`: a prompt of fixed messages
 *   resources/FILE           a resource, served as it is
 *   resources/FILE.lisp      with `uriTemplate` in its metadata: resources made by Lisp
 *   completions/NAME.lisp    completes arguments of prompts and templates; not listed
 *   register.json            lists entries by hand: override.h
 *
 * The metadata of an entry is one JSON object, with the members in metadata.c. It is in a sidecar:
 * NAME.json, or FILE.meta.json for resources. A .lisp file in another folder may have it in a
 * header instead: lines that begin with ";;;", the first with ";;; {", within the first ten lines
 * and after nothing but comments and blank lines. An entry with both is refused. Metadata may be
 * missing. doc/project.md has the details and the limits.
 *
 * An error in one entry refuses this entry: it is among the refusals of the snapshot, and is logged
 * once, with the level error. If an earlier version of it is known and its files are still there,
 * that version stays, and the error is among the stale ones. An error of the whole (over a limit,
 * directory missing) fails the scan: it is logged with the level error, and the snapshot before
 * stays in use. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_REGISTRY_H
#define ECLAVE_SUPERVISOR_REGISTRY_REGISTRY_H

#include "common/error.h"
#include "supervisor/base/log.h"
#include "supervisor/base/loop.h"
#include "supervisor/registry/snapshot.h"
#include "supervisor/settings/settings.h"
#include <stdbool.h>

struct registry;

/* What a scan changed. Both snapshots are borrowed for the time of the callback. */
struct registry_change {
    unsigned listed;  /* a bit 1u << kind for each enum registry_kind whose list shows a change */
    unsigned content; /* the same for changes that no list shows: sources, texts, bytes */
    bool first;       /* the first scan: no client has seen the snapshot before */
    const struct snapshot *before, *now; /* the same one if the scan failed */
};

struct registry_options {
    /* Whether something built in has the KEY of an entry of KIND, which is then refused; or NULL.
     */
    bool (*is_reserved)(enum registry_kind kind, const char *key);
    /* Called at the end of each scan, even if it failed or changed nothing; may use the registry,
     * but not close it. May be NULL. */
    void (*scanned)(void *context, const struct registry_change *change);
    void *context;
};

/* Opens the registry of settings->project and begins the first scan, which runs in slices between
 * the other work of the loop; until it is done, the snapshot is empty. Without a project it stays
 * empty. NULL with *error only when out of memory. LOOP, LOG and SETTINGS must outlive it. */
struct registry *registry_open(struct loop *loop, struct log *log, const struct settings *settings,
                               const struct registry_options *options, struct error *error);
/* NULL does nothing. Snapshots with other references remain valid. */
void registry_close(struct registry *registry);

/* The present snapshot; never NULL. Borrowed until the next turn of the loop; snapshot_ref keeps
 * it. */
const struct snapshot *registry_snapshot(const struct registry *registry);

/* Has the first scan ended? */
bool registry_is_settled(const struct registry *registry);

/* Has a scan succeeded? If not, nothing is known of the project. */
bool registry_was_read(const struct registry *registry);

/* The error of the newest scan; its text is empty if that succeeded. Borrowed. */
const struct error *registry_failure(const struct registry *registry);
/* Takes the error of the newest scan if it failed and the error was not taken before: one request
 * is answered with it, later ones from the snapshot that was kept. */
bool registry_take_failure(struct registry *registry, struct error *error);

#endif
