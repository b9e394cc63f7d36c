/* A snapshot: all entries of a project at one time, sorted, indexed by key, and listed in pages.
 * It does not change once it is made, and is counted by reference; unchanged entries are shared
 * with the snapshot before. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_SNAPSHOT_H
#define ECLAVE_SUPERVISOR_REGISTRY_SNAPSHOT_H

#include "supervisor/registry/entry.h"
#include "supervisor/registry/uri_template.h"
#include <stdbool.h>
#include <stddef.h>

enum {
    SNAPSHOT_MARK_BYTES = 80,
    SNAPSHOT_LIST_STAGES = 3, /* each takes about a millisecond for 5,000 entries */
    SNAPSHOT_STAGES = SNAPSHOT_LIST_STAGES * REGISTRY_KINDS + 1
};

/* A message about a file; both strings are safe to print. */
struct notice {
    char *file; /* path below the project */
    char *text;
};

struct notice_list {
    struct notice *items; /* sorted by file and text once the snapshot is made */
    size_t count, capacity;
};

struct entry_list {
    struct registry_entry **entries; /* sorted by key, bytewise */
    size_t count;
    size_t held; /* COUNT and the refused entries after these, which are freed with the snapshot */
    size_t capacity;
    struct digest listing, content;
};

struct snapshot {
    size_t references;
    struct entry_list lists[REGISTRY_KINDS];
    struct registry_entry **by_file; /* all entries, sorted by file */
    size_t total;                    /* entries */
    size_t bytes;                    /* that count towards registry.max_bytes */
    struct notice_list refusals;     /* files that make no entry, with the reasons */
    struct notice_list stale;        /* files that cannot be used, whose entry is an earlier one */
    struct notice_list warnings;     /* files that make one which differs from their metadata */
    bool by_hand;                    /* register.json was read */
    char hash[DIGEST_TEXT_BYTES];    /* of what all lists show; comparable in this process only */
};

struct snapshot *snapshot_ref(const struct snapshot *snapshot);
/* NULL does nothing. */
void snapshot_unref(const struct snapshot *snapshot);

/* The entry of this KIND and key (name, URI or URI template), or NULL; borrowed. A URI finds the
 * resource of any equivalent one. */
const struct registry_entry *snapshot_find(const struct snapshot *snapshot, enum registry_kind kind,
                                           const char *key);
/* The first template, in the order of their keys, that URI matches, with the values in *match; or
 * NULL. */
const struct registry_entry *snapshot_match(const struct snapshot *snapshot, const char *uri,
                                            struct template_match *match);

/* Writes a mark for the entry at INDEX of the list of KIND. A cursor stands for a mark. */
void snapshot_mark(const struct snapshot *snapshot, enum registry_kind kind, size_t index,
                   char mark[SNAPSHOT_MARK_BYTES]);
/* The index that MARK was written for. False if it is of another kind, or if what lists show of
 * this kind has changed since. */
bool snapshot_open_mark(const struct snapshot *snapshot, enum registry_kind kind, const char *mark,
                        size_t *index);

/* Is this FILE in LIST, with this TEXT? */
bool notices_have(const struct notice_list *list, const char *file, const char *text);

/* --- for the scan that makes one --- */

/* An empty one with one reference; NULL when out of memory. */
struct snapshot *snapshot_make(void);
/* Takes over ENTRY, even when it fails. This and the next fail only when out of memory. */
bool snapshot_add(struct snapshot *snapshot, struct registry_entry *entry);
/* FILE and TEXT, which may quote the file, may contain any bytes. */
bool notices_add(struct notice_list *list, const char *file, const char *text);
/* Does part number STAGE of what makes the snapshot ready for use: sorts, refuses entries with the
 * key of another or with a missing completion, computes digests. To be called once for each stage
 * from 0 to SNAPSHOT_STAGES - 1, in this order. */
bool snapshot_finish(struct snapshot *snapshot, unsigned stage, const struct digest_key *key);
/* Drops a reference. If it is the last, frees only up to COUNT entries. False: call again. */
bool snapshot_drop_some(struct snapshot *snapshot, size_t count);
/* The entry made from FILE, or NULL. */
struct registry_entry *snapshot_find_file(const struct snapshot *snapshot, const char *file);

#endif
