/* Making entries from files, for the scan. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_ENTRY_INTERNAL_H
#define ECLAVE_SUPERVISOR_REGISTRY_ENTRY_INTERNAL_H

#include "common/buffer.h"
#include "common/error.h"
#include "supervisor/registry/entry.h"
#include "supervisor/registry/metadata.h"
#include <stdlib.h>
#include <string.h>

/* The files of one entry. */
struct candidate {
    enum project_folder folder;
    char *stem;    /* owned: the name if the metadata has none; "" from register.json */
    char *body;    /* owned: path below the project; NULL: there is no such file */
    char *sidecar; /* owned: path of the file with the metadata; NULL: there is none */
    struct span inline_metadata; /* from register.json, checked; borrowed; bytes NULL: none */
};
void candidate_free(struct candidate *candidate);
/* The file that stands for it in refusals. */
const char *candidate_file(const struct candidate *candidate);
/* Of `inline_metadata`. */
struct digest candidate_inline_digest(const struct candidate *candidate,
                                      const struct digest_key *key);

/* Does NAME end with SUFFIX, and have more than that? */
static inline bool has_suffix(const char *name, const char *suffix) {
    size_t length = strlen(name), size = strlen(suffix);
    return length > size && strcmp(name + length - size, suffix) == 0;
}

/* TABLE, of COUNT items of SIZE bytes, with room for one more; *capacity is 0 at first. NULL when
 * out of memory: TABLE is unchanged. */
static inline void *table_grow(void *table, size_t count, size_t *capacity, size_t size) {
    size_t wanted = *capacity ? 2 * *capacity : 64;
    if (count < *capacity)
        return table;
    void *larger = reallocarray(table, wanted, size);
    if (larger)
        *capacity = wanted;
    return larger;
}

/* --- entry.c --- */

struct entry_options {
    /* Whether something built in has the KEY of an entry of KIND; or NULL. */
    bool (*is_reserved)(enum registry_kind kind, const char *key);
    const struct digest_key *key;
    size_t response_bytes; /* that an answer may have; 0: any number */
};

/* Makes the entry of CANDIDATE. Takes over *body; reads *sidecar, whose bytes are NULL if there is
 * no such file. NULL with *error, a phrase to follow the name of the file. */
struct registry_entry *entry_make(const struct entry_options *options,
                                  const struct candidate *candidate, struct file_content *body,
                                  const struct file_content *sidecar, struct error *error);
/* Compile the schemas, before the entry is used. Steps of their own, because each may take a
 * millisecond or two. False with *error: the entry is refused. */
bool entry_compile_input(struct registry_entry *entry, struct error *error);
bool entry_compile_output(struct registry_entry *entry, struct error *error);

/* --- metadata_read.c --- */

enum { HEADER_LINE_MAX = 10 };

/* The metadata of CANDIDATE: from register.json, its sidecar, or the header of its body; an empty
 * object if there is none. The caller's. *bytes is its size outside the body. NULL with *error. */
struct json_object *metadata_read(const struct candidate *candidate,
                                  const struct file_content *body,
                                  const struct file_content *sidecar, size_t *bytes,
                                  struct error *error);
/* Puts the name of the sidecar before *error, if it is not the file that refusals name. */
void metadata_locate(const struct candidate *candidate, struct error *error);

/* The line, counted from 1, that the header begins in; 0: there is none. */
size_t header_line(struct span source);
/* Appends the lines of the header in SOURCE to OUT, without the comment characters; line N of OUT
 * is line N of SOURCE. False if there is no header. */
bool header_take(struct span source, struct buffer *out);

#endif
