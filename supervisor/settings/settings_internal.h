/* The rows of settings.def and what fills one of them, for the files that read settings. Internal
 * to settings*.c and profiles.c. */
#ifndef ECLAVE_SUPERVISOR_SETTINGS_SETTINGS_INTERNAL_H
#define ECLAVE_SUPERVISOR_SETTINGS_SETTINGS_INTERNAL_H

#include "supervisor/base/nearest.h"
#include "supervisor/settings/settings.h"

enum setting_kind {
    SETTING_NUMBER,
    SETTING_CHOICE,
    SETTING_SWITCH,
    SETTING_TEXT,
    SETTING_PATHS,
    SETTING_LAYERS,
    SETTING_KINDS
};

/* A byte for each setting: its size is their number. */
struct setting_marks {
#define MARK(field, ...) bool field;
#define NUMBER           MARK
#define CHOICE           MARK
#define SWITCH           MARK
#define TEXT             MARK
#define PATHS            MARK
#define LAYERS           MARK
#define HIDDEN           MARK
#define HIDDEN_NUMBER    MARK
#include "supervisor/settings/settings.def"
#undef MARK
};

enum {
    SETTING_COUNT = sizeof(struct setting_marks),
    SETTING_NAME_BYTES = 64,
    SETTING_WORDS_BYTES = 160
};

/* settings_table.c: the table and its names. */

struct setting {
    const char *name;
    enum setting_kind kind;
    size_t offset;
    const char *unit;   /* numbers: their unit; texts and paths: what --help has for the value */
    const char *values; /* choices, "a|b|c" */
    const char *preset; /* choices: the default */
    int64_t number, minimum, maximum;
    enum path_kind paths;
    size_t paths_max; /* at most PATH_LIST_MAX */
    bool any_layer;   /* every layer and "all", else only the optional ones */
    bool hidden;
    const char *alias; /* one more environment name, or NULL */
    const char *help;
};

extern const struct setting settings_table[SETTING_COUNT];

/* The flag spelling of a name: dots and underscores become dashes. */
void setting_flag(const char *name, char flag[SETTING_NAME_BYTES]);
void setting_variable(const char *name, char variable[SETTING_NAME_BYTES]);
/* NULL when there is none. */
const struct setting *setting_by_flag(const char *flag, size_t length);
const struct setting *setting_by_name(const char *name);

/* settings_value.c: text into values. */

/* The index of VALUE among "a|b|c", or -1. */
int64_t choice_index(const char *values, const char *value);

/* What is being read from one source: a profile, the file, the environment or the flags. */
struct reading {
    struct settings *settings;
    const char *base;               /* where relative paths begin; NULL: the current directory */
    bool list_begun[SETTING_COUNT]; /* this source has named the list: further values are added */
};

/* Sets one setting from VALUE, or adds it to what this source has given of a list. WHERE is what
 * the error begins with: a flag, a variable, a member. */
bool reading_set(struct reading *reading, const struct setting *setting, const char *where,
                 const char *value, struct error *error);
/* Begins a list anew, once a source. */
void reading_begin_list(struct reading *reading, const struct setting *setting);

/* What values of the setting are, as in "must be …". */
void setting_words(const struct setting *setting, char words[SETTING_WORDS_BYTES]);
/* The layers that the setting may name, "a|b|c". */
void setting_layers(const struct setting *setting, char words[SETTING_WORDS_BYTES]);

/* "; did you mean QUOTE…QUOTE?", or nothing. */
struct hint {
    char text[SETTING_NAME_BYTES + 32];
};
struct hint hint_make(const struct nearest *nearest, const char *quote);

/* settings_file.c: the policy file; its profile first, then its members. */
bool settings_read_file(struct settings *settings, const char *path, struct error *error);

/* profiles.c */

/* Gives *settings what the profile of this NAME, which there must be, has. False with *error, and
 * that only for want of memory or a row that is wrong. */
bool profile_apply(struct settings *settings, const char *name, struct error *error);
bool profile_exists(const char *name);
/* The names, "a|b|c". */
const char *profile_names(void);
/* The profile that NAME may have meant. */
struct hint profile_hint(const char *name);

#endif
