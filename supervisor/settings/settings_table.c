/* The table of settings.def and the spellings of its names. Reads nothing from outside. */
#include "supervisor/settings/settings_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define OFFSET(field) .offset = offsetof(struct settings, field)
#define NUMBER_ROW(field, label, unit_name, default_value, least, most, alias_name, text, secret)  \
    {.name = (label),                                                                              \
     .kind = SETTING_NUMBER,                                                                       \
     OFFSET(field),                                                                                \
     .unit = (unit_name),                                                                          \
     .number = (default_value),                                                                    \
     .minimum = (least),                                                                           \
     .maximum = (most),                                                                            \
     .alias = (alias_name),                                                                        \
     .help = (text),                                                                               \
     .hidden = (secret)},
#define CHOICE_ROW(field, label, value_names, default_value, text, secret)                         \
    {.name = (label),                                                                              \
     .kind = SETTING_CHOICE,                                                                       \
     OFFSET(field),                                                                                \
     .values = (value_names),                                                                      \
     .preset = (default_value),                                                                    \
     .help = (text),                                                                               \
     .hidden = (secret)},
const struct setting settings_table[SETTING_COUNT] = {
#define NUMBER(field, label, unit, preset, least, most, alias, text)                               \
    NUMBER_ROW(field, label, unit, preset, least, most, alias, text, false)
#define HIDDEN_NUMBER(field, label, unit, preset, least, most, text)                               \
    NUMBER_ROW(field, label, unit, preset, least, most, NULL, text, true)
#define CHOICE(field, label, values, preset, text)                                                 \
    CHOICE_ROW(field, label, values, preset, text, false)
#define HIDDEN(field, label, values, preset, text)                                                 \
    CHOICE_ROW(field, label, values, preset, text, true)
#define SWITCH(field, label, alias_name, text)                                                     \
    {.name = (label), .kind = SETTING_SWITCH, OFFSET(field), .alias = (alias_name), .help = (text)},
#define TEXT(field, label, placeholder, text)                                                      \
    {.name = (label), .kind = SETTING_TEXT, OFFSET(field), .unit = (placeholder), .help = (text)},
#define PATHS(field, label, placeholder, path_kind, most, text)                                    \
    {.name = (label),                                                                              \
     .kind = SETTING_PATHS,                                                                        \
     OFFSET(field),                                                                                \
     .unit = (placeholder),                                                                        \
     .paths = (path_kind),                                                                         \
     .paths_max = (most),                                                                          \
     .help = (text)},
#define LAYERS(field, label, any, text)                                                            \
    {.name = (label),                                                                              \
     .kind = SETTING_LAYERS,                                                                       \
     OFFSET(field),                                                                                \
     .unit = "LAYERS",                                                                             \
     .any_layer = (any),                                                                           \
     .help = (text)},
#include "supervisor/settings/settings.def"
};

void setting_flag(const char *name, char flag[SETTING_NAME_BYTES]) {
    size_t i = 0;
    for (; i < SETTING_NAME_BYTES - 1 && name[i]; i++)
        flag[i] = name[i] == '.' || name[i] == '_' ? '-' : name[i];
    flag[i] = 0;
}

void setting_variable(const char *name, char variable[SETTING_NAME_BYTES]) {
    int used = snprintf(variable, SETTING_NAME_BYTES, "ECLAVE_%s", name);
    for (int i = 0; i < used && i < SETTING_NAME_BYTES - 1; i++)
        variable[i] =
            isalnum((unsigned char)variable[i]) ? (char)toupper((unsigned char)variable[i]) : '_';
}

const struct setting *setting_by_flag(const char *flag, size_t length) {
    char name[SETTING_NAME_BYTES];
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        setting_flag(settings_table[i].name, name);
        if (strlen(name) == length && strncmp(name, flag, length) == 0)
            return &settings_table[i];
    }
    return NULL;
}

const struct setting *setting_by_name(const char *name) {
    for (size_t i = 0; i < SETTING_COUNT; i++)
        if (strcmp(settings_table[i].name, name) == 0)
            return &settings_table[i];
    return NULL;
}
