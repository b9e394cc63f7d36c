/* Fuzz target: the policy file, the environment and the flags. The input is the text of the file
 * up to a zero byte, and then strings, each ended by a zero byte: a variable when it has the form
 * NAME=VALUE with a name of ours, else an argument. */
#include "supervisor/settings.h"
#include "tests/fuzz/fuzz.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STRINGS_MAX = 24, STRING_MAX_BYTES = 400 };

static struct {
    char arguments[STRINGS_MAX][STRING_MAX_BYTES], variables[STRINGS_MAX][STRING_MAX_BYTES];
    char *vector[STRINGS_MAX + 3];
    int argument_count, variable_count;
    char path[32];
} given;

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

/* Each setting within its range, whatever it was set from. */
static void check_ranges(const struct settings *settings) {
    static const char *const choices[] = {
#define NUMBER(...)
#define HIDDEN_NUMBER(...)
#define SWITCH(...)
#define TEXT(...)
#define CHOICE(field, name, values, ...) values,
#define HIDDEN(field, name, values, ...) values,
#include "supervisor/settings.def"
#undef NUMBER
#undef HIDDEN_NUMBER
#undef SWITCH
#undef TEXT
#undef CHOICE
#undef HIDDEN
    };
    size_t choice = 0;
#define IN_RANGE(field, name, least, most)                                                         \
    FUZZ_CHECK(settings->field >= (least) && settings->field <= (most), "%s is %lld", name,        \
               (long long)settings->field);
#define NUMBER(field, name, unit, preset, least, most, ...) IN_RANGE(field, name, least, most)
#define HIDDEN_NUMBER(field, name, unit, preset, least, most, ...)                                 \
    IN_RANGE(field, name, least, most)
#define SWITCH(field, name, ...) IN_RANGE(field, name, 0, 1)
#define TEXT(field, name, ...)   check_name(settings->field, name);
#define CHOICE(field, name, ...)                                                                   \
    {                                                                                              \
        int64_t bars = 0;                                                                          \
        for (const char *at = choices[choice++]; *at; at++)                                        \
            bars += *at == '|';                                                                    \
        IN_RANGE(field, name, 0, bars)                                                             \
    }
#define HIDDEN CHOICE
#include "supervisor/settings.def"
#undef NUMBER
#undef HIDDEN_NUMBER
#undef SWITCH
#undef TEXT
#undef CHOICE
#undef HIDDEN
    FUZZ_CHECK(settings->call_timeout_s <= settings->call_timeout_max_s, "call.timeout_s");
}

/* One line that a terminal shows as it is and that names what it is about. */
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

/* The settings once more, all as flags: whatever they came from, they must come out the same. */
static void check_round_trip(const struct settings *settings) {
    enum { FLAGS = sizeof *settings / sizeof(int64_t), FLAG_BYTES = 2 * SETTING_TEXT_BYTES };
    static char texts[FLAGS][FLAG_BYTES];
    static char name[] = "eclave";
    char *vector[FLAGS + 2] = {name};
    struct settings again;
    struct error error = {0};
    int count = 1, left;
#define ADD(label, form, value)                                                                    \
    snprintf(texts[count - 1], FLAG_BYTES, "--%s=" form, label, value);                            \
    for (char *at = texts[count - 1]; *at != '='; at++)                                            \
        *at = *at == '.' || *at == '_' ? '-' : *at;                                                \
    vector[count] = texts[count - 1];                                                              \
    count++;
#define FLAG(field, label) ADD(label, "%lld", (long long)settings->field)
#define TEXT(field, label, ...)                                                                    \
    if (settings->field[0]) {                                                                      \
        ADD(label, "%s", settings->field)                                                          \
    }
#define NUMBER(field, label, ...)        FLAG(field, label)
#define HIDDEN_NUMBER(field, label, ...) FLAG(field, label)
#define SWITCH(field, label, ...)        FLAG(field, label)
#define CHOICE(...)
#define HIDDEN(...)
#include "supervisor/settings.def"
#undef NUMBER
#undef HIDDEN_NUMBER
#undef SWITCH
#undef TEXT
#undef CHOICE
#undef HIDDEN
    fuzz_edges.variable = NULL;
    FUZZ_CHECK(settings_read(&again, count, vector, &left, &error), "%s", error.text);
    FUZZ_CHECK(left == 0, "%d arguments are left", left);
    again.cancel_reply = settings->cancel_reply;
    again.log_level = settings->log_level;
    again.log_format = settings->log_format;
    again.fault = settings->fault;
    FUZZ_CHECK(memcmp(&again, settings, sizeof again) == 0, "another setting");
}

static bool is_variable(const char *text) {
    return (strncmp(text, "ECLAVE_", 7) == 0 || strncmp(text, "MCPBASH_", 8) == 0) &&
           strchr(text, '=');
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
        } else if (strstr(text, "policy")) {
            /* no file but ours */
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
    if (settings_read(&settings, given.argument_count + 1, given.vector, &left, &error)) {
        FUZZ_CHECK(left >= 0 && left <= given.argument_count, "%d arguments are left", left);
        check_ranges(&settings);
        check_round_trip(&settings);
    } else {
        check_error(&error);
    }
    return 0;
}
