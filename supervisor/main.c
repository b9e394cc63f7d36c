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
        "       eclave batch [OPTIONS] [FILE | -]\n"
        "                                      JSON lines in, JSON lines out, each in a world of\n"
        "                                      its own; see eclave batch --help\n"
        "       eclave --help | --version\n\n"
        "Options, each also a variable (--call-timeout-s is ECLAVE_CALL_TIMEOUT_S) and a member\n"
        "of the JSON file that --policy names (\"call.timeout_s\"); the flag is the strongest:\n",
        out);
    settings_help(out);
    fputs("  --policy FILE              JSON file with settings\n", out);
}

static void print_batch_usage(FILE *out) {
    fputs("Usage: eclave batch [OPTIONS] [FILE | -]\n\n"
          "Evaluates {\"id\":…,\"code\":\"…\",\"expect\":\"…\"} line by line, each in a fresh "
          "confined\n"
          "world, and writes a line of what came of it. Options besides those of eclave --help:\n",
          out);
    batch_options_help(out);
}

static bool has_flag(int count, char **arguments, const char *flag) {
    for (int i = 1; i < count && strcmp(arguments[i], "--") != 0; i++)
        if (strcmp(arguments[i], flag) == 0)
            return true;
    return false;
}

int main(int count, char **arguments) {
    struct settings settings;
    struct error error;
    struct batch_options batch_options = {0};
    int left;
    /* The one command with options of its own has its name first. */
    bool is_batch = count > 1 && strcmp(arguments[1], "batch") == 0;
    if (has_flag(count, arguments, "--help")) {
        (is_batch ? print_batch_usage : print_usage)(stdout);
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
    if ((is_batch && !batch_options_take(&batch_options, &count, arguments, &error)) ||
        !settings_read(&settings, count, arguments, &left, &error)) {
        fprintf(stderr, "eclave: %s\n", error.text);
        return STATUS_USAGE;
    }
    const char *command = left ? arguments[0] : "serve";
    if (strcmp(command, "serve") == 0 && left <= 1)
        return server_run(&settings);
    if (strcmp(command, "eval") == 0)
        return command_eval(&settings, left - 1, arguments + 1);
    if (is_batch)
        return command_batch(&settings, &batch_options, left - 1, arguments + 1);
    if (strcmp(command, "serve") == 0)
        fprintf(stderr, "eclave: serve takes no argument %.60s; see eclave --help\n", arguments[1]);
    else
        fprintf(stderr, "eclave: unknown command %.60s; see eclave --help\n", command);
    return STATUS_USAGE;
}
