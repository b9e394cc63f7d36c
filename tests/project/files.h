/* A project of the test's own: files in a new directory, and servers that serve it, as root and as
 * nobody. Nothing here knows what a project means. */
#ifndef ECLAVE_TESTS_PROJECT_FILES_H
#define ECLAVE_TESTS_PROJECT_FILES_H

#include "tests/support/client.h"
#include "tests/support/eras.h"
#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The current directory becomes the project. */
static inline void files_begin(void) {
    static const char *const folders[] = {"tools", "prompts", "resources", "completions"};
    char path[] = "/tmp/eclave-files-XXXXXX";
    umask(022);
    cr_assert_not_null(mkdtemp(path));
    cr_assert_eq(chmod(path, 0755), 0);
    cr_assert_eq(chdir(path), 0);
    for (size_t i = 0; i < COUNT_OF(folders); i++)
        cr_assert_eq(mkdir(folders[i], 0755), 0);
}

static inline int files_remove(const char *path, const struct stat *status, int kind,
                               struct FTW *at) {
    (void)status;
    (void)kind;
    (void)at;
    return remove(path);
}

static inline void files_end(void) {
    char path[4096];
    cr_assert_not_null(getcwd(path, sizeof path));
    cr_assert_eq(chdir("/"), 0);
    nftw(path, files_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* Writes FILE whole or not at all, as editors do. */
static inline void put(const char *file, const char *text) {
    FILE *stream = fopen(".new", "w");
    cr_assert_not_null(stream, "%s", file);
    cr_assert_eq(fwrite(text, 1, strlen(text), stream), strlen(text));
    cr_assert_eq(fclose(stream), 0);
    cr_assert_eq(rename(".new", file), 0);
}

/* A server of the present directory that is ready for ERA. CAPABILITIES are those that a legacy
 * client declares, as JSON text. OPTIONS end with NULL, or are NULL. */
static inline struct client *serve_as(const struct era *era, const char *capabilities,
                                      const char *const *options, bool unprivileged) {
    const char *arguments[16] = {"--project", "."};
    for (size_t i = 0; options && options[i]; i++)
        arguments[2 + i] = options[i];
    struct client *client = client_start(
        &(struct client_options){.arguments = arguments, .unprivileged = unprivileged});
    if (era->modern)
        return client;
    client_send_format(client,
                       REQUEST_WITH("\"hello\"", "initialize",
                                    "{\"protocolVersion\":\"%s\",\"capabilities\":%s,"
                                    "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}"),
                       era->revision, capabilities);
    client_await(client, "\"hello\"", NULL);
    client_send_line(client, NOTIFICATION("notifications/initialized"));
    return client;
}

static inline struct client *serve(const struct era *era) {
    return serve_as(era, "{}", NULL, false);
}

// NOLINTBEGIN(bugprone-macro-parentheses): a declared name stands bare
#define EACH_ERA(era) for (const struct era *era = eras; era < eras + ERA_COUNT; era++)
/* The newest of each kind. */
#define EACH_KIND(era) for (const struct era *era = eras + 3; era < eras + ERA_COUNT; era++)
// NOLINTEND(bugprone-macro-parentheses)

static inline bool has(const char *line, const char *part) {
    return strstr(line, part) != NULL;
}

#define expect_has(line, part)     cr_assert(has(line, part), "%s is not in %s", part, line)
#define expect_has_not(line, part) cr_assert_not(has(line, part), "%s is in %s", part, line)

#define PROJECT_TEST(suite, name)                                                                  \
    static void name(void);                                                                        \
    Test(suite, name, .init = files_begin, .fini = files_end) {                                    \
        name();                                                                                    \
    }                                                                                              \
    static void name(void)

#endif
