/* register.json, which lists entries by hand in place of discovery:
 *
 *   {"version": 1, "tools": [ENTRY…], "resources": …, "prompts": …, "completions": …}
 *
 * An array lists all entries of its kind ([]: none); for a kind that is null or absent they are
 * discovered. ENTRY is the metadata of one entry, with the member `file`, a path below the project
 * (default: NAME.lisp in the folder of the kind). `name` is required except for resources, for
 * which `file` is. The headers and sidecars of listed files are ignored.
 *
 * The file is strict JSON of at most OVERRIDE_MAX_BYTES. If it or one
 * entry is malformed, all of it is refused and everything is discovered (doc/project.md); an error
 * in a file that it names refuses that entry only. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_OVERRIDE_H
#define ECLAVE_SUPERVISOR_REGISTRY_OVERRIDE_H

#include "common/buffer.h"
#include "common/error.h"
#include "supervisor/registry/entry_internal.h"
#include <stdbool.h>
#include <stddef.h>

enum { OVERRIDE_MAX_BYTES = 1024 * 1024, OVERRIDE_VALUES_MAX = 262144 };

extern const char override_file[]; /* "register.json" */

/* The state of reading the file, one entry a step. */
struct override {
    struct file_content text;        /* owned */
    struct span lists[FOLDER_COUNT]; /* bytes NULL: to be discovered */
    enum project_folder folder;
    size_t offset, entries, maximum;
};

enum override_progress { OVERRIDE_CANDIDATE, OVERRIDE_DONE, OVERRIDE_REFUSED };

/* Takes *TEXT over and checks that it is JSON. MAXIMUM: entries of one kind. */
bool override_begin(struct override *override, struct file_content *text, size_t maximum,
                    struct error *error);
/* Finds the lists in it. To be called once, before the steps. */
bool override_find_lists(struct override *override, struct error *error);
/* With OVERRIDE_CANDIDATE, *candidate is the next, the caller's; it points into the text, which is
 * freed by override_end. */
enum override_progress override_step(struct override *override, struct candidate *candidate,
                                     struct error *error);
void override_end(struct override *override);

#endif
