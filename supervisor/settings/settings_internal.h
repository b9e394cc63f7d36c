/* The rows of settings.def and the functions that fill one of them. */
#ifndef ECLAVE_SUPERVISOR_SETTINGS_SETTINGS_INTERNAL_H
#define ECLAVE_SUPERVISOR_SETTINGS_SETTINGS_INTERNAL_H

#include "policy/policy.h"
#include "supervisor/base/nearest.h"
#include "supervisor/settings/settings.h"

enum setting_kind {
    SETTING_NUMBER,
    SETTING_CHOICE,
    SETTING_SWITCH,
    SETTING_TEXT,
    SETTING_PATHS,
    SETTING_NAMES,
    SETTING_LAYERS,
    SETTING_KINDS
};

/* One byte per setting, so that its size is their number. */
struct setting_marks {
#define MARK(field, ...) bool field;
#define NUMBER           MARK
#define CHOICE           MARK
#define SWITCH           MARK
#define TEXT             MARK
#define PATHS            MARK
#define NAMES            MARK
#define LAYERS           MARK
#include "supervisor/settings/settings.def"
#undef MARK
};

enum {
    SETTING_COUNT = sizeof(struct setting_marks),
    SETTING_NAME_BYTES = 64,
    SETTING_WORDS_BYTES = 160
};

/* --- settings_table.c --- */

struct setting {
    const char *name;
    enum setting_kind kind;
    size_t offset;      /* in struct settings */
    const char *unit;   /* of a number; else the placeholder in --help */
    const char *values; /* of a choice, "a|b|c" */
    const char *preset; /* of a choice: the default */
    int64_t number;     /* the default */
    int64_t minimum, maximum;
    enum path_kind paths;
    size_t paths_max;  /* at most PATH_LIST_MAX */
    bool any_layer;    /* every layer and "all", else only the optional ones */
    const char *alias; /* another environment variable, or NULL */
    const char *help;  /* NULL: for tests, not listed */
};

extern const struct setting settings_table[SETTING_COUNT];

/* The spellings of a name as a flag, without "--", and as a variable. */
void setting_flag(const char *name, char flag[SETTING_NAME_BYTES]);
void setting_variable(const char *name, char variable[SETTING_NAME_BYTES]);
/* The name that SETTING had before, or NULL. */
const char *setting_former_name(const struct setting *setting);
/* By a present or a former name. NULL if there is none. */
const struct setting *setting_by_flag(const char *flag, size_t length);
const struct setting *setting_by_name(const char *name);

/* True if the values of one source are added up. */
bool setting_is_list(const struct setting *setting);
/* The allowed values, to be read after "must be". */
void setting_words(const struct setting *setting, char words[SETTING_WORDS_BYTES]);
/* The layers that the setting may name, "a|b|c". */
void setting_layers(const struct setting *setting, char words[SETTING_WORDS_BYTES]);
/* True if the setting may name the layer. */
bool setting_may_name(const struct setting *setting, enum policy_layer layer);

/* The names of the profiles, "a|b|c". */
const char *profile_names(void);

/* VALUE of a row of profiles.def, with the directory of ECL's own files in place of "@ecl". */
const char *profile_value(const char *value);

/* --- settings_value.c --- */

/* The index of VALUE among "a|b|c", or -1. */
int64_t choice_index(const char *values, const char *value);

/* One source while it is read: a profile, a file, the environment or the flags. */
struct reading {
    struct settings *settings;
    const char *base;               /* of relative paths; NULL: the current directory */
    bool list_begun[SETTING_COUNT]; /* further values of this source are added to the list */
};

/* Parses VALUE and sets the setting, or adds to its list. The error begins with WHERE: a flag, a
 * variable or a member. */
bool reading_set(struct reading *reading, const struct setting *setting, const char *where,
                 const char *value, struct error *error);
/* Empties a list when a source first names it. */
void reading_begin_list(struct reading *reading, const struct setting *setting);

/* --- settings_policy.c --- */

/* Applies the profile called POLICY, or else the policy file at that path: the profile that it is
 * based on, then its members. */
bool settings_read_policy(struct settings *settings, const char *policy, struct error *error);

#endif
