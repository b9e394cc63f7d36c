/* Where the parts of eclave are. */
#ifndef ECLAVE_SUPERVISOR_BASE_INSTALLED_H
#define ECLAVE_SUPERVISOR_BASE_INSTALLED_H

#include "common/error.h"
#include <stdbool.h>

enum { INSTALLED_PATH_BYTES = 4096 };

/* The directories of the other programs and of ECL's own files, as installed_path() takes them. */
extern const char installed_libexec[], installed_ecl_directory[];

/* Writes the path of NAME in DIRECTORY, which is absolute or, in a tree that can be moved, relative
 * to the directory of this program, whose links are followed. Does not ask whether it exists. False
 * with *error. */
bool installed_path(const char *directory, const char *name, char path[INSTALLED_PATH_BYTES],
                    struct error *error);

/* Writes the path of ECL's own files, without links, if they are in a tree that can be moved; else
 * "", and the path that ECL was built with holds. False with *error if they are missing or ECL
 * cannot use the path. */
bool installed_ecl(char path[INSTALLED_PATH_BYTES], struct error *error);

#endif
