/* `eclave repl`: sessions for a person at a terminal. doc/repl.md describes them. */
#ifndef ECLAVE_SUPERVISOR_REPL_REPL_H
#define ECLAVE_SUPERVISOR_REPL_REPL_H

#include "supervisor/settings/settings.h"

/* Runs until the person leaves. Standard input and output must be terminals. Returns the exit
 * status. */
int repl_run(const struct settings *settings);

#endif
