/* Settings for --help and the manual page. Shows no hidden one. */
#include "supervisor/settings/settings_internal.h"

/* What stands behind the flag: nothing for a switch. */
static const char *value_word(const struct setting *setting) {
    switch (setting->kind) {
    case SETTING_TEXT:
    case SETTING_PATHS:
    case SETTING_LAYERS:
        return setting->unit;
    case SETTING_SWITCH:
        return NULL;
    default:
        return "X";
    }
}

/* Unit and default, or the choices and theirs, or the layers; nothing for the others. */
static void print_default(FILE *out, const struct setting *setting) {
    char layers[SETTING_WORDS_BYTES];
    switch (setting->kind) {
    case SETTING_NUMBER:
        fprintf(out, " (%lld %s)", (long long)setting->number, setting->unit);
        break;
    case SETTING_CHOICE:
        fprintf(out, " (%s; %s)", setting->values, setting->preset);
        break;
    case SETTING_LAYERS:
        setting_layers(setting, layers);
        fprintf(out, " (of %s; none)", layers);
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
        if (setting->hidden)
            continue;
        char flag[SETTING_NAME_BYTES];
        setting_flag(setting->name, flag);
        print_help(out, flag, value_word(setting), setting->help);
        print_default(out, setting);
        fputc('\n', out);
    }
    print_help(out, "policy", "FILE", "JSON file with settings, or a profile");
    fprintf(out, " (%s)\n", profile_names());
#define PROFILE(name, help) fprintf(out, "  %-26s %s\n", "  " name, help);
#define GIVES(...)
#include "supervisor/settings/profiles.def"
#undef PROFILE
#undef GIVES
}

static void print_manual_flag(FILE *out, const char *flag, const char *word) {
    fputs(".TP\n.B \\-\\-", out);
    for (const char *byte = flag; *byte; byte++)
        fprintf(out, "%s%c", *byte == '-' ? "\\" : "", *byte);
    fprintf(out, "%s%s\n", word ? " " : "", word ? word : "");
}

/* The profiles and all that they give. */
static void print_manual_profiles(FILE *out) {
    print_manual_flag(out, "policy", "FILE");
    fputs("JSON file with settings, or the name of a profile:\n", out);
#define PROFILE(name, help)         fputs(".IP \"\" 7\n\\fB" name "\\fR: " help "\n", out);
#define GIVES(profile, name, value) fputs(".br\n\\ \\ " name " " value "\n", out);
#include "supervisor/settings/profiles.def"
#undef PROFILE
#undef GIVES
}

void settings_manual(FILE *out) {
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting *setting = &settings_table[i];
        if (setting->hidden)
            continue;
        char flag[SETTING_NAME_BYTES];
        setting_flag(setting->name, flag);
        print_manual_flag(out, flag, value_word(setting));
        fputs(setting->help, out);
        print_default(out, setting);
        if (setting->kind == SETTING_NUMBER)
            fprintf(out, "; %lld to %lld", (long long)setting->minimum,
                    (long long)setting->maximum);
        fputc('\n', out);
    }
    print_manual_profiles(out);
}
