/* `eclave new`: writes what a tool, a resource or the like begins with. Never overwrites, and
 * writes nothing through a link. */
#include "common/cleanup.h"
#include "supervisor/command/commands.h"
#include "supervisor/command/starters.h"
#include "supervisor/content/shape.h"
#include "supervisor/registry/beneath.h"
#include "supervisor/registry/metadata.h"
#include "supervisor/server/tools.h"
#include "supervisor/settings/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_BYTES = 128 };

/* What one call is to write. */
struct wish {
    const struct starter *starter;
    const char *name;
};

static const char *ending_of(const struct wish *wish, size_t i) {
    return i < STARTER_FILES_MAX ? wish->starter->files[i].ending : NULL;
}

static void name_file(const struct wish *wish, size_t i, char file[PATH_BYTES]) {
    snprintf(file, PATH_BYTES, "%.64s%s", wish->name, ending_of(wish, i));
}

static const struct starter *find_starter(const char *kind) {
    for (size_t i = 0; i < STARTER_KINDS; i++)
        if (strcmp(starters[i].kind, kind) == 0)
            return &starters[i];
    return NULL;
}

static bool is_own_tool(const char *name) {
    for (const char *const *taken = tools_names(); *taken; taken++)
        if (strcmp(*taken, name) == 0)
            return true;
    return false;
}

/* Would a file of that name be found, and taken for what it is? */
static bool check_name(const struct wish *wish, struct error *error) {
    static const char metadata[] = ".meta.json";
    const char *name = wish->name;
    size_t length = strlen(name), size = sizeof metadata - 1;
    struct error why;
    if (!shape_is_name(name, &why))
        return error_set(error, 0, "the name %s", why.text);
    if (name[0] == '.')
        return error_set(error, 0, "a file whose name begins with a dot is not looked at");
    if (wish->starter->folder == FOLDER_TOOLS && is_own_tool(name))
        return error_set(error, 0, "%s is a tool of eclave's own", name);
    return wish->starter->folder != FOLDER_RESOURCES || length < size ||
           strcmp(name + length - size, metadata) != 0 ||
           error_set(error, 0, "a file whose name ends in %s is metadata of another", metadata);
}

static bool are_free(int folder, const struct wish *wish, struct error *error) {
    struct stat status;
    for (size_t i = 0; ending_of(wish, i); i++) {
        char file[PATH_BYTES];
        name_file(wish, i, file);
        if (fstatat(folder, file, &status, AT_SYMLINK_NOFOLLOW) == 0)
            return error_set(error, 0, "%s/%s is there already; nothing was written",
                             folder_name(wish->starter->folder), file);
    }
    return true;
}

static void print_text(FILE *out, const char *text, const char *name) {
    for (const char *place; (place = strstr(text, "%%")) != NULL; text = place + 2)
        fprintf(out, "%.*s%s", (int)(place - text), text, name);
    fputs(text, out);
}

static bool write_one(int folder, const struct wish *wish, size_t i, struct error *error) {
    const char *place = folder_name(wish->starter->folder);
    char file[PATH_BYTES];
    name_file(wish, i, file);
    int fd = openat(folder, file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!out) {
        error_set(error, errno, "%s/%s", place, file);
        if (fd >= 0)
            close(fd);
        return false;
    }
    print_text(out, wish->starter->files[i].text, wish->name);
    bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed)
        return error_set(error, errno, "%s/%s", place, file);
    printf("wrote %s/%s\n", place, file);
    return true;
}

static bool write_all(const char *directory, const struct wish *wish, struct error *error) {
    const char *place = folder_name(wish->starter->folder);
    cleanup_fd int root = beneath_open_root(directory, error);
    if (root < 0)
        return false;
    if (mkdirat(root, place, 0777) != 0 && errno != EEXIST)
        return error_set(error, errno, "making the folder %s", place);
    cleanup_fd int folder = beneath_open_folder(root, place);
    if (folder < 0)
        return error_set(error, errno, "the folder %s", place);
    if (!are_free(folder, wish, error))
        return false;
    for (size_t i = 0; ending_of(wish, i); i++)
        if (wish->starter->files[i].text && !write_one(folder, wish, i, error))
            return false;
    return true;
}

/* False with *error when ARGUMENTS are not KIND NAME. */
static bool read_wish(struct wish *wish, int count, char **arguments, struct error *error) {
    *wish = (struct wish){.starter = count == 2 ? find_starter(arguments[0]) : NULL};
    if (!wish->starter) {
        error_set(error, 0,
                  "usage: eclave new tool|resource|template|prompt|completion NAME "
                  "[--project DIR]");
        return false;
    }
    wish->name = arguments[1];
    return check_name(wish, error);
}

int command_new(const struct settings *settings, int count, char **arguments) {
    struct error error;
    struct wish wish;
    int code = 0;
    cleanup_free char *here =
        settings->project.count ? NULL : path_find(".", NULL, PATH_DIRECTORY, &code);
    const char *directory = settings->project.count ? settings->project.paths[0] : here;
    bool good = read_wish(&wish, count, arguments, &error);
    if (good && !directory)
        good = error_set(&error, code, "the current directory");
    if (good && write_all(directory, &wish, &error))
        return 0;
    fprintf(stderr, "eclave: %s\n", error.text);
    return STATUS_USAGE;
}
