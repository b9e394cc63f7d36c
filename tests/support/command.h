/* Runs one program to its end, with files in memory as its streams: commands and failures to start.
 * Fails the test when the program does not end. */
#ifndef ECLAVE_TESTS_SUPPORT_COMMAND_H
#define ECLAVE_TESTS_SUPPORT_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

struct command {
    const char *const *arguments;   /* the program's path first; end with NULL */
    const char *input;              /* standard input; NULL: empty */
    size_t input_length;            /* 0: the length of the string */
    const char *const *environment; /* "NAME=value" sets; end with NULL; may be NULL */
    bool unprivileged;              /* as nobody, regardless of user.h; root only */
};

struct command_result {
    int status;   /* exit status, or 128 + signal */
    char *output; /* terminated; malloc'd */
    size_t output_length;
    char *error; /* terminated; malloc'd */
};

struct command_result command_run(const struct command *command);
void command_result_free(struct command_result *result);

/* Removes PATH with all that is below it. */
void command_remove_tree(const char *path);

/* command_run of the program under test with ARGUMENTS (without its name). */
struct command_result command_eclave(const char *const *arguments, const char *input);

/* The same; fails the test unless the exit status is STATUS. Valid until the next call. */
const struct command_result *command_expect(int status, const char *const *arguments,
                                            const char *input);

#endif
