/* See command.h. */
#include "tests/support/command.h"
#include "common/descriptor.h"
#include "tests/support/user.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WATCHDOG_MS = 60000, ARGUMENTS_MAX = 30 };

static int memory_file(const char *bytes, size_t length) {
    int fd = memfd_create("stream", MFD_CLOEXEC);
    cr_assert(fd >= 0 && write_all(fd, bytes, length) && lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

static char *contents(int fd, size_t *length) {
    struct stat status;
    cr_assert_eq(fstat(fd, &status), 0);
    *length = (size_t)status.st_size;
    char *text = malloc(*length + 1);
    cr_assert_not_null(text);
    cr_assert_eq(pread(fd, text, *length, 0), (ssize_t)*length);
    text[*length] = '\0';
    close(fd);
    return text;
}

_Noreturn static void become(const struct command *command, const int streams[3], pid_t parent) {
    /* The program's name is its path, which distinguishes it from one under a shell. */
    for (int i = 0; i < 3; i++)
        dup2(streams[i], i);
    close_range(3, ~0U, 0);
    if (user_nobody_wanted(command->unprivileged) && !user_become_nobody())
        _exit(126);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(125);
    for (const char *const *setting = command->environment; setting && *setting; setting++)
        putenv((char *)*setting);
    execv(command->arguments[0], (char *const *)command->arguments);
    fprintf(stderr, "cannot start %s: %s\n", command->arguments[0], strerror(errno));
    _exit(127);
}

struct command_result command_run(const struct command *command) {
    const char *input = command->input ? command->input : "";
    size_t length = command->input_length ? command->input_length : strlen(input);
    const int streams[3] = {memory_file(input, length), memory_file("", 0), memory_file("", 0)};
    pid_t parent = getpid(), pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0)
        become(command, streams, parent);
    close(streams[0]);
    struct pollfd process = {.fd = pidfd_open(pid, 0), .events = POLLIN};
    bool ended = poll(&process, 1, WATCHDOG_MS) == 1;
    if (!ended)
        kill(pid, SIGKILL);
    close(process.fd);
    struct command_result result;
    int status = 0;
    size_t error_length;
    user_check(pid, user_nobody_wanted(command->unprivileged));
    waitpid(pid, &status, 0);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    result.output = contents(streams[1], &result.output_length);
    result.error = contents(streams[2], &error_length);
    cr_assert(ended, "it does not end; so far it wrote: %s%s", result.output, result.error);
    return result;
}

void command_result_free(struct command_result *result) {
    free(result->output);
    free(result->error);
}

void command_remove_tree(const char *path) {
    const char *const arguments[] = {"/bin/rm", "-rf", path, NULL};
    struct command_result result = command_run(&(struct command){.arguments = arguments});
    command_result_free(&result);
}

struct command_result command_eclave(const char *const *arguments, const char *input) {
    const char *whole[ARGUMENTS_MAX] = {ECLAVE_BINARY};
    for (size_t i = 0; arguments[i]; i++) {
        cr_assert_lt(i + 2, ARGUMENTS_MAX);
        whole[i + 1] = arguments[i];
    }
    return command_run(&(struct command){.arguments = whole, .input = input});
}

const struct command_result *command_expect(int status, const char *const *arguments,
                                            const char *input) {
    static struct command_result result;
    command_result_free(&result);
    result = command_eclave(arguments, input);
    cr_assert_eq(result.status, status, "%s: status %d: %s%s", arguments[0], result.status,
                 result.output, result.error);
    return &result;
}
