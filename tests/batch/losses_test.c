/* Losses outside a line: the zygote may die at any time and the run continues; a run that cannot
 * have a worker says so. */
#include "tests/support/batch.h"
#include "tests/support/lines.h"
#include "tests/support/process.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINES = 1200, DEATHS = 6, FORKED_BYTES = 48 * 160 };

static bool is_worker_program(pid_t pid) {
    char name[32] = "";
    FILE *file = fopen(formatted("/proc/%d/comm", pid), "r");
    if (!file)
        return false;
    bool read = fgets(name, sizeof name, file) != NULL;
    fclose(file);
    return read && strcmp(name, "eclave-worker\n") == 0;
}

/* The only worker program below RUN that is not confined, or 0. */
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
    const char *path = batch_file("in.jsonl"), *output = batch_file("out.jsonl"),
               *errors = batch_file("errors");
    for (int i = 0; i < LINES; i++)
        batch_add(formatted("%d", i), formatted("(sleep 1/50) %d", i), "");
    batch_write(path, batch_input());
    pid_t run = batch_start_on((const char *const[]){"-j", "8", NULL}, path, output, errors, 0);
    off_t before = 0;
    int deaths = 0;
    while (deaths < DEATHS && !process_is_zombie(run)) {
        usleep(10000);
        pid_t zygote = zygote_of(run);
        /* More lines than the previous zygote's workers could finish: this one has forked. */
        if (zygote <= 1 || size_of(output) < before + FORKED_BYTES)
            continue;
        kill(zygote, SIGKILL);
        before = size_of(output);
        deaths++;
    }
    cr_assert_eq(deaths, DEATHS, "%d deaths: %s", deaths, batch_read(errors));
    cr_assert_eq(batch_wait(run), 0, "%s", batch_read(errors));
    char *text = batch_read(output);
    cr_assert_eq(batch_lines(text), LINES);
    for (int i = 0; i < LINES; i++)
        batch_expect_string(batch_line(text, (size_t)i), "outcome", "value");
    free(text);
}

static size_t occurrences(const char *path, const char *part) {
    size_t count = 0;
    char *text = batch_read(path);
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
        count++;
    free(text);
    return count;
}

/* What ended while the supervisor was stopped is not called timed out. The pause is longer than all
 * time limits; what has not ended runs out of time afterwards. */
Test(batch_losses, a_pause_of_the_supervisor_is_no_time_out) {
    enum { PAUSE_US = 2500000 };
    static const struct {
        const char *code, *outcome;
    } rows[] = {
        {"(progn (sleep 1/2) 42)", "value"},
        {"(sleep 1/2) (list 1 2)", "value"},
        {"(sleep 1/2) (error \"x\")", "error"},
        {"(sleep 1/2) (car 1)", "error"},
        {"(sleep 1/2) (make-string 1000000 :initial-element #\\a)", "value"},
        {"(sleep 1/2) (princ (make-string 1000000 :initial-element #\\a)) 1", "value"},
        {"(sleep 1/2) (values)", "value"},
        {"(sleep 1/2) (ext:quit 5)", "exit"},
        {"(sleep 1/2) (ext:quit 0)", "exit"},
        {"(sleep 1/2) " CRASH, "crash"},
        {"(sleep 1/2) " FORGERY, "malformed"},
        {"(sleep 60)", "timeout"},
    };
    const char *path = batch_file("in.jsonl"), *output = batch_file("out.jsonl"),
               *errors = batch_file("errors");
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        batch_add(formatted("%zu", i), rows[i].code, ",\"timeout\":2");
    batch_write(path, batch_input());
    pid_t run = batch_start_on((const char *const[]){"-j", "12", "--log-level", "debug", NULL},
                               path, output, errors, 0);
    while (occurrences(errors, "sent EVALUATE") < COUNT_OF(rows) && !process_is_zombie(run))
        usleep(1000);
    cr_assert_eq(kill(run, SIGSTOP), 0);
    usleep(PAUSE_US);
    kill(run, SIGCONT);
    cr_assert_eq(batch_wait(run), 0, "%s", batch_read(errors));
    char *text = batch_read(output);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        batch_expect_string(batch_line(text, i), "outcome", rows[i].outcome);
    free(text);
}

Test(batch_losses, minimal_mode_evaluates_nothing) {
    batch_add("1", "1", "");
    const struct command_result *result = BATCH(70, "--minimal");
    cr_assert_str_eq(result->output, "");
    expect_contains(result->error, "code cannot be evaluated here");
}

Test(batch_losses, a_run_that_cannot_start_a_worker_exits_with_70) {
    const char *program = batch_file("eclave"), *worker = batch_file("eclave-worker");
    const char *copy[] = {"/bin/cp", ECLAVE_BINARY, program, NULL};
    struct command_result result = command_run(&(struct command){.arguments = copy});
    cr_assert_eq(result.status, 0, "%s", result.error);
    command_result_free(&result);
    const char *failing[] = {"/bin/cp", "/bin/false", worker, NULL};
    result = command_run(&(struct command){.arguments = failing});
    cr_assert_eq(result.status, 0, "%s", result.error);
    command_result_free(&result);
    const char *arguments[] = {program, "batch", NULL};
    batch_add("1", "1", "");
    result = command_run(&(struct command){.arguments = arguments, .input = batch_input()});
    cr_assert_eq(result.status, 70, "%s", result.error);
    cr_assert_str_eq(result.output, "");
    expect_contains(result.error, "the zygote ended with status 1");
    command_result_free(&result);
}
