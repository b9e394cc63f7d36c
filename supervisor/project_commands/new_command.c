/* `eclave new`: writes what a tool begins with. Never overwrites, and writes nothing through a
 * link. */
#include "common/cleanup.h"
#include "supervisor/commands.h"
#include "supervisor/path_list.h"
#include "supervisor/registry/beneath.h"
#include "supervisor/registry/metadata.h"
#include "supervisor/tools.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_BYTES = 128 };

/* The files of a new tool; in a text %% stands for its name. An ending without text is not written,
 * and must be free as well: it would be taken for metadata of the tool. */
static const struct starter {
    const char *ending, *text;
} starters[] = {
    {".json", NULL},
    {".lisp",
     ";;; {\"description\": \"Greets somebody. Say here what the tool is good for, and when.\",\n"
     ";;;  \"inputSchema\": {\n"
     ";;;    \"type\": \"object\",\n"
     ";;;    \"properties\": {\n"
     ";;;      \"name\": {\"type\": \"string\", \"description\": \"Whom to greet\"},\n"
     ";;;      \"age\": {\"type\": \"integer\", \"minimum\": 0}\n"
     ";;;    },\n"
     ";;;    \"required\": [\"name\"],\n"
     ";;;    \"additionalProperties\": false}}\n"
     "\n"
     ";; The lines above are JSON: what clients are told, and what arguments are checked with\n"
     ";; before this file is evaluated, in a fresh confined world for each call. It reaches no\n"
     ";; file and no network. An argument belongs to the parameter of the same name.\n"
     "\n"
     "(mcp:deftool \"%%\" (name &key age)\n"
     "  (when (string= name \"\")\n"
     "    (mcp:fail \"Whom shall I greet?\"))\n"
     "  ;; A string is a text for people; (mcp:object \"key\" value) is a value for programs.\n"
     "  (format nil \"Hello, ~a!~@[ You are ~d.~]\" name age))\n"},
    {".test.jsonl",
     "{\"args\": {\"name\": \"Ada\"}, \"expect\": \"Hello, Ada!\"}\n"
     "{\"args\": {\"name\": \"Ada\", \"age\": 36}, \"expect\": \"Hello, Ada! You are 36.\"}\n"
     "{\"args\": {\"name\": \"\"}, \"expectError\": \"Whom shall I greet?\"}\n"
     "{\"args\": {\"age\": 36}, \"expectError\": \"Invalid arguments\"}\n"},
};

enum { STARTER_COUNT = sizeof starters / sizeof *starters };

static bool check_name(const char *name, struct error *error) {
    if (!metadata_check_name(name, error))
        return false;
    for (const char *const *taken = tools_names(); *taken; taken++)
        if (strcmp(*taken, name) == 0)
            return error_set(error, 0, "%s is a tool of eclave's own", name);
    return true;
}

static bool are_free(int folder, const char *name, struct error *error) {
    struct stat status;
    for (size_t i = 0; i < STARTER_COUNT; i++) {
        char file[PATH_BYTES];
        snprintf(file, sizeof file, "%s%s", name, starters[i].ending);
        if (fstatat(folder, file, &status, AT_SYMLINK_NOFOLLOW) == 0)
            return error_set(error, 0, "tools/%s is there already; nothing was written", file);
    }
    return true;
}

static void print_text(FILE *out, const char *text, const char *name) {
    for (const char *place; (place = strstr(text, "%%")) != NULL; text = place + 2)
        fprintf(out, "%.*s%s", (int)(place - text), text, name);
    fputs(text, out);
}

static bool write_one(int folder, const char *name, const struct starter *starter,
                      struct error *error) {
    char file[PATH_BYTES];
    snprintf(file, sizeof file, "%s%s", name, starter->ending);
    int fd = openat(folder, file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!out) {
        error_set(error, errno, "tools/%s", file);
        if (fd >= 0)
            close(fd);
        return false;
    }
    print_text(out, starter->text, name);
    bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed)
        return error_set(error, errno, "tools/%s", file);
    printf("wrote tools/%s\n", file);
    return true;
}

static bool write_all(const char *directory, const char *name, struct error *error) {
    cleanup_fd int root = beneath_open_root(directory, error);
    if (root < 0)
        return false;
    if (mkdirat(root, "tools", 0777) != 0 && errno != EEXIST)
        return error_set(error, errno, "making the folder tools");
    cleanup_fd int folder = beneath_open_folder(root, "tools");
    if (folder < 0)
        return error_set(error, errno, "the folder tools");
    if (!are_free(folder, name, error))
        return false;
    for (size_t i = 0; i < STARTER_COUNT; i++)
        if (starters[i].text && !write_one(folder, name, &starters[i], error))
            return false;
    return true;
}

int command_new(const struct settings *settings, int count, char **arguments) {
    struct error error;
    int code = 0;
    cleanup_free char *here =
        settings->project.count ? NULL : path_find(".", NULL, PATH_DIRECTORY, &code);
    const char *directory = settings->project.count ? settings->project.paths[0] : here;
    bool usable = count == 2 && strcmp(arguments[0], "tool") == 0;
    if (!usable)
        error_set(&error, 0, "usage: eclave new tool NAME [--project DIR]");
    else if (!directory)
        error_set(&error, code, "the current directory");
    if (!usable || !directory || !check_name(arguments[1], &error) ||
        !write_all(directory, arguments[1], &error)) {
        fprintf(stderr, "eclave: %s\n", error.text);
        return STATUS_USAGE;
    }
    return 0;
}
