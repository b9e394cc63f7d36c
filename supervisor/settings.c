/* Settings from the policy file, the environment and the command line. Never guesses: an unknown
 * name or a value out of range is an error. */
#include "supervisor/settings.h"
#include "common/cleanup.h"
#include "supervisor/json_inspect.h"

#include <ctype.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum setting_kind { SETTING_NUMBER, SETTING_CHOICE, SETTING_SWITCH, SETTING_TEXT };

struct setting {
    const char *name;
    enum setting_kind kind;
    size_t offset;
    const char *unit;   /* numbers */
    const char *values; /* choices, "a|b|c" */
    const char *preset; /* choices: the default */
    int64_t number, minimum, maximum;
    const char *alias;
    const char *help;
    bool hidden;
};

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
static const struct setting table[] = {
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
#include "supervisor/settings.def"
#undef NUMBER
#undef CHOICE
#undef SWITCH
#undef TEXT
#undef HIDDEN
#undef HIDDEN_NUMBER
};
#undef NUMBER_ROW
#undef CHOICE_ROW
#undef OFFSET

enum {
    SETTING_COUNT = sizeof table / sizeof *table,
    NAME_MAX_BYTES = 64,
    FILE_MAX_BYTES = 1 << 20
};

static int64_t *setting_slot(struct settings *settings, const struct setting *setting) {
    return (int64_t *)(void *)((char *)settings + setting->offset);
}

/* The flag spelling of a name: dots and underscores become dashes. */
static void flag_name(const char *name, char flag[NAME_MAX_BYTES]) {
    size_t i = 0;
    for (; i < NAME_MAX_BYTES - 1 && name[i]; i++)
        flag[i] = name[i] == '.' || name[i] == '_' ? '-' : name[i];
    flag[i] = 0;
}

static void environment_name(const char *name, char variable[NAME_MAX_BYTES]) {
    int used = snprintf(variable, NAME_MAX_BYTES, "ECLAVE_%s", name);
    for (int i = 0; i < used && i < NAME_MAX_BYTES - 1; i++)
        variable[i] =
            isalnum((unsigned char)variable[i]) ? (char)toupper((unsigned char)variable[i]) : '_';
}

/* The index of VALUE among "a|b|c", or -1. */
static int64_t choice_index(const char *values, const char *value) {
    size_t size = strlen(value);
    for (int64_t index = 0; values; index++) {
        const char *end = strchr(values, '|');
        size_t length = end ? (size_t)(end - values) : strlen(values);
        if (length == size && strncmp(values, value, size) == 0)
            return index;
        values = end ? end + 1 : NULL;
    }
    return -1;
}

void settings_default(struct settings *settings) {
    *settings = (struct settings){0};
    for (size_t i = 0; i < SETTING_COUNT; i++)
        if (table[i].kind != SETTING_TEXT)
            *setting_slot(settings, &table[i]) =
                table[i].kind == SETTING_CHOICE ? choice_index(table[i].values, table[i].preset)
                                                : table[i].number;
}

static bool parse_switch(const char *value, int64_t *out) {
    static const char *const words[][2] = {
        {"true", "false"}, {"1", "0"}, {"yes", "no"}, {"on", "off"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (int64_t off = 0; off < 2; off++)
            if (strcasecmp(value, words[i][off]) == 0) {
                *out = !off;
                return true;
            }
    return false;
}

static bool parse_number(const struct setting *setting, const char *value, int64_t *out) {
    char *end;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    bool digits = isdigit((unsigned char)value[0]) && *end == 0 && errno == 0;
    *out = number;
    return digits && number >= setting->minimum && number <= setting->maximum;
}

/* A name that a client could also write: letters, digits, dot, dash, underscore. */
static bool parse_text(const char *value, char *out) {
    size_t length = strlen(value);
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)value[i]) && !strchr(".-_", value[i]))
            return false;
    if (length == 0 || length >= SETTING_TEXT_BYTES)
        return false;
    memcpy(out, value, length + 1);
    return true;
}

/* Sets one setting from text that came from WHERE (a flag, a variable, a member). */
static bool set_value(struct settings *settings, const struct setting *setting, const char *where,
                      const char *value, struct error *error) {
    int64_t *slot = setting_slot(settings, setting);
    switch (setting->kind) {
    case SETTING_NUMBER:
        return parse_number(setting, value, slot) ||
               error_set(error, 0,
                         "%s must be a whole number of %s from %lld to %lld, not \"%.40s\"", where,
                         setting->unit, (long long)setting->minimum, (long long)setting->maximum,
                         value);
    case SETTING_CHOICE:
        *slot = choice_index(setting->values, value);
        return *slot >= 0 || error_set(error, 0, "%s must be one of %s, not \"%.40s\"", where,
                                       setting->values, value);
    case SETTING_SWITCH:
        return parse_switch(value, slot) ||
               error_set(error, 0, "%s must be true or false, not \"%.40s\"", where, value);
    case SETTING_TEXT:
        return parse_text(value, (char *)slot) ||
               error_set(error, 0,
                         "%s must be 1 to %d letters, digits, dots, dashes or underscores, not "
                         "\"%.40s\"",
                         where, SETTING_TEXT_BYTES - 1, value);
    }
    return false;
}

static const struct setting *find_by_flag(const char *flag, size_t length) {
    char name[NAME_MAX_BYTES];
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        flag_name(table[i].name, name);
        if (strlen(name) == length && strncmp(name, flag, length) == 0)
            return &table[i];
    }
    return NULL;
}

static const struct setting *find_by_name(const char *name) {
    for (size_t i = 0; i < SETTING_COUNT; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

static void put_object(struct json_object **object) {
    json_object_put(*object);
}

static bool read_policy_file(struct settings *settings, const char *path, struct error *error) {
    cleanup_free char *text = malloc(FILE_MAX_BYTES + 1);
    FILE *file = fopen(path, "re");
    if (!file || !text) {
        if (file)
            fclose(file);
        return error_set(error, errno, "policy file %.100s", path);
    }
    size_t size = fread(text, 1, FILE_MAX_BYTES + 1, file);
    fclose(file);
    if (size > FILE_MAX_BYTES)
        return error_set(error, EFBIG, "policy file %.100s", path);
    text[size] = 0;
    static const struct json_limits limits = {.depth = 8};
    struct json_shape shape;
    bool strict = json_inspect((const unsigned char *)text, size, limits, &shape) == JSON_FINE;
    __attribute__((cleanup(put_object))) struct json_object *root =
        strict ? json_tokener_parse(text) : NULL;
    if (!json_object_is_type(root, json_type_object))
        return error_set(error, 0, "policy file %.100s is not a JSON object", path);
    json_object_object_foreach(root, key, value) {
        const struct setting *setting = find_by_name(key);
        if (!setting)
            return error_set(error, 0, "policy file %.100s: unknown member \"%.60s\"", path, key);
        if (!value || json_object_is_type(value, json_type_object) ||
            json_object_is_type(value, json_type_array))
            return error_set(error, 0, "policy file %.100s: \"%s\" must be a plain value", path,
                             key);
        if (!set_value(settings, setting, key, json_object_get_string(value), error))
            return false;
    }
    return true;
}

static bool read_environment(struct settings *settings, struct error *error) {
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        char variable[NAME_MAX_BYTES];
        environment_name(table[i].name, variable);
        const char *names[2] = {table[i].alias, variable};
        for (size_t j = 0; j < 2; j++) {
            const char *value = names[j] ? getenv(names[j]) : NULL;
            if (value && !set_value(settings, &table[i], names[j], value, error))
                return false;
        }
    }
    return true;
}

/* The file that --policy or ECLAVE_POLICY names, or NULL. */
static const char *policy_path(int count, char **arguments) {
    for (int i = 1; i < count && strcmp(arguments[i], "--") != 0; i++) {
        if (strncmp(arguments[i], "--policy=", 9) == 0)
            return arguments[i] + 9;
        if (strcmp(arguments[i], "--policy") == 0 && i + 1 < count)
            return arguments[i + 1];
    }
    return getenv("ECLAVE_POLICY");
}

/* One flag at ARGUMENTS[*index]; moves *index over a separate value. */
static bool read_flag(struct settings *settings, int count, char **arguments, int *index,
                      struct error *error) {
    const char *flag = arguments[*index];
    const char *equals = strchr(flag, '=');
    size_t length = equals ? (size_t)(equals - flag) - 2 : strlen(flag) - 2;
    bool is_policy = length == 6 && strncmp(flag + 2, "policy", 6) == 0;
    const struct setting *setting = is_policy ? NULL : find_by_flag(flag + 2, length);
    if (!setting && !is_policy)
        return error_set(error, 0, "unknown option %.60s; see eclave --help", flag);
    const char *value = equals ? equals + 1 : NULL;
    if (!value && setting && setting->kind == SETTING_SWITCH)
        value = "true";
    if (!value && *index + 1 < count)
        value = arguments[++*index];
    if (!value)
        return error_set(error, 0, "option %.60s needs a value", flag);
    char where[NAME_MAX_BYTES + 2];
    snprintf(where, sizeof where, "%.*s", (int)length + 2, flag);
    return is_policy || set_value(settings, setting, where, value, error);
}

static bool read_all(struct settings *settings, int count, char **arguments, int *left,
                     struct error *error) {
    settings_default(settings);
    const char *path = policy_path(count, arguments);
    if (path && !read_policy_file(settings, path, error))
        return false;
    if (!read_environment(settings, error))
        return false;
    int kept = 0;
    bool flags_ended = false;
    for (int i = 1; i < count; i++) {
        if (!flags_ended && strcmp(arguments[i], "--") == 0) {
            flags_ended = true;
        } else if (!flags_ended && strncmp(arguments[i], "--", 2) == 0) {
            if (!read_flag(settings, count, arguments, &i, error))
                return false;
        } else {
            arguments[kept++] = arguments[i];
        }
    }
    *left = kept;
    if (settings->call_timeout_s > settings->call_timeout_max_s)
        return error_set(
            error, 0, "call.timeout_s (%lld) must not exceed call.timeout_max_s (%lld)",
            (long long)settings->call_timeout_s, (long long)settings->call_timeout_max_s);
    return true;
}

bool settings_read(struct settings *settings, int count, char **arguments, int *left,
                   struct error *error) {
    if (read_all(settings, count, arguments, left, error))
        return true;
    /* What was given may be quoted in it, and a terminal must not obey that. */
    for (char *byte = error->text; *byte; byte++)
        if (iscntrl((unsigned char)*byte))
            *byte = '?';
    return false;
}

/* What stands behind the flag: nothing for a switch. */
static const char *value_word(const struct setting *setting) {
    return setting->kind == SETTING_SWITCH ? "" : setting->kind == SETTING_TEXT ? " NAME" : " X";
}

/* Unit and default, or the choices and theirs; nothing for a switch. */
static void print_default(FILE *out, const struct setting *setting) {
    if (setting->kind == SETTING_NUMBER)
        fprintf(out, " (%lld %s)", (long long)setting->number, setting->unit);
    else if (setting->kind == SETTING_CHOICE)
        fprintf(out, " (%s; %s)", setting->values, setting->preset);
}

void settings_help(FILE *out) {
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting *setting = &table[i];
        if (setting->hidden)
            continue;
        char flag[NAME_MAX_BYTES], left[2 * NAME_MAX_BYTES + 8];
        flag_name(setting->name, flag);
        snprintf(left, sizeof left, "--%s%s", flag, value_word(setting));
        fprintf(out, "  %-26s %s", left, setting->help);
        print_default(out, setting);
        fputc('\n', out);
    }
}

void settings_manual(FILE *out) {
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting *setting = &table[i];
        if (setting->hidden)
            continue;
        char flag[NAME_MAX_BYTES];
        flag_name(setting->name, flag);
        fputs(".TP\n.B \\-\\-", out);
        for (const char *byte = flag; *byte; byte++)
            fprintf(out, "%s%c", *byte == '-' ? "\\" : "", *byte);
        fprintf(out, "%s\n%s", value_word(setting), setting->help);
        print_default(out, setting);
        if (setting->kind == SETTING_NUMBER)
            fprintf(out, "; %lld to %lld", (long long)setting->minimum,
                    (long long)setting->maximum);
        fputc('\n', out);
    }
}
