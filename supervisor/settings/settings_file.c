/* The policy file: strict JSON whose members are settings. Never takes a member that it does not
 * know, that stands twice or whose value is of another type than the setting's. */
#include "supervisor/json/json_inspect.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/settings/settings_internal.h"

#include <json-c/json.h>
#include <limits.h>
#include <stdlib.h>

enum { FILE_MAX_BYTES = 1 << 20, FILE_DEPTH_MAX = 8, FILE_VALUES_MAX = 1024 };

static const char profile_member[] = "profile";

/* One policy file while it is read. */
struct policy_file {
    const char *path;
    char *text; /* owned; ends with a zero byte that is none of SIZE */
    size_t size;
    struct json_object *root; /* owned */
    char directory[PATH_MAX];
    struct reading reading;
    struct error *error;
};

static void policy_file_close(struct policy_file *file) {
    free(file->text);
    json_object_put(file->root);
}

/* A name that is no file may have been meant for a profile's. */
static bool refuse_path(const struct policy_file *file, int code) {
    struct hint hint = {""};
    if (code == ENOENT)
        hint = profile_hint(file->path);
    if (hint.text[0])
        error_set(file->error, 0,
                  "policy file %.60s is not there and no profile (%s) is called so%s", file->path,
                  profile_names(), hint.text);
    else
        error_set(file->error, code, "policy file %.100s", file->path);
    return false;
}

static bool read_text(struct policy_file *file, FILE *stream) {
    file->text = malloc(FILE_MAX_BYTES + 1);
    if (!file->text)
        return refuse_path(file, ENOMEM);
    file->size = fread(file->text, 1, FILE_MAX_BYTES + 1, stream);
    if (ferror(stream))
        return refuse_path(file, errno);
    if (file->size > FILE_MAX_BYTES)
        return refuse_path(file, EFBIG);
    file->text[file->size] = 0;
    return true;
}

static bool load_text(struct policy_file *file) {
    FILE *stream = fopen(file->path, "re");
    if (!stream)
        return refuse_path(file, errno);
    bool read = read_text(file, stream);
    fclose(stream);
    return read;
}

static bool parse_text(struct policy_file *file) {
    static const struct json_limits limits = {.depth = FILE_DEPTH_MAX, .values = FILE_VALUES_MAX};
    struct json_shape shape;
    const struct span text = {(const unsigned char *)file->text, file->size};
    enum json_fault fault = json_inspect(text.bytes, text.length, limits, &shape);
    if (fault != JSON_FINE)
        return error_set(file->error, 0, "policy file %.100s %s (line %zu)", file->path,
                         json_file_fault_text(fault), json_line_of(text, shape.fault_at));
    file->root = json_tokener_parse(file->text);
    return json_object_is_type(file->root, json_type_object) ||
           error_set(file->error, 0, "policy file %.100s is not a JSON object", file->path);
}

/* The file's directory: relative paths in it begin there. */
static bool find_directory(struct policy_file *file) {
    const char *slash = strrchr(file->path, '/');
    size_t length = slash ? (size_t)(slash - file->path) + 1 : 0;
    if (length >= sizeof file->directory)
        return refuse_path(file, ENAMETOOLONG);
    memcpy(file->directory, file->path, length);
    file->reading.base = length ? file->directory : NULL;
    return true;
}

static bool check_repeated(const struct policy_file *file) {
    const struct span text = {(const unsigned char *)file->text, file->size};
    struct json_token name, other;
    for (size_t at = 0; json_next_member(text, &at, &name);)
        for (size_t behind = at; json_next_member(text, &behind, &other);)
            if (json_token_equal(&name, &other))
                return error_set(file->error, 0, "policy file %.80s: member %.*s stands twice",
                                 file->path, name.text.length < 80 ? (int)name.text.length : 80,
                                 (const char *)name.text.bytes);
    return true;
}

static bool refuse_member(const struct policy_file *file, const char *name) {
    struct nearest nearest = nearest_to(name);
    nearest_offer(&nearest, profile_member);
    for (size_t i = 0; i < SETTING_COUNT; i++)
        if (!settings_table[i].hidden)
            nearest_offer(&nearest, settings_table[i].name);
    return error_set(file->error, 0, "policy file %.60s: unknown member \"%.60s\"%s", file->path,
                     name, hint_make(&nearest, "\"").text);
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

/* Is VALUE written as values of this kind are? */
static bool is_of_kind(struct json_object *value, enum setting_kind kind) {
    switch (kind) {
    case SETTING_NUMBER:
        return json_object_is_type(value, json_type_int) ||
               json_object_is_type(value, json_type_double);
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
    bool listed = setting->kind == SETTING_PATHS || setting->kind == SETTING_LAYERS;
    return listed && json_object_is_type(value, json_type_array)
               ? set_list(file, setting, where, value)
               : set_plain(file, setting, where, value);
}

/* The profile that the file is based on, if it names one. */
static bool apply_profile(struct policy_file *file) {
    struct json_object *value;
    if (!json_object_object_get_ex(file->root, profile_member, &value))
        return true;
    const char *name = json_plain_string(value);
    if (name && profile_exists(name))
        return profile_apply(file->reading.settings, name, file->error);
    return error_set(file->error, 0, "policy file %.60s: \"%s\" must be one of %s, not %s%.40s%s%s",
                     file->path, profile_member, profile_names(), name ? "\"" : "",
                     name ? name : type_word(value), name ? "\"" : "",
                     name ? profile_hint(name).text : "");
}

static bool read_members(struct policy_file *file) {
    if (!apply_profile(file))
        return false;
    json_object_object_foreach(file->root, name, value) {
        if (strcmp(name, profile_member) != 0 && !set_member(file, name, value))
            return false;
    }
    return true;
}

bool settings_read_file(struct settings *settings, const char *path, struct error *error) {
    __attribute__((cleanup(policy_file_close))) struct policy_file file = {
        .path = path, .reading = {.settings = settings}, .error = error};
    return find_directory(&file) && load_text(&file) && parse_text(&file) &&
           check_repeated(&file) && read_members(&file);
}
