/* Zygote and spare workers. Never hands out a worker that has not said that it is confined. */
#include "supervisor/process/pool.h"
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
    FAILURES_MAX = 3 /* in a row, before those who wait are told */
};

static void fill_pool(struct pool *pool);

static void trace(const struct pool *pool, pid_t pid, const char *what) {
    const struct log_event event = {.name = "pool", .pid = pid};
    LOG_TRACE(pool->log, &event, "%s; %zu spare, %zu waiting", what, pool->spare_count,
              pool->waiter_count);
}

static void note_failure(struct pool *pool, const char *reason) {
    const struct log_event event = {.level = LOG_ERROR_LEVEL, .name = "no-worker"};
    pool->failures++;
    snprintf(pool->last_failure, sizeof pool->last_failure, "%s", reason);
    log_write(pool->log, &event, "%s", reason);
}

/* Tells everybody who waits that there is no worker to be had; the next request tries again. Who is
 * told may withdraw others. */
static void fail_waiters(struct pool *pool) {
    for (size_t left = pool->waiter_count; left && pool->waiters; left--) {
        struct pool_waiter *waiter = pool->waiters;
        pool_withdraw(pool, waiter);
        waiter->served(waiter->context, NULL, NULL, pool->last_failure);
    }
}

/* After a failure: again, as long as it is not hopeless. */
static void retry_or_fail(struct pool *pool) {
    if (pool->closing)
        return;
    if (pool->failures >= FAILURES_MAX) {
        fail_waiters(pool);
        pool->failures = 0;
    } else {
        fill_pool(pool);
    }
}

/* --- the spare workers --- */

static struct pool_spare *find_spare(const struct pool *pool, const struct worker_process *worker) {
    struct pool_spare *spare = pool->spares;
    while (spare && spare->worker != worker)
        spare = spare->next;
    return spare;
}

static struct pool_spare *ready_spare(const struct pool *pool) {
    struct pool_spare *spare = pool->spares;
    while (spare && spare->worker->state != WORKER_READY)
        spare = spare->next;
    return spare;
}

/* The spare's worker is somebody else's from now on, or nobody's. The caller owns the pipes. */
static struct pipes *release_spare(struct pool *pool, struct pool_spare *spare) {
    struct pipes *pipes = spare->pipes;
    struct pool_spare **link = &pool->spares;
    while (*link != spare)
        link = &(*link)->next;
    *link = spare->next;
    pool->spare_count--;
    free(spare);
    return pipes;
}

static void drop_spare(struct pool *pool, struct pool_spare *spare) {
    pipes_close(release_spare(pool, spare));
}

/* Those that are still starting will end by the end of their channels. */
static void drop_starting(struct pool *pool) {
    struct pool_spare *spare = pool->spares;
    while (spare) {
        struct pool_spare *next = spare->next;
        if (spare->worker->state == WORKER_STARTING)
            drop_spare(pool, spare);
        spare = next;
    }
}

static void on_boot_limit(void *context) {
    struct pool *pool = context;
    note_failure(pool, "the worker process does not answer");
    if (pool->zygote_pid > 1)
        kill(pool->zygote_pid, SIGKILL); /* its death does the rest */
}

/* The limit counts anew from each worker that becomes ready, while others are awaited. */
static void watch_boot(struct pool *pool) {
    const struct pool_spare *spare = pool->spares;
    while (spare && spare->worker->state != WORKER_STARTING)
        spare = spare->next;
    if (spare)
        loop_timer_start(pool->loop, &pool->boot_timer, BOOT_LIMIT_MS, on_boot_limit, pool);
    else
        loop_timer_stop(pool->loop, &pool->boot_timer);
}

static void serve(struct pool *pool, struct pool_spare *spare, struct pool_waiter *waiter) {
    struct worker_process *worker = spare->worker;
    struct pipes *pipes = release_spare(pool, spare);
    trace(pool, worker->pid, "worker handed out");
    waiter->served(waiter->context, worker, pipes, NULL);
    fill_pool(pool);
}

static void spare_ready(void *context, struct worker_process *worker) {
    struct pool *pool = context;
    struct pool_spare *spare = find_spare(pool, worker);
    if (!spare) {
        worker_kill(worker); /* given up meanwhile */
        return;
    }
    trace(pool, worker->pid, "worker ready");
    pool->failures = 0;
    watch_boot(pool);
    struct pool_waiter *waiter = pool->waiters;
    if (!waiter)
        return;
    pool_withdraw(pool, waiter);
    serve(pool, spare, waiter);
}

static void spare_malformed(void *context, struct worker_process *worker, const char *what) {
    struct pool *pool = context;
    struct pool_spare *spare = find_spare(pool, worker);
    if (!spare)
        return; /* given up already: its zygote died, which has been counted */
    drop_spare(pool, spare);
    drop_starting(pool); /* what failed one fails them all, and counts once */
    watch_boot(pool);
    note_failure(pool, what);
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
        fill_pool(pool);
}

static void spare_violation(void *context, struct worker_process *worker, const char *call_name) {
    char what[120];
    snprintf(what, sizeof what, "a worker was stopped at %s before its first call", call_name);
    spare_malformed(context, worker, what);
}

static void spare_no_result(void *context, struct worker_process *worker,
                            const unsigned char *payload, size_t size) {
    (void)context, (void)worker, (void)payload, (void)size;
}

static void spare_no_fork(void *context, struct worker_process *worker, const char *what) {
    (void)context, (void)worker, (void)what;
}

static const struct worker_events spare_events = {.ready = spare_ready,
                                                  .result = spare_no_result,
                                                  .fork_failed = spare_no_fork,
                                                  .malformed = spare_malformed,
                                                  .violation = spare_violation,
                                                  .ended = spare_ended};

/* Asks the zygote for a worker with these ends. */
static bool request_spawn(struct pool *pool, int channel, const int outputs[2],
                          struct error *error) {
    const int descriptors[] = {channel, outputs[0], outputs[1]};
    const struct frame_header header = {.type = FRAME_SPAWN};
    return frame_send(pool->zygote_channel, &header, NULL, descriptors, 3, error);
}

/* Creates SPARE's worker and asks the zygote for it. False with *error when it cannot be had; with
 * an empty one when the zygote is dying, and its death starts another. */
static bool create_spare(struct pool *pool, struct pool_spare *spare, struct error *error) {
    int channel, outputs[2];
    spare->pipes = pipes_open(pool->loop, pool->settings, outputs, error);
    if (!spare->pipes)
        return false;
    spare->worker = worker_create(&pool->workers, &spare_events, pool, &channel, error);
    bool sent = false;
    if (spare->worker) {
        sent = request_spawn(pool, channel, outputs, error);
        close(channel);
        if (!sent) {
            worker_destroy(spare->worker);
            error->text[0] = 0;
        }
    }
    close(outputs[0]);
    close(outputs[1]);
    return sent;
}

/* One more spare. False when there is none. */
static bool spawn_spare(struct pool *pool) {
    struct error error = {.text = "out of memory"};
    struct pool_spare *spare = calloc(1, sizeof *spare);
    if (spare && create_spare(pool, spare, &error)) {
        struct pool_spare **end = &pool->spares;
        while (*end)
            end = &(*end)->next;
        *end = spare;
        pool->spare_count++;
        trace(pool, 0, "worker requested");
        if (!pool->boot_timer.active)
            watch_boot(pool);
        return true;
    }
    if (spare)
        pipes_close(spare->pipes);
    free(spare);
    if (error.text[0])
        note_failure(pool, error.text);
    if (pool->zygote_watch.active && pool->failures)
        fail_waiters(pool);
    return false;
}

/* --- the zygote --- */

static void close_zygote(struct pool *pool) {
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

/* Adds what the zygote says of its layers to what is known from its launch, and tells of those that
 * are missing, once. */
static void note_layers(struct pool *pool, const struct policy_report *report) {
    const struct log_event event = {.level = LOG_INFO_LEVEL, .name = "layer-missing"};
    for (unsigned layer = 0; layer < POLICY_LAYER_COUNT; layer++) {
        if (pool->report.layers[layer].state == POLICY_OFF)
            pool->report.layers[layer] = report->layers[layer];
        if (pool->report.layers[layer].state == POLICY_UNAVAILABLE && !pool->layers_told)
            log_write(pool->log, &event, "%s: %s", policy_layer_name(layer),
                      pool->report.layers[layer].why);
    }
    pool->layers_told = true;
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
        loop_watch_remove(pool->loop, &pool->zygote_watch); /* its death is reaped in a moment */
        return;
    }
    for (size_t i = 0; i < count; i++)
        close(descriptors[i]);
    if (header.type == FRAME_BOOTED && pool->zygote == ZYGOTE_BOOTING &&
        header.length == sizeof(struct policy_report)) {
        if (!policy_launch_finish(&pool->launched, &pool->report, &error)) {
            note_failure(pool, error.text);
            kill(pool->zygote_pid, SIGKILL); /* its death does the rest */
            return;
        }
        note_layers(pool, (const struct policy_report *)(const void *)payload);
        pool->zygote = ZYGOTE_UP;
        trace(pool, pool->zygote_pid, "zygote booted");
        loop_timer_stop(pool->loop, &pool->boot_timer);
        fill_pool(pool);
    } else if (header.type == FRAME_FAILED) {
        char reason[160];
        snprintf(reason, sizeof reason, "%.*s", (int)header.length,
                 payload ? (const char *)payload : "");
        note_failure(pool, reason);
    }
}

/* What the zygote says on its error output, before it can say it in a frame: a missing library. */
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

/* What the new process needs to become the zygote. */
struct birth {
    const char *path;
    int control, errors;
};

/* In the new process: known descriptors, an environment that never held anything, no inherited
 * signal state, a session of its own so that a terminal's Ctrl-C is for the supervisor alone. */
static void become_zygote(void *context, const struct policy_report *report) {
    const struct birth *birth = context;
    (void)report; /* it learns from its configuration which layers are left to be put on */
    static char marker_setting[] = "GC_MARKERS=1";
    static char name[] = "eclave-worker";
    char *const environment[] = {marker_setting, NULL};
    char *const arguments[] = {name, NULL};
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    setsid();
    if (chdir("/") != 0) /* its name would tell about the host */
        _exit(127);
    int null = open("/dev/null", O_RDWR); // NOLINT(android-cloexec-open): becomes 0
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
        dup2(birth->errors, STDERR_FILENO) < 0 || dup2(birth->control, CONTROL_FD) < 0 ||
        close_range(CONTROL_FD + 1, ~0U, 0) != 0)
        _exit(127);
    execve(birth->path, arguments, environment);
    dprintf(STDERR_FILENO, "the worker program cannot be started: %s", strerror(errno));
    _exit(127);
}

static bool append_paths(struct buffer *payload, const struct path_list *list) {
    for (size_t i = 0; i < list->count; i++)
        if (!buffer_append(payload, list->paths[i], strlen(list->paths[i]) + 1))
            return false;
    return true;
}

/* LAYERS are those that are still to be put on. */
static bool send_configuration(const struct pool *pool, uint32_t layers, struct error *error) {
    const struct settings *settings = pool->settings;
    const struct policy policy = confinement_policy(settings);
    const struct worker_configuration configuration = {
        .memory_bytes = (uint64_t)settings->session_memory_mb << 20,
        .value_max_chars = (uint64_t)settings->value_max_chars,
        .address_space_bytes = policy.address_space_bytes,
        .scratch_bytes = policy.scratch_bytes,
        .layers = layers,
        .required = policy.required,
        .degraded = policy.degraded,
        .user = policy.user,
        .readable_count = (uint32_t)policy.readable_count,
        .preload_count = (uint32_t)settings->preload.count};
    cleanup_buffer struct buffer payload = buffer_make(FRAME_PAYLOAD_MAX);
    if (!buffer_append(&payload, &configuration, sizeof configuration) ||
        !append_paths(&payload, &settings->allow_read) ||
        !append_paths(&payload, &settings->preload))
        return error_set(error, ENOMEM, "the configuration");
    const struct frame_header header = {.type = FRAME_CONFIGURE,
                                        .length = (uint32_t)payload.length};
    return frame_send(pool->zygote_channel, &header, payload.data, NULL, 0, error);
}

/* The processes of a zygote that died live on in its namespaces, so these must live on too; those
 * of the one before the last few end. */
static void hold_namespaces(struct pool *pool, int life) {
    int *slot = &pool->lives[pool->lives_next++ % POOL_LIVES_MAX];
    if (*slot >= 0)
        close(*slot);
    *slot = life;
}

static bool start_zygote(struct pool *pool, struct error *error) {
    int pair[2], errors[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return error_set(error, errno, "a channel");
    pool->zygote_channel = pair[0];
    cleanup_fd int theirs = pair[1];
    if (pipe2(errors, O_CLOEXEC) != 0)
        return error_set(error, errno, "a pipe");
    pool->zygote_stderr = errors[0];
    cleanup_fd int their_errors = errors[1];
    /* Above the numbers that the child fills by dup2, which must not overwrite a source. */
    theirs = descriptor_move_above(theirs, CONTROL_FD + 1);
    their_errors = descriptor_move_above(their_errors, CONTROL_FD + 1);
    struct birth birth = {pool->worker_path, theirs, their_errors};
    const struct policy policy = confinement_policy(pool->settings);
    if (!policy_launch(&policy, become_zygote, &birth, &pool->launched, &pool->report, error))
        return false;
    hold_namespaces(pool, pool->launched.init_life);
    pool->zygote_pid = pool->workers.zygote = pool->launched.process;
    pool->zygote = ZYGOTE_BOOTING;
    trace(pool, pool->zygote_pid, "zygote started");
    loop_timer_start(pool->loop, &pool->boot_timer, BOOT_LIMIT_MS, on_boot_limit, pool);
    return loop_watch_add(pool->loop, &pool->zygote_watch, pool->zygote_channel, EPOLLIN,
                          on_zygote_frame, pool, error) &&
           loop_watch_add(pool->loop, &pool->zygote_stderr_watch, pool->zygote_stderr, EPOLLIN,
                          on_zygote_stderr, pool, error) &&
           send_configuration(
               pool, policy.layers & ~policy_layers_in(&pool->report, POLICY_UNAVAILABLE), error);
}

static void zygote_died(struct pool *pool, int status) {
    /* What it said last may still be in its pipe and on its channel. */
    if (pool->zygote_stderr_watch.active)
        on_zygote_stderr(pool, 0);
    close_zygote(pool);
    pool->zygote_pid = pool->workers.zygote = 0;
    if (pool->closing)
        return;
    char reason[120];
    if (WIFSIGNALED(status))
        snprintf(reason, sizeof reason, "the zygote was ended by signal %d", WTERMSIG(status));
    else
        snprintf(reason, sizeof reason, "the zygote ended with status %d", WEXITSTATUS(status));
    drop_starting(pool);
    note_failure(pool, reason);
    retry_or_fail(pool);
}

/* As many as are wanted ahead, or as wait already when those are more. */
static bool wants_spare(const struct pool *pool) {
    return pool->spare_count < pool->spares_wanted || pool->spare_count < pool->waiter_count;
}

/* One step towards as many spares as are wanted. */
static void fill_pool(struct pool *pool) {
    struct error error;
    if (pool->closing || !wants_spare(pool) || pool->zygote == ZYGOTE_BOOTING)
        return;
    if (pool->zygote == ZYGOTE_UP) {
        while (wants_spare(pool) && spawn_spare(pool))
            ;
    } else if (pool->zygote_pid == 0 && !start_zygote(pool, &error)) {
        close_zygote(pool);
        note_failure(pool, error.text);
        if (pool->zygote_pid == 0)
            fail_waiters(pool);
    }
}

/* --- the public face --- */

/* The worker stands beside this program (a build directory) or in libexec (installed). */
static bool find_worker(struct pool *pool, struct error *error) {
    char self[2048];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length > 0) {
        self[length] = 0;
        char *slash = strrchr(self, '/');
        if (slash)
            *slash = 0;
        snprintf(pool->worker_path, sizeof pool->worker_path, "%s/eclave-worker", self);
        if (access(pool->worker_path, X_OK) == 0)
            return true;
    }
    snprintf(pool->worker_path, sizeof pool->worker_path, "%s/eclave-worker", ECLAVE_LIBEXEC);
    if (access(pool->worker_path, X_OK) == 0)
        return true;
    return error_set(error, 0,
                     "the worker program eclave-worker is neither beside eclave nor in "
                     "its libexec directory");
}

bool pool_open(struct pool *pool, struct loop *loop, struct log *log,
               const struct settings *settings, struct error *error) {
    *pool = (struct pool){.loop = loop,
                          .log = log,
                          .settings = settings,
                          .workers = {.loop = loop, .log = log},
                          .launched = {.reports = -1},
                          .spares_wanted = 1,
                          .zygote_channel = -1,
                          .zygote_stderr = -1};
    for (size_t i = 0; i < POOL_LIVES_MAX; i++)
        pool->lives[i] = -1;
    const struct policy policy = confinement_policy(settings);
    pool->workers.grants = policy_grants(&policy);
    return find_worker(pool, error);
}

void pool_start(struct pool *pool) {
    fill_pool(pool);
}

void pool_take(struct pool *pool, struct pool_waiter *waiter) {
    struct pool_spare *spare = ready_spare(pool);
    if (spare) {
        serve(pool, spare, waiter);
        return;
    }
    struct pool_waiter **end = &pool->waiters;
    while (*end)
        end = &(*end)->next;
    waiter->waiting = true;
    waiter->next = NULL;
    *end = waiter;
    pool->waiter_count++;
    fill_pool(pool);
}

void pool_withdraw(struct pool *pool, struct pool_waiter *waiter) {
    for (struct pool_waiter **link = &pool->waiters; *link; link = &(*link)->next)
        if (*link == waiter) {
            *link = waiter->next;
            waiter->waiting = false;
            pool->waiter_count--;
            return;
        }
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
    }
}

void pool_close(struct pool *pool) {
    if (!pool->loop)
        return;
    pool->closing = true;
    close_zygote(pool);
    for (size_t i = 0; i < POOL_LIVES_MAX; i++)
        hold_namespaces(pool, -1);
    workers_kill_all(&pool->workers);
    if (pool->zygote_pid > 1)
        kill(pool->zygote_pid, SIGKILL);
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD); /* blocked all along, for the signalfd */
    int64_t deadline_ns = clock_now_ns() + (int64_t)CLOSE_LIMIT_MS * CLOCK_NS_PER_MS;
    for (;;) {
        pid_t pid = waitpid(-1, NULL, WNOHANG);
        int64_t left_ns = deadline_ns - clock_now_ns();
        if (pid < 0 || left_ns <= 0)
            break; /* none left, or the death signal must do it */
        const struct timespec left = {.tv_sec = left_ns / 1000000000,
                                      .tv_nsec = left_ns % 1000000000};
        if (pid == 0)
            sigtimedwait(&child, NULL, &left);
    }
    while (pool->workers.first)
        worker_destroy(pool->workers.first);
    while (pool->spares)
        drop_spare(pool, pool->spares);
    policy_cgroup_remove();
}
