/* `eclave batch`, from its arguments to its exit status. */
#include "common/descriptor.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/status.h"
#include "supervisor/batch/batch_internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    /* Channel, listener and two pipes, of a worker, its spare and one that is being reaped. */
    DESCRIPTORS_PER_JOB = 12,
    OTHER_DESCRIPTORS = 64
};

/* Makes FILE standard input, unless it is NULL or "-". */
static bool open_input(const char *file, struct error *error) {
    struct stat status;
    if (!file || strcmp(file, "-") == 0) {
        if (isatty(STDIN_FILENO))
            fputs("eclave: type lines such as {\"code\":\"(+ 1 2)\"}; Ctrl-D at the start of a "
                  "line ends the input\n",
                  stderr);
        return true;
    }
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    bool good = fd >= 0 && fstat(fd, &status) == 0;
    int code = good && S_ISDIR(status.st_mode) ? EISDIR : good ? 0 : errno;
    if (code == 0 && dup2(fd, STDIN_FILENO) < 0)
        code = errno;
    if (fd >= 0)
        close(fd);
    return code == 0 || error_set(error, code, "%.100s", file);
}

/* --- files in two roles --- */

enum role { ROLE_INPUT, ROLE_OUTPUT, ROLE_JUNIT, ROLE_SKIP_DONE, ROLES };

struct role_file {
    char name[120];
    struct stat file;
    bool exists;
};

/* A terminal, /dev/null or a socket has no contents that could be lost or read again. */
static bool has_contents(const struct stat *file) {
    return S_ISREG(file->st_mode) || S_ISBLK(file->st_mode) || S_ISFIFO(file->st_mode);
}

static void describe_stream(struct role_file *role, int fd, const char *name) {
    snprintf(role->name, sizeof role->name, "%s", name);
    role->exists = fstat(fd, &role->file) == 0 && has_contents(&role->file);
}

static void describe_path(struct role_file *role, const char *option, const char *path) {
    snprintf(role->name, sizeof role->name, "%s %.90s", option, path ? path : "");
    role->exists = path && stat(path, &role->file) == 0 && has_contents(&role->file);
}

/* Continuing an earlier run appends its output to the file that is read. */
static bool continues(enum role one, enum role other) {
    const int flags = fcntl(STDOUT_FILENO, F_GETFL);
    return one == ROLE_OUTPUT && other == ROLE_SKIP_DONE && flags >= 0 && flags & O_APPEND;
}

/* Refuses a file that is read and written, or written twice, by whatever names. Called before
 * anything is opened for writing. */
static bool roles_are_distinct(const struct batch_options *options, const char *file,
                               struct error *error) {
    struct role_file roles[ROLES] = {0};
    describe_stream(&roles[ROLE_INPUT], STDIN_FILENO,
                    file && strcmp(file, "-") != 0 ? file : "standard input");
    describe_stream(&roles[ROLE_OUTPUT], STDOUT_FILENO, "standard output");
    describe_path(&roles[ROLE_JUNIT], "--junit", options->junit);
    describe_path(&roles[ROLE_SKIP_DONE], "--skip-done", options->skip_done);
    for (enum role one = 0; one < ROLES; one++)
        for (enum role other = one + 1; other < ROLES; other++) {
            const struct stat *left = &roles[one].file, *right = &roles[other].file;
            if (roles[one].exists && roles[other].exists && left->st_dev == right->st_dev &&
                left->st_ino == right->st_ino && !continues(one, other))
                return error_set(
                    error, 0, "%s and %s are the same file%s", roles[one].name, roles[other].name,
                    one == ROLE_OUTPUT && other == ROLE_SKIP_DONE ? "; append to it: >>"
                                                                  : "; name another one");
        }
    return true;
}

/* Many jobs need more descriptors than the usual soft limit. */
static bool raise_descriptor_limit(int64_t jobs, struct error *error) {
    const uint64_t wanted = (uint64_t)jobs * DESCRIPTORS_PER_JOB + OTHER_DESCRIPTORS;
    const uint64_t limit = descriptors_raise_limit(wanted);
    return limit >= wanted ||
           error_set(error, 0, "-j %lld needs %llu descriptors; the limit is %llu", (long long)jobs,
                     (unsigned long long)wanted, (unsigned long long)limit);
}

/* Reads the output of the earlier run. If standard output is the same file, an incomplete last line
 * is cut off, so that the first new line is not appended to it. */
static bool read_finished(struct batch *batch, struct error *error) {
    struct stat output;
    if (!batch->options->skip_done)
        return true;
    if (!finished_read(&batch->finished, batch->options->skip_done, batch_take_finished, batch,
                       error))
        return false;
    const struct stat *file = &batch->finished.file;
    if (fstat(STDOUT_FILENO, &output) != 0 || output.st_dev != file->st_dev ||
        output.st_ino != file->st_ino || batch->finished.whole_bytes == file->st_size)
        return true;
    return ftruncate(STDOUT_FILENO, batch->finished.whole_bytes) == 0 ||
           error_set(error, errno, "--skip-done: cutting off an incomplete last line");
}

static void begin_output(struct buffer *out, enum batch_format format) {
    if (format == FORMAT_TAP)
        tap_begin(out);
    if (format == FORMAT_TABLE)
        table_begin(out);
    if (format == FORMAT_CSV)
        csv_begin(out);
}

static bool open_parts(struct batch *batch, struct error *error) {
    const struct batch_options *options = batch->options;
    struct loop *loop = &batch->one_shot.loop;
    const struct input_handler handler = {.line = batch_take_line,
                                          .too_long = batch_take_too_long,
                                          .end = batch_take_end,
                                          .context = batch};
    if (!outbox_open(&batch->outbox, loop, error) ||
        (options->junit && !junit_open(&batch->junit, options->junit, error)))
        return false;
    begin_output(&batch->outbox.queue, options->format);
    if (!read_finished(batch, error) ||
        !input_open(&batch->input, loop, (size_t)batch->settings->request_max_bytes, &handler,
                    error) ||
        !stdio_detach(error) || !sessions_confine_supervisor(&batch->one_shot.sessions, error))
        return false;
    progress_open(&batch->progress, loop, &batch->one_shot.log, &batch->tally,
                  batch->input.stream.fd, options->total);
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
    finished_free(&batch->finished);
    one_shot_close(&batch->one_shot);
    batch_free(batch);
}

/* UNKNOWN lines of the earlier run were not in the input. */
static void put_summary(FILE *out, const struct batch *batch, size_t unknown, int64_t began_ns) {
    fputs("eclave: ", out);
    tally_print(&batch->tally, out);
    if (!batch->options->no_costs)
        fprintf(out, "; %.1f s", (double)clock_elapsed_ms(began_ns) / CLOCK_MS_PER_S);
    fputc('\n', out);
    if (unknown && !batch->cut_short)
        fprintf(out, "eclave: lines of the earlier run that are not in the input: %zu\n", unknown);
    if (batch->failure[0])
        fprintf(out, "eclave: %s\n", batch->failure);
    if (batch->cpu_used_up && batch->cut_short)
        fprintf(out, "eclave: the processor time of --max-cpu-s %lld is used up\n",
                (long long)batch->options->max_cpu_s);
    if (batch->cut_short || batch->failure[0])
        fputs("eclave: the run was cut short. To resume it, run the same command with --skip-done "
              "OUT, where OUT has the lines written so far, and append to it: >>OUT\n",
              out);
}

/* In one write, since the next command of a pipeline may write to the same place now. */
static void summarize(const struct batch *batch, size_t unknown, int64_t began_ns) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return;
    put_summary(out, batch, unknown, began_ns);
    if (fclose(out) == 0)
        fwrite(text, 1, size, stderr);
    free(text);
}

static int run(struct batch *batch) {
    struct error error;
    int64_t began_ns = clock_now_ns();
    bool opened = open_parts(batch, &error);
    bool ran = opened && loop_run(&batch->one_shot.loop, &error);
    size_t unknown = batch->finished.left;
    close_parts(batch);
    bool reported = junit_close(&batch->junit, &batch->tally, opened && ran ? &error : NULL);
    if (!opened || !ran || !reported) {
        fprintf(stderr, "eclave: %s\n", error.text);
        return opened ? STATUS_INTERNAL : STATUS_USAGE;
    }
    summarize(batch, unknown, began_ns);
    return batch_status(batch);
}

static bool choose_format(struct batch_options *options, struct error *error) {
    static const char *const words[FORMATS] = {[FORMAT_JSONL] = "jsonl",
                                               [FORMAT_TABLE] = "table",
                                               [FORMAT_CSV] = "csv",
                                               [FORMAT_TAP] = "tap",
                                               [FORMAT_EXERCISM] = "exercism"};
    if (options->tap)
        options->format = FORMAT_TAP;
    if (!options->format_word)
        return true;
    for (enum batch_format format = 0; format < FORMATS; format++)
        if (strcmp(options->format_word, words[format]) == 0) {
            options->format = format;
            return true;
        }
    return error_set(error, 0, "option --format needs jsonl, table, csv, tap or exercism");
}

int batch_command(const struct settings *settings, const struct batch_options *given,
                  const char *file) {
    struct batch_options chosen = *given;
    const struct batch_options *options = &chosen;
    struct settings own = *settings; /* whose paths remain those of *settings */
    struct batch batch;
    struct error error;
    int status = STATUS_USAGE;
    /* On which the limits of all processes together depend. Each job is a call, and another one may
     * be ending; there are no other sessions. */
    own.call_running_max = 2 * options->jobs;
    own.session_max = own.session_unnamed_max = 1;
    batch_begin(&batch, &own, options);
    if (!choose_format(&chosen, &error) || !open_input(file, &error) ||
        !roles_are_distinct(options, file, &error) ||
        !raise_descriptor_limit(options->jobs, &error) ||
        !one_shot_open(&batch.one_shot, &own, &status, &error)) {
        fprintf(stderr, "eclave: %s\n", error.text);
        return status;
    }
    batch.one_shot.interrupted = batch_interrupt;
    batch.one_shot.interrupted_context = &batch;
    /* The outcome of a line is in its record; the log has problems of the machine only. */
    if (!settings->log_level_set)
        batch.one_shot.log.least = LOG_WARNING_LEVEL;
    batch.one_shot.sessions.unlogged = true;
    batch.one_shot.sessions.unbounded = true; /* options->jobs calls at a time */
    return run(&batch);
}
