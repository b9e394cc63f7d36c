/* The table of settings.def, the spellings of its names, --help and the manual page. */
#include "policy/policy.h"
#include "supervisor/base/log.h"
#include "supervisor/settings/settings_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const struct setting settings_table[SETTING_COUNT] = {
#define ROW(field, label, type)                                                                    \
    .name = (label), .kind = (type), .offset = offsetof(struct settings, field)
#define NUMBER(field, label, unit_name, preset_number, least, most, alias_name, text)              \
    {ROW(field, label, SETTING_NUMBER),                                                            \
     .unit = (unit_name),                                                                          \
     .number = (preset_number),                                                                    \
     .minimum = (least),                                                                           \
     .maximum = (most),                                                                            \
     .alias = (alias_name),                                                                        \
     .help = (text)},
#define CHOICE(field, label, value_names, preset_value, text)                                      \
    {ROW(field, label, SETTING_CHOICE), .values = (value_names), .preset = (preset_value),         \
     .help = (text)},
#define SWITCH(field, label, alias_name, text)                                                     \
    {ROW(field, label, SETTING_SWITCH), .alias = (alias_name), .help = (text)},
#define TEXT(field, label, placeholder, text)                                                      \
    {ROW(field, label, SETTING_TEXT), .unit = (placeholder), .help = (text)},
#define PATHS(field, label, placeholder, path_kind, most, text)                                    \
    {ROW(field, label, SETTING_PATHS), .unit = (placeholder), .paths = (path_kind),                \
     .paths_max = (most), .help = (text)},
#define NAMES(field, label, placeholder, text)                                                     \
    {ROW(field, label, SETTING_NAMES), .unit = (placeholder), .help = (text)},
#define LAYERS(field, label, any, text)                                                            \
    {ROW(field, label, SETTING_LAYERS), .unit = "LAYERS", .any_layer = (any), .help = (text)},
#include "supervisor/settings/settings.def"
};

static const struct {
    const char *former, *name;
} former_names[] = {
#define FORMER(former_name, present_name) {former_name, present_name},
#include "supervisor/settings/settings.def"
};

const char *setting_former_name(const struct setting *setting) {
    for (size_t i = 0; i < sizeof former_names / sizeof *former_names; i++)
        if (strcmp(former_names[i].name, setting->name) == 0)
            return former_names[i].former;
    return NULL;
}

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
        const char *const names[] = {settings_table[i].name,
                                     setting_former_name(&settings_table[i])};
        for (size_t j = 0; j < 2 && names[j]; j++) {
            setting_flag(names[j], name);
            if (strlen(name) == length && strncmp(name, flag, length) == 0)
                return &settings_table[i];
        }
    }
    return NULL;
}

const struct setting *setting_by_name(const char *name) {
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const char *former = setting_former_name(&settings_table[i]);
        if (strcmp(settings_table[i].name, name) == 0 || (former && strcmp(former, name) == 0))
            return &settings_table[i];
    }
    return NULL;
}

bool setting_is_list(const struct setting *setting) {
    return setting->kind == SETTING_PATHS || setting->kind == SETTING_NAMES ||
           setting->kind == SETTING_LAYERS;
}

bool setting_may_name(const struct setting *setting, enum policy_layer layer) {
    static const bool optional_layers[] = {
#define LAYER(id, name, optional, stops) optional,
#include "policy/layers.def"
#undef LAYER
    };
    return setting->any_layer || optional_layers[layer];
}

void setting_layers(const struct setting *setting, char words[SETTING_WORDS_BYTES]) {
    size_t used = 0;
    words[0] = 0;
    for (enum policy_layer layer = 0; layer < POLICY_LAYER_COUNT; layer++)
        if (setting_may_name(setting, layer) && used < SETTING_WORDS_BYTES)
            used += (size_t)snprintf(words + used, SETTING_WORDS_BYTES - used, "%s%s",
                                     used ? "|" : "", policy_layer_name(layer));
    if (setting->any_layer && used < SETTING_WORDS_BYTES)
        snprintf(words + used, SETTING_WORDS_BYTES - used, "|all");
}

void setting_words(const struct setting *setting, char words[SETTING_WORDS_BYTES]) {
    char layers[SETTING_WORDS_BYTES];
    switch (setting->kind) {
    case SETTING_NUMBER:
        snprintf(words, SETTING_WORDS_BYTES, "a whole number of %s from %lld to %lld",
                 setting->unit, (long long)setting->minimum, (long long)setting->maximum);
        break;
    case SETTING_CHOICE:
        snprintf(words, SETTING_WORDS_BYTES, "one of %s", setting->values);
        break;
    case SETTING_TEXT:
        snprintf(words, SETTING_WORDS_BYTES, "1 to %d letters, digits, dots, dashes or underscores",
                 SETTING_TEXT_MAX);
        break;
    case SETTING_PATHS:
        snprintf(words, SETTING_WORDS_BYTES, "%s that can be read",
                 setting->paths == PATH_FILE        ? "a regular file"
                 : setting->paths == PATH_DIRECTORY ? "a directory"
                                                    : "a directory, or the place for a new one,");
        break;
    case SETTING_NAMES:
        snprintf(words, SETTING_WORDS_BYTES,
                 "names of ASDF systems, of letters, digits and + - . _ /, separated by commas");
        break;
    case SETTING_LAYERS:
        setting_layers(setting, layers);
        snprintf(words, SETTING_WORDS_BYTES, "one or more of %.140s", layers);
        break;
    case SETTING_SWITCH:
    case SETTING_KINDS:
        snprintf(words, SETTING_WORDS_BYTES, "true or false");
        break;
    }
}

const char *profile_names(void) {
#define PROFILE(name, help) "|" name
    static const char names[] =
#include "supervisor/settings/profiles.def"
        ;
    return names + 1;
}

/* --- --help, the manual page and completion --- */

static const char policy_help[] = "JSON file of settings, or a profile";

/* The placeholder after the flag; NULL for a switch. */
static const char *value_word(const struct setting *setting) {
    switch (setting->kind) {
    case SETTING_TEXT:
    case SETTING_PATHS:
    case SETTING_NAMES:
    case SETTING_LAYERS:
        return setting->unit;
    case SETTING_SWITCH:
        return NULL;
    default:
        return "X";
    }
}

/* Prints "a|b|c" with BAR in place of each bar. */
static void print_choices(FILE *out, const char *choices, const char *bar) {
    for (; *choices; choices++)
        if (*choices == '|')
            fputs(bar, out);
        else
            fputc(*choices, out);
}

/* Prints the default with its unit or with the values to choose from, which BAR divides. */
static void print_default(FILE *out, const struct setting *setting, const char *bar) {
    char layers[SETTING_WORDS_BYTES];
    switch (setting->kind) {
    case SETTING_NUMBER:
        fprintf(out, " (%lld %s)", (long long)setting->number, setting->unit);
        break;
    case SETTING_CHOICE:
        fputs(" (", out);
        print_choices(out, setting->values, bar);
        fprintf(out, "; %s)", setting->preset);
        break;
    case SETTING_LAYERS:
        setting_layers(setting, layers);
        fputs(" (", out);
        print_choices(out, layers, bar);
        fputs("; none)", out);
        break;
    default:
        break;
    }
}

static void print_help(FILE *out, const char *flag, const char *word, const char *help) {
    char left[2 * SETTING_NAME_BYTES + 8];
    snprintf(left, sizeof left, "--%s%s%s", flag, word ? " " : "", word ? word : "");
    fprintf(out, "  %-26s %s", left, help);
}

void settings_help(FILE *out) {
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting *setting = &settings_table[i];
        if (!setting->help)
            continue;
        char flag[SETTING_NAME_BYTES];
        setting_flag(setting->name, flag);
        print_help(out, flag, value_word(setting), setting->help);
        print_default(out, setting, "|");
        fputc('\n', out);
    }
    print_help(out, "policy", "FILE", policy_help);
    fprintf(out, " (%s)\n", profile_names());
#define PROFILE(name, help) fprintf(out, "  %-26s %s\n", "  " name, help);
#include "supervisor/settings/profiles.def"
}

/* How a shell completes the values of a setting of each kind. */
static const enum flag_value flag_values[SETTING_KINDS] = {
    [SETTING_NUMBER] = FLAG_WORD, [SETTING_CHOICE] = FLAG_CHOICE,   [SETTING_SWITCH] = FLAG_SWITCH,
    [SETTING_TEXT] = FLAG_WORD,   [SETTING_PATHS] = FLAG_DIRECTORY, [SETTING_NAMES] = FLAG_WORD,
    [SETTING_LAYERS] = FLAG_LIST};

static void visit_setting(const struct setting *setting, flag_visitor visit, void *context) {
    char name[SETTING_NAME_BYTES + 2] = "--", layers[SETTING_WORDS_BYTES];
    struct flag flag = {.name = name,
                        .value = flag_values[setting->kind],
                        .choices = setting->values,
                        .help = setting->help};
    setting_flag(setting->name, name + 2);
    if (setting->kind == SETTING_PATHS && setting->paths == PATH_FILE)
        flag.value = FLAG_FILE;
    if (setting->kind == SETTING_LAYERS) {
        setting_layers(setting, layers);
        flag.choices = layers;
    }
    visit(context, &flag);
}

void settings_visit_flags(flag_visitor visit, void *context) {
    const struct flag policy = {
        .name = "--policy", .value = FLAG_FILE, .choices = profile_names(), .help = policy_help};
    for (size_t i = 0; i < SETTING_COUNT; i++)
        if (settings_table[i].help)
            visit_setting(&settings_table[i], visit, context);
    visit(context, &policy);
}

static void print_manual_flag(FILE *out, const char *flag, const char *word) {
    fputs(".TP\n.B \\-\\-", out);
    for (const char *byte = flag; *byte; byte++)
        fprintf(out, "%s%c", *byte == '-' ? "\\" : "", *byte);
    fprintf(out, "%s%s\n", word ? " " : "", word ? word : "");
}

/* Prints the profiles and their settings. */
static void print_manual_profiles(FILE *out) {
    print_manual_flag(out, "policy", "FILE");
    fputs("JSON file of settings, or the name of a profile:\n", out);
#define PROFILE(name, help)         fputs(".IP \"\" 7\n\\fB" name "\\fR: " help "\n", out);
#define GIVES(profile, name, value) fprintf(out, ".br\n\\ \\ %s %s\n", name, profile_value(value));
#include "supervisor/settings/profiles.def"
}

void settings_manual(FILE *out) {
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting *setting = &settings_table[i];
        if (!setting->help)
            continue;
        char flag[SETTING_NAME_BYTES];
        setting_flag(setting->name, flag);
        print_manual_flag(out, flag, value_word(setting));
        fputs(setting->help, out);
        print_default(out, setting, "|\\:"); /* where a line may be broken */
        if (setting->kind == SETTING_NUMBER)
            fprintf(out, "; %lld to %lld", (long long)setting->minimum,
                    (long long)setting->maximum);
        fputc('\n', out);
    }
    print_manual_profiles(out);
}
