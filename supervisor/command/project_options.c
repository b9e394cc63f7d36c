/* Options of the commands for projects. Never looks at what the settings know but for the name of
 * a project that is yet to be made. */
#include "supervisor/command/project_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Is ARGUMENT this flag? Then *value is what "=" joins to it, or NULL. */
static bool is_flag(const char *flag, const char *argument, const char **value) {
    size_t length = strlen(flag);
    if (strncmp(argument, flag, length) != 0 || (argument[length] && argument[length] != '='))
        return false;
    *value = argument[length] ? argument + length + 1 : NULL;
    return true;
}

bool project_options_take(struct project_options *options, int *count, char **arguments,
                          struct error *error) {
    static const char flag[] = "--args";
    *options = (struct project_options){0};
    int kept = 1, i = 1;
    for (; i < *count && strcmp(arguments[i], "--") != 0; i++) {
        const char *value;
        if (!is_flag(flag, arguments[i], &value)) {
            arguments[kept++] = arguments[i];
            continue;
        }
        options->args = value || i + 1 == *count ? value : arguments[++i];
        if (!options->args)
            return error_set(error, 0, "option %s needs a value", flag);
    }
    while (i < *count)
        arguments[kept++] = arguments[i++];
    *count = kept;
    return true;
}

bool project_options_prepare(int count, char **arguments, struct error *error) {
    const char *directory = getenv("ECLAVE_PROJECT"), *value;
    for (int i = 1; i < count && strcmp(arguments[i], "--") != 0; i++)
        if (is_flag("--project", arguments[i], &value))
            directory = value || i + 1 == count ? value : arguments[++i];
    return !directory || mkdir(directory, 0777) == 0 || errno == EEXIST ||
           error_set(error, errno, "making %.100s", directory);
}
