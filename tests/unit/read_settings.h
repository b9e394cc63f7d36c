/* Settings read from arguments and from a temporary file. */
#ifndef ECLAVE_TESTS_UNIT_READ_SETTINGS_H
#define ECLAVE_TESTS_UNIT_READ_SETTINGS_H

#include "supervisor/settings/settings.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 48 };

/* Reads settings from arguments, which follow the program's name and end with NULL. */
static inline bool read_settings(struct settings *settings, struct error *error, int *left,
                                 const char *arguments[ARGUMENTS_MAX]) {
    int count = 1;
    arguments[0] = "eclave";
    while (arguments[count])
        count++;
    return settings_read(settings, count, (char **)arguments, left, NULL, error);
}

#define READ(settings, error, left, ...)                                                           \
    read_settings(settings, error, left, (const char *[ARGUMENTS_MAX]){NULL, __VA_ARGS__})

/* The same, without an error. The caller frees the settings. */
#define READ_FINE(settings, ...)                                                                   \
    do {                                                                                           \
        struct error fine_error = {0};                                                             \
        int fine_left;                                                                             \
        cr_assert(READ(settings, &fine_error, &fine_left, __VA_ARGS__), "%s", fine_error.text);    \
    } while (0)

static inline void expect_refused(const char *flag, const char *value, const char *word) {
    struct settings settings;
    struct error error = {0};
    int left;
    cr_expect_not(READ(&settings, &error, &left, flag, value), "%s %s", flag, value);
    cr_expect_not_null(strstr(error.text, word), "%s %s: %s", flag, value, error.text);
    cr_expect_null(strchr(error.text, '\n'), "%s", error.text);
}

static inline void write_file(const char *path, const char *text, size_t size) {
    FILE *file = fopen(path, "we");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(text, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
}

/* Reads SIZE bytes of TEXT as a policy file. */
static inline bool read_policy_text(struct settings *settings, struct error *error,
                                    const char *text, size_t size) {
    char path[] = "/tmp/eclave-settings-XXXXXX";
    int fd = mkstemp(path), left;
    cr_assert_geq(fd, 0);
    close(fd);
    write_file(path, text, size);
    bool read = READ(settings, error, &left, "--policy", path);
    unlink(path);
    return read;
}

static inline void expect_bytes_refused(const char *text, size_t size, const char *word) {
    struct settings settings;
    struct error error = {0};
    cr_expect_not(read_policy_text(&settings, &error, text, size), "%s", text);
    cr_expect_not_null(strstr(error.text, word), "%.60s: %s, not %s", text, error.text, word);
    cr_expect_not_null(strstr(error.text, "policy file"), "%s", error.text);
}

static inline void expect_file_refused(const char *text, const char *word) {
    expect_bytes_refused(text, strlen(text), word);
}

#endif
