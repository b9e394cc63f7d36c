/* The other programs of eclave. */
#ifndef ECLAVE_SUPERVISOR_PROCESS_PROGRAM_H
#define ECLAVE_SUPERVISOR_PROCESS_PROGRAM_H

#include "supervisor/base/installed.h"

/* Finds the program NAME beside this one (in a build directory) or in libexec (installed). False
 * with *error. */
bool program_find(const char *name, char path[INSTALLED_PATH_BYTES], struct error *error);

#endif
