/* The commands of the program. Each returns the exit status. */
#ifndef ECLAVE_SUPERVISOR_COMMANDS_H
#define ECLAVE_SUPERVISOR_COMMANDS_H

#include "supervisor/settings.h"

enum { STATUS_USAGE = 2, STATUS_INTERNAL = 70 };

/* `eclave eval [-e CODE | FILE | -]`: ARGUMENTS are those behind `eval`. */
int command_eval(const struct settings *settings, int count, char **arguments);

#endif
