/* Paths of this machine that the operator names. Never opens what they name. */
#ifndef ECLAVE_SUPERVISOR_SETTINGS_PATH_LIST_H
#define ECLAVE_SUPERVISOR_SETTINGS_PATH_LIST_H

#include <stdbool.h>
#include <stddef.h>

enum { PATH_LIST_MAX = 32 };

struct path_list {
    char *paths[PATH_LIST_MAX]; /* owned; absolute, without symbolic links, "." and ".." */
    size_t count;
};

/* Frees the paths and leaves an empty list. */
void path_list_free(struct path_list *list);

enum path_kind { PATH_DIRECTORY, PATH_FILE };

/* The absolute path of GIVEN, shorter than PATH_MAX, with every link in it followed; a relative one
 * is looked for below BASE (NULL: the current directory). It must be a directory, or a regular
 * file, that this process may read. The caller frees it. NULL with *code: an errno value, or 0 when
 * it is there and is something else. */
char *path_find(const char *path, const char *base, enum path_kind kind, int *code);

#endif
