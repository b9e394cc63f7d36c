/* The program: reads its options and settings, and runs a command. */
#include "supervisor/base/letter_case.h"
#include "supervisor/base/stdio.h"
#include "supervisor/base/terminal.h"
#include "supervisor/command/commands.h"

#include <signal.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

static bool has_flag(int count, char **arguments, const char *flag) {
    for (int i = 1; i < count && strcmp(arguments[i], "--") != 0; i++)
        if (strcmp(arguments[i], flag) == 0)
            return true;
    return false;
}

/* Handles the flags that take the place of a command. False if there is none. */
static bool print_about(int count, char **arguments) {
    if (has_flag(count, arguments, "--help"))
        command_help(stdout, arguments[1]);
    else if (has_flag(count, arguments, "--version"))
        puts("eclave " ECLAVE_VERSION);
    else if (has_flag(count, arguments, "--manual-options"))
        settings_manual(stdout);
    else if (has_flag(count, arguments, "--manual-batch-options"))
        options_manual(stdout, "batch");
    else
        return false;
    return true;
}

static int run(int count, char **arguments) {
    struct settings settings;
    struct command_line line;
    struct error error;
    int left;
    if (print_about(count, arguments))
        return 0;
    if (sodium_init() < 0) {
        fputs("eclave: libsodium cannot be initialized\n", stderr);
        return STATUS_INTERNAL;
    }
    int status = STATUS_USAGE;
    if (!options_take(&line, &count, arguments, &error) ||
        !command_new_prepare(&line, count, arguments, &error) ||
        !settings_read(&settings, count, arguments, &left, &error)) {
        fprintf(stderr, "eclave: %s\n", error.text);
    } else {
        line.settings = &settings;
        letter_case_load();
        status = command_run(&line, left, arguments);
        settings_free(&settings);
    }
    if (status != 0 && line.made)
        rmdir(line.made); /* fails unless it is empty */
    return status;
}

/* Lost output is never a success, whatever the command. */
int main(int count, char **arguments) {
    struct error error;
    signal(SIGPIPE, SIG_IGN); /* a closed pipe, and the limit of file sizes, are errors of write */
    signal(SIGXFSZ, SIG_IGN);
    if (!stdio_fill(&error)) {
        shown_complain(error.text);
        return STATUS_INTERNAL;
    }
    int status = run(count, arguments);
    if (stdio_finish(&error))
        return status;
    shown_complain(error.text);
    return STATUS_INTERNAL;
}
