/* Finds the parts of eclave. */
#include "supervisor/base/installed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Writes the directory of this program, with a slash at the end. */
static bool find_own_directory(char directory[INSTALLED_PATH_BYTES], struct error *error) {
    ssize_t length = readlink("/proc/self/exe", directory, INSTALLED_PATH_BYTES - 1);
    if (length < 0)
        return error_set(error, errno, "read /proc/self/exe (is /proc mounted?)");
    directory[length] = 0;
    char *slash = strrchr(directory, '/');
    if (!slash)
        return error_set(error, 0, "the path of this program is not known");
    slash[1] = 0;
    return true;
}

bool installed_path(const char *directory, const char *name, char path[INSTALLED_PATH_BYTES],
                    struct error *error) {
    char own[INSTALLED_PATH_BYTES] = "";
    if (directory[0] != '/' && !find_own_directory(own, error))
        return false;
    int length = snprintf(path, INSTALLED_PATH_BYTES, "%s%s%s%s", own, directory,
                          directory[0] && name[0] ? "/" : "", name);
    return (length > 0 && length < INSTALLED_PATH_BYTES) ||
           error_set(error, 0, "the path of the directory of eclave is too long");
}

bool installed_ecl(char path[INSTALLED_PATH_BYTES], struct error *error) {
    path[0] = 0;
    if (installed_ecl_directory[0] == '/')
        return true;
    char linked[INSTALLED_PATH_BYTES];
    if (!installed_path(installed_ecl_directory, "", linked, error))
        return false;
    char *found = realpath(linked, NULL);
    int length = found ? snprintf(path, INSTALLED_PATH_BYTES, "%s/", found) : 0;
    free(found);
    if (!length)
        return error_set(error, 0,
                         "ECL's files are not where eclave expects them, in %.200s: was it "
                         "unpacked as a whole?",
                         linked);
    /* ECL takes them for patterns. */
    return (length < INSTALLED_PATH_BYTES && !strpbrk(path, "*?\\")) ||
           error_set(error, 0,
                     "ECL cannot be used in a directory whose path is too long or has one of "
                     "the characters * ? \\: %.200s",
                     path);
}
