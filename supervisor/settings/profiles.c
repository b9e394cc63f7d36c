/* The profiles of profiles.def. Never complains of a directory that this machine does not have. */
#include "supervisor/settings/settings_internal.h"

#include <limits.h>
#include <stdlib.h>

/* "a|b|c", as choices are. */
#define PROFILE(name, help) "|" name
#define GIVES(...)
static const char names[] =
#include "supervisor/settings/profiles.def"
    ;
#undef PROFILE
#undef GIVES

static const struct row {
    const char *profile, *setting, *value;
} rows[] = {
#define PROFILE(...)
#define GIVES(profile, setting, value) {profile, setting, value},
#include "supervisor/settings/profiles.def"
#undef PROFILE
#undef GIVES
};

const char *profile_names(void) {
    return names + 1;
}

bool profile_exists(const char *name) {
    return choice_index(profile_names(), name) >= 0;
}

struct hint profile_hint(const char *name) {
    struct nearest nearest = nearest_to(name);
#define PROFILE(name, help) nearest_offer(&nearest, name);
#define GIVES(...)
#include "supervisor/settings/profiles.def"
#undef PROFILE
#undef GIVES
    return hint_make(&nearest, "\"");
}

/* Writes VALUE with its "~" replaced. False when there is no home directory to put there. */
static bool expand_home(const char *value, char path[PATH_MAX]) {
    const char *home = value[0] == '~' ? getenv("HOME") : "";
    if (!home || (value[0] == '~' && home[0] != '/'))
        return false;
    int length = snprintf(path, PATH_MAX, "%s%s", home, value + (value[0] == '~'));
    return length > 0 && length < PATH_MAX;
}

/* Adds a path if there is such a directory or file here. */
static bool apply_path(struct reading *reading, const struct setting *setting,
                       const struct row *row, struct error *error) {
    char path[PATH_MAX];
    int code;
    char *found =
        expand_home(row->value, path) ? path_find(path, NULL, setting->paths, &code) : NULL;
    bool fine = !found || reading_set(reading, setting, row->profile, found, error);
    free(found);
    return fine;
}

bool profile_apply(struct settings *settings, const char *name, struct error *error) {
    struct reading reading = {.settings = settings};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].profile, name) != 0)
            continue;
        const struct setting *setting = setting_by_name(rows[i].setting);
        if (!setting)
            return error_set(error, 0, "profile %s must not give %s", name, rows[i].setting);
        if (setting->kind == SETTING_PATHS
                ? !apply_path(&reading, setting, &rows[i], error)
                : !reading_set(&reading, setting, name, rows[i].value, error))
            return false;
    }
    return true;
}
