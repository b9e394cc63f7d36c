#include "tests/support/saved.h"
#include "tests/support/command.h"
#include "tests/support/lines.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 32 };

static char root[] = "/tmp/eclave-saved-XXXXXX";

void saved_begin(void) {
    memcpy(root + sizeof root - sizeof "XXXXXX", "XXXXXX", sizeof "XXXXXX");
    cr_assert_not_null(mkdtemp(root));
}

void saved_end(void) {
    struct command_result result =
        command_run(&(struct command){.arguments = STRINGS("/bin/rm", "-rf", root)});
    command_result_free(&result);
}

const char *saved_path(void) {
    return formatted("%s/state/here", root);
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

void saved_kill(struct client *client) {
    client_kill(client, SIGKILL);
    client_wait(client);
    client_free(client);
}
