/* What the operator may set: flags, environment, policy file, profile, in that order of strength.
 */
#ifndef ECLAVE_SUPERVISOR_SETTINGS_H
#define ECLAVE_SUPERVISOR_SETTINGS_H

#include "common/error.h"
#include "supervisor/path_list.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { SETTING_TEXT_BYTES = 64 };

/* Units are those of settings.def; a choice is the index of its value, a switch 0 or 1, a text
 * empty when it is not set, a set of layers a bit 1u << enum policy_layer for each. */
struct settings {
#define NUMBER(field, ...)        int64_t field;
#define CHOICE(field, ...)        int64_t field;
#define SWITCH(field, ...)        int64_t field;
#define TEXT(field, ...)          char field[SETTING_TEXT_BYTES];
#define PATHS(field, ...)         struct path_list field;
#define LAYERS(field, ...)        uint32_t field;
#define HIDDEN(field, ...)        int64_t field;
#define HIDDEN_NUMBER(field, ...) int64_t field;
#include "supervisor/settings.def"
    bool log_level_given; /* by a flag, a variable or the policy file, even if the default */
};

enum cancel_reply { CANCEL_REPLY_AUTO, CANCEL_REPLY_ERROR, CANCEL_REPLY_SILENT };
enum fault { FAULT_NONE, FAULT_NEWLINE, FAULT_UTF8, FAULT_JSON, FAULT_OVERSIZE, FAULT_EMPTY };

/* Fills *settings with the defaults, which own nothing. */
void settings_default(struct settings *settings);
/* Frees the paths and leaves their lists empty. */
void settings_free(struct settings *settings);

/* Reads the profile or the policy file that the arguments or the environment name, then the
 * environment, then the flags in ARGUMENTS[1..COUNT-1]. A list that one of them gives takes the
 * place of what the weaker ones gave. What is not a setting is moved to the front of ARGUMENTS and
 * *left says how many there are (a lone "--" ends the flags). The caller frees *settings. False
 * with a one-line *error that names the setting and what is allowed; there is nothing to free then.
 */
bool settings_read(struct settings *settings, int count, char **arguments, int *left,
                   struct error *error);

/* Writes one line a setting, for --help. */
void settings_help(FILE *out);
/* The same for the manual page, in roff. */
void settings_manual(FILE *out);

#endif
