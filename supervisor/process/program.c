/* Finds the other programs of eclave. */
#include "supervisor/process/program.h"

#include <string.h>
#include <unistd.h>

bool program_find(const char *name, char path[PROGRAM_PATH_BYTES], struct error *error) {
    char self[2048];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0)
        return error_set(error, errno, "read /proc/self/exe (is /proc mounted?)");
    self[length] = 0;
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = 0;
    const char *const directories[] = {slash ? self : ECLAVE_LIBEXEC, ECLAVE_LIBEXEC};
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
        snprintf(path, PROGRAM_PATH_BYTES, "%s/%s", directories[i], name);
        if (access(path, X_OK) == 0)
            return true;
    }
    return error_set(error, 0,
                     "the program %s is neither beside eclave nor in its libexec directory", name);
}
