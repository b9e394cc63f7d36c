/* The systems of --systems and the files of --preload, which the operator trusts. They may fail all
 * the same, and then the cause is said with its place. */
#ifndef ECLAVE_WORKER_PRELOAD_H
#define ECLAVE_WORKER_PRELOAD_H

#include "common/error.h"
#include "common/frame.h"

#include <ecl/ecl.h>
#include <stdbool.h>

/* Called before the first file. If the files end the process, or are not loaded within the time
 * limit, FAILED is called with the reason, and the process ends. FAILED must be safe in a signal
 * handler. */
void preload_begin(void (*failed)(const char *reason));
/* Load an ASDF system from source, and a file. Their definitions are part of every new session.
 * False with *error. */
bool preload_system(const struct worker_configuration *configuration, const char *name,
                    struct error *error);
bool preload_file(const struct worker_configuration *configuration, const char *path,
                  struct error *error);
/* Called after the last file. */
void preload_end(void);

/* The Lisp function ECLAVE:NOTE-PLACE: the next form begins at the byte OFFSET of FILE. */
cl_object preload_note_place(cl_object file, cl_object offset);

#endif
