/* Fuzz target: the policy file, the environment and the flags. The input is the file up to a zero
 * byte, then strings that end with a zero byte: a variable in the form NAME=VALUE, with a name of
 * ours or HOME, or an argument. No path is looked up. */
#include "policy/policy.h"
#include "supervisor/base/log.h"
#include "supervisor/settings/settings.h"
#include "tests/fuzz/fuzz.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STRINGS_MAX = 48, STRING_MAX_BYTES = 400 };

static const uint32_t all_layers = (UINT32_C(1) << POLICY_LAYER_COUNT) - 1;
static const uint32_t optional_layers = 0
#define LAYER(id, name, optional, stops) | ((optional) ? UINT32_C(1) << POLICY_LAYER_##id : 0)
#include "policy/layers.def"
#undef LAYER
    ;

static struct {
    char arguments[STRINGS_MAX][STRING_MAX_BYTES], variables[STRINGS_MAX][STRING_MAX_BYTES];
    char *vector[STRINGS_MAX + 3];
    int argument_count, variable_count;
    char path[32];
} given;

/* Every path exists, except those with a "!"; it is a directory unless it ends in ".lisp". */
char *__wrap_path_find(const char *path, const char *base, enum path_kind kind, int *code);
char *__wrap_path_find(const char *path, const char *base, enum path_kind kind, int *code) {
    size_t length = strlen(path);
    bool is_file = length >= 5 && strcmp(path + length - 5, ".lisp") == 0;
    *code = length >= PATH_MAX ? ENAMETOOLONG : length == 0 || strchr(path, '!') ? ENOENT : 0;
    if (*code || is_file != (kind == PATH_FILE))
        return NULL;
    char *found;
    FUZZ_CHECK(asprintf(&found, "%s%s%s",
                        path[0] == '/' ? ""
                        : base         ? base
                                       : "/here",
                        path[0] == '/' ? "" : "/", path) >= 0,
               "no memory");
    return found;
}

static char *variable(const char *name) {
    size_t length = strlen(name);
    for (int i = given.variable_count; i-- > 0;)
        if (strncmp(given.variables[i], name, length) == 0 && given.variables[i][length] == '=')
            return given.variables[i] + length + 1;
    return strcmp(name, "ECLAVE_POLICY") == 0 ? given.path : NULL;
}

static void check_name(const char text[SETTING_TEXT_BYTES], const char *name) {
    FUZZ_CHECK(memchr(text, 0, SETTING_TEXT_BYTES), "%s has no end", name);
    for (const char *byte = text; *byte; byte++)
        FUZZ_CHECK(isalnum((unsigned char)*byte) || strchr(".-_", *byte), "%s is %s", name, text);
}

static void check_paths(const struct path_list *list, const char *name) {
    FUZZ_CHECK(list->count <= PATH_LIST_MAX, "%s has %zu", name, list->count);
    for (size_t i = 0; i < list->count; i++)
        FUZZ_CHECK(list->paths[i][0] == '/', "%s is %s", name, list->paths[i]);
}

/* Each setting is within its range. */
static void check_ranges(const struct settings *settings) {
    static const char *const choices[] = {
#define CHOICE(field, name, values, ...) values,
#include "supervisor/settings/settings.def"
    };
    size_t choice = 0;
#define IN_RANGE(field, name, least, most)                                                         \
    FUZZ_CHECK(settings->field >= (least) && settings->field <= (most), "%s is %lld", name,        \
               (long long)settings->field);
#define NUMBER(field, name, unit, preset, least, most, ...) IN_RANGE(field, name, least, most)
#define SWITCH(field, name, ...)                            IN_RANGE(field, name, 0, 1)
#define TEXT(field, name, ...)                              check_name(settings->field, name);
#define PATHS(field, name, ...)                             check_paths(&settings->field, name);
#define LAYERS(field, name, any, ...)                                                              \
    FUZZ_CHECK((settings->field & ~((any) ? all_layers : optional_layers)) == 0, "%s is %x", name, \
               settings->field);
#define CHOICE(field, name, ...)                                                                   \
    {                                                                                              \
        int64_t bars = 0;                                                                          \
        for (const char *at = choices[choice++]; *at; at++)                                        \
            bars += *at == '|';                                                                    \
        IN_RANGE(field, name, 0, bars)                                                             \
    }
#include "supervisor/settings/settings.def"
    FUZZ_CHECK(settings->call_timeout_s <= settings->call_timeout_max_s, "call.timeout_s");
    FUZZ_CHECK((settings->require & settings->without) == 0, "require and without");
}

/* An error is one printable line that names its subject. */
static void check_error(const struct error *error) {
    static const char *const words[] = {"policy file", "option", "must be", "must not"};
    size_t length = strnlen(error->text, sizeof error->text), found = 0;
    FUZZ_CHECK(length > 0 && length < sizeof error->text, "no reason");
    for (size_t i = 0; i < length; i++)
        FUZZ_CHECK((unsigned char)error->text[i] >= ' ' && error->text[i] != 0x7f,
                   "a control character in: %s", error->text);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        found += strstr(error->text, words[i]) != NULL;
    FUZZ_CHECK(found, "it names nothing: %s", error->text);
}

/* Flags, written from settings. */
struct flags {
    char *vector[STRINGS_MAX * 3]; /* owned, after the program's name */
    int count;
};

static void add_flag(struct flags *flags, const char *name, const char *value) {
    char **slot = &flags->vector[flags->count++];
    FUZZ_CHECK((size_t)flags->count < sizeof flags->vector / sizeof *flags->vector, "no room");
    FUZZ_CHECK(asprintf(slot, "--%s=%s", name, value) >= 0, "no memory");
    for (char *at = *slot; *at != '='; at++)
        *at = *at == '.' || *at == '_' ? '-' : *at;
}

static void add_number(struct flags *flags, const char *name, int64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    add_flag(flags, name, text);
}

static void add_paths(struct flags *flags, const char *name, const struct path_list *list) {
    for (size_t i = 0; i < list->count; i++)
        add_flag(flags, name, list->paths[i]);
}

static void add_layers(struct flags *flags, const char *name, uint32_t layers) {
    for (enum policy_layer layer = 0; layer < POLICY_LAYER_COUNT; layer++)
        if (layers & UINT32_C(1) << layer)
            add_flag(flags, name, policy_layer_name(layer));
}

/* Checks that both have the same paths, and frees those of AGAIN. */
static void match_paths(const struct path_list *list, struct path_list *again) {
    FUZZ_CHECK(list->count == again->count, "%zu paths", again->count);
    for (size_t i = 0; i < list->count; i++)
        FUZZ_CHECK(strcmp(list->paths[i], again->paths[i]) == 0, "%s", again->paths[i]);
    path_list_free(again);
}

/* The same settings, read again as flags, must be equal. */
static void check_round_trip(const struct settings *settings) {
    static char program[] = "eclave";
    struct flags flags = {.vector = {program}, .count = 1};
    struct settings again;
    struct error error = {0};
    int left;
#define TEXT(field, label, ...)                                                                    \
    if (settings->field[0])                                                                        \
        add_flag(&flags, label, settings->field);
#define NUMBER(field, label, ...) add_number(&flags, label, settings->field);
#define SWITCH(field, label, ...) add_number(&flags, label, settings->field);
#define PATHS(field, label, ...)  add_paths(&flags, label, &settings->field);
#define LAYERS(field, label, ...) add_layers(&flags, label, settings->field);
#include "supervisor/settings/settings.def"
    char *vector[sizeof flags.vector / sizeof *flags.vector];
    memcpy(vector, flags.vector, sizeof vector);
    fuzz_edges.variable = NULL;
    FUZZ_CHECK(settings_read(&again, flags.count, vector, &left, NULL, &error), "%s", error.text);
    FUZZ_CHECK(left == 0, "%d arguments are left", left);
    for (int i = 1; i < flags.count; i++)
        free(flags.vector[i]);
#define CHOICE(field, ...) again.field = settings->field;
#define PATHS(field, ...)                                                                          \
    match_paths(&settings->field, &again.field);                                                   \
    again.field = settings->field;
#include "supervisor/settings/settings.def"
    again.log_level_set = settings->log_level_set; /* a choice, which no flag above repeats */
    FUZZ_CHECK(memcmp(&again, settings, sizeof again) == 0, "another setting");
}

static bool is_variable(const char *text) {
    return (strncmp(text, "ECLAVE_", 7) == 0 || strncmp(text, "MCPBASH_", 8) == 0 ||
            strncmp(text, "HOME", 4) == 0) &&
           strchr(text, '=');
}

static bool names_profile(const char *text) {
    static const char *const flags[] = {"--policy=strict", "--policy=library", "--policy=ci"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (strcmp(text, flags[i]) == 0)
            return true;
    return false;
}

static void take_strings(const uint8_t *bytes, size_t size) {
    static char program[] = "eclave";
    given.argument_count = given.variable_count = 0;
    given.vector[0] = program;
    while (size && given.argument_count < STRINGS_MAX && given.variable_count < STRINGS_MAX) {
        size_t length = strnlen((const char *)bytes, size);
        char text[STRING_MAX_BYTES];
        snprintf(text, sizeof text, "%.*s", (int)length, (const char *)bytes);
        if (is_variable(text)) {
            memcpy(given.variables[given.variable_count++], text, sizeof text);
        } else if (strstr(text, "policy") && !names_profile(text)) {
            /* no other policy file */
        } else {
            char *copy = given.arguments[given.argument_count++];
            memcpy(copy, text, sizeof text);
            given.vector[given.argument_count] = copy;
        }
        bytes += length < size ? length + 1 : length;
        size -= length < size ? length + 1 : length;
    }
    given.vector[given.argument_count + 1] = NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static int file = -1;
    struct settings settings;
    struct error error = {0};
    int left = -1;
    size_t length = strnlen((const char *)data, size);
    if (file < 0)
        file = memfd_create("policy", MFD_CLOEXEC);
    snprintf(given.path, sizeof given.path, "/proc/self/fd/%d", file);
    FUZZ_CHECK(ftruncate(file, 0) == 0 && pwrite(file, data, length, 0) == (ssize_t)length,
               "no file");
    fuzz_edges = (struct fuzz_edges){.variable = variable};
    take_strings(data + length, size - length);
    if (settings_read(&settings, given.argument_count + 1, given.vector, &left, NULL, &error)) {
        FUZZ_CHECK(left >= 0 && left <= given.argument_count, "%d arguments are left", left);
        check_ranges(&settings);
        check_round_trip(&settings);
        settings_free(&settings);
    } else {
        check_error(&error);
    }
    return 0;
}
