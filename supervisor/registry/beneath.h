/* The way into a project: by descriptors alone, below the project's directory alone, through no
 * link. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_BENEATH_H
#define ECLAVE_SUPERVISOR_REGISTRY_BENEATH_H

#include "common/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Opens the directory at the absolute PATH, no part of which may be a link. The descriptor, which
 * the caller closes, or -1 with *error. */
int beneath_open_root(const char *path, struct error *error);
/* Opens the directory PATH below ROOT. The descriptor, or -1 with errno. */
int beneath_open_folder(int root, const char *path);
/* Opens the regular file PATH below ROOT for reading, without blocking and without so much as
 * opening what is not a regular file. The descriptor, or -1 with *error, which tells what is wrong
 * and not where. */
int beneath_open_file(int root, const char *path, struct error *error);
/* Looks at PATH below ROOT without opening it. False with errno. */
bool beneath_stat(int root, const char *path, struct stat *status);

/* May PATH name a file below a project: components apart by single slashes, none of them ".", ".."
 * or hidden, no control characters, well-formed UTF-8, at most 255 bytes? */
bool beneath_path_is_plain(const char *path, struct error *error);

#endif
