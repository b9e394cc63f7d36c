/* What the commands for projects can be told besides the settings. */
#ifndef ECLAVE_SUPERVISOR_COMMAND_PROJECT_OPTIONS_H
#define ECLAVE_SUPERVISOR_COMMAND_PROJECT_OPTIONS_H

#include "common/error.h"
#include <stdbool.h>

struct project_options {
    const char *args; /* --args of `eclave tool`: JSON, @FILE or "-"; NULL: none */
};

/* Takes these options out of ARGUMENTS[1..*count-1], up to a lone "--"; what is left is for
 * settings_read. False with a one-line *error. */
bool project_options_take(struct project_options *options, int *count, char **arguments,
                          struct error *error);

/* Makes the directory that --project, or else ECLAVE_PROJECT, names, where there is none: the
 * settings know only directories that are there. False with *error. */
bool project_options_prepare(int count, char **arguments, struct error *error);

#endif
