/* The commands of the program. Each returns the exit status. */
#ifndef ECLAVE_SUPERVISOR_COMMAND_COMMANDS_H
#define ECLAVE_SUPERVISOR_COMMAND_COMMANDS_H

#include "supervisor/base/status.h"
#include "supervisor/batch/options.h"
#include "supervisor/command/project_options.h"
#include "supervisor/settings/settings.h"

/* `eclave eval [-e CODE | FILE | -]`: ARGUMENTS are those behind `eval`. */
int command_eval(const struct settings *settings, int count, char **arguments);

/* `eclave doctor [--json]`: 0 when code may be evaluated here, else 1. */
int command_doctor(const struct settings *settings, bool json);

/* `eclave tool NAME [--args JSON|@FILE|-]`: one tool of the project, once. */
int command_tool(const struct settings *settings, const struct project_options *options, int count,
                 char **arguments);

/* `eclave new KIND NAME`: a tool, resource, template, prompt or completion to begin with, in the
 * project, or else in the current directory. */
int command_new(const struct settings *settings, int count, char **arguments);

/* `eclave check [DIR]`: 0 when nothing of the project is refused and its tests are met, else 1. */
int command_check(const struct settings *settings, int count, char **arguments);

/* `eclave policy`. */
int command_policy(const struct settings *settings);

#endif
