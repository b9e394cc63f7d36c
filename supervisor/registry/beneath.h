/* Opening files of a project: only below its directory, and through no symbolic link. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_BENEATH_H
#define ECLAVE_SUPERVISOR_REGISTRY_BENEATH_H

#include "common/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Opens the directory at the absolute PATH, no component of which may be a link. The caller closes
 * the descriptor; -1 with *error. */
int beneath_open_root(const char *path, struct error *error);
/* The same for a path that may lead through links: the operator named the project so. */
int beneath_follow_root(const char *link, struct error *error);
/* Opens the directory PATH below ROOT; -1 with errno. */
int beneath_open_folder(int root, const char *path);
/* Opens the file PATH below ROOT for reading. Checks that it is a regular file before opening it,
 * so that a fifo or a device does not block. -1 with *error, a phrase to follow PATH. */
int beneath_open_file(int root, const char *path, struct error *error);
/* The status of PATH below ROOT; false with errno. */
bool beneath_stat(int root, const char *path, struct stat *status);

/* Is PATH at most 255 bytes of UTF-8 without control characters, in components separated by single
 * slashes, none of which is hidden, "." or ".."? If not, *error is a phrase to follow its name. */
bool beneath_path_is_plain(const char *path, struct error *error);

#endif
