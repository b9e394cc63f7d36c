/* --policy: a profile of profiles.def, or a file of settings as strict JSON. */
#include "supervisor/base/installed.h"
#include "supervisor/base/whole_file.h"
#include "supervisor/json/json_number.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/settings/settings_internal.h"

#include <limits.h>
#include <stdlib.h>

/* --- profiles --- */

static const struct row {
    const char *profile, *setting, *value;
} rows[] = {
#define GIVES(profile, setting, value) {profile, setting, value},
#include "supervisor/settings/profiles.def"
};

static bool profile_exists(const char *name) {
    return choice_index(profile_names(), name) >= 0;
}

static struct hint profile_hint(const char *name) {
    struct nearest nearest = nearest_to(name);
#define PROFILE(name, help) nearest_offer(&nearest, name);
#include "supervisor/settings/profiles.def"
    return nearest_hint(&nearest, "\"");
}

const char *profile_value(const char *value) {
    return strcmp(value, "@ecl") == 0 ? installed_ecl_directory : value;
}

/* Replaces "~" at the start of VALUE, or makes it absolute if it is a part of a tree that can be
 * moved. False if the home directory is not known, or that of this program. */
static bool expand(const char *value, char path[PATH_MAX]) {
    _Static_assert(INSTALLED_PATH_BYTES <= PATH_MAX,
                   "the one is written where the other is expected");
    struct error error;
    if (value[0] != '~' && value[0] != '/')
        return installed_path(value, "", path, &error);
    const char *home = value[0] == '~' ? getenv("HOME") : "";
    if (!home || (value[0] == '~' && home[0] != '/'))
        return false;
    int length = snprintf(path, PATH_MAX, "%s%s", home, value + (value[0] == '~'));
    return length > 0 && length < PATH_MAX;
}

/* Adds a path, or skips it if this machine does not have it. */
static bool apply_path(struct reading *reading, const struct setting *setting,
                       const struct row *row, struct error *error) {
    char path[PATH_MAX];
    int code;
    char *found = expand(profile_value(row->value), path)
                      ? path_find(path, NULL, setting->paths, &code)
                      : NULL;
    bool fine = !found || reading_set(reading, setting, row->profile, found, error);
    free(found);
    return fine;
}

/* Applies the profile NAME, which exists. Fails only when out of memory. */
static bool apply_profile(struct settings *settings, const char *name, struct error *error) {
    struct reading reading = {.settings = settings};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].profile, name) != 0)
            continue;
        const struct setting *setting = setting_by_name(rows[i].setting);
        if (!setting)
            return error_set(error, 0, "profile %s: unknown setting %s", name, rows[i].setting);
        if (setting->kind == SETTING_PATHS
                ? !apply_path(&reading, setting, &rows[i], error)
                : !reading_set(&reading, setting, name, rows[i].value, error))
            return false;
    }
    return true;
}

/* --- policy files --- */

enum { FILE_MAX_BYTES = 1 << 20 };

static const char profile_member[] = "profile";

struct policy_file {
    const char *path;
    struct json_object *root; /* owned */
    char directory[PATH_MAX];
    struct reading reading;
    struct error *error;
};

static void policy_file_close(struct policy_file *file) {
    json_object_put(file->root);
}

/* A name without a file may be a mistyped profile. */
static bool refuse_path(const struct policy_file *file, const char *action, int code) {
    struct hint hint = {""};
    if (code == ENOENT)
        hint = profile_hint(file->path);
    if (!hint.text[0])
        return error_set(file->error, code, "policy file: %s %.100s", action, file->path);
    return error_set(file->error, 0, "policy file: open %.60s: %s, and no profile (%s) either%s",
                     file->path, strerror(code), profile_names(), hint.text);
}

static bool load(struct policy_file *file) {
    cleanup_buffer struct buffer text = buffer_make(FILE_MAX_BYTES);
    struct error why;
    int code;
    FILE *stream = fopen(file->path, "re");
    if (!stream)
        return refuse_path(file, "open", errno);
    bool read = whole_file_append(stream, &text, &code);
    fclose(stream);
    if (!read)
        return refuse_path(file, "read", code ? code : EFBIG);
    static const unsigned char empty[1];
    file->root = json_file_parse((struct span){text.data ? text.data : empty, text.length}, &why);
    return file->root ||
           error_set(file->error, 0, "policy file %.60s %.150s", file->path, why.text);
}

/* Relative paths in the file start at its directory. */
static bool find_directory(struct policy_file *file) {
    const char *slash = strrchr(file->path, '/');
    size_t length = slash ? (size_t)(slash - file->path) + 1 : 0;
    if (length >= sizeof file->directory)
        return refuse_path(file, "open", ENAMETOOLONG);
    memcpy(file->directory, file->path, length);
    file->reading.base = length ? file->directory : NULL;
    return true;
}

static bool refuse_member(const struct policy_file *file, const char *name) {
    struct nearest nearest = nearest_to(name);
    nearest_offer(&nearest, profile_member);
    for (size_t i = 0; i < SETTING_COUNT; i++)
        if (settings_table[i].help)
            nearest_offer(&nearest, settings_table[i].name);
    return error_set(file->error, 0, "policy file %.60s: unknown member \"%.60s\"%s", file->path,
                     name, nearest_hint(&nearest, "\"").text);
}

static const char *type_word(struct json_object *value) {
    static const char *const words[] = {
        [json_type_null] = "null",        [json_type_boolean] = "true or false",
        [json_type_double] = "a number",  [json_type_int] = "a number",
        [json_type_object] = "an object", [json_type_array] = "an array",
        [json_type_string] = "a string",
    };
    if (json_object_is_type(value, json_type_string) && !json_plain_string(value))
        return "a string with U+0000";
    return words[json_object_get_type(value)];
}

/* True if VALUE has the JSON type of this kind of setting. */
static bool is_of_kind(struct json_object *value, enum setting_kind kind) {
    switch (kind) {
    case SETTING_NUMBER:
        return json_is_number(value);
    case SETTING_SWITCH:
        return json_object_is_type(value, json_type_boolean);
    default:
        return json_plain_string(value);
    }
}

static bool set_plain(struct policy_file *file, const struct setting *setting, const char *where,
                      struct json_object *value) {
    if (is_of_kind(value, setting->kind))
        return reading_set(&file->reading, setting, where, json_object_get_string(value),
                           file->error);
    char words[SETTING_WORDS_BYTES];
    setting_words(setting, words);
    return error_set(file->error, 0, "%s must be %s, not %s", where, words, type_word(value));
}

static bool set_list(struct policy_file *file, const struct setting *setting, const char *where,
                     struct json_object *list) {
    reading_begin_list(&file->reading, setting);
    for (size_t i = 0; i < json_object_array_length(list); i++)
        if (!set_plain(file, setting, where, json_object_array_get_idx(list, i)))
            return false;
    return true;
}

static bool set_member(struct policy_file *file, const char *name, struct json_object *value) {
    const struct setting *setting = setting_by_name(name);
    if (!setting)
        return refuse_member(file, name);
    char where[2 * SETTING_NAME_BYTES];
    snprintf(where, sizeof where, "policy file %.40s: \"%s\"", file->path, name);
    return setting_is_list(setting) && json_object_is_type(value, json_type_array)
               ? set_list(file, setting, where, value)
               : set_plain(file, setting, where, value);
}

/* Applies the profile that the file is based on, if any. */
static bool apply_base(struct policy_file *file) {
    struct json_object *value;
    if (!json_object_object_get_ex(file->root, profile_member, &value))
        return true;
    const char *name = json_plain_string(value);
    if (name && profile_exists(name))
        return apply_profile(file->reading.settings, name, file->error);
    return error_set(file->error, 0, "policy file %.60s: \"%s\" must be one of %s, not %s%.40s%s%s",
                     file->path, profile_member, profile_names(), name ? "\"" : "",
                     name ? name : type_word(value), name ? "\"" : "",
                     name ? profile_hint(name).text : "");
}

bool settings_read_policy(struct settings *settings, const char *policy, struct error *error) {
    if (profile_exists(policy))
        return apply_profile(settings, policy, error);
    __attribute__((cleanup(policy_file_close))) struct policy_file file = {
        .path = policy, .reading = {.settings = settings}, .error = error};
    if (!find_directory(&file) || !load(&file) || !apply_base(&file))
        return false;
    json_object_object_foreach(file.root, name, value) {
        if (strcmp(name, profile_member) != 0 && !set_member(&file, name, value))
            return false;
    }
    return true;
}
