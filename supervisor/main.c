/* The program: which command, with which settings. */
#include "supervisor/commands.h"
#include "supervisor/server.h"
#include "supervisor/settings.h"

#include <stdio.h>
#include <string.h>

static void print_usage(FILE *out) {
    fputs(
        "Usage: eclave [serve] [OPTIONS]       MCP server on stdin and stdout\n"
        "       eclave eval [OPTIONS] [-e CODE | FILE | -]\n"
        "                                      one confined evaluation\n"
        "       eclave doctor [OPTIONS] [--json]\n"
        "                                      which layers this machine gives, proved by attacks\n"
        "       eclave policy [OPTIONS]        what code may do with these options, and why\n"
        "       eclave --help | --version\n\n"
        "Options, each also a variable (--call-timeout-s is ECLAVE_CALL_TIMEOUT_S) and a member\n"
        "of the JSON file that --policy names (\"call.timeout_s\"); the flag is the strongest:\n",
        out);
    settings_help(out);
}

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

static int run_command(const struct settings *settings, bool json, int count, char **arguments) {
    const char *command = count ? arguments[0] : "serve";
    if (strcmp(command, "serve") == 0 && count <= 1)
        return server_run(settings);
    if (strcmp(command, "eval") == 0)
        return command_eval(settings, count - 1, arguments + 1);
    if (strcmp(command, "doctor") == 0 && count == 1)
        return command_doctor(settings, json);
    if (strcmp(command, "policy") == 0 && count == 1)
        return command_policy(settings);
    if (strcmp(command, "serve") == 0)
        fprintf(stderr, "eclave: serve takes no argument %.60s; see eclave --help\n", arguments[1]);
    else
        fprintf(stderr, "eclave: unknown command %.60s; see eclave --help\n", command);
    return STATUS_USAGE;
}

int main(int count, char **arguments) {
    struct settings settings;
    struct error error;
    int left;
    if (has_flag(count, arguments, "--help")) {
        print_usage(stdout);
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
    /* The one command with an option of its own. */
    bool json =
        count > 1 && strcmp(arguments[1], "doctor") == 0 && take_flag(&count, arguments, "--json");
    if (!settings_read(&settings, count, arguments, &left, &error)) {
        fprintf(stderr, "eclave: %s\n", error.text);
        return STATUS_USAGE;
    }
    int status = run_command(&settings, json, left, arguments);
    settings_free(&settings);
    return status;
}
