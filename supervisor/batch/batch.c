/* The lines in hand: read, started, and written in input order. There are at most a window of them,
 * so that a slow line, a slow reader or a fast writer does not increase the memory. */
#include "supervisor/base/clock.h"
#include "supervisor/base/status.h"
#include "supervisor/batch/batch_internal.h"
#include "supervisor/json/json_tree.h"

#include <stdlib.h>
#include <unistd.h>

enum {
    WINDOW_PER_JOB = 4,
    WINDOW_MIN = 16,
    WINDOW_BYTES = 64 << 20,
    BACKLOG_BYTES = 1 << 20, /* of unwritten output, above which nothing more is written or read */
};

enum item_state { ITEM_WAITING = 1, ITEM_RUNNING = 2, ITEM_DONE = 4 };

struct batch_item {
    struct batch *batch;
    TAILQ_ENTRY(batch_item) entry;
    struct batch_line line;
    enum item_state state;
    bool dropped;                  /* RUNNING: its result is discarded */
    struct call *call;             /* RUNNING, without tests */
    struct submission *submission; /* RUNNING, with tests */
    struct check check;            /* RUNNING, after the call */
    struct record record;          /* DONE, or RUNNING with a check */
    size_t bytes;                  /* of its line and record */
};

/* --- items --- */

static struct batch_item *add_item(struct batch *batch, const struct batch_line *line) {
    struct batch_item *item = calloc(1, sizeof *item);
    if (!item)
        return NULL;
    *item = (struct batch_item){
        .batch = batch, .line = *line, .state = ITEM_WAITING, .bytes = line->size};
    TAILQ_INSERT_TAIL(&batch->items, item, entry);
    batch->item_count++;
    batch->item_bytes += item->bytes;
    return item;
}

static void remove_item(struct batch_item *item) {
    struct batch *batch = item->batch;
    TAILQ_REMOVE(&batch->items, item, entry);
    batch->item_count--;
    batch->item_bytes -= item->bytes;
    record_free(&item->record);
    submission_free(item->submission);
    check_free(&item->check);
    batch_line_free(&item->line);
    free(item);
}

/* The first item in one of STATES, or NULL. */
static struct batch_item *first_of(const struct batch *batch, unsigned states) {
    struct batch_item *item;
    TAILQ_FOREACH(item, &batch->items, entry) {
        if (item->state & states)
            return item;
    }
    return NULL;
}

/* --- the end of a run --- */

static void drop_long_line(struct batch *batch) {
    struct long_line *line = batch->reading;
    if (!line)
        return;
    loop_timer_stop(&batch->one_shot.loop, &batch->read_turn);
    json_reader_free(&line->reader);
    free(line->text);
    free(line);
    batch->reading = NULL;
}

static void stop(struct batch *batch) {
    batch->stopping = true;
    batch->cut_short |= batch->reading != NULL;
    drop_long_line(batch);
    input_stop(&batch->input);
}

static void cancel(struct batch_item *item) {
    struct call *call = item->check.call ? item->check.call : item->call;
    item->check.left = 0;
    if (item->submission)
        submission_cancel(item->submission);
    else if (call)
        call_cancel(call, "The batch was ended.");
}

/* Gives up those items from ITEM on that are in one of STATES. */
static void drop(struct batch *batch, struct batch_item *item, unsigned states) {
    batch->drops++;
    while (item) {
        struct batch_item *next = TAILQ_NEXT(item, entry);
        if (item->state & states) {
            batch->cut_short = true;
            if (item->state != ITEM_RUNNING) {
                remove_item(item);
            } else {
                item->dropped = true;
                cancel(item);
            }
        }
        item = next;
    }
}

/* Gives up ITEM and all items after it, so that the output is a prefix of the whole. With
 * --unordered, gives up all items in one of STATES. */
static void drop_from(struct batch *batch, struct batch_item *item, unsigned states) {
    if (batch->options->unordered)
        drop(batch, TAILQ_FIRST(&batch->items), states);
    else
        drop(batch, item, ITEM_WAITING | ITEM_RUNNING | ITEM_DONE);
}

__attribute__((format(printf, 2, 3))) static void fail(struct batch *batch, const char *format,
                                                       ...) {
    if (batch->failure[0])
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(batch->failure, sizeof batch->failure, format, arguments);
    va_end(arguments);
    stop(batch);
    drop(batch, TAILQ_FIRST(&batch->items), ITEM_WAITING | ITEM_RUNNING | ITEM_DONE);
}

void batch_interrupt(void *context, int number) {
    (void)number;
    struct batch *batch = context;
    unsigned states = batch->interrupted ? ITEM_WAITING | ITEM_RUNNING : ITEM_WAITING;
    batch->cut_short |= !batch->input_ended;
    batch->interrupted = true;
    stop(batch);
    drop_from(batch, first_of(batch, states), states);
}

struct evaluation batch_reported(const struct batch *batch, const struct evaluation *evaluation) {
    struct evaluation reported = *evaluation;
    const struct span condition = evaluation->result.condition;
    bool is_exhausted = span_equal(condition, string_span("STACK-OVERFLOW")) ||
                        span_equal(condition, string_span("STORAGE-EXHAUSTED"));
    if (batch->options->no_costs && is_exhausted)
        reported.result.frame_count = 0;
    return reported;
}

int64_t batch_cpu_ms(const struct batch *batch, const struct batch_line *line) {
    return line->cpu_ms ? line->cpu_ms : batch->options->test_cpu_s * CLOCK_MS_PER_S;
}

void batch_count_end(struct batch *batch, const struct evaluation *evaluation) {
    const int64_t most = batch->options->max_cpu_s;
    batch->running--;
    batch->cpu_us += evaluation->usage.cpu_us;
    batch->cpu_used_up |= most && batch->cpu_us >= most * CLOCK_MS_PER_S * CLOCK_US_PER_MS;
}

/* Ends everything once --max-cpu-s is used up. */
static void obey_cpu_limit(struct batch *batch) {
    bool is_done = TAILQ_EMPTY(&batch->items) && batch->input_ended;
    if (!batch->cpu_used_up || batch->stopping || is_done)
        return;
    const unsigned states = ITEM_WAITING | ITEM_RUNNING;
    batch->cut_short |= !batch->input_ended;
    stop(batch);
    drop_from(batch, first_of(batch, states), states);
}

int batch_status(const struct batch *batch) {
    if (batch->failure[0])
        return STATUS_INTERNAL;
    if ((batch->interrupted || batch->cpu_used_up) && batch->cut_short)
        return STATUS_INTERRUPTED;
    return batch->failed_fast || batch->tally.unmet ? STATUS_FAILED : 0;
}

/* --- evaluation --- */

/* The record of ITEM is made. */
static void count_done(struct batch_item *item) {
    struct batch *batch = item->batch;
    if (batch->options->no_costs)
        record_drop_costs(&item->record);
    size_t bytes = json_held_bytes(item->record.root);
    item->state = ITEM_DONE;
    item->bytes += bytes;
    batch->item_bytes += bytes;
    if (item->record.standing == STANDING_PASSED || !batch->options->fail_fast)
        return;
    batch->failed_fast = true;
    stop(batch);
    drop_from(batch, TAILQ_NEXT(item, entry), ITEM_WAITING | ITEM_RUNNING);
}

/* Makes the record of ITEM; EVALUATION is NULL for an invalid line. */
static void finish_item(struct batch_item *item, const struct evaluation *evaluation) {
    struct batch *batch = item->batch;
    bool good = record_make(&item->record, &item->line, evaluation, batch->settings) &&
                (!evaluation || check_begin(&item->check, batch, &item->line, evaluation));
    if (good && item->check.left == 0) {
        count_done(item);
    } else if (!good) {
        remove_item(item);
        fail(batch, "out of memory for the result of a line");
    }
}

/* Continues a submission. ITEM may be gone after it. */
static void step_submission(struct batch_item *item) {
    struct batch *batch = item->batch;
    const char *failure = NULL;
    if (!submission_step(item->submission, &item->record, &failure))
        return;
    item->submission = NULL;
    if (item->dropped || failure) {
        remove_item(item);
        if (failure)
            fail(batch, "%s", failure);
    } else {
        count_done(item);
    }
}

/* Continues the comparisons of a line without tests. ITEM may be gone after it. */
static void step_check(struct batch_item *item) {
    struct batch *batch = item->batch;
    check_step(&item->check, item->record.root);
    const char *failure = item->check.failure;
    if (!check_is_done(&item->check))
        return;
    if (item->dropped || failure) {
        char text[ERROR_TEXT_BYTES];
        snprintf(text, sizeof text, "%s", failure ? failure : "");
        remove_item(item);
        if (text[0])
            fail(batch, "%s", text);
    } else {
        record_settle(&item->record);
        count_done(item);
    }
}

static void step_item(struct batch_item *item) {
    if (item->state != ITEM_RUNNING)
        return;
    if (item->submission)
        step_submission(item);
    else if (item->check.batch)
        step_check(item);
}

/* Earlier lines first, and tests before further lines. */
static void step_running(struct batch *batch) {
    struct batch_item *item = TAILQ_FIRST(&batch->items);
    while (item) {
        struct batch_item *next = TAILQ_NEXT(item, entry);
        const size_t drops = batch->drops;
        step_item(item);
        item = batch->drops == drops ? next : TAILQ_FIRST(&batch->items); /* others may be gone */
    }
}

static void on_done(void *context, const struct evaluation *evaluation) {
    struct batch_item *item = context;
    struct batch *batch = item->batch;
    item->call = NULL;
    batch_count_end(batch, evaluation);
    if (item->dropped) {
        remove_item(item);
    } else if (evaluation->outcome == OUTCOME_NO_WORKER) {
        remove_item(item);
        fail(batch, "%s", evaluation->cause);
    } else {
        const struct evaluation reported = batch_reported(batch, evaluation);
        finish_item(item, &reported);
    }
}

static void start_submission(struct batch_item *item) {
    struct batch *batch = item->batch;
    item->submission = submission_make(batch, &item->line);
    if (!item->submission) {
        remove_item(item);
        fail(batch, "out of memory");
        return;
    }
    item->state = ITEM_RUNNING;
    step_submission(item);
}

static void start(struct batch_item *item) {
    struct batch *batch = item->batch;
    if (item->line.tests) {
        start_submission(item);
        return;
    }
    const struct call_request request = {.code = item->line.code,
                                         .input = item->line.input,
                                         .timeout_ms = item->line.timeout_ms,
                                         .cpu_ms = batch_cpu_ms(batch, &item->line),
                                         .done = on_done,
                                         .context = item};
    item->call = session_submit_once(&batch->one_shot.sessions, &request);
    if (!item->call) {
        remove_item(item);
        fail(batch, "out of memory");
        return;
    }
    item->state = ITEM_RUNNING;
    batch->running++;
    session_step(call_session(item->call));
}

static void start_waiting(struct batch *batch) {
    size_t jobs = (size_t)batch->options->jobs, waiting = 0;
    struct batch_item *item;
    step_running(batch);
    while (batch->running < jobs && (item = first_of(batch, ITEM_WAITING)) != NULL)
        start(item);
    TAILQ_FOREACH(item, &batch->items, entry) {
        waiting += item->state == ITEM_WAITING;
    }
    bool more = !batch->input_ended && !batch->stopping;
    batch->one_shot.pool.spares_wanted = more || waiting > jobs ? jobs : waiting;
}

/* --- output --- */

static void report_case(struct batch *batch, uint64_t number, const struct record *record,
                        struct span suite) {
    junit_add(&batch->junit, record, suite);
    if (batch->options->format == FORMAT_TAP)
        tap_add(&batch->outbox.queue, number, record, suite);
}

/* Each test, or a line without any; they are counted already. */
static void report_cases(struct batch *batch, const struct record *record) {
    const size_t tests = record_test_count(record);
    struct record test;
    junit_begin_suite(&batch->junit, record);
    if (tests == 0)
        report_case(batch, batch->tally.cases, record, (struct span){0});
    for (size_t i = 0; record_test(record, i, &test); i++)
        report_case(batch, batch->tally.cases - tests + i + 1, &test, record_name(record));
}

static void append_record(struct buffer *out, const struct record *record) {
    record_write(out, record);
    buffer_append_text(out, "\n");
}

static void report(struct batch *batch, const struct record *record, bool is_written) {
    static void (*const formats[FORMATS])(struct buffer * out, const struct record *record) = {
        [FORMAT_JSONL] = append_record, /* TAP: by cases */
        [FORMAT_TABLE] = table_add,
        [FORMAT_CSV] = csv_add,
        [FORMAT_EXERCISM] = exercism_add};
    const enum batch_format format = batch->options->format;
    struct buffer *out = &batch->outbox.queue;
    tally_add(&batch->tally, record);
    report_cases(batch, record);
    if (formats[format] && !(is_written && format == FORMAT_JSONL))
        formats[format](out, record);
    if (out->failed)
        fail(batch, "out of memory");
}

void batch_take_finished(void *context, const struct record *record) {
    struct batch *batch = context;
    batch->tally.earlier++;
    report(batch, record, true);
}

static void flush(struct batch *batch) {
    if (batch->progress.shown && outbox_backlog(&batch->outbox) && isatty(batch->outbox.stream.fd))
        progress_hide(&batch->progress);
    outbox_flush(&batch->outbox);
    if (batch->outbox.failure)
        fail(batch, "writing the results: %s", strerror(batch->outbox.failure));
}

static bool is_reader_slow(const struct batch *batch) {
    return outbox_backlog(&batch->outbox) > BACKLOG_BYTES;
}

/* The item whose record is written next, or NULL. */
static struct batch_item *next_done(const struct batch *batch) {
    struct batch_item *item =
        batch->options->unordered ? first_of(batch, ITEM_DONE) : TAILQ_FIRST(&batch->items);
    return item && item->state == ITEM_DONE ? item : NULL;
}

/* Writes the finished lines as far as the reader keeps up. Returns whether the window has more
 * room now. */
static bool write_done(struct batch *batch) {
    size_t before = batch->item_count;
    struct batch_item *item;
    while (!is_reader_slow(batch) && (item = next_done(batch)) != NULL) {
        report(batch, &item->record, false);
        if (!batch->failure[0]) /* a failure has dropped all items */
            remove_item(item);
    }
    flush(batch);
    return batch->item_count < before;
}

/* --- input --- */

static bool is_window_full(const struct batch *batch) {
    size_t window = (size_t)batch->options->jobs * WINDOW_PER_JOB;
    return batch->item_count >= (window > WINDOW_MIN ? window : WINDOW_MIN) ||
           batch->item_bytes >= WINDOW_BYTES;
}

/* Adds LINE to the lines in hand unless an earlier run finished it. It is not GOOD if memory ran
 * out while it was parsed. */
static void take(struct batch *batch, struct batch_line *line, bool good) {
    struct span key = {line->key.data, line->key.length};
    if (good && finished_take(&batch->finished, key)) {
        batch_line_free(line);
        return;
    }
    struct batch_item *item = good ? add_item(batch, line) : NULL;
    if (!item) {
        batch_line_free(line);
        fail(batch, "out of memory");
        return;
    }
    if (line->fault[0])
        finish_item(item, NULL);
    if (is_window_full(batch))
        input_pause(&batch->input, true);
}

static void on_read_turn(void *context) {
    struct batch *batch = context;
    struct long_line *reading = batch->reading;
    if (json_reader_read_object(&reading->reader)) {
        loop_timer_start(&batch->one_shot.loop, &batch->read_turn, 0, on_read_turn, batch);
        return;
    }
    struct batch_line line;
    bool good =
        batch_line_from(&line, &reading->reader, reading->size, reading->number, batch->settings);
    drop_long_line(batch);
    take(batch, &line, good);
}

/* False when out of memory. */
static bool read_in_turns(struct batch *batch, const unsigned char *bytes, size_t size) {
    struct long_line *line = malloc(sizeof *line);
    unsigned char *text = malloc(size);
    if (!line || !text) {
        free(line);
        free(text);
        return false;
    }
    *line = (struct long_line){.text = memcpy(text, bytes, size),
                               .size = size,
                               .number = input_line_number(&batch->input)};
    json_reader_begin(&line->reader, (struct span){text, size},
                      settings_json_limits(batch->settings));
    batch->reading = line;
    input_pause(&batch->input, true);
    loop_timer_start(&batch->one_shot.loop, &batch->read_turn, 0, on_read_turn, batch);
    return true;
}

void batch_take_line(void *context, const unsigned char *bytes, size_t size) {
    struct batch *batch = context;
    struct batch_line line;
    if (size > JSON_READER_SMALL_BYTES && read_in_turns(batch, bytes, size))
        return;
    bool good = batch_line_read(&line, (struct span){bytes, size}, input_line_number(&batch->input),
                                batch->settings);
    take(batch, &line, good);
}

void batch_take_too_long(void *context) {
    struct batch *batch = context;
    struct batch_line line;
    bool good = batch_line_too_long(&line, input_line_number(&batch->input), batch->settings);
    take(batch, &line, good);
}

void batch_take_end(void *context) {
    struct batch *batch = context;
    batch->input_ended = true;
    if (batch->input.failure)
        fail(batch, "reading the input: %s", strerror(batch->input.failure));
}

/* Were there as many lines as there should be? What wrote them may have ended. */
static void check_total(struct batch *batch) {
    const int64_t total = batch->options->total;
    if (total && !batch->cut_short && !batch->failed_fast && !batch->failure[0] &&
        batch->tally.lines != (uint64_t)total)
        fail(batch, "%llu of %lld submissions could be read",
             (unsigned long long)batch->tally.lines, (long long)total);
}

/* --- the batch --- */

/* Stops the loop once everything is written. */
static void close_output(struct batch *batch) {
    if (!batch->closing)
        check_total(batch);
    if (!batch->closing && batch->options->format == FORMAT_TAP)
        tap_end(&batch->outbox.queue, batch->tally.cases, batch->cut_short || batch->failure[0]);
    batch->closing = true;
    flush(batch);
    if (outbox_backlog(&batch->outbox) == 0)
        loop_stop(&batch->one_shot.loop);
}

void batch_step(void *context) {
    struct batch *batch = context;
    obey_cpu_limit(batch);
    do {
        input_pause(&batch->input,
                    batch->reading || is_window_full(batch) || is_reader_slow(batch));
        start_waiting(batch);
    } while (write_done(batch));
    if (TAILQ_EMPTY(&batch->items) && (batch->input_ended || batch->stopping))
        close_output(batch);
}

void batch_begin(struct batch *batch, const struct settings *settings,
                 const struct batch_options *options) {
    *batch = (struct batch){.settings = settings, .options = options};
    TAILQ_INIT(&batch->items);
}

void batch_free(struct batch *batch) {
    drop_long_line(batch);
    while (!TAILQ_EMPTY(&batch->items))
        remove_item(TAILQ_FIRST(&batch->items));
}
