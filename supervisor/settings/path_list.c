/* Paths on this machine. */
#include "supervisor/settings/settings.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void path_list_free(struct path_list *list) {
    for (size_t i = 0; i < list->count; i++)
        free(list->paths[i]);
    free(list->link);
    *list = (struct path_list){0};
}

/* True if PATH, which has no links in it, is of KIND and readable. */
static bool is_of_kind(const char *path, enum path_kind kind, int *code) {
    struct stat status;
    if (lstat(path, &status) != 0) {
        *code = errno;
        return false;
    }
    *code = 0;
    if (kind == PATH_FILE ? !S_ISREG(status.st_mode) : !S_ISDIR(status.st_mode))
        return false;
    if (access(path, kind == PATH_FILE ? R_OK : R_OK | X_OK) == 0)
        return true;
    *code = errno;
    return false;
}

/* PATH below BASE, which only matters for a relative path. False if it is too long. */
static bool join(char joined[PATH_MAX], const char *path, const char *base) {
    bool relative = path[0] != '/' && base;
    int length =
        snprintf(joined, PATH_MAX, "%s%s%s", relative ? base : "", relative ? "/" : "", path);
    return length >= 0 && length < PATH_MAX;
}

/* Is a component of PATH, which exists, a symbolic link? */
static bool has_link(const char *path) {
    char part[PATH_MAX];
    struct stat status;
    for (size_t length = 1; path[length - 1]; length++) {
        if (path[length] && path[length] != '/')
            continue;
        snprintf(part, sizeof part, "%.*s", (int)length, path);
        if (lstat(part, &status) == 0 && S_ISLNK(status.st_mode))
            return true;
    }
    return false;
}

char *path_link(const char *path, const char *base) {
    char joined[PATH_MAX], here[PATH_MAX], *link = NULL;
    if (!join(joined, path, base) || !has_link(joined))
        return NULL;
    if (joined[0] == '/')
        return strdup(joined);
    return getcwd(here, sizeof here) && asprintf(&link, "%s/%s", here, joined) > 0 ? link : NULL;
}

/* PATH as an absolute path. NULL with *code. */
static char *make_absolute(const char *path, int *code) {
    char here[PATH_MAX], *absolute = NULL;
    *code = ENAMETOOLONG;
    if (path[0] == '/')
        return strdup(path);
    return getcwd(here, sizeof here) && asprintf(&absolute, "%s/%s", here, path) > 0 ? absolute
                                                                                     : NULL;
}

char *path_find(const char *path, const char *base, enum path_kind kind, int *code) {
    char joined[PATH_MAX];
    if (!join(joined, path, base)) {
        *code = ENAMETOOLONG;
        return NULL;
    }
    /* with a base, "" would name the base itself */
    char *found = path[0] ? realpath(joined, NULL) : NULL;
    if (!found && path[0] && errno == ENOENT && kind == PATH_PLACE)
        return make_absolute(joined, code);
    if (!found) {
        *code = path[0] ? errno : ENOENT;
        return NULL;
    }
    if (is_of_kind(found, kind, code))
        return found;
    free(found);
    return NULL;
}
