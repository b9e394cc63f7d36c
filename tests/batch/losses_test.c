/* What is lost outside a line is no line's loss: the zygote may die, as often as it likes, and the
 * run goes on; a run that can have no worker at all says so. */
#include "tests/support/batch.h"
#include "tests/support/lines.h"
#include "tests/support/process.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LINES = 600, DEATHS = 6, FORKED_BYTES = 24 * 160 };

static bool is_worker_program(pid_t pid) {
    char path[40], name[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    bool read = fgets(name, sizeof name, file) != NULL;
    fclose(file);
    return read && strcmp(name, "eclave-worker\n") == 0;
}

/* The one worker program below RUN that is not confined, or 0. */
static pid_t zygote_of(pid_t run) {
    pid_t pids[64];
    size_t count = process_descendants(run, pids, COUNT_OF(pids));
    for (size_t i = 0; i < count && i < COUNT_OF(pids); i++)
        if (!process_is_confined(pids[i]) && is_worker_program(pids[i]))
            return pids[i];
    return 0;
}

static off_t size_of(const char *path) {
    struct stat status;
    cr_assert_eq(stat(path, &status), 0);
    return status.st_size;
}

Test(batch_losses, a_zygote_that_dies_costs_no_line) {
    const char *path = batch_file("in.jsonl"), *output = batch_file("out.jsonl");
    char *input = NULL, id[24], code[40];
    for (int i = 0; i < LINES; i++) {
        snprintf(id, sizeof id, "%d", i);
        snprintf(code, sizeof code, "(sleep 1/50) %d", i);
        batch_append(&input, batch_input(id, code, ""));
    }
    batch_write(path, input);
    int in = open(path, O_RDONLY | O_CLOEXEC),
        out = open(output, O_WRONLY | O_CREAT | O_CLOEXEC, 0600),
        null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    pid_t run = batch_start((const char *const[]){"-j", "8", NULL}, in, out, null);
    const struct timespec pause = {.tv_nsec = 10000000};
    off_t before = 0;
    int deaths = 0;
    while (deaths < DEATHS && !process_is_zombie(run)) {
        nanosleep(&pause, NULL);
        pid_t zygote = zygote_of(run);
        /* More lines than the workers of the last one can have done: it has forked. */
        if (zygote <= 1 || size_of(output) < before + FORKED_BYTES)
            continue;
        kill(zygote, SIGKILL);
        before = size_of(output);
        deaths++;
    }
    cr_assert_eq(deaths, DEATHS);
    cr_assert_eq(batch_wait(run), 0);
    char *text = batch_read(output);
    cr_assert_eq(batch_lines(text), LINES);
    for (int i = 0; i < LINES; i++)
        batch_expect_string(batch_line(text, (size_t)i), "outcome", "value");
    free(text);
    free(input);
    close(in);
    close(out);
    close(null);
}

Test(batch_losses, where_nothing_can_be_confined_nothing_is_run) {
    char *input = batch_input("1", "1", "");
    struct command_result result = batch_run((const char *const[]){"--minimal", NULL}, input);
    cr_assert_eq(result.status, 70);
    cr_assert_str_eq(result.output, "");
    expect_contains(result.error, "code cannot be evaluated here");
    command_result_free(&result);
    free(input);
}

Test(batch_losses, a_run_that_can_have_no_worker_ends_with_70) {
    const char *program = batch_file("eclave"), *worker = batch_file("eclave-worker");
    char copy[300];
    snprintf(copy, sizeof copy, "cp %s %s", ECLAVE_BINARY, program);
    const char *shell[] = {"/bin/sh", "-c", copy, NULL};
    struct command_result copied = command_run(&(struct command){.arguments = shell});
    cr_assert_eq(copied.status, 0, "%s", copied.error);
    batch_write(worker, "#!/bin/sh\nexit 3\n");
    cr_assert_eq(chmod(worker, 0755), 0);
    const char *arguments[] = {program, "batch", NULL};
    char *input = batch_input("1", "1", "");
    struct command_result result =
        command_run(&(struct command){.arguments = arguments, .input = input});
    cr_assert_eq(result.status, 70, "%s", result.error);
    cr_assert_str_eq(result.output, "");
    expect_contains(result.error, "No worker can be started: the zygote ended with status 3");
    command_result_free(&copied);
    command_result_free(&result);
    free(input);
}
