/* Records what is looked at in the file system while the operator's files are loaded. */
#ifndef ECLAVE_WORKER_INPUTS_H
#define ECLAVE_WORKER_INPUTS_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Records of common/image_input.h, in memory that is neither Lisp's nor the C library's, since
 * workers must not know the paths. */
struct inputs {
    void *memory; /* NULL: nothing is recorded */
    const void *records;
    size_t memory_bytes, bytes;
};

/* From now on ECL's calls are recorded, those that find nothing too. */
bool inputs_begin(struct error *error);

/* Ends the recording. False with *error if an image cannot be made, since a file has changed
 * meanwhile or there were too many. */
bool inputs_end(struct inputs *inputs, struct error *error);

/* Unmaps the records. */
void inputs_free(struct inputs *inputs);

#endif
