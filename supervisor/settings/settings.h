/* The operator's settings, from flags, environment, policy file and profile, strongest first. */
#ifndef ECLAVE_SUPERVISOR_SETTINGS_SETTINGS_H
#define ECLAVE_SUPERVISOR_SETTINGS_SETTINGS_H

#include "common/error.h"
#include "supervisor/json/json_inspect.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* --- path_list.c: paths on this machine --- */

enum { PATH_LIST_MAX = 32 };

struct path_list {
    char *paths[PATH_LIST_MAX]; /* owned; absolute, without symbolic links, "." and ".." */
    size_t count;
    char *link; /* owned: the last path as it was given, if it leads through a symbolic link */
};

/* Frees the paths and leaves an empty list. */
void path_list_free(struct path_list *list);

enum path_kind { PATH_DIRECTORY, PATH_FILE, PATH_PLACE /* a directory, or nothing yet */ };

/* Resolves PATH, relative to BASE (NULL: the current directory), to an absolute path without links,
 * which must be a directory or a regular file that this process may read. The caller owns the
 * result. NULL with *code: an errno value, or 0 if the path is of another kind. */
char *path_find(const char *path, const char *base, enum path_kind kind, int *code);

/* PATH as an absolute path with its links, if it leads through one; else NULL, as when out of
 * memory. The caller owns the result. */
char *path_link(const char *path, const char *base);

/* --- settings.c --- */

enum {
    SETTING_TEXT_MAX = 64,
    SETTING_TEXT_BYTES = 72, /* with a null character, in whole words: the struct has no padding */
    NAME_LIST_MAX = 32,
    NAME_BYTES = 96
};

struct name_list {
    char names[NAME_LIST_MAX][NAME_BYTES];
    size_t count;
};

/* The units are those of settings.def. A choice is the index of its value, a switch 0 or 1, an
 * unset text empty; a set of layers has the bit 1u << enum policy_layer for each. */
struct settings {
#define NUMBER(field, ...) int64_t field;
#define CHOICE(field, ...) int64_t field;
#define SWITCH(field, ...) int64_t field;
#define TEXT(field, ...)   char field[SETTING_TEXT_BYTES];
#define PATHS(field, ...)  struct path_list field;
#define NAMES(field, ...)  struct name_list field;
#define LAYERS(field, ...) uint32_t field;
#include "supervisor/settings/settings.def"
    int64_t log_level_set; /* by a flag, a variable or the policy file, even if to the default */
};

enum session_record { RECORD_AUTO, RECORD_OFF };
enum durable { DURABLE_ASYNC, DURABLE_SYNC };
enum timeout_reply { TIMEOUT_REPLY_ERROR, TIMEOUT_REPLY_RESULT };
enum image_choice { IMAGE_CHOICE_AUTO, IMAGE_CHOICE_OFF, IMAGE_CHOICE_REBUILD };
enum cancel_reply { CANCEL_REPLY_AUTO, CANCEL_REPLY_ERROR, CANCEL_REPLY_SILENT };
enum fault { FAULT_NONE, FAULT_NEWLINE, FAULT_UTF8, FAULT_JSON, FAULT_OVERSIZE, FAULT_EMPTY };

/* Sets the defaults, which own no memory. */
void settings_default(struct settings *settings);
/* The limits of one line of input. */
struct json_limits settings_json_limits(const struct settings *settings);
/* Frees the paths and leaves their lists empty. */
void settings_free(struct settings *settings);

/* Reads the profile or policy file that the arguments or the environment name, then the
 * environment, then the flags in ARGUMENTS[1..COUNT-1]. A list from one source replaces that of
 * the weaker ones. Moves the arguments that are not flags to the front of ARGUMENTS and sets *left
 * to their number; "--" ends the flags, and a lone "-" is none. OTHERS are flags that the caller
 * has taken out before, which an error may suggest; ends with NULL, and may be NULL. The caller
 * frees *settings. False, with nothing to free and *error on one line, which names the setting and
 * what is allowed. */
bool settings_read(struct settings *settings, int count, char **arguments, int *left,
                   const char *const *others, struct error *error);

/* Whether ARGUMENT is a flag of a setting whose value is the argument after it. */
bool settings_takes_value(const char *argument);

/* --- settings_table.c --- */

/* Writes one line per setting, for --help. */
void settings_help(FILE *out);
/* Writes the same for the manual page, in roff. */
void settings_manual(FILE *out);

/* How a shell completes the value of a flag. */
enum flag_value { FLAG_SWITCH, FLAG_WORD, FLAG_CHOICE, FLAG_LIST, FLAG_FILE, FLAG_DIRECTORY };

struct flag {
    const char *name; /* with its dashes */
    enum flag_value value;
    const char *choices; /* "a|b|c" or NULL; in a FLAG_LIST with commas between them, of a FLAG_FILE
                            besides files */
    const char *help;
};
typedef void (*flag_visitor)(void *context, const struct flag *flag);
/* Calls VISIT with the flag of each setting that --help lists, and with --policy. */
void settings_visit_flags(flag_visitor visit, void *context);

#endif
