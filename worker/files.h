/* The files that the code of a call was joined from, as the supervisor names them: a line "FIRST
 * NAME" for each, in order, where FIRST is the line of the code at which the file NAME begins. */
#ifndef ECLAVE_WORKER_FILES_H
#define ECLAVE_WORKER_FILES_H

#include "common/buffer.h"

#include <stddef.h>

/* The name of the file that has *LINE of the code, which becomes the line in that file. Empty, and
 * *LINE stays, if there is none. The name is part of FILES. */
struct span files_of_line(struct span files, size_t *line);

#endif
