/* What `eclave batch` can be told besides the settings. */
#ifndef ECLAVE_SUPERVISOR_BATCH_OPTIONS_H
#define ECLAVE_SUPERVISOR_BATCH_OPTIONS_H

#include "common/error.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { BATCH_JOBS_MAX = 1024 };

struct batch_options {
    int64_t jobs;          /* 1 to BATCH_JOBS_MAX */
    const char *skip_done; /* NULL: start from nothing */
    const char *junit;     /* NULL: none */
    bool unordered, fail_fast, tap;
};

/* Takes these options out of ARGUMENTS[1..*count-1], up to a lone "--"; what is left is for
 * settings_read. False with a one-line *error. */
bool batch_options_take(struct batch_options *options, int *count, char **arguments,
                        struct error *error);

/* Writes one line an option, for --help. */
void batch_options_help(FILE *out);
/* The same for the manual page, in roff. */
void batch_options_manual(FILE *out);

#endif
