/* What clients see of a project, in short and for people. */
#ifndef ECLAVE_SUPERVISOR_COMMAND_OUTLINE_H
#define ECLAVE_SUPERVISOR_COMMAND_OUTLINE_H

#include "supervisor/registry/snapshot.h"
#include <stdio.h>

/* Prints the entries by kind, then what is refused and why. */
void outline_print(FILE *out, const struct snapshot *snapshot);

#endif
