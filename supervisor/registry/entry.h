/* One tool, resource, template of resources, prompt or completion. Immutable once it is made, and
 * shared between snapshots. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_ENTRY_H
#define ECLAVE_SUPERVISOR_REGISTRY_ENTRY_H

#include "common/error.h"
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

/* The word for one: "tool", "resource", "template", "prompt", "completion". */
const char *registry_kind_word(enum registry_kind kind);

struct schema;

/* How JSON Schemas become what arguments are checked with: the one place where the compiler of
 * schemas is plugged in. */
struct registry_schemas {
    /* The compiled schema, or NULL with *error: the tool is refused with it. */
    struct schema *(*compile)(struct json_object *schema, struct error *error);
    void (*drop)(struct schema *schema);
    /* How much memory it takes. NULL: none that is worth counting. */
    size_t (*bytes)(const struct schema *schema);
};

struct registry_entry {
    size_t references;
    enum registry_kind kind;
    const char *key;               /* unique in its kind: name, or `uri`, or `uriTemplate` */
    const char *name;              /* `name`; without it the file's */
    const char *mime_type;         /* resources: never NULL; templates: NULL when not given */
    struct json_object *metadata;  /* checked; as written, without what was not; never NULL */
    struct file_content body;      /* source, text or bytes; bytes NULL for a prompt of messages */
    bool is_lisp;                  /* the body is to be evaluated */
    double timeout_s;              /* 0: not given */
    bool in_caller_session;        /* `session` is "caller"; else it runs in a world of its own */
    struct schema *input, *output; /* compiled; NULL without a schema or without a compiler */

    /* For refreshes. */
    unsigned folder; /* enum project_folder: the one it was found in, or is listed under */
    bool is_inline;  /* its metadata stands in register.json */
    char *file;      /* below the project, of the body or else of the metadata */
    struct file_stamp metadata_stamp; /* of the metadata's own file */
    struct digest inline_digest;      /* of the text of that */
    struct digest listing, content;   /* of what lists show; of all else */
    size_t bytes; /* what it counts for in registry.max_bytes: files, and what is made of them */
    const struct registry_schemas *schemas;
    char *owned_key, *owned_name;
};

/* One more, or one fewer, owner; the last one frees it. NULL does nothing. */
struct registry_entry *entry_ref(struct registry_entry *entry);
void entry_unref(struct registry_entry *entry);

/* Those of ARGUMENTS (an object, or NULL: none) that the source gets: without `session`, where that
 * says in which session the caller wants it. The caller's; NULL without memory. */
struct json_object *entry_own_arguments(const struct registry_entry *entry,
                                        struct json_object *arguments);

#endif
