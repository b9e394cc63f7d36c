/* What --help prints. */
#ifndef ECLAVE_SUPERVISOR_COMMAND_HELP_H
#define ECLAVE_SUPERVISOR_COMMAND_HELP_H

#include <stdio.h>

/* The help of COMMAND, or that of the program where COMMAND, which may be NULL, is none. */
void help_print(FILE *out, const char *command);

#endif
