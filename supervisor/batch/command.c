/* `eclave batch`: what a run is made of, from the command line to the exit status. Never evaluates
 * anything itself. */
#include "supervisor/base/clock.h"
#include "supervisor/base/status.h"
#include "supervisor/base/stdio.h"
#include "supervisor/batch/batch.h"
#include "supervisor/batch/options.h"
#include "supervisor/batch/tap.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    DESCRIPTORS_PER_WORLD = 12, /* channel, listener and two pipes of a worker, of its spare and of
                                   one that is being reaped */
    DESCRIPTORS_BESIDE = 64
};

/* FILE becomes standard input; NULL and "-" are what it is already. */
static bool open_input(const char *file, struct error *error) {
    struct stat status;
    if (!file || strcmp(file, "-") == 0)
        return true;
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    bool good = fd >= 0 && fstat(fd, &status) == 0;
    int code = good && S_ISDIR(status.st_mode) ? EISDIR : good ? 0 : errno;
    if (code == 0 && dup2(fd, STDIN_FILENO) < 0)
        code = errno;
    if (fd >= 0)
        close(fd);
    return code == 0 || error_set(error, code, "%.100s", file);
}

/* Many worlds need more descriptors than most shells begin with. */
static bool raise_descriptor_limit(int64_t jobs, struct error *error) {
    struct rlimit limit;
    rlim_t wanted = (rlim_t)jobs * DESCRIPTORS_PER_WORLD + DESCRIPTORS_BESIDE;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return true;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    if (limit.rlim_cur < wanted)
        return error_set(error, 0, "-j %lld needs %llu descriptors; this process may have %llu",
                         (long long)jobs, (unsigned long long)wanted,
                         (unsigned long long)limit.rlim_max);
    return setrlimit(RLIMIT_NOFILE, &limit) == 0 ||
           error_set(error, errno, "raising RLIMIT_NOFILE");
}

/* Reads what was done earlier. Where the output goes on in the same file, a torn last line is cut
 * off, so that the next one does not become its tail. */
static bool read_done(struct batch *batch, struct error *error) {
    struct stat output;
    if (!batch->options->skip_done)
        return true;
    if (!done_read(&batch->done, batch->options->skip_done, batch_take_done, batch, error))
        return false;
    const struct stat *file = &batch->done.file;
    if (fstat(STDOUT_FILENO, &output) != 0 || output.st_dev != file->st_dev ||
        output.st_ino != file->st_ino || batch->done.whole_bytes == file->st_size)
        return true;
    return ftruncate(STDOUT_FILENO, batch->done.whole_bytes) == 0 ||
           error_set(error, errno, "--skip-done: cutting off a torn last line");
}

static bool open_parts(struct batch *batch, struct error *error) {
    const struct batch_options *options = batch->options;
    struct loop *loop = &batch->one_shot.loop;
    const struct input_handler handler = {.line = batch_take_line,
                                          .too_long = batch_take_too_long,
                                          .end = batch_take_end,
                                          .context = batch};
    if (!outbox_open(&batch->outbox, loop, error) || !batch_open(batch, error) ||
        (options->junit && !junit_open(&batch->junit, options->junit, error)))
        return false;
    if (options->tap)
        tap_begin(outbox_queue(&batch->outbox));
    if (!read_done(batch, error) ||
        !input_open(&batch->input, loop, (size_t)batch->settings->request_max_bytes, &handler,
                    error) ||
        !stdio_detach(error))
        return false;
    become_undumpable();
    progress_open(&batch->progress, loop, &batch->one_shot.log, &batch->tally,
                  batch->input.stream.fd);
    loop->before_wait = batch_step;
    loop->before_wait_context = batch;
    return true;
}

static void close_parts(struct batch *batch) {
    progress_close(&batch->progress);
    if (batch->input.loop)
        input_close(&batch->input);
    if (batch->outbox.loop)
        outbox_close(&batch->outbox);
    done_free(&batch->done);
    one_shot_close(&batch->one_shot);
    batch_close(batch);
}

/* What the run came to, for a person. */
static void summarize(const struct batch *batch, size_t unknown, int64_t began_ns) {
    fputs("eclave: ", stderr);
    tally_print(&batch->tally, stderr);
    fprintf(stderr, "; %.1f s\n", (double)clock_elapsed_ms(began_ns) / CLOCK_MS_PER_S);
    if (unknown && !batch->cut_short)
        fprintf(stderr,
                "eclave: finished lines of the earlier run that are not in the input: %zu\n",
                unknown);
    if (batch->failure[0])
        fprintf(stderr, "eclave: %s\n", batch->failure);
    if (batch->cut_short || batch->failure[0])
        fputs("eclave: the run was cut short. To go on, run the same command with --skip-done OUT, "
              "OUT being the lines written so far, and append to them: >>OUT\n",
              stderr);
}

static int run(struct batch *batch) {
    struct error error;
    int64_t began_ns = clock_now_ns();
    bool opened = open_parts(batch, &error);
    bool ran = opened && loop_run(&batch->one_shot.loop, &error);
    size_t unknown = batch->done.left;
    close_parts(batch);
    bool reported = junit_close(&batch->junit, &batch->tally, opened && ran ? &error : NULL);
    if (!opened || !ran || !reported) {
        fprintf(stderr, "eclave: %s\n", error.text);
        return opened ? STATUS_INTERNAL : STATUS_USAGE;
    }
    summarize(batch, unknown, began_ns);
    return batch_status(batch);
}

/* The limits of all processes together are reckoned by sessions; here each line that runs is one,
 * and so is the spare that is made for the next. */
static struct settings with_room_for(const struct settings *settings, int64_t jobs) {
    struct settings own = *settings; /* whose paths stay those of *settings */
    if (own.session_max < 2 * jobs)
        own.session_max = 2 * jobs;
    return own;
}

int command_batch(const struct settings *settings, const struct batch_options *options, int count,
                  char **arguments) {
    const struct settings own = with_room_for(settings, (int64_t)options->jobs);
    struct batch batch = {.settings = &own, .options = options};
    struct error error;
    int status = STATUS_USAGE;
    bool good = (count <= 1 && !(count == 1 && arguments[0][0] == '-' && arguments[0][1])) ||
                error_set(&error, 0, "usage: eclave batch [OPTIONS] [FILE | -]");
    if (!good || !stdio_fill(&error) || !open_input(count ? arguments[0] : NULL, &error) ||
        !raise_descriptor_limit(options->jobs, &error) ||
        !one_shot_open(&batch.one_shot, &own, batch_interrupt, &batch, &status, &error)) {
        fprintf(stderr, "eclave: %s\n", error.text);
        return status;
    }
    /* The result of an evaluation is in its line; the log is for faults of this machine. */
    if (!settings->log_level_set)
        batch.one_shot.log.least = LOG_WARNING_LEVEL;
    batch.one_shot.sessions.unlogged = true;
    return run(&batch);
}
