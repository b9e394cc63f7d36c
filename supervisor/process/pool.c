/* The zygote, the spares, and requests for them. */
#include "supervisor/process/pool.h"
#include "common/child.h"
#include "common/cleanup.h"
#include "common/descriptor.h"
#include "supervisor/base/clock.h"
#include "supervisor/process/confinement.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CONTROL_FD = 3,        /* where the zygote finds its channel */
    BOOT_LIMIT_MS = 20000, /* from exec to FRAME_BOOTED, and from a spawn to its worker */
    CLOSE_LIMIT_MS = 2000,
    HURRIED_CLOSE_LIMIT_MS = 40,
    FAILURES_MAX = 3 /* in a row, before the waiting requests fail */
};

static void trace(const struct pool *pool, pid_t pid, const char *what) {
    const struct log_event event = {.name = "pool", .pid = pid};
    LOG_TRACE(pool->log, &event, "%s; %zu spare, %zu waiting", what, pool->spare_count,
              pool->waiter_count);
}

static void record_failure(struct pool *pool, const char *reason) {
    const struct log_event event = {.level = LOG_ERROR_LEVEL, .name = "no-worker"};
    pool->failures++;
    snprintf(pool->last_failure, sizeof pool->last_failure, "%s", reason);
    log_write(pool->log, &event, "%s", reason);
}

/* Fails all requests that wait now; a later request tries again. A callback may withdraw others. */
static void fail_waiters(struct pool *pool) {
    for (size_t left = pool->waiter_count; left && !TAILQ_EMPTY(&pool->waiters); left--) {
        struct pool_waiter *waiter = TAILQ_FIRST(&pool->waiters);
        pool_withdraw(pool, waiter);
        waiter->served(waiter->context, NULL, NULL, pool->last_failure);
    }
}

static void retry_or_fail(struct pool *pool) {
    if (pool->closing)
        return;
    if (pool->failures >= FAILURES_MAX) {
        fail_waiters(pool);
        pool->failures = 0;
    } else {
        pool_start(pool);
    }
}

/* --- spares --- */

static struct pool_spare *find_spare(const struct pool *pool, const struct worker_process *worker) {
    struct pool_spare *spare = TAILQ_FIRST(&pool->spares);
    while (spare && spare->worker != worker)
        spare = TAILQ_NEXT(spare, entry);
    return spare;
}

static struct pool_spare *spare_in_state(const struct pool *pool, enum worker_state state) {
    struct pool_spare *spare = TAILQ_FIRST(&pool->spares);
    while (spare && spare->worker->state != state)
        spare = TAILQ_NEXT(spare, entry);
    return spare;
}

/* The worker is no longer the pool's. Returns its pipes, which are the caller's. */
static struct pipes *release_spare(struct pool *pool, struct pool_spare *spare) {
    struct pipes *pipes = spare->pipes;
    TAILQ_REMOVE(&pool->spares, spare, entry);
    pool->spare_count--;
    free(spare);
    return pipes;
}

static void drop_spare(struct pool *pool, struct pool_spare *spare) {
    pipes_close(release_spare(pool, spare));
}

static void drop_starting(struct pool *pool) {
    struct pool_spare *spare;
    while ((spare = spare_in_state(pool, WORKER_STARTING)))
        drop_spare(pool, spare);
}

static void on_boot_limit(void *context) {
    struct pool *pool = context;
    char reason[80];
    snprintf(reason, sizeof reason, "no worker became ready within %d s",
             BOOT_LIMIT_MS / CLOCK_MS_PER_S);
    record_failure(pool, reason);
    pool->explained = true;
    if (pool->zygote_pid > 1)
        workers_signal(&pool->workers, pool->zygote_pid, SIGKILL); /* zygote_died continues */
}

/* The limit starts again with each worker that becomes ready while others are starting. */
static void watch_boot(struct pool *pool) {
    if (spare_in_state(pool, WORKER_STARTING))
        loop_timer_start(pool->loop, &pool->boot_timer, BOOT_LIMIT_MS, on_boot_limit, pool);
    else
        loop_timer_stop(pool->loop, &pool->boot_timer);
}

static void serve(struct pool *pool, struct pool_spare *spare, struct pool_waiter *waiter) {
    struct worker_process *worker = spare->worker;
    struct pipes *pipes = release_spare(pool, spare);
    trace(pool, worker->pid, "worker handed out");
    waiter->served(waiter->context, worker, pipes, NULL);
    pool_start(pool);
}

static void spare_ready(void *context, struct worker_process *worker) {
    struct pool *pool = context;
    struct pool_spare *spare = find_spare(pool, worker);
    if (!spare) {
        worker_kill(worker); /* dropped while it started */
        return;
    }
    trace(pool, worker->pid, "worker ready");
    pool->failures = pool->failures_at_boot = 0;
    watch_boot(pool);
    struct pool_waiter *waiter = TAILQ_FIRST(&pool->waiters);
    if (!waiter)
        return;
    pool_withdraw(pool, waiter);
    serve(pool, spare, waiter);
}

static void spare_malformed(void *context, struct worker_process *worker, const char *what) {
    struct pool *pool = context;
    struct pool_spare *spare = find_spare(pool, worker);
    if (!spare)
        return; /* dropped when the zygote died, which was counted */
    drop_spare(pool, spare);
    drop_starting(pool); /* they fail for the same reason, which counts once */
    watch_boot(pool);
    record_failure(pool, what);
    retry_or_fail(pool);
}

static void spare_ended(void *context, struct worker_process *worker, int status) {
    struct pool *pool = context;
    (void)status;
    struct pool_spare *spare = find_spare(pool, worker);
    if (spare)
        drop_spare(pool, spare);
    worker_destroy(worker);
    if (spare && !pool->closing)
        pool_start(pool);
}

static void spare_violation(void *context, struct worker_process *worker, const char *call_name) {
    char what[120];
    snprintf(what, sizeof what, "a worker made the forbidden system call %s before its first call",
             call_name);
    spare_malformed(context, worker, what);
}

/* A spare is neither asked to evaluate nor to fork, so it has no other events. */
static const struct worker_events spare_events = {.ready = spare_ready,
                                                  .malformed = spare_malformed,
                                                  .violation = spare_violation,
                                                  .ended = spare_ended};

/* Requests the worker of SPARE from the zygote. False with *error; its text is empty if the zygote
 * is ending, since zygote_died reports that. */
static bool request_spare(struct pool *pool, struct pool_spare *spare, struct error *error) {
    const struct frame_header header = {.type = FRAME_SPAWN};
    int descriptors[3]; /* channel, standard output, error output */
    spare->pipes = pipes_open(pool->loop, pool->settings, descriptors + 1, error);
    if (!spare->pipes)
        return false;
    spare->worker = worker_create(&pool->workers, &spare_events, pool, &descriptors[0], error);
    bool sent = false;
    if (spare->worker) {
        spare->worker->outputs = spare->pipes->serial;
        sent = frame_send(pool->zygote_channel, &header, NULL, descriptors, 3, error);
        close(descriptors[0]);
        if (!sent) {
            worker_destroy(spare->worker);
            if (error->code == EPIPE || error->code == ECONNRESET)
                error->text[0] = 0;
        }
    }
    close(descriptors[1]);
    close(descriptors[2]);
    return sent;
}

/* Starts one more spare. */
static bool start_spare(struct pool *pool) {
    struct error error = {.text = "spare: out of memory"};
    struct pool_spare *spare = calloc(1, sizeof *spare);
    if (spare && request_spare(pool, spare, &error)) {
        TAILQ_INSERT_TAIL(&pool->spares, spare, entry);
        pool->spare_count++;
        trace(pool, 0, "worker requested");
        if (!pool->boot_timer.active)
            watch_boot(pool);
        return true;
    }
    if (spare)
        pipes_close(spare->pipes);
    free(spare);
    if (error.text[0]) {
        record_failure(pool, error.text);
        fail_waiters(pool);
    }
    return false;
}

/* --- the zygote --- */

static void close_zygote(struct pool *pool) {
    if (pool->compilation)
        compiler_cancel(pool->compilation);
    pool->compilation = NULL;
    if (pool->launched.reports >= 0)
        close(pool->launched.reports);
    pool->launched.reports = -1;
    loop_timer_stop(pool->loop, &pool->boot_timer);
    loop_watch_remove(pool->loop, &pool->zygote_watch);
    loop_watch_remove(pool->loop, &pool->zygote_stderr_watch);
    if (pool->zygote_channel >= 0)
        close(pool->zygote_channel);
    if (pool->zygote_stderr >= 0)
        close(pool->zygote_stderr);
    pool->zygote_channel = pool->zygote_stderr = -1;
    pool->zygote = ZYGOTE_ABSENT;
}

static void log_missing_image(const struct pool *pool) {
    const struct log_event event = {.level = LOG_INFO_LEVEL, .name = "image"};
    const struct image_cache *images = &pool->programs.images;
    if (!images->used && !pool->layers_logged && IMAGE_SUPPORTED &&
        pool->settings->image != IMAGE_CHOICE_OFF)
        log_write(pool->log, &event, "Lisp boots at each start: %s", images->why);
}

/* Adds the layers that the zygote reports to those of its launch. Logs the missing ones, once. */
static void record_layers(struct pool *pool, const struct policy_report *report) {
    const struct log_event event = {.level = LOG_INFO_LEVEL, .name = "layer-missing"};
    for (unsigned layer = 0; layer < POLICY_LAYER_COUNT; layer++) {
        if (pool->report.layers[layer].state == POLICY_OFF)
            pool->report.layers[layer] = report->layers[layer];
        if (pool->report.layers[layer].state == POLICY_UNAVAILABLE && !pool->layers_logged)
            log_write(pool->log, &event, "%s: %s", policy_layer_name(layer),
                      pool->report.layers[layer].why);
    }
    log_missing_image(pool);
    pool->layers_logged = true;
}

/* Only workers of a zygote that was made of an image can become the image of a session, or have one
 * made. So with saved sessions a zygote that has just written its image gives way to one that is
 * made of it. */
static void replace_zygote(struct pool *pool) {
    if (!pool->settings->state.count || pool->has_replaced)
        return;
    pool->replaces = pool->has_replaced = true;
    trace(pool, pool->zygote_pid, "zygote gives way to one of its image");
    workers_signal(&pool->workers, pool->zygote_pid, SIGKILL); /* zygote_died continues */
}

static void send_object(void *context, const unsigned char *object, size_t size) {
    struct pool *pool = context;
    struct error error;
    const struct frame_header header = {.type = FRAME_OBJECT, .length = (uint32_t)size};
    pool->compilation = NULL;
    if (!frame_send(pool->zygote_channel, &header, object, NULL, 0, &error))
        trace(pool, pool->zygote_pid, "zygote takes no object"); /* it has ended */
}

/* What is preloaded is compiled, too. The zygote waits for each object, and each unit gives it more
 * time. *SOURCE becomes NULL. */
static void compile_for_zygote(struct pool *pool, unsigned char **source, size_t length) {
    loop_timer_start(pool->loop, &pool->boot_timer, BOOT_LIMIT_MS, on_boot_limit, pool);
    unsigned char *taken = *source;
    *source = NULL;
    pool->compilation = compiler_begin(&pool->compiler, taken, length, send_object, pool);
    if (!pool->compilation)
        send_object(pool, NULL, 0);
}

static void on_zygote_frame(void *context, uint32_t events) {
    (void)events;
    struct pool *pool = context;
    struct frame_header header;
    cleanup_free unsigned char *payload = NULL;
    int descriptors[FRAME_DESCRIPTORS_MAX];
    size_t count;
    struct error error;
    if (frame_receive(pool->zygote_channel, &header, &payload, descriptors, &count, &error) <= 0) {
        loop_watch_remove(pool->loop, &pool->zygote_watch); /* it has ended and will be reaped */
        return;
    }
    for (size_t i = 0; i < count; i++)
        close(descriptors[i]);
    if (header.type == FRAME_BOOTED && pool->zygote == ZYGOTE_BOOTING && !pool->replaces &&
        header.length == sizeof(struct policy_report)) {
        if (!policy_launch_finish(&pool->launched, &pool->report, &error)) {
            record_failure(pool, error.text);
            workers_signal(&pool->workers, pool->zygote_pid, SIGKILL); /* zygote_died continues */
            return;
        }
        record_layers(pool, (const struct policy_report *)(const void *)payload);
        pool->zygote = ZYGOTE_UP;
        pool->failures_at_boot = pool->failures;
        if (pool->workers.compiler)
            compiler_start(pool->workers.compiler);
        trace(pool, pool->zygote_pid, "zygote booted");
        loop_timer_stop(pool->loop, &pool->boot_timer);
        pool_start(pool);
    } else if (header.type == FRAME_IMAGE && pool->zygote == ZYGOTE_BOOTING && header.length) {
        const struct log_event event = {.level = LOG_INFO_LEVEL, .name = "image"};
        log_write(pool->log, &event, "%.*s", (int)header.length - 1, (const char *)payload + 1);
        if (payload[0])
            replace_zygote(pool);
    } else if (header.type == FRAME_COMPILE && pool->zygote == ZYGOTE_BOOTING &&
               pool->workers.compiler && !pool->compilation && header.length <= UNIT_TEXT_MAX) {
        compile_for_zygote(pool, &payload, header.length);
    } else if (header.type == FRAME_FAILED) {
        char reason[ERROR_TEXT_BYTES];
        snprintf(reason, sizeof reason, "%.*s", (int)header.length,
                 payload ? (const char *)payload : "");
        record_failure(pool, reason);
        pool->explained = pool->zygote == ZYGOTE_BOOTING;
    }
}

/* The dynamic linker writes to the error output, before the zygote can send frames. */
static void on_zygote_stderr(void *context, uint32_t events) {
    (void)events;
    struct pool *pool = context;
    char text[256];
    ssize_t got = read(pool->zygote_stderr, text, sizeof text - 1);
    if (got <= 0) {
        loop_watch_remove(pool->loop, &pool->zygote_stderr_watch);
        return;
    }
    text[got] = 0;
    const struct log_event event = {.level = LOG_WARNING_LEVEL, .name = "zygote"};
    log_write(pool->log, &event, "%s", text);
}

/* With each launch: the channel of the zygote, and its error output. */
enum { CONTROL, ERRORS, PASSED };

/* Opens what a zygote with an image is given, under the numbers of common/image_file.h, which are
 * the lowest free ones. Returns why there is no image. */
static enum image_reason give_image(const struct pool_programs *programs) {
    int directory, image;
    int program = open(programs->worker, O_RDONLY | O_CLOEXEC);
    enum image_reason reason = image_cache_take(&programs->images, &directory, &image);
    if (reason == IMAGE_OFF || program != IMAGE_PROGRAM_FD)
        return IMAGE_OFF;
    fcntl(program, F_SETFD, 0);
    if (directory == IMAGE_DIRECTORY_FD)
        fcntl(directory, F_SETFD, 0);
    if (reason != IMAGE_FITS)
        return reason;
    int restorer = open(programs->restorer, O_RDONLY | O_CLOEXEC);
    if (image != IMAGE_FILE_FD || restorer != IMAGE_RESTORER_FD)
        return IMAGE_OFF;
    fcntl(image, F_SETFD, 0);
    fcntl(restorer, F_SETFD, 0);
    return IMAGE_FITS;
}

/* Executes PROGRAM, by descriptor, because the kernel puts the path of a program in its memory.
 * REASON is passed to a worker that boots although there are images. */
static void execute(int program, enum image_reason reason) {
    static char marker_setting[] = "GC_MARKERS=1";
    static char name[] = "eclave-worker";
    char letter[] = {(char)('A' + reason), 0};
    char *const environment[] = {marker_setting, NULL};
    char *const arguments[] = {name, reason == IMAGE_OFF || reason == IMAGE_FITS ? NULL : letter,
                               NULL};
    execveat(program, "", arguments, environment, AT_EMPTY_PATH);
}

/* The channel of the compiler is the only one of this type. */
static bool is_for_compiler(int channel) {
    int type = 0;
    socklen_t size = sizeof type;
    return getsockopt(channel, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

/* As become_zygote. */
static _Noreturn void become_compiler(const struct pool_programs *programs, int channel) {
    static char name[] = "eclave-compiler";
    char *const arguments[] = {name, NULL}, *const environment[] = {NULL};
    int program =
        descriptor_move_above(open(programs->compiler, O_PATH | O_CLOEXEC), CONTROL_FD + 1);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (dup2(null, fd) < 0)
            _exit(127);
    if (program < 0 || dup2(channel, CONTROL_FD) < 0)
        _exit(127);
    execveat(program, "", arguments, environment, AT_EMPTY_PATH);
    _exit(127);
}

/* Runs in the new process; CONTEXT are the programs. The zygote gets known
 * descriptors, default signal handling, and an environment of one constant, because a cleared
 * environment would leave its strings in memory. It is in a session of its own, so that Ctrl-C
 * reaches the supervisor only. */
static void become_zygote(void *context, const int passed[PASSED],
                          const struct policy_report *report) {
    const struct pool_programs *programs = context;
    (void)report; /* FRAME_CONFIGURE has the remaining layers */
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    setsid();
    if (chdir("/") != 0) /* getcwd would reveal a path of the host */
        _exit(127);
    if (is_for_compiler(passed[CONTROL]))
        become_compiler(programs, passed[CONTROL]);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
        dup2(passed[ERRORS], STDERR_FILENO) < 0 || dup2(passed[CONTROL], CONTROL_FD) < 0 ||
        close_range(CONTROL_FD + 1, ~0U, 0) != 0)
        _exit(127);
    enum image_reason reason = give_image(programs);
    if (reason == IMAGE_FITS)
        execute(IMAGE_RESTORER_FD, reason);
    if (reason == IMAGE_OFF || reason == IMAGE_FITS)
        close_range(IMAGE_PROGRAM_FD, ~0U, 0);
    int program = open(programs->worker, O_PATH | O_CLOEXEC);
    if (program >= 0)
        execute(program, reason == IMAGE_FITS ? IMAGE_OFF : reason);
    dprintf(STDERR_FILENO, "cannot execute the worker program: %s", strerror(errno));
    _exit(127);
}

static bool append_string(struct buffer *payload, const char *text) {
    return buffer_append(payload, text, strlen(text) + 1);
}

static bool append_paths(struct buffer *payload, const struct path_list *list) {
    for (size_t i = 0; i < list->count; i++)
        if (!append_string(payload, list->paths[i]))
            return false;
    return true;
}

static bool append_names(struct buffer *payload, const struct name_list *list) {
    for (size_t i = 0; i < list->count; i++)
        if (!append_string(payload, list->names[i]))
            return false;
    return true;
}

static bool append_variable(struct buffer *payload, const char *name, const char *value,
                            uint32_t *count) {
    ++*count;
    return buffer_append_format(payload, "%s=", name) && append_string(payload, value);
}

/* Appends the variable by which ECL finds its own files, and those by which ASDF finds the
 * operator's systems, if any are loaded, and adds their number to *count. */
static bool append_environment(struct buffer *payload, const struct pool *pool, uint32_t *count) {
    static const char *const names[] = {"CL_SOURCE_REGISTRY", "HOME",          "XDG_CONFIG_HOME",
                                        "XDG_CONFIG_DIRS",    "XDG_DATA_HOME", "XDG_DATA_DIRS"};
    const bool loads = pool->settings->systems.count + pool->settings->preload.count > 0;
    if (pool->programs.ecl[0] && !append_variable(payload, "ECLDIR", pool->programs.ecl, count))
        return false;
    for (size_t i = 0; loads && i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && !append_variable(payload, names[i], value, count))
            return false;
    }
    return true;
}

/* Appends the payload of FRAME_CONFIGURE. LAYERS: those that the zygote and its workers must apply;
 * 0 with what an image does not depend on. */
static bool append_configuration(struct buffer *payload, const struct pool *pool, uint32_t layers) {
    const struct settings *settings = pool->settings;
    const struct policy policy = confinement_policy(settings);
    struct worker_configuration configuration = {
        .memory_bytes = (uint64_t)settings->session_memory_mb << 20,
        .value_max_chars = (uint64_t)settings->value_max_chars,
        .address_space_bytes = policy.address_space_bytes,
        .scratch_bytes = policy.scratch_bytes,
        .layers = layers,
        .required = policy.required,
        .degraded = policy.degraded,
        .native = (uint32_t)settings->native,
        .user = policy.user,
        .readable_count = (uint32_t)policy.readable_count,
        .systems_count = (uint32_t)settings->systems.count,
        .preload_count = (uint32_t)settings->preload.count,
        .adopts = layers && settings->state.count};
    memcpy(configuration.image_key, pool->programs.images.key, sizeof configuration.image_key);
    if (!buffer_append(payload, &configuration, sizeof configuration) ||
        !append_paths(payload, &settings->allow_read) ||
        !append_names(payload, &settings->systems) || !append_paths(payload, &settings->preload) ||
        !append_environment(payload, pool, &configuration.environment_count))
        return false;
    memcpy(payload->data, &configuration, sizeof configuration); /* with the last number */
    return true;
}

static bool send_configuration(const struct pool *pool, uint32_t layers, struct error *error) {
    cleanup_buffer struct buffer payload = buffer_make(FRAME_PAYLOAD_MAX);
    if (!append_configuration(&payload, pool, layers))
        return error_set(error, ENOMEM, "configuration of the zygote");
    const struct frame_header header = {.type = FRAME_CONFIGURE,
                                        .length = (uint32_t)payload.length};
    return frame_send(pool->zygote_channel, &header, payload.data, NULL, 0, error);
}

/* Images need the restorer, which is found beside the worker. Two builds that are in use have an
 * image each. */
static void open_images(struct pool *pool) {
    struct error error;
    cleanup_buffer struct buffer payload = buffer_make(FRAME_PAYLOAD_MAX);
    struct image_cache *images = &pool->programs.images;
    if (!append_configuration(&payload, pool, 0) || !append_string(&payload, pool->programs.worker))
        return;
    image_cache_open(images, pool->settings, payload.data, payload.length);
    if (images->used && !program_find("eclave-restore", pool->programs.restorer, &error)) {
        images->used = false;
        snprintf(images->why, sizeof images->why, "%.*s", (int)sizeof images->why - 1, error.text);
    }
}

/* Workers outlive their zygote, and need its namespaces. Only those of the last few zygotes are
 * kept: closing INIT_LIFE ends all workers in them. */
static void keep_namespaces(struct pool *pool, int init_life) {
    int *slot = &pool->namespaces[pool->namespaces_next++ % POOL_NAMESPACES_MAX];
    if (*slot >= 0)
        close(*slot);
    *slot = init_life;
}

static bool settle(const struct pool *pool, struct error *error) {
    struct policy_supervisor supervisor = confinement_supervisor(pool->settings);
    supervisor.scoped = pool->scoped;
    return !pool->confined || policy_supervisor_settle(&supervisor, &pool->report, error);
}

static bool start_zygote(struct pool *pool, struct error *error) {
    int pair[2], errors[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return error_set(error, errno, "channel of the zygote");
    pool->zygote_channel = pair[0];
    cleanup_fd int theirs = pair[1];
    if (pipe2(errors, O_CLOEXEC) != 0)
        return error_set(error, errno, "pipe for the zygote");
    pool->zygote_stderr = errors[0];
    cleanup_fd int their_errors = errors[1];
    const int passed[PASSED] = {[CONTROL] = theirs, [ERRORS] = their_errors};
    const struct policy policy = confinement_policy(pool->settings);
    if (!policy_launcher_launch(&pool->launcher, passed, &pool->launched, &pool->report, error))
        return false;
    keep_namespaces(pool, pool->launched.init_life);
    if (!settle(pool, error))
        return false;
    pool->zygote_pid = pool->workers.zygote = pool->launched.process;
    pool->zygote = ZYGOTE_BOOTING;
    pool->explained = false;
    trace(pool, pool->zygote_pid, "zygote started");
    loop_timer_start(pool->loop, &pool->boot_timer, BOOT_LIMIT_MS, on_boot_limit, pool);
    return loop_watch_add(pool->loop, &pool->zygote_watch, pool->zygote_channel, EPOLLIN,
                          on_zygote_frame, pool, error) &&
           loop_watch_add(pool->loop, &pool->zygote_stderr_watch, pool->zygote_stderr, EPOLLIN,
                          on_zygote_stderr, pool, error) &&
           send_configuration(
               pool, policy.layers & ~policy_layers_in(&pool->report, POLICY_UNAVAILABLE), error);
}

/* Takes the last messages of a zygote that has ended. */
static void take_last_messages(struct pool *pool) {
    char byte;
    if (pool->zygote_stderr_watch.active)
        on_zygote_stderr(pool, 0);
    if (pool->zygote_watch.active &&
        recv(pool->zygote_channel, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT) > 0)
        on_zygote_frame(pool, 0);
}

static void zygote_died(struct pool *pool, int status) {
    const bool was_up = pool->zygote == ZYGOTE_UP;
    take_last_messages(pool);
    close_zygote(pool);
    pool->zygote_pid = pool->workers.zygote = 0;
    if (pool->closing)
        return;
    if (pool->replaces) {
        pool->replaces = false;
        pool_start(pool);
        return;
    }
    char reason[120];
    const struct settings *settings = pool->settings;
    const char *when = !was_up && settings->preload.count + settings->systems.count
                           ? " while it loaded the operator's systems and files"
                           : "";
    if (WIFSIGNALED(status))
        snprintf(reason, sizeof reason, "the zygote was killed by signal %d%s", WTERMSIG(status),
                 when);
    else
        snprintf(reason, sizeof reason, "the zygote ended with status %d%s", WEXITSTATUS(status),
                 when);
    drop_starting(pool);
    /* Workers that ended with it count once, with it. */
    if (was_up && pool->failures > pool->failures_at_boot)
        pool->failures = pool->failures_at_boot;
    if (!pool->explained)
        record_failure(pool, reason);
    else if (!was_up) /* it would fail again */
        pool->failures = FAILURES_MAX;
    retry_or_fail(pool);
}

static bool needs_spare(const struct pool *pool) {
    return pool->spare_count < pool->spares_wanted || pool->spare_count < pool->waiter_count;
}

void pool_start(struct pool *pool) {
    struct error error;
    if (pool->closing || !needs_spare(pool) || pool->zygote == ZYGOTE_BOOTING)
        return;
    if (pool->zygote == ZYGOTE_UP) {
        while (needs_spare(pool) && start_spare(pool))
            ;
    } else if (pool->zygote_pid == 0 && !start_zygote(pool, &error)) {
        close_zygote(pool);
        record_failure(pool, error.text);
        if (pool->zygote_pid == 0)
            fail_waiters(pool);
    }
}

/* --- the pool --- */

bool pool_open(struct pool *pool, struct loop *loop, struct log *log,
               const struct settings *settings, struct error *error) {
    *pool = (struct pool){.loop = loop,
                          .log = log,
                          .settings = settings,
                          .workers = {.loop = loop, .log = log},
                          .launcher = {.channel = -1},
                          .launched = {.reports = -1},
                          .spares_wanted = 1,
                          .zygote_channel = -1,
                          .zygote_stderr = -1};
    TAILQ_INIT(&pool->spares);
    TAILQ_INIT(&pool->waiters);
    for (size_t i = 0; i < POOL_NAMESPACES_MAX; i++)
        pool->namespaces[i] = -1;
    const struct policy policy = confinement_policy(settings);
    pool->workers.grants = policy_grants(&policy);
    const struct policy_supervisor supervisor = confinement_supervisor(settings);
    pool->scoped = !settings->minimal && policy_supervisor_scope(&supervisor);
    pool->workers.launcher = &pool->launcher;
    pool->workers.may_signal = pool->scoped;
    if (!program_find("eclave-worker", pool->programs.worker, error) ||
        !installed_ecl(pool->programs.ecl, error))
        return false;
    if (settings->minimal)
        return true;
    if (settings->native) {
        if (!program_find("eclave-compiler", pool->programs.compiler, error))
            return error_set(error, 0,
                             "eclave-compiler, which --native needs, is missing: this eclave was "
                             "built without libtcc, or is not installed as a whole");
        compiler_open(&pool->compiler, loop, log, &pool->launcher, &policy);
        pool->workers.compiler = &pool->compiler;
    }
    open_images(pool);
    return policy_launcher_start(&pool->launcher, &policy, become_zygote, &pool->programs, error);
}

void pool_dismiss_launcher(struct pool *pool) {
    policy_launcher_close(&pool->launcher);
    if (pool->launcher.pid > 1)
        reap_child(pool->launcher.pid);
    pool->launcher.pid = 0;
}

bool pool_confine_supervisor(struct pool *pool, struct error *error) {
    struct policy_supervisor supervisor = confinement_supervisor(pool->settings);
    const struct log_event event = {.level = LOG_INFO_LEVEL, .name = "supervisor"};
    struct policy_report report;
    struct error why;
    supervisor.scoped = pool->scoped;
    if (!policy_supervise(&supervisor, &report, &why))
        return error_set(error, 0, "the supervisor cannot be confined here: %.180s", why.text);
    for (unsigned layer = 0; layer < POLICY_LAYER_COUNT; layer++)
        if (report.layers[layer].state == POLICY_UNAVAILABLE && !pool->layers_logged)
            log_write(pool->log, &event, "its own layer %s is missing: %s",
                      policy_layer_name(layer), report.layers[layer].why);
    pool->confined = true;
    return true;
}

static void launcher_died(struct pool *pool) {
    const struct log_event event = {.level = LOG_ERROR_LEVEL, .name = "launcher-ended"};
    struct error error;
    policy_launcher_close(&pool->launcher);
    pool->launcher.pid = 0;
    error_set(&error, 0,
              "the launcher has ended, without which no worker can be started or killed");
    log_write(pool->log, &event, "%s", error.text);
    loop_fail(pool->loop, &error);
}

void pool_take(struct pool *pool, struct pool_waiter *waiter) {
    struct pool_spare *spare = spare_in_state(pool, WORKER_READY);
    if (spare) {
        serve(pool, spare, waiter);
        return;
    }
    waiter->waiting = true;
    TAILQ_INSERT_TAIL(&pool->waiters, waiter, entry);
    pool->waiter_count++;
    pool_start(pool);
}

void pool_withdraw(struct pool *pool, struct pool_waiter *waiter) {
    if (!waiter->waiting)
        return;
    TAILQ_REMOVE(&pool->waiters, waiter, entry);
    waiter->waiting = false;
    pool->waiter_count--;
}

void pool_reap(struct pool *pool) {
    int status;
    pid_t pid;
    struct rusage counted;
    while ((pid = wait4(-1, &status, WNOHANG, &counted)) > 0) {
        struct worker_process *worker = workers_find(&pool->workers, pid);
        if (worker)
            worker_reaped(worker, status, usage_of(&counted));
        else if (pid == pool->zygote_pid)
            zygote_died(pool, status);
        else if (pid == pool->launcher.pid)
            launcher_died(pool);
    }
}

/* Reaps all children. */
static void await_children(int64_t limit_ms) {
    sigset_t blocked; /* those of the signalfd */
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    int64_t deadline_ns = clock_now_ns() + limit_ms * CLOCK_NS_PER_MS;
    for (int number = 0; number != SIGTERM && number != SIGINT;) {
        pid_t pid = waitpid(-1, NULL, WNOHANG);
        int64_t left_ns = deadline_ns - clock_now_ns();
        if (pid < 0 || left_ns <= 0)
            break; /* no child is left, or its death signal will kill it */
        const struct timespec left = {.tv_sec = left_ns / 1000000000,
                                      .tv_nsec = left_ns % 1000000000};
        if (pid == 0)
            number = sigtimedwait(&blocked, NULL, &left);
    }
}

void pool_close(struct pool *pool) {
    if (!pool->loop)
        return;
    pool->closing = true;
    close_zygote(pool);
    compiler_close(&pool->compiler);
    for (size_t i = 0; i < POOL_NAMESPACES_MAX; i++)
        keep_namespaces(pool, -1);
    if (!pool->workers.left_alone)
        workers_kill_all(&pool->workers);
    if (pool->zygote_pid > 1)
        workers_signal(&pool->workers, pool->zygote_pid, SIGKILL);
    policy_launcher_close(&pool->launcher); /* it ends when the control group is empty */
    await_children(pool->workers.left_alone ? HURRIED_CLOSE_LIMIT_MS : CLOSE_LIMIT_MS);
    while (!LIST_EMPTY(&pool->workers.list))
        worker_destroy(LIST_FIRST(&pool->workers.list));
    while (!TAILQ_EMPTY(&pool->spares))
        drop_spare(pool, TAILQ_FIRST(&pool->spares));
}
