/* Counts of a run: in a bar on the terminal, drawn ten times a second, and in the summary. */
#include "supervisor/base/clock.h"
#include "supervisor/batch/batch_internal.h"

#include <stdlib.h>
#include <unistd.h>

enum { REDRAW_MS = 100, BAR_CELLS = 24, LINE_BYTES = 160 };

/* --- counts --- */

static void count_outcome(struct tally *tally, const char *word) {
    size_t i = 0;
    while (i < TALLY_WORDS_MAX - 1 && tally->outcomes[i].word && tally->outcomes[i].word != word)
        i++;
    tally->outcomes[i].word = word; /* a constant, which is compared by address */
    tally->outcomes[i].lines++;
}

static void count_case(struct tally *tally, const struct record *record) {
    tally->cases++;
    tally->failed += record->standing == STANDING_FAILED;
    tally->broken += record->standing == STANDING_BROKEN;
}

static void count_cases(struct tally *tally, const struct record *record) {
    struct record test;
    if (record_test_count(record) == 0)
        count_case(tally, record);
    for (size_t i = 0; record_test(record, i, &test); i++)
        count_case(tally, &test);
}

void tally_add(struct tally *tally, const struct record *record) {
    count_outcome(tally, record->outcome);
    tally->lines++;
    tally->met += record->verdict == VERDICT_MET;
    tally->unmet += record->verdict == VERDICT_UNMET;
    count_cases(tally, record);
    tally->wall_ms += record_number(record, "wallMs");
}

void tally_print(const struct tally *tally, FILE *out) {
    fprintf(out, "%llu line%s", (unsigned long long)tally->lines, tally->lines == 1 ? "" : "s");
    if (tally->earlier)
        fprintf(out, " (%llu of them earlier)", (unsigned long long)tally->earlier);
    for (size_t i = 0; i < TALLY_WORDS_MAX && tally->outcomes[i].word; i++)
        fprintf(out, "%s %llu %s", i ? "," : ":", (unsigned long long)tally->outcomes[i].lines,
                tally->outcomes[i].word);
    if (tally->met || tally->unmet)
        fprintf(out, "; expectations: %llu met, %llu not met", (unsigned long long)tally->met,
                (unsigned long long)tally->unmet);
}

/* --- the bar --- */

static void put(const struct progress *progress, const char *text) {
    /* If the terminal is not ready, the next picture replaces this one. */
    (void)!stream_write(&progress->log->out, text, strlen(text));
}

void progress_hide(struct progress *progress) {
    if (progress->shown)
        put(progress, "\r\x1b[K");
    progress->shown = false;
}

/* How much of the input is done, from 0 to 100; -1: its size is unknown. */
static int64_t percent_of(const struct progress *progress) {
    int64_t size = progress->total ? progress->total : progress->size, at = -1;
    if (progress->total)
        at = (int64_t)progress->tally->lines;
    else if (progress->size)
        at = lseek(progress->input_fd, 0, SEEK_CUR);
    return at < 0 ? -1 : at < size ? at * 100 / size : 100;
}

/* "[#####-----]  42% "; empty if the size of the input is unknown. */
static void format_bar(const struct progress *progress, char bar[LINE_BYTES]) {
    const int64_t percent = percent_of(progress);
    bar[0] = 0;
    if (percent < 0)
        return;
    int64_t cells = percent * BAR_CELLS / 100;
    char drawn[BAR_CELLS + 1];
    memset(drawn, '-', BAR_CELLS);
    memset(drawn, '#', (size_t)cells);
    drawn[BAR_CELLS] = 0;
    snprintf(bar, LINE_BYTES, "[%s] %3lld%% %s", drawn, (long long)percent,
             progress->total ? " " : "read  ");
}

/* ", about 12 s left", from the lines of this run; empty if it cannot be known. */
static void format_estimate(const struct progress *progress, double seconds,
                            char text[LINE_BYTES]) {
    const struct tally *tally = progress->tally;
    const double done = (double)(tally->lines - tally->earlier);
    text[0] = 0;
    if (progress->total && done > 0)
        snprintf(text, LINE_BYTES, ", about %.0f s left",
                 seconds / done * ((double)progress->total - (double)tally->lines));
}

static void draw(void *context) {
    struct progress *progress = context;
    const struct tally *tally = progress->tally;
    char bar[LINE_BYTES], left[LINE_BYTES], line[4 * LINE_BYTES];
    double seconds =
        (double)(clock_now_ns() - progress->started_ns) / CLOCK_NS_PER_MS / CLOCK_MS_PER_S;
    uint64_t failed = tally->failed + tally->broken;
    format_bar(progress, bar);
    format_estimate(progress, seconds, left);
    snprintf(line, sizeof line, "\r%s%llu lines, %.0f a second, %llu failed%s\x1b[K", bar,
             (unsigned long long)tally->lines, (double)(tally->lines - tally->earlier) / seconds,
             (unsigned long long)failed, left);
    put(progress, line);
    progress->shown = true;
    loop_timer_start(progress->loop, &progress->timer, REDRAW_MS, draw, progress);
}

static void on_log(void *context, const struct log_event *event, const char *cause) {
    (void)event;
    (void)cause;
    progress_hide(context);
}

void progress_open(struct progress *progress, struct loop *loop, struct log *log,
                   const struct tally *tally, int input_fd, int64_t total) {
    const char *terminal = getenv("TERM");
    struct stat status;
    *progress = (struct progress){.loop = loop,
                                  .log = log,
                                  .tally = tally,
                                  .input_fd = input_fd,
                                  .total = total,
                                  .started_ns = clock_now_ns()};
    /* What is typed would stand on the same line. */
    if (!isatty(STDERR_FILENO) || isatty(input_fd) || !terminal || strcmp(terminal, "dumb") == 0)
        return;
    if (fstat(input_fd, &status) == 0 && S_ISREG(status.st_mode))
        progress->size = status.st_size;
    log->hook = on_log;
    log->hook_context = progress;
    log->hook_least = log->least;
    loop_timer_start(loop, &progress->timer, REDRAW_MS, draw, progress);
}

void progress_close(struct progress *progress) {
    if (!progress->loop)
        return;
    loop_timer_stop(progress->loop, &progress->timer);
    progress_hide(progress);
    progress->log->hook = NULL;
}
