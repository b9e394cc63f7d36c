/* `eclave eval`: one evaluation in a world of its own, for a shell. The same path as a call of the
 * server, without the protocol. */
#include "common/cleanup.h"
#include "common/utf8.h"
#include "supervisor/commands.h"
#include "supervisor/confinement.h"
#include "supervisor/session.h"
#include "supervisor/signals.h"
#include "supervisor/stdio.h"
#include "supervisor/text.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MAX_BYTES = 1 << 30 };

struct eval_run {
    const struct settings *settings;
    struct loop loop;
    struct log log;
    struct pool pool;
    struct sessions sessions;
    struct loop_watch signal_watch;
    int signal_fd;
    int status;
};

/* Reads FILE whole ("-": standard input). */
static bool read_source(const char *file, struct buffer *code, struct error *error) {
    FILE *in = strcmp(file, "-") == 0 ? stdin : fopen(file, "re");
    if (!in)
        return error_set(error, errno, "%.100s", file);
    unsigned char *room;
    size_t got;
    do {
        room = buffer_reserve(code, 65536);
        got = room ? fread(room, 1, 65536, in) : 0;
        code->length += got;
    } while (got);
    bool failed = ferror(in) != 0;
    int code_of_failure = errno;
    if (in != stdin)
        fclose(in);
    if (failed)
        return error_set(error, code_of_failure, "%.100s", file);
    return room || error_set(error, 0, "%.100s is longer than request.max_bytes", file);
}

/* The code from the command line. False with *error. */
static bool find_code(int count, char **arguments, struct buffer *code, struct error *error) {
    if (count == 2 && strcmp(arguments[0], "-e") == 0)
        return buffer_append_text(code, arguments[1]) ||
               error_set(error, 0, "the code is longer than request.max_bytes");
    if (count > 1 || (count == 1 && arguments[0][0] == '-' && arguments[0][1]))
        return error_set(error, 0, "usage: eclave eval [OPTIONS] [-e CODE | FILE | -]");
    return read_source(count ? arguments[0] : "-", code, error);
}

static void done(void *context, const struct evaluation *evaluation) {
    struct eval_run *run = context;
    const struct text_limits limits = {.shown_chars = (size_t)run->settings->output_shown_chars,
                                       .value_max_chars = (size_t)run->settings->value_max_chars};
    cleanup_buffer struct buffer text = buffer_make(TEXT_MAX_BYTES);
    text_append_evaluation(&text, evaluation, &limits);
    if (text.length)
        buffer_append_text(&text, "\n");
    run->status = evaluation->exit_code;
    bool written = text.length == 0 || fwrite(text.data, 1, text.length, stdout) == text.length;
    if (!written || fflush(stdout) != 0) {
        fprintf(stderr, "eclave: writing the result: %s\n", strerror(errno));
        run->status = STATUS_INTERNAL;
    }
    loop_stop(&run->loop);
}

static void on_signal(void *context, uint32_t events) {
    (void)events;
    struct eval_run *run = context;
    for (int number; (number = signals_next(run->signal_fd)) != 0;) {
        if (number == SIGCHLD)
            pool_reap(&run->pool);
        else
            sessions_cancel_all(&run->sessions, "Interrupted.");
    }
}

static bool open_run(struct eval_run *run, struct error *error) {
    const struct settings *settings = run->settings;
    run->signal_fd = signals_open(error);
    if (run->signal_fd < 0)
        return false;
    log_open(&run->log, (enum log_level)settings->log_level, settings->log_format == 1);
    return loop_open(&run->loop, error) &&
           loop_watch_add(&run->loop, &run->signal_watch, run->signal_fd, EPOLLIN, on_signal, run,
                          error) &&
           pool_open(&run->pool, &run->loop, &run->log, settings, error);
}

static void close_run(struct eval_run *run) {
    sessions_close(&run->sessions);
    pool_close(&run->pool);
    loop_watch_remove(&run->loop, &run->signal_watch);
    close(run->signal_fd);
    log_close(&run->log);
    loop_close(&run->loop);
}

static int usage_error(const struct error *error) {
    fprintf(stderr, "eclave: %s\n", error->text);
    return STATUS_USAGE;
}

int command_eval(const struct settings *settings, int count, char **arguments) {
    struct eval_run run = {.settings = settings, .signal_fd = -1, .status = STATUS_INTERNAL};
    struct error error;
    cleanup_buffer struct buffer code = buffer_make((size_t)settings->request_max_bytes);
    if (!stdio_fill(&error) || !find_code(count, arguments, &code, &error))
        return usage_error(&error);
    if (!utf8_is_valid(code.data, code.length)) {
        error_set(&error, 0, "the code is not UTF-8");
        return usage_error(&error);
    }
    if (!open_run(&run, &error))
        return usage_error(&error);
    if (settings->minimal || !confinement_is_possible(settings, &error)) {
        fprintf(stderr, "eclave: code cannot be evaluated here: %s\n",
                settings->minimal ? "the setting minimal forbids it" : error.text);
        log_close(&run.log);
        return STATUS_INTERNAL;
    }
    sessions_open(&run.sessions, &run.loop, &run.log, settings, &run.pool);
    run.sessions.one_shot = true;
    run.pool.without_spare = true;
    struct session *session = sessions_own(&run.sessions, "main");
    static const unsigned char nothing[1];
    const struct call_request request = {.code = {code.data ? code.data : nothing, code.length},
                                         .timeout_ms = settings->call_timeout_s * 1000,
                                         .done = done,
                                         .context = &run};
    if (!session || !session_submit(session, &request)) {
        fprintf(stderr, "eclave: out of memory\n");
    } else {
        session_run(session);
        if (!run.loop.stopped && !loop_run(&run.loop, &error))
            fprintf(stderr, "eclave: %s\n", error.text);
    }
    close_run(&run);
    return run.status;
}
