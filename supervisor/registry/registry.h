/* The tools, resources and prompts that users keep in a project: found, read, checked and held in
 * memory as snapshots that never change. It reads; it never evaluates, and it never writes.
 *
 * A project is the directory of the setting `project`:
 *
 *   tools/NAME.lisp          a tool; what it does is the business of who evaluates it
 *   prompts/NAME.txt         a prompt: text in which {{argument}} stands for an argument; all that
 *                            do are required when its metadata has no `arguments`
 *   prompts/NAME.lisp        a prompt made by Lisp
 *   prompts/NAME.json        alone, with `messages`: a prompt of fixed content
 *   resources/FILE           a resource, served as it is
 *   resources/FILE.lisp      with `uriTemplate` in its metadata: resources made by Lisp
 *   completions/NAME.lisp    completes arguments of prompts and templates; listed nowhere
 *   register.json            takes the place of all or some of this: override.h
 *
 * Metadata is one JSON object: in tools, prompts and completions the file NAME.json, in resources
 * FILE.meta.json. Instead, a .lisp file in tools, prompts or completions may have a header: lines
 * that begin with ";;;", the first of them with ";;; {"; what is left of all of them without the
 * ";;;" is one JSON object, and nothing else. It begins in the first ten lines, and before it there
 * are comments and blank lines alone. With both the entry is refused; without either the file's
 * name is all there is. The members are those of metadata.c's table.
 *
 * Names of tools, prompts and completions: 1 to 64 of A-Z a-z 0-9 _ . - (MCP, tools#tool-names).
 * Hidden files, names that end in "~", and in tools, prompts and completions other endings than
 * these are not looked at. Folders inside these folders are not searched.
 *
 * Metadata has at most 256 KiB and 4,096 values, 64 deep; a source 1 MiB of UTF-8; a resource
 * resource.max_bytes of anything that an answer of response.max_bytes can hold; one folder
 * registry.max_entries; all of it registry.max_bytes. Nothing is followed that is a symbolic link,
 * and nothing opened that is no regular file.
 *
 * A timeout above call.timeout_max_s is cut to it, with a warning in the snapshot and in the log.
 *
 * What is wrong with one entry refuses that entry: it is in the snapshot's list of refusals, and in
 * the log when it is new. What is wrong with the whole (over the limits, the directory gone) fails
 * the refresh: an event of level error, and the snapshot before stays. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_REGISTRY_H
#define ECLAVE_SUPERVISOR_REGISTRY_REGISTRY_H

#include "common/error.h"
#include "supervisor/base/log.h"
#include "supervisor/base/loop.h"
#include "supervisor/registry/entry.h"
#include "supervisor/registry/snapshot.h"
#include "supervisor/settings/settings.h"
#include <stdbool.h>

struct registry;

/* What a refresh changed. Both snapshots are borrowed for the time of the callback. */
struct registry_change {
    unsigned listed;  /* of enum registry_kind, a bit 1u << kind each: what lists show of it */
    unsigned content; /* the same: sources, texts, bytes that no list shows */
    bool first;       /* the first snapshot after the opening; no client has seen another */
    const struct snapshot *before, *now;
};

/* What the registry cannot know by itself. It must outlive the registry and all its snapshots. */
struct registry_options {
    const char *const *reserved_tools; /* names that no tool may take, NULL at the end; or NULL */
    const struct registry_schemas *schemas; /* NULL: any object is a schema */
    /* Called once after each refresh that changed something; may use the registry, may not close
     * it. NULL: nobody is told. */
    void (*changed)(void *context, const struct registry_change *change);
    void *context;
};

/* Opens the registry of settings->project and begins the first look, in slices between the loop's
 * other work; until it is done the snapshot is empty. Without a project it stays empty and nothing
 * is ever looked at. NULL with *error only for want of memory. LOOP, LOG and SETTINGS must outlive
 * it. */
struct registry *registry_open(struct loop *loop, struct log *log, const struct settings *settings,
                               const struct registry_options *options, struct error *error);
/* NULL does nothing. Snapshots that others hold stay theirs. */
void registry_close(struct registry *registry);

/* The present snapshot; never NULL. Borrowed: whoever keeps it over a turn of the loop takes
 * snapshot_ref. */
const struct snapshot *registry_snapshot(const struct registry *registry);

/* Has the first look ended, well or not? */
bool registry_is_settled(const struct registry *registry);

/* How many looks have ended, well or not. */
size_t registry_looks(const struct registry *registry);

/* Takes the reason of the newest failed refresh, once each: a request of a list answers -32603 with
 * it, the ones after are served from the snapshot that was kept (spec/003, Operational Safeguards).
 * False when there is none. */
bool registry_take_failure(struct registry *registry, struct error *error);

/* Looks again as soon as the loop is free. */
void registry_refresh(struct registry *registry);

#endif
