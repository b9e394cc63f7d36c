/* Runs that are cut short: what they wrote is the beginning of the whole, and a run that goes on
 * ends with the whole, byte for byte but for the measurements. */
#include "tests/support/batch.h"
#include "tests/support/lines.h"
#include "tests/support/random.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LINES = 60, TRIALS = 6, TRIALS_THOROUGH = 100, INTERRUPTED = 130 };

/* Every kind of line, bad ones and equal ids among them. */
static char *some_lines(size_t count) {
    static const char *const codes[] = {
        "(+ 1 2)", "(princ \"text\")", "(car 1)", "(sleep 1/100)", "(ext:quit 3)", VIOLATION,
    };
    char *input = NULL, id[24];
    for (size_t i = 0; i < count; i++) {
        snprintf(id, sizeof id, i % 10 ? "%zu" : "\"same\"", i);
        if (i % 9 == 4)
            batch_append(&input, strdup("{\"code\":\"1\",\"unknown\":1}\n"));
        else if (i % 11 == 5)
            batch_append(&input, strdup("{\"code\":\"(list 1 2)\"}\n"));
        else
            batch_append(&input, batch_input(id, codes[i % COUNT_OF(codes)],
                                             i % 4 ? "" : ",\"expect\":\"3\""));
    }
    return input;
}

struct trial {
    const char *input, *output, *whole; /* paths of the first two */
};

static struct trial begin(size_t count) {
    struct trial trial = {batch_file("in.jsonl"), batch_file("out.jsonl"), NULL};
    char *input = some_lines(count);
    batch_write(trial.input, input);
    struct command_result result = batch_run((const char *const[]){NULL}, input);
    trial.whole = batch_without_costs(result.output);
    command_result_free(&result);
    free(input);
    return trial;
}

static void end(const struct trial *trial) {
    free((char *)trial->whole);
}

static pid_t start(const struct trial *trial, const char *const *arguments, int flags) {
    int input = open(trial->input, O_RDONLY | O_CLOEXEC);
    int output = open(trial->output, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    cr_assert(input >= 0 && output >= 0 && null >= 0);
    pid_t pid = batch_start(arguments, input, output, null);
    close(input);
    close(output);
    close(null);
    return pid;
}

static void pause_ms(long ms) {
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

static void expect_whole(const struct trial *trial) {
    char *output = batch_read(trial->output), *text = batch_without_costs(output);
    cr_assert_str_eq(text, trial->whole);
    free(text);
    free(output);
}

/* Starts anew, ends it by SIGNAL at some moment, and goes on until nothing is left to do. */
static void interrupt_and_resume(const struct trial *trial, struct random *random, int number) {
    const char *const resume[] = {"-j", "2", "--skip-done", trial->output, NULL};
    pid_t pid = start(trial, (const char *const[]){"-j", "2", NULL}, O_TRUNC);
    int status;
    for (;;) {
        pause_ms(random_between(random, 0, 250));
        kill(pid, number);
        status = batch_wait(pid);
        if (status == 0 || status == 1)
            break;
        /* By the signal itself when it came before the program had begun. */
        cr_assert(status == 128 + number || status == INTERRUPTED, "%d", status);
        pid = start(trial, resume, O_APPEND);
        if (random_percent(random, 50)) { /* this time to the end */
            status = batch_wait(pid);
            break;
        }
    }
    cr_assert_eq(status, 1, "%d", status); /* expectations were not met before or after */
    expect_whole(trial);
}

static void check_interruptions(int number) {
    struct random random = random_for("batch_resume");
    struct trial trial = begin(LINES);
    size_t trials = random_trials(TRIALS, TRIALS_THOROUGH);
    for (size_t i = 0; i < trials; i++)
        interrupt_and_resume(&trial, &random, number);
    end(&trial);
}

Test(batch_resume, an_interrupted_and_resumed_run_is_a_whole_one) {
    check_interruptions(SIGINT);
}

Test(batch_resume, so_is_one_that_was_terminated) {
    check_interruptions(SIGTERM);
}

Test(batch_resume, so_is_one_that_was_killed) {
    check_interruptions(SIGKILL);
}

Test(batch_resume, an_interrupted_run_finishes_what_runs_and_says_how_to_go_on) {
    char *input = NULL;
    for (int i = 0; i < LINES; i++)
        batch_append(&input, batch_input("1", "(sleep 1) :finished", ""));
    const char *path = batch_file("slow.jsonl"), *said = batch_file("said"),
               *output = batch_file("slow.out");
    batch_write(path, input);
    int in = open(path, O_RDONLY | O_CLOEXEC),
        out = open(output, O_RDWR | O_CREAT | O_CLOEXEC, 0600),
        err = open(said, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    pid_t pid = batch_start((const char *const[]){"-j", "2", NULL}, in, out, err);
    pause_ms(500);
    kill(pid, SIGINT);
    cr_assert_eq(batch_wait(pid), INTERRUPTED);
    char *text = batch_read(output), *words = batch_read(said);
    size_t count = batch_lines(text);
    for (size_t i = 0; i < count; i++)
        batch_expect(batch_line(text, i), "values", "[\":FINISHED\"]");
    cr_assert_lt(count, LINES);
    expect_contains(words, "--skip-done OUT");
    free(text);
    free(words);
    free(input);
}

Test(batch_resume, a_second_interrupt_ends_what_runs) {
    struct trial trial = begin(1);
    char *line = batch_input("1", "(sleep 500)", "");
    batch_write(trial.input, line);
    pid_t pid = start(&trial, (const char *const[]){NULL}, O_TRUNC);
    pause_ms(500);
    kill(pid, SIGINT);
    pause_ms(100);
    kill(pid, SIGINT);
    cr_assert_eq(batch_wait(pid), INTERRUPTED);
    char *output = batch_read(trial.output);
    cr_assert_str_eq(output, "");
    free(output);
    free(line);
    end(&trial);
}

Test(batch_resume, unordered_lines_are_found_wherever_they_are) {
    struct trial trial = begin(LINES);
    char *lines = strdup("");
    /* Every third line of the whole, last first; not those whose ids are the same. */
    size_t finished = 0;
    for (size_t i = LINES; i-- > 0;)
        if (i % 3 == 0 && i % 10) {
            finished++;
            struct text line = batch_line(trial.whole, i);
            batch_append(&lines, strndup(line.bytes, line.length + 1));
        }
    batch_write(trial.output, lines);
    pid_t pid = start(&trial, (const char *const[]){"--skip-done", trial.output, NULL}, O_APPEND);
    cr_assert_eq(batch_wait(pid), 1);
    char *output = batch_read(trial.output), *text = batch_without_costs(output);
    cr_assert_eq(batch_lines(text), LINES);
    for (size_t i = 0, rest = finished; i < LINES; i++) {
        if (i % 3 == 0 && i % 10)
            continue;
        struct text line = batch_line(trial.whole, i), got = batch_line(text, rest++);
        cr_assert(got.length == line.length && memcmp(got.bytes, line.bytes, line.length) == 0,
                  "%.*s", (int)got.length, got.bytes);
    }
    free(output);
    free(text);
    free(lines);
    end(&trial);
}

Test(batch_resume, what_is_no_output_of_a_batch_is_refused) {
    static const char *const texts[] = {"garbage\n", "{\"id\":1}\n", "{\"outcome\":\"value\"}\n",
                                        "{\"id\":1,\"outcome\":\"splendid\"}\n", "\n"};
    const char *path = batch_file("out.jsonl");
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        batch_write(path, texts[i]);
        struct command_result result =
            batch_run((const char *const[]){"--skip-done", path, NULL}, "");
        cr_assert_eq(result.status, 2, "%s", texts[i]);
        expect_contains(result.error, "line 1 was not written by eclave batch");
        command_result_free(&result);
    }
}

Test(batch_resume, finished_lines_that_the_input_lacks_are_told) {
    const char *path = batch_file("out.jsonl");
    batch_write(path, "{\"id\":77,\"outcome\":\"value\"}\n");
    char *input = batch_input("1", "1", "");
    struct command_result result =
        batch_run((const char *const[]){"--skip-done", path, NULL}, input);
    cr_assert_eq(result.status, 0);
    cr_assert_eq(batch_lines(result.output), 1);
    expect_contains(result.error, "eclave: lines of the earlier run that are not in the input: 1");
    expect_contains(result.error, "2 lines (1 of them earlier)");
    command_result_free(&result);
    free(input);
}

/* --- output that cannot be written --- */

static void limit_files(rlim_t bytes) {
    const struct rlimit limit = {bytes, RLIM_INFINITY};
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

Test(batch_resume, a_run_that_filled_the_disk_goes_on_when_there_is_room) {
    struct trial trial = begin(LINES);
    const char *const resume[] = {"--skip-done", trial.output, NULL};
    limit_files(3000); /* in the middle of a line; the run inherits it */
    pid_t pid = start(&trial, (const char *const[]){NULL}, O_TRUNC);
    cr_assert_eq(batch_wait(pid), 70);
    limit_files(6100);
    pid = start(&trial, resume, O_APPEND);
    cr_assert_eq(batch_wait(pid), 70);
    limit_files(RLIM_INFINITY);
    pid = start(&trial, resume, O_APPEND);
    cr_assert_eq(batch_wait(pid), 1);
    expect_whole(&trial);
    end(&trial);
}

/* A shell script whose $1 is the program and $2 a file of lines. */
static struct command_result shell(const char *script, const char *lines) {
    const char *arguments[] = {"/bin/sh", "-c", script, "sh", ECLAVE_BINARY, lines, NULL};
    return command_run(&(struct command){.arguments = arguments});
}

Test(batch_resume, a_full_disk_or_a_reader_that_left_ends_the_run_with_70) {
    static const struct {
        const char *script, *reason;
    } rows[] = {
        {"\"$1\" batch \"$2\" >/dev/full; echo $? >&2", "No space left on device"},
        {"{ \"$1\" batch \"$2\"; echo $? >&2; } | head -n 1 >/dev/null", "Broken pipe"},
    };
    struct trial trial = begin(2000);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct command_result result = shell(rows[i].script, trial.input);
        expect_contains(result.error, rows[i].reason);
        expect_contains(result.error, "cut short");
        expect_contains(result.error, "\n70\n");
        command_result_free(&result);
    }
    end(&trial);
}
