/* Settings from the environment and the command line, and the order of all sources. */
#include "supervisor/settings/settings.h"
#include "policy/policy.h"
#include "supervisor/settings/settings_internal.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void settings_default(struct settings *settings) {
    *settings = (struct settings){0};
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting *setting = &settings_table[i];
        int64_t *slot = (int64_t *)(void *)((char *)settings + setting->offset);
        if (setting->kind == SETTING_NUMBER)
            *slot = setting->number;
        else if (setting->kind == SETTING_CHOICE)
            *slot = choice_index(setting->values, setting->preset);
    }
}

struct json_limits settings_json_limits(const struct settings *settings) {
    return (struct json_limits){.depth = (size_t)settings->json_max_depth,
                                .values = (size_t)settings->json_max_values};
}

void settings_free(struct settings *settings) {
#define PATHS(field, ...) path_list_free(&settings->field);
#include "supervisor/settings/settings.def"
}

/* Sets each path of LIST, which has colons between them. */
static bool set_path_variable(struct reading *reading, const struct setting *setting,
                              const char *where, const char *list, struct error *error) {
    while (list) {
        char path[PATH_MAX + 1];
        const char *colon = strchrnul(list, setting->paths_max > 1 ? ':' : 0);
        /* a path that is cut here is still too long to be valid */
        snprintf(path, sizeof path, "%.*s", (int)(colon - list), list);
        if (!reading_set(reading, setting, where, path, error))
            return false;
        list = *colon ? colon + 1 : NULL;
    }
    return true;
}

static const char policy_variable[] = "ECLAVE_POLICY";

static bool is_variable_of(const char *name, const char *text, size_t length) {
    char variable[SETTING_NAME_BYTES];
    setting_variable(name, variable);
    return strlen(variable) == length && strncmp(variable, text, length) == 0;
}

/* Whether the first LENGTH bytes of TEXT are the variable of a setting. Otherwise NEAREST, which
 * may be NULL, is offered the variables of those settings that are documented. */
static bool is_variable(const char *text, size_t length, struct nearest *nearest) {
    char variable[SETTING_NAME_BYTES];
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const char *former = setting_former_name(&settings_table[i]);
        if (is_variable_of(settings_table[i].name, text, length) ||
            (former && is_variable_of(former, text, length)))
            return true;
        setting_variable(settings_table[i].name, variable);
        if (nearest && settings_table[i].help)
            nearest_offer(nearest, variable);
    }
    if (nearest)
        nearest_offer(nearest, policy_variable);
    return length == sizeof policy_variable - 1 && strncmp(policy_variable, text, length) == 0;
}

/* A mistyped variable would be a limit or a required layer that is not in force. */
static bool check_environment(struct error *error) {
    static const char prefix[] = "ECLAVE_";
    for (char **entry = environ; entry && *entry; entry++) {
        const size_t length = strcspn(*entry, "=");
        char word[SETTING_NAME_BYTES];
        if (strncmp(*entry, prefix, sizeof prefix - 1) != 0 || is_variable(*entry, length, NULL))
            continue;
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word),
                 *entry);
        struct nearest nearest = nearest_to(word);
        is_variable(*entry, length, &nearest);
        struct hint hint = nearest_hint(&nearest, "");
        return error_set(error, 0, "unknown environment variable %.60s%s", word,
                         hint.text[0] ? hint.text : "; see eclave --help");
    }
    return true;
}

static bool read_environment(struct settings *settings, struct error *error) {
    struct reading reading = {.settings = settings};
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting *setting = &settings_table[i];
        char former[SETTING_NAME_BYTES], variable[SETTING_NAME_BYTES];
        const char *former_name = setting_former_name(setting);
        if (former_name)
            setting_variable(former_name, former);
        setting_variable(setting->name, variable);
        const char *names[] = {setting->alias, former_name ? former : NULL, variable};
        for (size_t j = 0; j < sizeof names / sizeof *names; j++) {
            const char *value = names[j] ? getenv(names[j]) : NULL;
            if (value && !(setting->kind == SETTING_PATHS
                               ? set_path_variable(&reading, setting, names[j], value, error)
                               : reading_set(&reading, setting, names[j], value, error)))
                return false;
        }
    }
    return true;
}

/* The flags of a command line. */
struct flags {
    int count;
    char **arguments;
    const char *const *others; /* of settings_read */
};

/* One of them. */
struct given_flag {
    const struct setting *setting; /* NULL: --policy */
    const char *value;
    char where[SETTING_NAME_BYTES + 2]; /* as written, without the value */
};

static void offer_flag(void *context, const struct flag *flag) {
    nearest_offer(context, flag->name);
}

static bool refuse_flag(const struct flags *flags, const char *flag, size_t length,
                        struct error *error) {
    char word[SETTING_NAME_BYTES];
    snprintf(word, sizeof word, "%.*s", (int)length, flag);
    struct nearest nearest = nearest_to(word);
    for (const char *const *other = flags->others; other && *other; other++)
        if (strlen(*other) > 2) /* every letter would be near to every other */
            nearest_offer(&nearest, *other);
    settings_visit_flags(offer_flag, &nearest);
    struct hint hint = nearest_hint(&nearest, "");
    return error_set(error, 0, "unknown option %.60s%s", word,
                     hint.text[0] ? hint.text : "; see eclave --help");
}

/* Whether the LENGTH bytes of FLAG are a flag. Then *setting is its setting; NULL: --policy. */
static bool find_flag(const char *flag, size_t length, const struct setting **setting) {
    *setting = NULL;
    if (length == 8 && strncmp(flag, "--policy", length) == 0)
        return true;
    if (length > 2 && strncmp(flag, "--", 2) == 0)
        *setting = setting_by_flag(flag + 2, length - 2);
    return *setting != NULL;
}

bool settings_takes_value(const char *argument) {
    const struct setting *setting;
    return find_flag(argument, strlen(argument), &setting) &&
           !(setting && setting->kind == SETTING_SWITCH);
}

/* The flag at *index; moves *index over a separate value. */
static bool take_flag(struct given_flag *flag, const struct flags *flags, int *index,
                      struct error *error) {
    const char *text = flags->arguments[*index];
    const char *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : strlen(text);
    if (!find_flag(text, length, &flag->setting))
        return refuse_flag(flags, text, length, error);
    flag->value = equals ? equals + 1 : NULL;
    if (!flag->value && flag->setting && flag->setting->kind == SETTING_SWITCH)
        flag->value = "true";
    if (!flag->value && *index + 1 < flags->count)
        flag->value = flags->arguments[++*index];
    snprintf(flag->where, sizeof flag->where, "%.*s", (int)length, text);
    return flag->value || error_set(error, 0, "option %s needs a value", flag->where);
}

/* A lone "-" is standard input. */
static bool is_flag(const char *argument) {
    return argument[0] == '-' && argument[1];
}

/* *policy: the value of the last --policy, else of ECLAVE_POLICY, else NULL. */
static bool find_policy(const char **policy, const struct flags *flags, struct error *error) {
    *policy = getenv(policy_variable);
    for (int i = 1; i < flags->count && strcmp(flags->arguments[i], "--") != 0; i++) {
        struct given_flag flag = {0};
        if (!is_flag(flags->arguments[i]))
            continue;
        if (!take_flag(&flag, flags, &i, error))
            return false;
        if (!flag.setting)
            *policy = flag.value;
    }
    return true;
}

static bool read_flags(struct settings *settings, const struct flags *flags, int *left,
                       struct error *error) {
    struct reading reading = {.settings = settings};
    char **arguments = flags->arguments;
    bool flags_ended = false;
    *left = 0;
    for (int i = 1; i < flags->count; i++) {
        struct given_flag flag;
        if (!flags_ended && strcmp(arguments[i], "--") == 0)
            flags_ended = true;
        else if (flags_ended || !is_flag(arguments[i]))
            arguments[(*left)++] = arguments[i];
        else if (!take_flag(&flag, flags, &i, error) ||
                 (flag.setting &&
                  !reading_set(&reading, flag.setting, flag.where, flag.value, error)))
            return false;
    }
    return true;
}

/* The rules between settings. */
static bool check_together(const struct settings *settings, struct error *error) {
    if (settings->call_timeout_s > settings->call_timeout_max_s)
        return error_set(
            error, 0, "call.timeout_s (%lld) must not exceed call.timeout_max_s (%lld)",
            (long long)settings->call_timeout_s, (long long)settings->call_timeout_max_s);
    for (enum policy_layer layer = 0; layer < POLICY_LAYER_COUNT; layer++)
        if (settings->require & settings->without & UINT32_C(1) << layer)
            return error_set(error, 0, "require and without must not both name the layer %s",
                             policy_layer_name(layer));
    return true;
}

static bool read_all(struct settings *settings, const struct flags *flags, int *left,
                     struct error *error) {
    const char *policy;
    if (!check_environment(error) || !find_policy(&policy, flags, error))
        return false;
    if (policy && !settings_read_policy(settings, policy, error))
        return false;
    return read_environment(settings, error) && read_flags(settings, flags, left, error) &&
           check_together(settings, error);
}

bool settings_read(struct settings *settings, int count, char **arguments, int *left,
                   const char *const *others, struct error *error) {
    const struct flags flags = {.count = count, .arguments = arguments, .others = others};
    settings_default(settings);
    if (read_all(settings, &flags, left, error))
        return true;
    settings_free(settings);
    /* The message may quote input that would control the terminal. */
    for (char *byte = error->text; *byte; byte++)
        if (iscntrl((unsigned char)*byte))
            *byte = '?';
    return false;
}
