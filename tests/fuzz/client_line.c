/* Fuzz target: the lines of a client. The whole server, except the workers, runs in this process: a
 * call finds no worker, waits for one until it is cancelled, or has one that never answers. The
 * output is checked by the model in tests/support/oracle.h. */
#include "tests/fuzz/in_process.h"
#include "tests/support/oracle.h"

#include <string.h>

/* Corrects the model, which assumes a worker. */
static void expect_no_worker(struct oracle *oracle) {
    for (size_t i = 0; i < oracle->count; i++) {
        struct answer *answer = &oracle->answers[i];
        if (!answer->runs)
            continue;
        answer->kind = answer->may_overflow ? ANSWER_OPEN : ANSWER_ERROR;
        answer->code = in_process.options & OPTION_CALLS_WAIT ? -32001 : -32603;
    }
}

static void tell_sent(struct oracle *oracle, const char *bytes, size_t size) {
    while (size) {
        const char *newline = memchr(bytes, '\n', size);
        size_t length = newline ? (size_t)(newline - bytes) : size;
        oracle_sent(oracle, (struct text){bytes, length});
        length += newline != NULL;
        bytes += length;
        size -= length;
    }
    oracle_end(oracle);
    expect_no_worker(oracle);
}

static bool answers_null(struct text line) {
    struct text id;
    return json_kind(line) == VALUE_OBJECT && json_member(line, "id", &id) &&
           json_kind(id) == VALUE_NULL;
}

struct lines_of {
    struct oracle *oracle;
    bool null;
};

static void see_line(struct text line, void *context) {
    const struct lines_of *lines = context;
    if (answers_null(line) == lines->null)
        FUZZ_CHECK(oracle_received(lines->oracle, line), "%s", lines->oracle->fault);
}

/* Passes the lines with the id null to the model, or the others. An open answer of the model may
 * have its id or null, so the lines with null come last. */
static void check_lines(struct oracle *oracle, bool of_null) {
    in_process_each_line(see_line, &(struct lines_of){oracle, of_null});
}

/* The number of answers that may have the id null: the id is unknown, or too long for the error of
 * an answer over the limit, or the answer is that of a batch. */
static size_t count_without_id(const struct oracle *oracle) {
    enum { LONG_ID = 700 };
    size_t count = 0;
    for (size_t i = 0; i < oracle->count; i++) {
        const struct answer *answer = &oracle->answers[i];
        count += strcmp(answer->id, "null") == 0 || answer->kind == ANSWER_OPEN || answer->batch ||
                 strlen(answer->id) > LONG_ID;
    }
    return count;
}

struct counts {
    size_t answers, without_id;
};

static void count_line(struct text line, void *context) {
    struct counts *counts = context;
    struct text method;
    FUZZ_CHECK(!json_has_lone_surrogate(line), "half a character: %.*s", (int)line.length,
               line.bytes);
    if (json_kind(line) == VALUE_ARRAY)
        counts->answers += json_count(line);
    else
        counts->answers += !json_member(line, "method", &method);
    counts->without_id += answers_null(line);
}

/* No more answers than the model expects, as long as it knows what an array is. */
static void check_count(const struct oracle *oracle) {
    struct counts counts = {0};
    in_process_each_line(count_line, &counts);
    if (fuzz_faults_refused())
        return; /* when out of memory, any line may be answered by an error without id */
    FUZZ_CHECK(oracle->confused || counts.answers <= oracle->count, "%zu answers, not %zu",
               counts.answers, oracle->count);
    FUZZ_CHECK(oracle->confused || counts.without_id <= count_without_id(oracle), "%zu without id",
               counts.without_id);
}

static void check_output(struct oracle *oracle) {
    if ((in_process.options & OPTION_LOOSE) || oracle->confused || fuzz_faults_refused()) {
        check_count(oracle);
        return;
    }
    check_lines(oracle, false);
    check_lines(oracle, true);
    const struct answer *due = oracle_first_due(oracle);
    FUZZ_CHECK(!due, "no answer to id %s (error %d)", due->id, due->code);
}

static struct oracle model_of(const struct settings *settings) {
    struct oracle oracle = oracle_make();
    oracle.batches = settings->batches;
    oracle.minimal = settings->minimal;
    oracle.reply_error = settings->cancel_reply == CANCEL_REPLY_ERROR;
    oracle.no_lisp = true;
    oracle.any_notification = true;
    oracle.line_max = (size_t)settings->request_max_bytes;
    oracle.depth_max = (size_t)settings->json_max_depth;
    oracle.queue_max = (size_t)settings->session_queue;
    return oracle;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct settings settings;
    in_process_begin(data, size);
    fuzz_faults_begin(&in_process.input);
    fuzz_faults_pause();
    in_process.workers = in_process.options & OPTION_LOOSE;
    in_process_settings(&settings);
    struct oracle oracle = model_of(&settings);
    tell_sent(&oracle, (const char *)in_process.input.bytes, in_process.input.left);
    fuzz_faults_resume();
    in_process_serve(&settings);
    check_output(&oracle);
    oracle_free(&oracle);
    in_process_end();
    return 0;
}
