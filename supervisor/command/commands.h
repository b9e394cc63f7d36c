/* The commands of the program, by the file that implements them. */
#ifndef ECLAVE_SUPERVISOR_COMMAND_COMMANDS_H
#define ECLAVE_SUPERVISOR_COMMAND_COMMANDS_H

#include "common/error.h"
#include "supervisor/base/status.h"
#include "supervisor/batch/batch.h"
#include "supervisor/settings/settings.h"
#include <stdbool.h>
#include <stdio.h>

/* --- options.c: options that are not settings --- */

struct command_line {
    const struct settings *settings;
    int count; /* of the arguments after the command, without options */
    char **arguments;
    const char *code; /* eval -e; or NULL */
    const char *args; /* tool --args; or NULL */
    bool json;        /* doctor, eval --json */
    struct batch_options batch;
    const char *made; /* new: the project directory, which did not exist; or NULL */
};

/* Takes the options of the command ARGUMENTS[1] out of ARGUMENTS, up to a lone "--", and leaves the
 * rest for settings_read. False with *error. */
bool options_take(struct command_line *line, int *count, char **arguments, struct error *error);
/* The last value of FLAG in ARGUMENTS, up to a lone "--"; or NULL. */
const char *options_value(int count, char **arguments, const char *flag);
/* Whether ARGUMENT is an option of COMMAND whose value is the argument after it. */
bool options_takes_value(const char *command, const char *argument);
/* The options of COMMAND and those that every command has; NULL follows the last. Valid until the
 * next call. */
const char *const *options_names(const char *command);
/* Calls VISIT with each option of COMMAND. */
void options_visit(const char *command, flag_visitor visit, void *context);
/* Prints the options of COMMAND, one a line, for --help. */
void options_help(FILE *out, const char *command);
/* Prints the options of all commands in roff, for the manual page. */
void options_manual(FILE *out);

/* --- version.c --- */

/* Prints the version in a line of its own, then how this program was built, the version of ECL, and
 * the layers that confine a worker where the kernel has them. */
void version_print(FILE *out);

/* --- commands.c: the table of commands --- */

/* Runs the command ARGUMENTS[0] (serve if COUNT is 0) on the arguments after it. Returns the exit
 * status. */
int command_run(struct command_line *line, int count, char **arguments);
bool command_exists(const char *name);
/* Prints the help of the command NAME; NULL: of the program. Returns the exit status: STATUS_USAGE
 * if there is no such command. */
int command_help(const char *name);
/* For completion: calls VISIT with each command. ARGUMENTS: how a shell completes its argument, as
 * a flag without a name. */
typedef void (*command_visitor)(void *context, const char *name, const char *summary,
                                const struct flag *argument);
void commands_visit(command_visitor visit, void *context);

/* --- NAME_command.c: each returns an exit status, or COMMAND_MISUSED to have its usage printed ---
 */

enum { COMMAND_MISUSED = -1 };

int command_eval(const struct command_line *line);
int command_tool(const struct command_line *line);
int command_new(const struct command_line *line);
int command_check(const struct command_line *line);
int command_doctor(const struct command_line *line);
int command_policy(const struct command_line *line);
int command_sessions(const struct command_line *line);
int command_completion(const struct command_line *line);

/* Creates the project directory for `eclave new`, since the settings accept only one that exists,
 * and notes it in line->made. False with *error. */
bool command_new_prepare(struct command_line *line, int count, char **arguments,
                         struct error *error);

#endif
