/* The program: which command, with which settings. */
#include "supervisor/batch/batch.h"
#include "supervisor/command/commands.h"
#include "supervisor/command/help.h"
#include "supervisor/server/methods.h"
#include "supervisor/server/serve.h"
#include "supervisor/settings/settings.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

static bool has_flag(int count, char **arguments, const char *flag) {
    for (int i = 1; i < count && strcmp(arguments[i], "--") != 0; i++)
        if (strcmp(arguments[i], flag) == 0)
            return true;
    return false;
}

/* The same, and takes it out. */
static bool take_flag(int *count, char **arguments, const char *flag) {
    int kept = 1;
    for (int i = 1; i < *count; i++)
        if (strcmp(arguments[i], flag) != 0)
            arguments[kept++] = arguments[i];
    bool taken = kept != *count;
    *count = kept;
    return taken;
}

/* What single commands can be told besides the settings. */
struct own_options {
    bool json; /* doctor */
    struct batch_options batch;
    struct project_options project; /* tool */
};

static int run_command(const struct settings *settings, const struct own_options *options,
                       int count, char **arguments) {
    const char *command = count ? arguments[0] : "serve";
    if (strcmp(command, "serve") == 0 && count <= 1)
        return server_run(settings, &method_table);
    if (strcmp(command, "eval") == 0)
        return command_eval(settings, count - 1, arguments + 1);
    if (strcmp(command, "batch") == 0 && options->batch.jobs)
        return command_batch(settings, &options->batch, count - 1, arguments + 1);
    if (strcmp(command, "tool") == 0)
        return command_tool(settings, &options->project, count - 1, arguments + 1);
    if (strcmp(command, "new") == 0)
        return command_new(settings, count - 1, arguments + 1);
    if (strcmp(command, "check") == 0)
        return command_check(settings, count - 1, arguments + 1);
    if (strcmp(command, "doctor") == 0 && count == 1)
        return command_doctor(settings, options->json);
    if (strcmp(command, "policy") == 0 && count == 1)
        return command_policy(settings);
    if (strcmp(command, "serve") == 0)
        fprintf(stderr, "eclave: serve takes no argument %.60s; see eclave --help\n", arguments[1]);
    else if (strcmp(command, "batch") == 0)
        fputs("eclave: batch must stand before its options; see eclave batch --help\n", stderr);
    else
        fprintf(stderr, "eclave: unknown command %.60s; see eclave --help\n", command);
    return STATUS_USAGE;
}

/* Takes what the settings do not know. The commands with options of their own have their names
 * first. */
static bool take_own_options(struct own_options *options, int *count, char **arguments,
                             struct error *error) {
    const char *command = *count > 1 ? arguments[1] : "";
    if (strcmp(command, "doctor") == 0)
        options->json = take_flag(count, arguments, "--json");
    if (strcmp(command, "batch") == 0)
        return batch_options_take(&options->batch, count, arguments, error);
    if (strcmp(command, "tool") == 0)
        return project_options_take(&options->project, count, arguments, error);
    return strcmp(command, "new") != 0 || project_options_prepare(*count, arguments, error);
}

int main(int count, char **arguments) {
    struct settings settings;
    struct error error;
    struct own_options options = {0};
    int left;
    if (has_flag(count, arguments, "--help")) {
        help_print(stdout, arguments[1]);
        return 0;
    }
    if (has_flag(count, arguments, "--manual-batch-options")) {
        batch_options_manual(stdout);
        return 0;
    }
    if (has_flag(count, arguments, "--manual-options")) {
        settings_manual(stdout);
        return 0;
    }
    if (has_flag(count, arguments, "--version")) {
        puts("eclave " ECLAVE_VERSION);
        return 0;
    }
    if (sodium_init() < 0) {
        fputs("eclave: libsodium cannot be used\n", stderr);
        return STATUS_INTERNAL;
    }
    if (!take_own_options(&options, &count, arguments, &error) ||
        !settings_read(&settings, count, arguments, &left, &error)) {
        fprintf(stderr, "eclave: %s\n", error.text);
        return STATUS_USAGE;
    }
    int status = run_command(&settings, &options, left, arguments);
    settings_free(&settings);
    return status;
}
