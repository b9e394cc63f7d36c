#include "tests/support/saved.h"
#include "policy/policy.h"
#include "tests/support/command.h"
#include "tests/support/lines.h"
#include "tests/support/skip.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 32 };

static char root[] = "/tmp/eclave-saved-XXXXXX";

void saved_begin(void) {
    memcpy(root + sizeof root - sizeof "XXXXXX", "XXXXXX", sizeof "XXXXXX");
    cr_assert_not_null(mkdtemp(root));
}

void saved_end(void) {
    command_remove_tree(root);
}

const char *saved_path(void) {
    return formatted("%s/state/here", root);
}

/* An ordinary user may read workers in its own user namespace. */
void saved_skip_without_images(void) {
    int scope = 0;
    FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    if (file) {
        scope = fgetc(file) - '0';
        fclose(file);
    }
    if (geteuid() == 0)
        skip_without_inspection();
    else if (scope > 0)
        cr_skip_test("kernel.yama.ptrace_scope lets an ordinary user read no worker");
    else
        skip_without_layers(POLICY_LAYER_BIT(POLICY_LAYER_NAMESPACES), false);
}

const char *saved_use_images(void) {
    const char *cache = formatted("%s/cache", root);
    cr_assert_eq(mkdir(cache, 0700), 0);
    setenv("XDG_CACHE_HOME", cache, 1);
    setenv("ECLAVE_IMAGE", "auto", 1);
    return cache;
}

const char *saved_file(const char *entry, const char *file) {
    return formatted("%s/%s/%s", saved_path(), entry, file);
}

struct client *saved_serve(const char *const *arguments) {
    const char *all[ARGUMENTS_MAX] = {"--state", saved_path()};
    for (size_t i = 0; arguments && arguments[i]; i++)
        all[2 + i] = arguments[i];
    return client_start_ready(&(struct client_options){.arguments = all}, NULL);
}

struct client *saved_serve_on_small_disk(const char *size) {
    skip_unless_root();
    skip_without_mounts();
    const char *mount = formatted("mkdir -p \"$1\" && mount -t tmpfs -o size=%s,mode=700 none "
                                  "\"$1\" && exec \"$0\" serve --state \"$1\"",
                                  size);
    const struct client_options options = {
        .program = "/usr/bin/unshare",
        .arguments = STRINGS("-m", "/bin/sh", "-c", mount, ECLAVE_BINARY, saved_path())};
    return client_start_ready(&options, NULL);
}

void saved_kill(struct client *client) {
    client_kill(client, SIGKILL);
    client_wait(client);
    client_free(client);
}

void saved_find_image(const char *entry, char name[SAVED_NAME_BYTES]) {
    DIR *dir = opendir(saved_file(entry, ""));
    const struct dirent *file;
    name[0] = 0;
    while (dir && (file = readdir(dir)) != NULL)
        if (strncmp(file->d_name, "image.", 6) == 0 && strcmp(file->d_name, "image.new") != 0)
            snprintf(name, SAVED_NAME_BYTES, "%s", file->d_name);
    if (dir)
        closedir(dir);
}
