/* See project_files.h. */
#include "tests/support/project_files.h"
#include "tests/support/user.h"
#include <criterion/criterion.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/var/tmp/eclave-project-XXXXXX";
static bool begun;

const char *project_files_path(void) {
    return root;
}

static char *path_of(const char *name) {
    char *path;
    if (asprintf(&path, "%s/%s", root, name) < 0)
        abort();
    return path;
}

static void make_folder(const char *name) {
    char *path = path_of(name);
    cr_assert_eq(mkdir(path, 0755), 0);
    chmod(path, 0755);
    user_give(path);
    free(path);
}

void project_files_begin(void) {
    cr_assert_not_null(mkdtemp(root));
    begun = true;
    chmod(root, 0755);
    user_give(root);
    make_folder("tools");
    make_folder("prompts");
    make_folder("resources");
    make_folder("completions");
}

static int remove_one(const char *path, const struct stat *status, int flag, struct FTW *walk) {
    (void)status, (void)flag, (void)walk;
    return remove(path);
}

void project_files_end(void) {
    if (begun)
        nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    begun = false;
}

void project_files_write(const char *name, const char *text) {
    char *path = path_of(name), *beside = path_of(".beside");
    FILE *file = fopen(beside, "w");
    cr_assert_not_null(file);
    cr_assert_geq(fputs(text, file), 0);
    cr_assert_eq(fclose(file), 0);
    chmod(beside, 0644);
    cr_assert_eq(rename(beside, path), 0);
    free(beside);
    free(path);
}

void project_files_format(const char *name, const char *format, ...) {
    char *text;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0)
        abort();
    project_files_write(name, text);
    free(text);
}

void project_files_remove(const char *name) {
    char *path = path_of(name);
    cr_assert_eq(unlink(path), 0);
    free(path);
}

void project_files_hide(const char *name) {
    char *path = path_of(name);
    cr_assert_eq(chmod(path, 0600), 0);
    free(path);
}

struct client *project_files_serve(const char *const *arguments) {
    enum { ARGUMENTS_MAX = 16 };
    const char *all[ARGUMENTS_MAX] = {"--project", root};
    for (size_t i = 0; arguments && arguments[i] && i < ARGUMENTS_MAX - 3; i++)
        all[i + 2] = arguments[i];
    const struct client_options options = {.arguments = all};
    return client_start(&options);
}

struct client *project_files_serve_able(const struct era *era, const char *capabilities,
                                        const char *const *arguments) {
    struct client *client = project_files_serve(arguments);
    if (!era->modern)
        client_initialize_with(client, era->revision, capabilities);
    return client;
}

struct client *project_files_serve_in(const struct era *era, const char *const *arguments) {
    return project_files_serve_able(era, "{}", arguments);
}

void project_files_expect(const struct project_answer *answers, size_t count) {
    EACH_ERA(era) {
        struct client *client = project_files_serve_in(era, NULL);
        for (size_t i = 0; i < count; i++) {
            const char *line = era_request(client, era, "1", answers[i].method, answers[i].members);
            expect_contains_if(era >= eras + answers[i].since, line, answers[i].part);
        }
        client_finish(client);
    }
}
