/* Fuzz target: what a client sends. The whole server runs in this process on the bytes of the
 * input, with nothing cut off but the workers: a call finds none, waits for one until it is
 * cancelled, or has one that never answers. What comes back is held against the model of the
 * contract in tests/support/oracle.h. */
#include "common/buffer.h"
#include "policy/policy.h"
#include "supervisor/server.h"
#include "supervisor/settings.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/json.h"
#include "tests/support/oracle.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The first two bytes of the input choose how the run goes. */
enum option {
    OPTION_BATCHES = 1,
    OPTION_MINIMAL = 2,
    OPTION_CALLS_WAIT = 4, /* else there is no worker at once */
    OPTION_TIGHT = 8,      /* request.max_bytes and json.max_depth at their least */
    OPTION_LOG_JSON = 16,
    OPTION_LOG_ALL = 32,
    OPTION_READ_PIECES = 64,
    OPTION_WRITE_PIECES = 128,
    PIECE = 0x7f00, /* how big the pieces are */
    /* Short answers, silence, workers that never answer, time that passes: the model counts only.
     */
    OPTION_LOOSE = 0x8000
};

enum { OUTPUT_MAX_BYTES = 64 << 20, MUTES_MAX = 6, FIRST_PID = 100 };

/* A worker that prints a little and never answers: its ends of what it shares with the server. */
struct mute {
    struct worker_process *worker; /* NULL: reaped */
    int channel, outputs[2];
    bool killed;
};

static struct run {
    struct fuzz_input input;
    unsigned options;
    size_t piece;
    int log_fd;
    bool refuse_read, refuse_write; /* this time; the next is served */
    struct buffer output, log;
    struct mute mutes[MUTES_MAX];
    size_t mute_count;
    struct loop *loop;
    struct loop_timer reap;
} run;

/* --- the edges --- */

bool __wrap_stream_open(struct stream *stream, int fd, bool writing, struct error *error);
ssize_t __wrap_stream_read(const struct stream *stream, void *bytes, size_t size);
ssize_t __wrap_stream_write(const struct stream *stream, const void *bytes, size_t size);
bool __wrap_stdio_fill(struct error *error);
bool __wrap_stdio_detach(struct error *error);
bool __wrap_policy_probe(const struct policy *policy, struct policy_report *report,
                         struct error *error);
bool __wrap_pool_open(struct pool *pool, struct loop *loop, struct log *log,
                      const struct settings *settings, struct error *error);
void __wrap_pool_start(struct pool *pool);
void __wrap_pool_take(struct pool *pool, struct pool_waiter *waiter);
void __wrap_pool_close(struct pool *pool);

/* A descriptor that epoll refuses is always ready. */
bool __wrap_stream_open(struct stream *stream, int fd, bool writing, struct error *error) {
    (void)writing, (void)error;
    *stream = (struct stream){.fd = open("/dev/null", O_RDWR | O_CLOEXEC), .restore_flags = -1};
    if (fd == STDERR_FILENO)
        run.log_fd = stream->fd;
    return true;
}

static bool refused(bool *this_time, enum option option) {
    *this_time = (run.options & option) && !*this_time;
    return *this_time;
}

static size_t piece_of(size_t size, enum option option) {
    return (run.options & option) && size > run.piece ? run.piece : size;
}

ssize_t __wrap_stream_read(const struct stream *stream, void *bytes, size_t size) {
    enum { PAUSE_NS = 300000000 };
    (void)stream;
    size_t taken;
    if (refused(&run.refuse_read, OPTION_READ_PIECES)) {
        if (run.options & OPTION_LOOSE)
            fuzz_edges.now_ns += PAUSE_NS;
        errno = EAGAIN;
        return -1;
    }
    const uint8_t *piece = fuzz_bytes(&run.input, piece_of(size, OPTION_READ_PIECES), &taken);
    if (taken)
        memcpy(bytes, piece, taken);
    return (ssize_t)taken;
}

ssize_t __wrap_stream_write(const struct stream *stream, const void *bytes, size_t size) {
    if (stream->fd == run.log_fd) {
        buffer_append(&run.log, bytes, size);
        return (ssize_t)size;
    }
    if (refused(&run.refuse_write, OPTION_WRITE_PIECES)) {
        errno = EAGAIN;
        return -1;
    }
    size = piece_of(size, OPTION_WRITE_PIECES);
    FUZZ_CHECK(buffer_append(&run.output, bytes, size), "it answers without end");
    return (ssize_t)size;
}

bool __wrap_stdio_fill(struct error *error) {
    (void)error;
    return true;
}

bool __wrap_stdio_detach(struct error *error) {
    (void)error;
    return true;
}

bool __wrap_policy_probe(const struct policy *policy, struct policy_report *report,
                         struct error *error) {
    (void)policy, (void)report, (void)error;
    return true;
}

bool __wrap_pool_open(struct pool *pool, struct loop *loop, struct log *log,
                      const struct settings *settings, struct error *error) {
    (void)error;
    *pool = (struct pool){.loop = loop,
                          .log = log,
                          .settings = settings,
                          .workers = {.loop = loop, .log = log},
                          .zygote_channel = -1,
                          .zygote_stderr = -1,
                          .closing = true};
    return true;
}

void __wrap_pool_start(struct pool *pool) {
    (void)pool;
}

static void nothing(void *context, struct worker_process *worker) {
    (void)context, (void)worker;
}

static const struct worker_events no_events = {.ready = nothing};

/* NULL when there are too many already. */
static struct mute *make_mute(struct pool *pool, struct outlet **outlet) {
    if (run.mute_count == MUTES_MAX)
        return NULL;
    struct mute *mute = &run.mutes[run.mute_count];
    *outlet = outlet_open(pool->loop, pool->settings, mute->outputs, NULL);
    mute->worker = worker_create(&pool->workers, &no_events, NULL, &mute->channel, NULL);
    FUZZ_CHECK(*outlet && mute->worker, "no worker");
    mute->worker->state = WORKER_READY;
    mute->worker->pid = FIRST_PID + (pid_t)run.mute_count++;
    run.loop = pool->loop;
    return mute;
}

static void on_reap(void *context) {
    (void)context;
    for (struct mute *mute = run.mutes; mute < run.mutes + run.mute_count; mute++) {
        struct worker_process *worker = mute->worker;
        if (!worker || !mute->killed)
            continue;
        mute->worker = NULL;
        worker_reaped(worker, SIGKILL, (struct usage){0});
    }
}

static void on_kill(pid_t pid, int number) {
    size_t index = (size_t)(pid - FIRST_PID);
    FUZZ_CHECK(pid >= FIRST_PID && index < run.mute_count && run.mutes[index].worker,
               "it signals %d", (int)pid);
    run.mutes[index].killed |= number == SIGKILL;
    loop_timer_start(run.loop, &run.reap, 0, on_reap, NULL);
}

void __wrap_pool_take(struct pool *pool, struct pool_waiter *waiter) {
    struct outlet *outlet = NULL;
    struct mute *mute = run.options & OPTION_LOOSE ? make_mute(pool, &outlet) : NULL;
    if (mute) {
        static const char printed[] = "some \xc3\xa9 \xff";
        waiter->served(waiter->context, mute->worker, outlet, NULL);
        FUZZ_CHECK(write(mute->outputs[0], printed, sizeof printed) > 0 &&
                       write(mute->outputs[1], printed, sizeof printed) > 0,
                   "no room");
        return;
    }
    if (run.options & OPTION_CALLS_WAIT) {
        waiter->waiting = true;
        waiter->next = pool->waiters;
        pool->waiters = waiter;
    } else {
        waiter->served(waiter->context, NULL, NULL, "this is a test");
    }
}

void __wrap_pool_close(struct pool *pool) {
    FUZZ_CHECK(!pool->waiters, "somebody still waits for a worker");
    loop_timer_stop(pool->loop, &run.reap);
    while (pool->workers.first)
        worker_destroy(pool->workers.first);
    for (struct mute *mute = run.mutes; mute < run.mutes + run.mute_count; mute++) {
        close(mute->channel);
        close(mute->outputs[0]);
        close(mute->outputs[1]);
    }
}

/* --- the oracle --- */

/* Corrects what the model takes for granted: a worker. */
static void expect_no_worker(struct oracle *oracle) {
    for (size_t i = 0; i < oracle->count; i++) {
        struct answer *answer = &oracle->answers[i];
        if (answer->kind != ANSWER_RESULT || answer->shape != SHAPE_CALL)
            continue;
        answer->kind = answer->may_overflow ? ANSWER_OPEN : ANSWER_ERROR;
        answer->code = run.options & OPTION_CALLS_WAIT ? -32001 : -32603;
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
    expect_no_worker(oracle);
}

static bool answers_null(struct text line) {
    struct text id;
    return json_kind(line) == VALUE_OBJECT && json_member(line, "id", &id) &&
           json_kind(id) == VALUE_NULL;
}

/* Hands the lines that answer the id null to the model, or those that do not. An open answer of
 * the model may come with its id or with null: who takes it must be told last. */
static void check_lines(struct oracle *oracle, bool of_null) {
    const char *bytes = (const char *)run.output.data;
    size_t left = run.output.length;
    while (left) {
        const char *newline = memchr(bytes, '\n', left);
        FUZZ_CHECK(newline, "half a line: %.*s", (int)left, bytes);
        struct text line = {bytes, (size_t)(newline - bytes)};
        const char *fault = json_fault(line, 512);
        FUZZ_CHECK(!fault, "%s: %.*s", fault, (int)line.length, line.bytes);
        if (answers_null(line) == of_null)
            FUZZ_CHECK(oracle_received(oracle, line), "%s", oracle->fault);
        left -= line.length + 1;
        bytes = newline + 1;
    }
}

/* How many answers may have no id: it is not known, or too long to go with the error of an answer
 * over the limit, or that of a whole batch. */
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

/* No more answers than the model foresees, as long as it knows what an array is. */
static void check_count(const struct oracle *oracle) {
    struct text lines = {(const char *)run.output.data, run.output.length};
    size_t answers = 0, without_id = 0;
    while (lines.length) {
        const char *newline = memchr(lines.bytes, '\n', lines.length);
        FUZZ_CHECK(newline, "half a line: %.*s", (int)lines.length, lines.bytes);
        struct text line = {lines.bytes, (size_t)(newline - lines.bytes)}, method;
        const char *fault = json_fault(line, 512);
        FUZZ_CHECK(!fault, "%s: %.*s", fault, (int)line.length, line.bytes);
        FUZZ_CHECK(!json_has_lone_surrogate(line), "half a character: %.*s", (int)line.length,
                   line.bytes);
        if (json_kind(line) == VALUE_ARRAY)
            answers += json_count(line);
        else
            answers += !json_member(line, "method", &method);
        without_id += answers_null(line);
        lines = (struct text){newline + 1, lines.length - line.length - 1};
    }
    FUZZ_CHECK(oracle->confused || answers <= oracle->count, "%zu answers, not %zu", answers,
               oracle->count);
    FUZZ_CHECK(oracle->confused || without_id <= count_without_id(oracle), "%zu without id",
               without_id);
}

static void check_output(struct oracle *oracle) {
    if ((run.options & OPTION_LOOSE) || oracle->confused) {
        check_count(oracle);
        return;
    }
    check_lines(oracle, false);
    check_lines(oracle, true);
    const struct answer *due = oracle_first_due(oracle);
    FUZZ_CHECK(!due, "no answer to id %s (error %d)", due->id, due->code);
}

static void check_log(void) {
    const char *bytes = (const char *)run.log.data;
    for (size_t at = 0, start = 0; at < run.log.length; at++) {
        FUZZ_CHECK(bytes[at] == '\n' || (unsigned char)bytes[at] >= ' ', "a control character");
        if (bytes[at] != '\n')
            continue;
        struct text line = {bytes + start, at - start};
        const char *fault = json_fault(line, 8);
        FUZZ_CHECK(!(run.options & OPTION_LOG_JSON) || !fault, "%s: %.*s", fault, (int)line.length,
                   line.bytes);
        start = at + 1;
    }
}

static void choose_settings(struct settings *settings) {
    settings_default(settings);
    settings->batches = (run.options & OPTION_BATCHES) != 0;
    settings->minimal = (run.options & OPTION_MINIMAL) != 0;
    settings->log_format = (run.options & OPTION_LOG_JSON) != 0;
    settings->log_level =
        run.options & OPTION_LOG_ALL ? (int)LOG_DEBUG_LEVEL : (int)LOG_WARNING_LEVEL;
    settings->cancel_reply = CANCEL_REPLY_ERROR;
    if (run.options & OPTION_TIGHT) {
        settings->request_max_bytes = 1024;
        settings->json_max_depth = 8;
        settings->session_queue = 1;
    }
    if (run.options & OPTION_LOOSE) {
        settings->response_max_bytes = 1024;
        settings->json_max_values = 64;
        settings->session_max = 2;
        settings->list_page_size = 2;
        settings->cancel_reply =
            run.options & OPTION_TIGHT ? CANCEL_REPLY_SILENT : CANCEL_REPLY_AUTO;
    }
}

static struct oracle model_of(const struct settings *settings) {
    struct oracle oracle = oracle_make();
    oracle.batches = settings->batches;
    oracle.minimal = settings->minimal;
    oracle.line_max = (size_t)settings->request_max_bytes;
    oracle.depth_max = (size_t)settings->json_max_depth;
    oracle.queue_max = (size_t)settings->session_queue;
    return oracle;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct fuzz_input input = {data, size};
    struct settings settings;
    int open_before = fuzz_open_descriptors();
    fuzz_edges = (struct fuzz_edges){.now_ns = 1, .waiting_passes = true, .killed = on_kill};
    run =
        (struct run){.output = buffer_make(OUTPUT_MAX_BYTES), .log = buffer_make(OUTPUT_MAX_BYTES)};
    run.options = fuzz_byte(&input);
    run.options |= (unsigned)fuzz_byte(&input) << 8;
    run.piece = ((run.options & PIECE) >> 8) + 1;
    run.input = input;
    choose_settings(&settings);
    struct oracle oracle = model_of(&settings);
    tell_sent(&oracle, (const char *)input.bytes, input.left);
    int status = server_run(&settings);
    FUZZ_CHECK(status == 0, "status %d", status);
    check_output(&oracle);
    check_log();
    FUZZ_CHECK(fuzz_open_descriptors() == open_before, "a descriptor was left open");
    oracle_free(&oracle);
    buffer_free(&run.output);
    buffer_free(&run.log);
    return 0;
}
