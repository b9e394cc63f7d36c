/* The program: reads its options and settings, and runs a command. */
#include "supervisor/base/letter_case.h"
#include "supervisor/base/stdio.h"
#include "supervisor/base/terminal.h"
#include "supervisor/command/commands.h"

#include <signal.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

enum about { ABOUT_NOTHING, ABOUT_HELP, ABOUT_VERSION, ABOUT_SETTINGS, ABOUT_OPTIONS };

/* The flags that take the place of a command. The last two are for the manual page. */
static const struct {
    const char *flag;
    enum about about;
} abouts[] = {{"-h", ABOUT_HELP},
              {"--help", ABOUT_HELP},
              {"-V", ABOUT_VERSION},
              {"--version", ABOUT_VERSION},
              {"--manual-options", ABOUT_SETTINGS},
              {"--manual-command-options", ABOUT_OPTIONS}};

/* The first of these flags. The value of an option, such as the code of `eval -e`, is none. */
static enum about find_about(const char *command, int count, char **arguments) {
    for (int i = 1; i < count && strcmp(arguments[i], "--") != 0; i++) {
        if (options_takes_value(command, arguments[i]) || settings_takes_value(arguments[i])) {
            i++;
            continue;
        }
        for (size_t j = 0; j < sizeof abouts / sizeof *abouts; j++)
            if (strcmp(arguments[i], abouts[j].flag) == 0)
                return abouts[j].about;
    }
    return ABOUT_NOTHING;
}

/* Students name the files that `*` stands for, so that what follows TESTS is no option. False with
 * *error. */
static bool check_submissions(int count, char **arguments, struct error *error) {
    bool begun = false;
    if (count < 2 || strcmp(arguments[1], "grade") != 0)
        return true;
    for (int i = 2; i < count && strcmp(arguments[i], "--") != 0; i++) {
        const char *argument = arguments[i];
        if (argument[0] != '-')
            begun = true;
        else if (begun)
            return error_set(error, 0,
                             "%.100s comes after TESTS: put options before it, and write ./%.100s "
                             "for a submission of that name",
                             argument, argument);
        else if (options_takes_value("grade", argument) || settings_takes_value(argument))
            i++;
    }
    return true;
}

/* Handles what needs no settings, whose environment may be at fault. False if that is not all. */
static bool print_about(int count, char **arguments, int *status) {
    const char *command = count > 1 && arguments[1][0] != '-' ? arguments[1] : NULL;
    *status = 0;
    if (command && !command_exists(command)) {
        *status = command_help(command);
        return true;
    }
    switch (find_about(command ? command : "", count, arguments)) {
    case ABOUT_HELP:
        *status = command_help(command);
        return true;
    case ABOUT_VERSION:
        version_print(stdout);
        return true;
    case ABOUT_SETTINGS:
        settings_manual(stdout);
        return true;
    case ABOUT_OPTIONS:
        options_manual(stdout);
        return true;
    case ABOUT_NOTHING:
        break;
    }
    if (!command || strcmp(command, "help") != 0 || count > 3)
        return false;
    *status = command_help(count == 3 ? arguments[2] : NULL);
    return true;
}

static int run(int count, char **arguments) {
    struct settings settings;
    struct command_line line;
    struct error error;
    int left, status;
    if (!check_submissions(count, arguments, &error)) {
        shown_complain(error.text);
        return STATUS_USAGE;
    }
    if (print_about(count, arguments, &status))
        return status;
    if (sodium_init() < 0) {
        fputs("eclave: libsodium cannot be initialized\n", stderr);
        return STATUS_INTERNAL;
    }
    const char *const *names = options_names(count > 1 ? arguments[1] : "");
    status = STATUS_USAGE;
    if (!options_take(&line, &count, arguments, &error) ||
        !command_new_prepare(&line, count, arguments, &error) ||
        !settings_read(&settings, count, arguments, &left, names, &error)) {
        shown_complain(error.text);
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
