/* register.json: the hand-written registry that takes the place of what would be discovered.
 *
 *   {"version": 1, "tools": [ENTRY…], "resources": …, "prompts": …, "completions": …}
 *
 * Of each kind: an array is all there is of it ([] switches it off); null or nothing leaves it to
 * discovery. ENTRY is the metadata of one entry and, where it is not NAME.lisp in the folder of its
 * kind, `file`, a path below the project. `name` is required but for resources, and of these `file`
 * is. Headers and other files with metadata are not looked at for such an entry.
 *
 * The file is strict JSON without a byte order mark and of at most OVERRIDE_MAX_BYTES. When it, or
 * one entry, is not as told here, all of it is refused and everything is discovered as if it was
 * not there (spec/003, the fourth guideline); what is wrong with a file that it names refuses that
 * entry alone. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_OVERRIDE_H
#define ECLAVE_SUPERVISOR_REGISTRY_OVERRIDE_H

#include "common/buffer.h"
#include "common/error.h"
#include "supervisor/registry/make.h"
#include <stdbool.h>
#include <stddef.h>

enum { OVERRIDE_MAX_BYTES = 1024 * 1024, OVERRIDE_VALUES_MAX = 262144 };

extern const char override_file[]; /* "register.json" */

/* One such file while it is gone through, an entry a step. */
struct override {
    struct file_content text;        /* owned */
    struct span lists[FOLDER_COUNT]; /* bytes NULL: left to discovery */
    enum project_folder folder;
    size_t offset, entries, maximum;
};

enum override_progress { OVERRIDE_JOB, OVERRIDE_DONE, OVERRIDE_REFUSED };

/* Takes *TEXT over, which is looked at as JSON. False with *error when it is none. MAXIMUM: entries
 * of one kind. */
bool override_begin(struct override *override, struct file_content *text, size_t maximum,
                    struct error *error);
/* Finds the lists in it, once. False with *error when it is malformed. */
bool override_find_lists(struct override *override, struct error *error);
/* With OVERRIDE_JOB, *job is the next entry, the caller's; it points into the text, which lives
 * until override_end. */
enum override_progress override_step(struct override *override, struct job *job,
                                     struct error *error);
void override_end(struct override *override);

#endif
