/* Items in hand and the worlds that run them. Never starts more than there are worlds, never holds
 * more than the window, never writes a record out of turn unless that was asked for. */
#include "supervisor/batch/batch.h"
#include "supervisor/base/status.h"
#include "supervisor/batch/line.h"
#include "supervisor/batch/tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WINDOW_PER_WORLD = 4,
    WINDOW_MIN = 16,
    WINDOW_BYTES = 64 << 20,
    BACKLOG_BYTES = 1 << 20, /* a reader this far behind is waited for */
    RECORD_MAX_BYTES = 1 << 30,
};

enum item_state { ITEM_WAITING = 1, ITEM_RUNNING = 2, ITEM_DONE = 4 };

struct batch_item {
    struct batch_line line;
    enum item_state state;
    bool dropped; /* RUNNING, and of no interest any more */
    struct call *call;
    struct buffer record; /* DONE */
    struct batch_item *next;
};

struct batch_world {
    struct batch *batch;
    struct session *session;
    struct batch_item *item; /* NULL: idle */
};

/* --- items --- */

static size_t size_of(const struct batch_item *item) {
    return item->line.size + item->record.length;
}

static struct batch_item *add_item(struct batch *batch) {
    struct batch_item *item = calloc(1, sizeof *item);
    if (!item)
        return NULL;
    item->state = ITEM_WAITING;
    item->record = buffer_make(RECORD_MAX_BYTES);
    struct batch_item **end = &batch->items;
    while (*end)
        end = &(*end)->next;
    *end = item;
    batch->item_count++;
    return item;
}

static void remove_item(struct batch *batch, struct batch_item *item) {
    struct batch_item **link = &batch->items;
    while (*link != item)
        link = &(*link)->next;
    *link = item->next;
    batch->item_count--;
    batch->item_bytes -= size_of(item);
    batch_line_free(&item->line);
    buffer_free(&item->record);
    free(item);
}

/* --- the end of a run --- */

static void stop(struct batch *batch) {
    batch->stopping = true;
    input_stop(&batch->input);
}

/* Gives up ITEM and those behind it that are in one of STATES. */
static void drop(struct batch *batch, struct batch_item *item, unsigned states) {
    while (item) {
        struct batch_item *next = item->next;
        if (item->state & states) {
            batch->cut_short = true;
            if (item->state != ITEM_RUNNING) {
                remove_item(batch, item);
            } else {
                item->dropped = true;
                call_cancel(item->call, "The batch was ended.");
            }
        }
        item = next;
    }
}

/* Gives up ITEM and what is behind it, so that what is left is the beginning of the whole. Where
 * order does not count, only what is in one of STATES. */
static void drop_from(struct batch *batch, struct batch_item *item, unsigned states) {
    if (batch->options->unordered)
        drop(batch, batch->items, states);
    else
        drop(batch, item, ITEM_WAITING | ITEM_RUNNING | ITEM_DONE);
}

/* The first in one of STATES, or NULL. */
static struct batch_item *first_of(const struct batch *batch, unsigned states) {
    struct batch_item *item = batch->items;
    while (item && !(item->state & states))
        item = item->next;
    return item;
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
    drop(batch, batch->items, ITEM_WAITING | ITEM_RUNNING | ITEM_DONE);
}

void batch_interrupt(void *context) {
    struct batch *batch = context;
    /* At first what runs may finish. */
    unsigned states = batch->interrupted ? ITEM_WAITING | ITEM_RUNNING : ITEM_WAITING;
    batch->cut_short |= !batch->input_ended;
    batch->interrupted = true;
    stop(batch);
    drop_from(batch, first_of(batch, states), states);
}

int batch_status(const struct batch *batch) {
    if (batch->failure[0])
        return STATUS_INTERNAL;
    if (batch->interrupted && batch->cut_short)
        return STATUS_INTERRUPTED;
    return batch->failed_fast || batch->tally.unmet ? STATUS_FAILED : 0;
}

/* --- evaluation --- */

static void finish_item(struct batch *batch, struct batch_item *item, enum standing standing) {
    item->state = ITEM_DONE;
    batch->item_bytes += item->record.length;
    if (standing == STANDING_PASSED || !batch->options->fail_fast)
        return;
    batch->failed_fast = true;
    stop(batch);
    drop_from(batch, item->next, ITEM_WAITING | ITEM_RUNNING);
}

static void on_done(void *context, const struct evaluation *evaluation) {
    struct batch_world *world = context;
    struct batch *batch = world->batch;
    struct batch_item *item = world->item;
    world->item = NULL;
    if (item->dropped) {
        remove_item(batch, item);
    } else if (evaluation->outcome == OUTCOME_NO_WORKER) {
        remove_item(batch, item);
        fail(batch, "%s", evaluation->cause);
    } else {
        finish_item(batch, item,
                    record_write(&item->record, &item->line, evaluation, batch->settings));
    }
}

static void start(struct batch_world *world, struct batch_item *item) {
    struct batch *batch = world->batch;
    const struct call_request request = {.code = item->line.code,
                                         .timeout_ms = item->line.timeout_ms,
                                         .done = on_done,
                                         .context = world};
    world->item = item;
    item->state = ITEM_RUNNING;
    item->call = session_submit(world->session, &request);
    if (item->call) {
        session_step(world->session);
        return;
    }
    world->item = NULL;
    remove_item(batch, item);
    fail(batch, "out of memory");
}

static void start_waiting(struct batch *batch) {
    size_t jobs = (size_t)batch->options->jobs;
    struct batch_item *item;
    for (size_t i = 0; i < jobs && (item = first_of(batch, ITEM_WAITING)) != NULL; i++)
        if (!batch->worlds[i].item)
            start(&batch->worlds[i], item);
    size_t waiting = 0;
    for (item = batch->items; item; item = item->next)
        waiting += item->state == ITEM_WAITING;
    bool more = !batch->input_ended && !batch->stopping;
    batch->one_shot.pool.spares_wanted = more || waiting > jobs ? jobs : waiting;
}

/* --- output --- */

static void report(struct batch *batch, const struct record *record, struct span text,
                   bool written_already) {
    struct buffer *out = outbox_queue(&batch->outbox);
    tally_add(&batch->tally, record);
    junit_add(&batch->junit, record);
    if (batch->options->tap) {
        tap_add(out, batch->tally.lines, record);
    } else if (!written_already) {
        buffer_append(out, text.bytes, text.length);
        buffer_append_text(out, "\n");
    }
    if (out->failed)
        fail(batch, "out of memory");
}

void batch_take_done(void *context, const struct record *record, struct span text) {
    struct batch *batch = context;
    batch->tally.earlier++;
    report(batch, record, text, true);
}

/* Each line is read again before it leaves: what counts is what it says. */
static void emit(struct batch *batch, struct batch_item *item) {
    struct span text = {item->record.data, item->record.length};
    struct record record;
    if (item->record.failed || !record_read(&record, text)) {
        fail(batch, "there is no memory for the result of a line");
        return;
    }
    report(batch, &record, text, false);
    record_free(&record);
    remove_item(batch, item);
}

/* The next record whose turn it is, or NULL. */
static struct batch_item *next_done(const struct batch *batch) {
    struct batch_item *item = batch->options->unordered ? first_of(batch, ITEM_DONE) : batch->items;
    return item && item->state == ITEM_DONE ? item : NULL;
}

static bool is_reader_behind(const struct batch *batch) {
    return outbox_backlog(&batch->outbox) > BACKLOG_BYTES;
}

/* Hands on what is done, as fast as it is taken. Returns whether the window has more room now. */
static bool emit_done(struct batch *batch) {
    size_t before = batch->item_count;
    struct batch_item *item;
    while (!is_reader_behind(batch) && (item = next_done(batch)) != NULL)
        emit(batch, item);
    outbox_flush(&batch->outbox);
    if (batch->outbox.failure)
        fail(batch, "writing the results: %s", strerror(batch->outbox.failure));
    return batch->item_count < before;
}

/* --- input --- */

static bool is_window_full(const struct batch *batch) {
    size_t window = (size_t)batch->options->jobs * WINDOW_PER_WORLD;
    return batch->item_count >= (window > WINDOW_MIN ? window : WINDOW_MIN) ||
           batch->item_bytes >= WINDOW_BYTES;
}

/* A line of its own, unless an earlier run finished it. */
static void take(struct batch *batch, struct batch_line *line, bool good) {
    struct batch_item *item = NULL;
    if (good && done_take(&batch->done, (struct span){line->key.data, line->key.length})) {
        batch_line_free(line);
        return;
    }
    if (good)
        item = add_item(batch);
    if (!item) {
        batch_line_free(line);
        fail(batch, "out of memory");
        return;
    }
    item->line = *line;
    batch->item_bytes += line->size;
    if (line->fault[0])
        finish_item(batch, item, record_write_invalid(&item->record, &item->line));
    if (is_window_full(batch))
        input_pause(&batch->input, true);
}

void batch_take_line(void *context, const unsigned char *bytes, size_t size) {
    struct batch *batch = context;
    struct batch_line line;
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

/* --- all of it --- */

/* Everything is written or on its way: the end, once that is taken. */
static void close_output(struct batch *batch) {
    if (!batch->closing && batch->options->tap)
        tap_end(outbox_queue(&batch->outbox), batch->tally.lines,
                !batch->cut_short && !batch->failure[0]);
    batch->closing = true;
    outbox_flush(&batch->outbox);
    if (batch->outbox.failure)
        fail(batch, "writing the results: %s", strerror(batch->outbox.failure));
    if (outbox_backlog(&batch->outbox) == 0)
        loop_stop(&batch->one_shot.loop);
}

void batch_step(void *context) {
    struct batch *batch = context;
    do {
        input_pause(&batch->input, is_window_full(batch) || is_reader_behind(batch));
        start_waiting(batch);
    } while (emit_done(batch));
    if (!batch->items && (batch->input_ended || batch->stopping))
        close_output(batch);
}

bool batch_open(struct batch *batch, struct error *error) {
    batch->worlds = calloc((size_t)batch->options->jobs, sizeof *batch->worlds);
    if (!batch->worlds)
        return error_set(error, ENOMEM, "worlds");
    for (int64_t i = 0; i < batch->options->jobs; i++) {
        char name[SESSION_NAME_MAX];
        snprintf(name, sizeof name, "%lld", (long long)i + 1);
        batch->worlds[i] = (struct batch_world){
            .batch = batch, .session = sessions_own(&batch->one_shot.sessions, name)};
        if (!batch->worlds[i].session)
            return error_set(error, ENOMEM, "worlds");
    }
    return true;
}

void batch_close(struct batch *batch) {
    while (batch->items)
        remove_item(batch, batch->items);
    free(batch->worlds);
}
