/* Files read whole. */
#ifndef ECLAVE_SUPERVISOR_BASE_WHOLE_FILE_H
#define ECLAVE_SUPERVISOR_BASE_WHOLE_FILE_H

#include "common/buffer.h"
#include "common/error.h"
#include <stdbool.h>
#include <stdio.h>

/* Reads all of FILE ("-": standard input) into the empty OUT, whose maximum is request.max_bytes.
 * False with *error, which names FILE. */
bool whole_file_read(const char *file, struct buffer *out, struct error *error);

/* Appends all of IN to OUT. False with *code: an errno value, or 0 if it does not fit. */
bool whole_file_append(FILE *in, struct buffer *out, int *code);

#endif
