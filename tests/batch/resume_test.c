/* Interrupted runs: their output is the beginning of the whole, and a resumed run completes it,
 * byte for byte except for the measurements. */
#include "tests/support/batch.h"
#include "tests/support/lines.h"
#include "tests/support/random.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINES = 60, TRIALS = 6, TRIALS_THOROUGH = 100, INTERRUPTED = 130 };

/* Every kind of line, with bad ones and equal ids among them. */
static void add_lines(size_t count) {
    static const char *const codes[] = {
        "(+ 1 2)", "(princ \"text\")", "(car 1)", "(sleep 1/100)", "(ext:quit 3)", VIOLATION,
    };
    for (size_t i = 0; i < count; i++)
        if (i % 9 == 4)
            batch_add_text("{\"code\":\"1\",\"unknown\":1}\n");
        else if (i % 11 == 5)
            batch_add_text("{\"code\":\"(list 1 2)\"}\n");
        else
            batch_add(i % 10 ? formatted("%zu", i) : "\"same\"", codes[i % COUNT_OF(codes)],
                      i % 4 ? "" : ",\"expect\":\"3\"");
}

/* Paths of the input and the output, and the output of an uninterrupted run. */
struct trial {
    const char *input, *output;
    char *whole;
};

static struct trial begin(size_t count) {
    struct trial trial = {batch_file("in.jsonl"), batch_file("out.jsonl"), NULL};
    add_lines(count);
    batch_write(trial.input, batch_input());
    trial.whole = batch_without_costs(BATCH(1)->output);
    return trial;
}

static pid_t start(const struct trial *trial, const char *const *arguments, int flags) {
    return batch_start_on(arguments, trial->input, trial->output, "/dev/null", flags);
}

static void expect_whole(const struct trial *trial) {
    char *output = batch_read(trial->output), *text = batch_without_costs(output);
    cr_assert_str_eq(text, trial->whole);
    free(text);
    free(output);
}

/* Starts a run, interrupts it with SIGNAL at some time, and resumes it until it is complete. */
static void interrupt_and_resume(const struct trial *trial, struct random *random, int signal) {
    const char *const resume[] = {"-j", "2", "--skip-done", trial->output, NULL};
    pid_t pid = start(trial, (const char *const[]){"-j", "2", NULL}, O_TRUNC);
    int status;
    for (;;) {
        usleep((useconds_t)random_below(random, 251) * 1000);
        kill(pid, signal);
        status = batch_wait(pid);
        if (status == 0 || status == 1)
            break;
        /* 128 + signal when it came before the program had started. */
        cr_assert(status == 128 + signal || status == INTERRUPTED, "%d", status);
        pid = start(trial, resume, O_APPEND);
        if (random_percent(random, 50)) { /* without a further interruption */
            status = batch_wait(pid);
            break;
        }
    }
    cr_assert_eq(status, 1, "%d", status); /* some expectations fail */
    expect_whole(trial);
}

Test(batch_resume, an_interrupted_and_resumed_run_is_complete) {
    static const int signals[] = {SIGINT, SIGTERM, SIGKILL};
    struct random random = random_for("batch_resume");
    struct trial trial = begin(LINES);
    size_t trials = random_trials(TRIALS, TRIALS_THOROUGH);
    for (size_t s = 0; s < COUNT_OF(signals); s++)
        for (size_t i = 0; i < trials; i++)
            interrupt_and_resume(&trial, &random, signals[s]);
    free(trial.whole);
}

Test(batch_resume, an_interrupted_run_finishes_its_lines_and_says_how_to_resume) {
    for (int i = 0; i < LINES; i++)
        batch_add("1", "(sleep 1) :finished", "");
    const char *path = batch_file("slow.jsonl"), *said = batch_file("stderr"),
               *output = batch_file("slow.out");
    batch_write(path, batch_input());
    pid_t pid = batch_start_on((const char *const[]){"-j", "2", NULL}, path, output, said, 0);
    usleep(500000);
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
}

Test(batch_resume, a_second_interrupt_ends_the_running_lines) {
    struct trial trial = {batch_file("in.jsonl"), batch_file("out.jsonl"), NULL};
    batch_add("1", "(sleep 500)", "");
    batch_write(trial.input, batch_input());
    pid_t pid = start(&trial, (const char *const[]){NULL}, O_TRUNC);
    usleep(500000);
    kill(pid, SIGINT);
    usleep(100000);
    kill(pid, SIGINT);
    cr_assert_eq(batch_wait(pid), INTERRUPTED);
    char *output = batch_read(trial.output);
    cr_assert_str_eq(output, "");
    free(output);
}

Test(batch_resume, finished_lines_are_found_in_any_order) {
    struct trial trial = begin(LINES);
    /* Every third line of the whole, last first, except those with equal ids. */
    size_t finished = 0;
    for (size_t i = LINES; i-- > 0;)
        if (i % 3 == 0 && i % 10) {
            finished++;
            struct text line = batch_line(trial.whole, i);
            batch_add_text(formatted("%.*s\n", (int)line.length, line.bytes));
        }
    batch_write(trial.output, batch_input());
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
    free(trial.whole);
}

Test(batch_resume, a_file_that_is_not_batch_output_is_refused) {
    static const char *const texts[] = {"garbage\n", "{\"id\":1}\n", "{\"outcome\":\"value\"}\n",
                                        "{\"id\":1,\"outcome\":\"splendid\"}\n", "\n"};
    const char *path = batch_file("out.jsonl");
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        batch_write(path, texts[i]);
        expect_contains(BATCH(2, "--skip-done", path)->error,
                        "line 1 was not written by eclave batch");
    }
}

Test(batch_resume, finished_lines_that_are_not_in_the_input_are_reported) {
    const char *path = batch_file("out.jsonl");
    batch_write(path, "{\"id\":77,\"outcome\":\"value\"}\n");
    batch_add("1", "1", "");
    const struct command_result *result = BATCH(0, "--skip-done", path);
    cr_assert_eq(batch_lines(result->output), 1);
    expect_contains(result->error, "lines of the earlier run that are not in the input: 1");
    expect_contains(result->error, "2 lines (1 of them earlier)");
}

/* --- output that cannot be written --- */

static void limit_files(rlim_t bytes) {
    const struct rlimit limit = {bytes, RLIM_INFINITY};
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

Test(batch_resume, a_run_that_filled_the_disk_is_resumed_when_there_is_space) {
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
    free(trial.whole);
}

/* A shell script whose $1 is the program and $2 a file of lines. */
static struct command_result shell(const char *script, const char *lines) {
    const char *arguments[] = {"/bin/sh", "-c", script, "sh", ECLAVE_BINARY, lines, NULL};
    return command_run(&(struct command){.arguments = arguments});
}

Test(batch_resume, a_full_disk_or_a_closed_pipe_ends_the_run_with_70) {
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
    free(trial.whole);
}
