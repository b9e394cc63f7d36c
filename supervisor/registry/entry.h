/* An entry of the registry: one tool, resource, resource template, prompt or completion. What it
 * defines does not change once it is made, and snapshots share it. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_ENTRY_H
#define ECLAVE_SUPERVISOR_REGISTRY_ENTRY_H

#include "supervisor/registry/digest.h"
#include "supervisor/registry/file.h"
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

enum registry_kind {
    REGISTRY_TOOL,
    REGISTRY_RESOURCE,
    REGISTRY_TEMPLATE,
    REGISTRY_PROMPT,
    REGISTRY_COMPLETION,
    REGISTRY_KINDS
};

/* "tool", "resource", "template", "prompt", "completion". */
const char *registry_kind_word(enum registry_kind kind);

struct schema;

struct registry_entry {
    size_t references;
    enum registry_kind kind;
    char *key;                     /* unique in its kind: name, normal URI or URI template */
    char *uri;                     /* of a resource, as it was written; else NULL */
    char *name;                    /* `name`, or the file's */
    const char *mime_type;         /* of a resource never NULL; of a template as in the metadata */
    struct json_object *metadata;  /* checked; never NULL; with the arguments declared for it */
    struct file_content body;      /* source, text or bytes; bytes NULL: a prompt of messages */
    bool is_lisp;                  /* the body is a Lisp source to evaluate */
    double timeout_s;              /* 0: not in the metadata */
    bool in_caller_session;        /* `session` is "caller"; else each call has a fresh process */
    struct schema *input, *output; /* compiled; NULL: the metadata has none */

    /* For scans. */
    unsigned folder; /* enum project_folder: the one it was found in, or is listed under */
    bool is_inline;  /* its metadata is in register.json */
    bool stale;      /* in the last scan its files could not be used; set by each scan */
    char *file;      /* path below the project: of the body, else of the metadata */
    struct file_stamp metadata_stamp; /* of the file with the metadata */
    struct digest inline_digest;      /* of the metadata in register.json */
    struct digest listing, content;   /* of the members that lists show; of everything else */
    size_t bytes; /* that count towards registry.max_bytes: files, values and schemas */
};

/* Adds or drops a reference; the last one frees the entry. entry_unref(NULL) does nothing. */
struct registry_entry *entry_ref(struct registry_entry *entry);
void entry_unref(struct registry_entry *entry);

/* The key as its file writes it, which is what clients are shown. */
static inline const char *entry_shown(const struct registry_entry *entry) {
    return entry->uri ? entry->uri : entry->key;
}

/* The ARGUMENTS (an object, or NULL: none) that are passed to the source: without `session` if
 * that names the session to run in. The caller's; NULL when out of memory. */
struct json_object *entry_own_arguments(const struct registry_entry *entry,
                                        struct json_object *arguments);

#endif
