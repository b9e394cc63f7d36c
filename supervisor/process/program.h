/* The other programs of eclave. */
#ifndef ECLAVE_SUPERVISOR_PROCESS_PROGRAM_H
#define ECLAVE_SUPERVISOR_PROCESS_PROGRAM_H

#include "common/error.h"
#include <stdbool.h>

enum { PROGRAM_PATH_BYTES = 4096 };

/* Finds the program NAME beside this one (in a build directory) or in libexec (installed). False
 * with *error. */
bool program_find(const char *name, char path[PROGRAM_PATH_BYTES], struct error *error);

#endif
