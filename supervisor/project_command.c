/* `eclave check` and `eclave new`: a project on disk, without a protocol. Neither evaluates
 * anything, and `new` never overwrites. */
#include "supervisor/commands.h"
#include "supervisor/project_look.h"
#include "supervisor/registry/metadata.h"
#include "supervisor/schema.h"
#include "supervisor/tools.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STATUS_REFUSED = 1 };

static int complain(const char *text) {
    fprintf(stderr, "eclave: %s\n", text);
    return STATUS_USAGE;
}

/* --- check --- */

static void print_entries(const struct snapshot *snapshot) {
    for (enum registry_kind kind = 0; kind < REGISTRY_KINDS; kind++)
        for (size_t i = 0; i < snapshot->lists[kind].count; i++) {
            const struct registry_entry *entry = snapshot->lists[kind].entries[i];
            printf("%-10s %s  (%s)\n", registry_kind_word(kind), entry->key, entry->file);
        }
}

static int report(const struct snapshot *snapshot) {
    print_entries(snapshot);
    for (size_t i = 0; i < snapshot->refusal_count; i++)
        printf("refused    %s: %s\n", snapshot->refusals[i].file, snapshot->refusals[i].reason);
    printf("%zu entries, %zu refused\n", snapshot->total, snapshot->refusal_count);
    return snapshot->refusal_count ? STATUS_REFUSED : 0;
}

int command_check(const struct settings *settings, int count, char **arguments) {
    struct settings with_project = *settings;
    struct error error;
    struct loop loop;
    struct log log = {.out.fd = -1, .least = LOG_EMERGENCY_LEVEL};
    if (count > 1 || (!count && !settings->project.count))
        return complain("usage: eclave check DIR");
    if (count) {
        with_project.project.paths[0] = arguments[0];
        with_project.project.count = 1;
    }
    if (!loop_open(&loop, &error))
        return complain(error.text);
    int status = STATUS_REFUSED;
    struct registry *registry = project_look(&loop, &log, &with_project, &error);
    if (registry && registry_take_failure(registry, &error))
        printf("refused    %s\n", error.text);
    else if (registry)
        status = report(registry_snapshot(registry));
    else
        status = complain(error.text);
    registry_close(registry);
    loop_close(&loop);
    return status;
}

/* --- new --- */

static const char tool_text[] =
    ";;; {\"description\": \"Says what it is told.\",\n"
    ";;;  \"inputSchema\": {\"type\": \"object\",\n"
    ";;;                  \"properties\": {\"text\": {\"type\": \"string\"}},\n"
    ";;;                  \"required\": [\"text\"],\n"
    ";;;                  \"additionalProperties\": false}}\n"
    "\n"
    "(mcp:deftool \"%s\" (text)\n"
    "  (format nil \"You said: ~a\" text))\n";

static bool write_new(int folder, const char *name, struct error *error) {
    char file[METADATA_NAME_MAX + 16];
    snprintf(file, sizeof file, "%s.lisp", name);
    int fd = openat(folder, file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return error_set(error, errno, "tools/%s", file);
    bool written = dprintf(fd, tool_text, name) > 0;
    return close(fd) == 0 && (written || error_set(error, errno, "tools/%s", file));
}

static bool is_built_in(const char *name) {
    for (const char *const *names = tools_names(); *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

int command_new(const struct settings *settings, int count, char **arguments) {
    const char *project = settings->project.count ? settings->project.paths[0] : ".";
    char path[4096];
    struct error error;
    if (count != 2 || strcmp(arguments[0], "tool") != 0)
        return complain("usage: eclave new tool NAME [--project DIR]");
    if (!metadata_check_name(arguments[1], &error))
        return complain(error.text);
    if (is_built_in(arguments[1]))
        return complain("a built-in tool has that name");
    if (snprintf(path, sizeof path, "%s/tools", project) >= (int)sizeof path)
        return complain("the name of the project's directory is too long");
    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        error_set(&error, errno, "%.200s", path);
        return complain(error.text);
    }
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool made = folder >= 0 ? write_new(folder, arguments[1], &error)
                            : error_set(&error, errno, "%.200s", path);
    if (folder >= 0)
        close(folder);
    if (!made)
        return complain(error.text);
    printf("%s/%s.lisp\n", path, arguments[1]);
    return 0;
}
