/* Finds the other programs of eclave. */
#include "supervisor/process/program.h"

#include <unistd.h>

bool program_find(const char *name, char path[INSTALLED_PATH_BYTES], struct error *error) {
    const char *const directories[] = {"", installed_libexec};
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
        if (!installed_path(directories[i], name, path, error))
            return false;
        if (access(path, X_OK) == 0)
            return true;
    }
    return error_set(error, 0,
                     "the program %s is neither beside eclave nor in its libexec directory", name);
}
