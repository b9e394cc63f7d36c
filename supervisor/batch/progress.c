/* The progress bar. Never waits for the terminal, and draws no more than ten times a second. */
#include "supervisor/batch/progress.h"
#include "supervisor/base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { REDRAW_MS = 100, BAR_CELLS = 24, LINE_BYTES = 160 };

static void put(const struct progress *progress, const char *text) {
    /* A terminal that takes nothing now misses one picture. */
    (void)!stream_write(&progress->log->out, text, strlen(text));
}

static void clear(struct progress *progress) {
    if (progress->shown)
        put(progress, "\r\x1b[K");
    progress->shown = false;
}

/* "[#####-----]  42%  ", nothing where the size of the input is not known. */
static void format_bar(const struct progress *progress, char bar[LINE_BYTES]) {
    off_t at = progress->size ? lseek(progress->input_fd, 0, SEEK_CUR) : -1;
    bar[0] = 0;
    if (at < 0)
        return;
    int64_t percent = at < progress->size ? at * 100 / progress->size : 100;
    int64_t cells = percent * BAR_CELLS / 100;
    char drawn[BAR_CELLS + 1];
    memset(drawn, '-', BAR_CELLS);
    memset(drawn, '#', (size_t)cells);
    drawn[BAR_CELLS] = 0;
    snprintf(bar, LINE_BYTES, "[%s] %3lld%% read  ", drawn, (long long)percent);
}

static void draw(void *context) {
    struct progress *progress = context;
    const struct tally *tally = progress->tally;
    char bar[LINE_BYTES], line[2 * LINE_BYTES];
    double seconds =
        (double)(clock_now_ns() - progress->started_ns) / CLOCK_NS_PER_MS / CLOCK_MS_PER_S;
    uint64_t failed = tally->failed + tally->broken;
    format_bar(progress, bar);
    snprintf(line, sizeof line, "\r%s%llu lines, %.0f a second, %llu failed\x1b[K", bar,
             (unsigned long long)tally->lines, (double)(tally->lines - tally->earlier) / seconds,
             (unsigned long long)failed);
    put(progress, line);
    progress->shown = true;
    loop_timer_start(progress->loop, &progress->timer, REDRAW_MS, draw, progress);
}

static void on_log(void *context, const struct log_event *event, const char *cause) {
    struct progress *progress = context;
    (void)cause;
    if (event->level >= progress->log->least)
        clear(progress);
}

void progress_open(struct progress *progress, struct loop *loop, struct log *log,
                   const struct tally *tally, int input_fd) {
    const char *terminal = getenv("TERM");
    struct stat status;
    *progress = (struct progress){.loop = loop,
                                  .log = log,
                                  .tally = tally,
                                  .input_fd = input_fd,
                                  .started_ns = clock_now_ns()};
    if (!isatty(STDERR_FILENO) || !terminal || strcmp(terminal, "dumb") == 0)
        return;
    if (fstat(input_fd, &status) == 0 && S_ISREG(status.st_mode))
        progress->size = status.st_size;
    log->hook = on_log;
    log->hook_context = progress;
    loop_timer_start(loop, &progress->timer, REDRAW_MS, draw, progress);
}

void progress_close(struct progress *progress) {
    if (!progress->loop)
        return;
    loop_timer_stop(progress->loop, &progress->timer);
    clear(progress);
    progress->log->hook = NULL;
}
