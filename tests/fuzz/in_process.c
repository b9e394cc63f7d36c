/* See in_process.h. */
#include "tests/fuzz/in_process.h"
#include "policy/policy.h"
#include "supervisor/mcp/server.h"
#include "supervisor/server/methods.h"
#include "supervisor/server/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { OUTPUT_MAX_BYTES = 64 << 20, FAKES_MAX = 12, FIRST_PID = 100 };

struct in_process in_process;

static struct {
    int log_fd;
    bool refuse_read, refuse_write; /* this time; the next call succeeds */
    struct fake_worker fakes[FAKES_MAX];
    size_t fake_count;
    struct loop *loop;
    struct loop_timer reap;
    int open_before;
} edges;

/* --- streams --- */

bool __wrap_stream_open(struct stream *stream, int fd, bool writing, struct error *error);
ssize_t __wrap_stream_read(const struct stream *stream, void *bytes, size_t size);
ssize_t __wrap_stream_write(const struct stream *stream, const void *bytes, size_t size);
bool __wrap_stdio_detach(struct error *error);
bool __wrap_policy_probe(const struct policy *policy, struct policy_report *report,
                         struct error *error);
bool __wrap_pool_open(struct pool *pool, struct loop *loop, struct log *log,
                      const struct settings *settings, struct error *error);
void __wrap_pool_start(struct pool *pool);
void __wrap_pool_dismiss_launcher(struct pool *pool);
bool __wrap_pool_confine_supervisor(struct pool *pool, struct error *error);
void __wrap_pool_take(struct pool *pool, struct pool_waiter *waiter);
void __wrap_pool_close(struct pool *pool);
size_t __wrap_worker_resident_bytes(const struct worker_process *worker);
void __wrap_worker_measure(struct worker_process *worker);
bool __wrap_weigher_ask(struct weigher *weigher, pid_t pid);
int __wrap_policy_oom_open(void);
bool __wrap_policy_oom_prefer(pid_t pid, enum policy_oom_order order);

/* A file that epoll refuses is always ready. */
bool __wrap_stream_open(struct stream *stream, int fd, bool writing, struct error *error) {
    (void)writing, (void)error;
    *stream = (struct stream){.fd = open("/dev/null", O_RDWR | O_CLOEXEC), .restore_flags = -1};
    if (fd == STDERR_FILENO)
        edges.log_fd = stream->fd;
    return true;
}

static bool is_refused(bool *this_time, enum option option) {
    *this_time = (in_process.options & option) && !*this_time;
    return *this_time;
}

static size_t piece_of(size_t size, enum option option) {
    return (in_process.options & option) && size > in_process.piece ? in_process.piece : size;
}

static ssize_t refuse(void) {
    errno = EAGAIN;
    return -1;
}

ssize_t __wrap_stream_read(const struct stream *stream, void *bytes, size_t size) {
    enum { PAUSE_NS = 300000000 };
    (void)stream;
    size_t taken = 0;
    if (is_refused(&edges.refuse_read, OPTION_READ_PIECES)) {
        if (in_process.options & OPTION_LOOSE)
            fuzz_edges.now_ns += PAUSE_NS;
        return refuse();
    }
    const uint8_t *piece = in_process.take(piece_of(size, OPTION_READ_PIECES), &taken);
    if (!piece)
        return refuse();
    if (taken)
        memcpy(bytes, piece, taken);
    return (ssize_t)taken;
}

ssize_t __wrap_stream_write(const struct stream *stream, const void *bytes, size_t size) {
    if (stream->fd == edges.log_fd) {
        fuzz_faults_pause();
        buffer_append(&in_process.log, bytes, size);
        fuzz_faults_resume();
        return (ssize_t)size;
    }
    if (is_refused(&edges.refuse_write, OPTION_WRITE_PIECES))
        return refuse();
    size = piece_of(size, OPTION_WRITE_PIECES);
    fuzz_faults_pause();
    FUZZ_CHECK(buffer_append(&in_process.output, bytes, size), "it answers without end");
    fuzz_faults_resume();
    return (ssize_t)size;
}

/* --- the process --- */

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
    TAILQ_INIT(&pool->spares);
    TAILQ_INIT(&pool->waiters);
    return true;
}

void __wrap_pool_start(struct pool *pool) {
    (void)pool;
}

void __wrap_pool_dismiss_launcher(struct pool *pool) {
    (void)pool;
}

bool __wrap_pool_confine_supervisor(struct pool *pool, struct error *error) {
    (void)pool, (void)error;
    return true;
}

static void nothing(void *context, struct worker_process *worker) {
    (void)context, (void)worker;
}

static const struct worker_events no_events = {.ready = nothing};

/* --- workers --- */

/* Their pids are invented and may exist on the machine. */
size_t __wrap_worker_resident_bytes(const struct worker_process *worker) {
    (void)worker;
    return 0;
}

void __wrap_worker_measure(struct worker_process *worker) {
    (void)worker;
}

bool __wrap_weigher_ask(struct weigher *weigher, pid_t pid) {
    (void)weigher, (void)pid;
    return false;
}

int __wrap_policy_oom_open(void) {
    return -1;
}

bool __wrap_policy_oom_prefer(pid_t pid, enum policy_oom_order order) {
    (void)pid, (void)order;
    return false;
}

static void leave(struct fake_worker *fake) {
    loop_watch_remove(edges.loop, &fake->watch);
    if (in_process.on_gone)
        in_process.on_gone(fake);
}

static void on_channel(void *context, uint32_t events) {
    (void)events;
    struct fake_worker *fake = context;
    struct frame_header header;
    unsigned char *payload = NULL;
    int descriptors[FRAME_DESCRIPTORS_MAX];
    size_t count = 0;
    int got = frame_receive(fake->channel, &header, &payload, descriptors, &count, NULL);
    FUZZ_CHECK(count == 0, "a descriptor for a worker");
    if (got > 0)
        in_process.on_frame(fake, &header, payload);
    else
        leave(fake);
    free(payload);
}

/* NULL when there are too many already. */
static struct fake_worker *make_fake(struct pool *pool, struct pipes **pipes) {
    if (edges.fake_count == FAKES_MAX)
        return NULL;
    struct fake_worker *fake = &edges.fakes[edges.fake_count];
    *pipes = pipes_open(pool->loop, pool->settings, fake->outputs, NULL);
    fake->worker = worker_create(&pool->workers, &no_events, NULL, &fake->channel, NULL);
    FUZZ_CHECK(*pipes && fake->worker, "no worker");
    fake->worker->state = WORKER_READY;
    fake->worker->outputs = (*pipes)->serial;
    fake->worker->pid = FIRST_PID + (pid_t)edges.fake_count++;
    edges.loop = pool->loop;
    if (in_process.on_frame)
        FUZZ_CHECK(loop_watch_add(pool->loop, &fake->watch, fake->channel, EPOLLIN, on_channel,
                                  fake, NULL),
                   "no watch");
    return fake;
}

/* The writer of CHANNEL, an end of the server. */
static pid_t sender(int channel) {
    for (const struct fake_worker *fake = edges.fakes; fake < edges.fakes + edges.fake_count;
         fake++)
        if (fake->worker && fake->worker->channel == channel)
            return fake->worker->pid;
    FUZZ_CHECK(false, "it reads from a stranger");
    return -1;
}

static void on_reap(void *context) {
    (void)context;
    for (struct fake_worker *fake = edges.fakes; fake < edges.fakes + edges.fake_count; fake++) {
        struct worker_process *worker = fake->worker;
        if (!worker || !fake->killed)
            continue;
        fake->worker = NULL;
        worker_reaped(worker, SIGKILL, (struct usage){0});
    }
}

static void on_kill(pid_t pid, int number) {
    size_t index = (size_t)(pid - FIRST_PID);
    FUZZ_CHECK(pid >= FIRST_PID && index < edges.fake_count && edges.fakes[index].worker,
               "it signals %d", (int)pid);
    edges.fakes[index].killed |= number == SIGKILL;
    loop_timer_start(edges.loop, &edges.reap, 0, on_reap, NULL);
}

void __wrap_pool_take(struct pool *pool, struct pool_waiter *waiter) {
    struct pipes *pipes = NULL;
    fuzz_faults_pause();
    struct fake_worker *fake = in_process.workers ? make_fake(pool, &pipes) : NULL;
    fuzz_faults_resume();
    if (fake) {
        static const char printed[] = "some \xc3\xa9 \xff";
        waiter->served(waiter->context, fake->worker, pipes, NULL);
        FUZZ_CHECK(write(fake->outputs[0], printed, sizeof printed) > 0 &&
                       write(fake->outputs[1], printed, sizeof printed) > 0,
                   "no room");
        return;
    }
    if (in_process.options & OPTION_CALLS_WAIT) {
        waiter->waiting = true;
        TAILQ_INSERT_TAIL(&pool->waiters, waiter, entry);
        pool->waiter_count++;
    } else {
        waiter->served(waiter->context, NULL, NULL, "this is a test");
    }
}

void __wrap_pool_close(struct pool *pool) {
    FUZZ_CHECK(TAILQ_EMPTY(&pool->waiters), "somebody still waits for a worker");
    loop_timer_stop(pool->loop, &edges.reap);
    while (!LIST_EMPTY(&pool->workers.list))
        worker_destroy(LIST_FIRST(&pool->workers.list));
    for (struct fake_worker *fake = edges.fakes; fake < edges.fakes + edges.fake_count; fake++) {
        if (fake->watch.active)
            leave(fake);
        close(fake->channel);
        close(fake->outputs[0]);
        close(fake->outputs[1]);
    }
}

/* --- a run --- */

static void check_log(void) {
    const char *bytes = (const char *)in_process.log.data;
    for (size_t at = 0, start = 0; at < in_process.log.length; at++) {
        FUZZ_CHECK(bytes[at] == '\n' || (unsigned char)bytes[at] >= ' ', "a control character");
        if (bytes[at] != '\n')
            continue;
        struct text line = {bytes + start, at - start};
        const char *fault = json_fault(line, 8);
        FUZZ_CHECK(!(in_process.options & OPTION_LOG_JSON) || !fault, "%s: %.*s", fault,
                   (int)line.length, line.bytes);
        start = at + 1;
    }
}

void in_process_settings(struct settings *settings) {
    settings_default(settings);
    settings->session_record = RECORD_OFF; /* workers have no memory here */
    settings->batches = (in_process.options & OPTION_BATCHES) != 0;
    settings->minimal = (in_process.options & OPTION_MINIMAL) != 0;
    settings->log_format = (in_process.options & OPTION_LOG_JSON) != 0;
    settings->log_level =
        in_process.options & OPTION_LOG_ALL ? (int)LOG_DEBUG_LEVEL : (int)LOG_WARNING_LEVEL;
    settings->cancel_reply = CANCEL_REPLY_ERROR;
    if (in_process.options & OPTION_TIGHT) {
        settings->request_max_bytes = 1024;
        settings->json_max_depth = 8;
        settings->session_queue = 1;
    }
    if (in_process.options & OPTION_LOOSE) {
        settings->response_max_bytes = 1024;
        settings->json_max_values = 64;
        settings->session_max = 2;
        settings->list_page_size = 2;
        settings->cancel_reply =
            in_process.options & OPTION_TIGHT ? CANCEL_REPLY_SILENT : CANCEL_REPLY_AUTO;
    }
}

static const uint8_t *take(size_t size, size_t *taken) {
    static const uint8_t end;
    const uint8_t *bytes = fuzz_bytes(&in_process.input, size, taken);
    return *taken ? bytes : &end;
}

void in_process_begin(const uint8_t *data, size_t size) {
    memset(&edges, 0, sizeof edges);
    edges.open_before = fuzz_open_descriptors();
    fuzz_edges = (struct fuzz_edges){
        .now_ns = 1, .waiting_passes = true, .killed = on_kill, .sender = sender};
    in_process = (struct in_process){.input = {data, size},
                                     .output = buffer_make(OUTPUT_MAX_BYTES),
                                     .log = buffer_make(OUTPUT_MAX_BYTES),
                                     .take = take};
    in_process.options = fuzz_byte(&in_process.input);
    in_process.options |= (unsigned)fuzz_byte(&in_process.input) << 8;
    in_process.piece = ((in_process.options & PIECE) >> 8) + 1;
}

void in_process_serve(const struct settings *settings) {
    int status = server_run(settings, &method_table);
    fuzz_faults_end();
    FUZZ_CHECK(status == 0 || fuzz_faults_refused(), "status %d", status);
    check_log();
    FUZZ_CHECK(fuzz_open_descriptors() == edges.open_before, "a descriptor was left open");
}

void in_process_end(void) {
    buffer_free(&in_process.output);
    buffer_free(&in_process.log);
}

void in_process_each_line(void (*see)(struct text line, void *context), void *context) {
    enum { DEPTH_MAX = 512 };
    struct text lines = {(const char *)in_process.output.data, in_process.output.length};
    while (lines.length) {
        const char *newline = memchr(lines.bytes, '\n', lines.length);
        FUZZ_CHECK(newline, "half a line: %.*s", (int)lines.length, lines.bytes);
        struct text line = {lines.bytes, (size_t)(newline - lines.bytes)};
        const char *fault = json_fault(line, DEPTH_MAX);
        FUZZ_CHECK(!fault, "%s: %.*s", fault, (int)line.length, line.bytes);
        see(line, context);
        lines = (struct text){newline + 1, lines.length - line.length - 1};
    }
}
