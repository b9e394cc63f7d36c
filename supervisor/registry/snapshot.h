/* A snapshot: all entries of a project as they were at one time, sorted, found by key, listed in
 * pages. Immutable and counted by reference; an unchanged entry is shared with the snapshot
 * before. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_SNAPSHOT_H
#define ECLAVE_SUPERVISOR_REGISTRY_SNAPSHOT_H

#include "common/error.h"
#include "supervisor/registry/entry.h"
#include "supervisor/registry/uri_template.h"
#include <stdbool.h>
#include <stddef.h>

enum {
    SNAPSHOT_MARK_BYTES = 80,
    SNAPSHOT_LIST_STAGES = 3, /* each takes about a millisecond for 5,000 entries */
    SNAPSHOT_STAGES = SNAPSHOT_LIST_STAGES * REGISTRY_KINDS + 1
};

/* A file that is no entry, and why; or one whose entry is not quite what was meant, and how. */
struct refusal {
    char *file; /* below the project; safe to print, as is the reason */
    char *reason;
};

struct entry_list {
    struct registry_entry **entries; /* sorted by key, bytewise */
    size_t count;
    size_t held; /* with those behind COUNT, which were refused and are freed with the snapshot */
    size_t capacity;
    struct digest listing, content;
};

struct snapshot {
    size_t references;
    struct entry_list lists[REGISTRY_KINDS];
    struct registry_entry **by_file; /* all entries, sorted by file */
    size_t total;                    /* entries */
    size_t bytes;                    /* that count for registry.max_bytes */
    struct refusal *refusals;        /* sorted by file */
    size_t refusal_count, refusal_capacity;
    struct refusal *warnings; /* sorted by file */
    size_t warning_count, warning_capacity;
    char hash[DIGEST_TEXT_BYTES]; /* the same as long as this process and all that lists show of
                                     it are the same */
};

struct snapshot *snapshot_ref(const struct snapshot *snapshot);
/* NULL does nothing. */
void snapshot_unref(const struct snapshot *snapshot);

/* The entry of this KIND and key (name, URI or URI template), or NULL; borrowed. */
const struct registry_entry *snapshot_find(const struct snapshot *snapshot, enum registry_kind kind,
                                           const char *key);
/* The first template, in their order, that URI matches, with the values in *match; or NULL. */
const struct registry_entry *snapshot_match(const struct snapshot *snapshot, const char *uri,
                                            struct template_match *match);

/* Pages: the entries of KIND from *index on. A mark stands for a place in the listing of one kind
 * in one state; it is what a cursor (cursor.h) is made for. */
void snapshot_mark(const struct snapshot *snapshot, enum registry_kind kind, size_t index,
                   char mark[SNAPSHOT_MARK_BYTES]);
/* The place that MARK stands for. False when it is of another kind, or what lists show of this
 * kind has changed since: the cursor is invalid then (-32602). */
bool snapshot_open_mark(const struct snapshot *snapshot, enum registry_kind kind, const char *mark,
                        size_t *index);

/* --- for the scan that makes one --- */

/* An empty one with one owner; NULL without memory. */
struct snapshot *snapshot_make(void);
/* Takes ENTRY over, also when it fails for want of memory. */
bool snapshot_add(struct snapshot *snapshot, struct registry_entry *entry);
/* Notes that FILE is refused. It and REASON, which may quote the file, are of any bytes. */
bool snapshot_refuse(struct snapshot *snapshot, const char *file, const char *reason);
/* Notes that the entry of FILE, which is added, is not quite what was meant. */
bool snapshot_warn(struct snapshot *snapshot, const char *file, const char *text);
/* Sorts, refuses what has another's key or names a completion that there is not, and digests: the
 * part number STAGE of it, from 0 to SNAPSHOT_STAGES - 1, each once and in this order. */
bool snapshot_finish(struct snapshot *snapshot, unsigned stage, const struct digest_key *key);
/* Frees up to COUNT of the entries of a snapshot that nobody else has, and with the last of them
 * the snapshot; one that others have loses this owner. True when there is nothing left to do. */
bool snapshot_drop_some(struct snapshot *snapshot, size_t count);
/* The entry that was made of FILE, or NULL. */
struct registry_entry *snapshot_find_file(const struct snapshot *snapshot, const char *file);
/* Was FILE refused for this reason? Was this said of its entry? */
bool snapshot_is_refused(const struct snapshot *snapshot, const char *file, const char *reason);
bool snapshot_is_warned(const struct snapshot *snapshot, const char *file, const char *text);

#endif
