/* Makes an entry of what was read of it. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_MAKE_H
#define ECLAVE_SUPERVISOR_REGISTRY_MAKE_H

#include "common/buffer.h"
#include "common/error.h"
#include "supervisor/registry/entry.h"
#include "supervisor/registry/metadata.h"

/* What belongs to one entry. */
struct job {
    enum project_folder folder;
    char *stem;    /* owned: the name when the metadata has none; "" from register.json */
    char *body;    /* owned: its path below the project; NULL: there is no such file */
    char *sidecar; /* owned: the path of its metadata; NULL: none */
    struct span
        inline_metadata; /* its metadata in register.json, checked; borrowed; bytes NULL: none */
};
void job_free(struct job *job);
/* What the entry is known by in refusals. */
const char *job_file(const struct job *job);

/* Of `inline_metadata`. */
struct digest job_inline_digest(const struct job *job, const struct digest_key *key);

struct maker {
    const struct registry_schemas *schemas; /* or NULL */
    const char *const *reserved_tools;      /* or NULL */
    const struct digest_key *key;
    size_t response_bytes; /* that an answer may have; 0: any number */
};

/* The entry of JOB; takes over *body, and reads *sidecar, whose bytes are NULL where there is none.
 * NULL with *error. */
struct registry_entry *entry_make(const struct maker *maker, const struct job *job,
                                  struct file_content *body, const struct file_content *sidecar,
                                  struct error *error);
/* What is left to do before it is used, as each may take a millisecond or two. False with *error:
 * the entry is to be refused. */
bool entry_compile_input(struct registry_entry *entry, struct error *error);
bool entry_compile_output(struct registry_entry *entry, struct error *error);

#endif
