/* The supervisor's end of a worker. Never blocks on it, never believes it, never signals a pid
 * that the kernel did not vouch for. */
#include "supervisor/worker_process.h"
#include "common/cleanup.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    READ_BYTES = 65536,
    KEEP_BYTES = 4 * READ_BYTES,
    RESULT_MAX_BYTES = 32 << 20, /* far above what a worker that keeps to its limits sends */
    STOP_GRACE_MS = 50,          /* from the request to write out to the kill */
    CLOSED_GRACE_MS = 1000,      /* from the end of the channel to the kill */
    REFUSALS_LOGGED = 5,         /* of one call */
    REFUSALS_MAX = 10000         /* of one call; more is an attack on the supervisor's time */
};

static void read_channel(struct worker_process *worker);

static void signal_worker(const struct worker_process *worker, int number) {
    if (worker->pid > 1)
        kill(worker->pid, number);
}

void worker_kill(struct worker_process *worker) {
    worker->state = WORKER_ENDING;
    signal_worker(worker, SIGKILL);
}

static void on_kill_timer(void *context) {
    worker_kill(context);
}

void worker_stop(struct worker_process *worker) {
    worker->state = WORKER_ENDING;
    signal_worker(worker, SIGUSR1);
    loop_timer_start(worker->loop, &worker->kill_timer, STOP_GRACE_MS, on_kill_timer, worker);
}

/* A worker whose pid was never proven cannot be recognised among the reaped. */
static void on_forgotten(void *context) {
    struct worker_process *worker = context;
    worker->events->ended(worker->context, worker, 0);
}

static void malformed(struct worker_process *worker, const char *what) {
    if (worker->state == WORKER_ENDING)
        return;
    worker_kill(worker);
    if (worker->pid == 0)
        loop_timer_start(worker->loop, &worker->kill_timer, 0, on_forgotten, worker);
    worker->events->malformed(worker->context, worker, what);
}

/* --- captured output --- */

static void close_stream(struct captured_stream *stream) {
    loop_watch_remove(stream->worker->loop, &stream->watch);
    if (stream->fd >= 0)
        close(stream->fd);
    stream->fd = -1;
}

/* One read. False when nothing is there now or ever. */
static bool read_stream(struct captured_stream *stream) {
    struct worker_process *worker = stream->worker;
    unsigned char dropped[4096], *room = dropped;
    size_t size = sizeof dropped;
    bool keep = (worker->state == WORKER_BUSY || worker->state == WORKER_ENDING) &&
                stream->bytes.length <= stream->limit;
    if (keep) {
        room = buffer_reserve(&stream->bytes, READ_BYTES);
        size = READ_BYTES;
        if (!room) {
            room = dropped;
            size = sizeof dropped;
            keep = false;
        }
    }
    ssize_t got = read(stream->fd, room, size);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (got <= 0) {
        close_stream(stream);
        return false;
    }
    if (keep)
        stream->bytes.length += (size_t)got;
    if (stream->bytes.length > stream->limit && worker->state == WORKER_BUSY) {
        worker_kill(worker);
        worker->events->flooded(worker->context, worker, stream);
    }
    return true;
}

static void on_stream(void *context, uint32_t events) {
    (void)events;
    read_stream(context);
}

/* Bounded, because something that writes without end must not hold the supervisor here: a pipe
 * holds far less than the limit, so what was written before a result is all read. */
static void drain_stream(struct captured_stream *stream) {
    size_t start = stream->bytes.length;
    while (stream->fd >= 0 && stream->bytes.length - start <= (1U << 20) && read_stream(stream))
        ;
}

void worker_drain(struct worker_process *worker) {
    drain_stream(&worker->output);
    drain_stream(&worker->error_output);
}

static bool open_stream(struct worker_process *worker, struct captured_stream *stream,
                        const char *name, int64_t limit, int *write_end, struct error *error) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_set(error, errno, "a pipe for %s", name);
    *write_end = ends[1];
    *stream =
        (struct captured_stream){.worker = worker,
                                 .name = name,
                                 .fd = ends[0],
                                 .limit = (size_t)limit,
                                 .bytes = buffer_make((size_t)limit + (size_t)2 * READ_BYTES)};
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return loop_watch_add(worker->loop, &stream->watch, ends[0], EPOLLIN, on_stream, stream, error);
}

/* --- the seccomp listener --- */

static void close_listener(struct worker_process *worker) {
    loop_watch_remove(worker->loop, &worker->listener_watch);
    if (worker->listener >= 0)
        close(worker->listener);
    worker->listener = -1;
}

static void refuse(struct worker_process *worker, uint64_t id, const struct policy_answer *answer) {
    union {
        struct seccomp_notif_resp response;
        unsigned char room[256];
    } reply = {.room = {0}};
    reply.response.id = id;
    reply.response.error = -answer->error;
    ioctl(worker->listener, SECCOMP_IOCTL_NOTIF_SEND, &reply.response);
    if (++worker->refusals <= REFUSALS_LOGGED) {
        const struct log_event event = {
            .level = LOG_INFO_LEVEL, .name = "refused", .call = worker->call};
        log_write(worker->log, &event, "%s", answer->name);
    }
}

static void on_listener(void *context, uint32_t events) {
    struct worker_process *worker = context;
    union {
        struct seccomp_notif request;
        unsigned char room[256];
    } notified = {.room = {0}};
    if (!(events & EPOLLIN)) {
        close_listener(worker);
        return;
    }
    if (ioctl(worker->listener, SECCOMP_IOCTL_NOTIF_RECV, &notified.request) != 0)
        return; /* it died, or a signal took the call back */
    struct policy_answer answer = policy_judge(&notified.request.data);
    if (answer.verdict != POLICY_KILL && worker->refusals < REFUSALS_MAX) {
        refuse(worker, notified.request.id, &answer);
        return;
    }
    if (worker->state == WORKER_ENDING)
        return;
    worker_kill(worker);
    worker->events->violation(worker->context, worker, answer.name);
}

/* --- the channel --- */

static void send_outgoing(struct worker_process *worker) {
    struct buffer *outgoing = &worker->outgoing;
    while (outgoing->length) {
        ssize_t sent =
            send(worker->channel, outgoing->data, outgoing->length, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            break; /* full: EPOLLOUT tells when not; gone: its death tells the rest */
        buffer_consume(outgoing, (size_t)sent);
    }
    buffer_shrink(outgoing, KEEP_BYTES);
    loop_watch_change(worker->loop, &worker->channel_watch,
                      outgoing->length ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static void on_channel(void *context, uint32_t events) {
    struct worker_process *worker = context;
    if (events & EPOLLOUT)
        send_outgoing(worker);
    if (events & ~(uint32_t)EPOLLOUT)
        read_channel(worker);
}

static void on_channel_closed(void *context) {
    malformed(context, "it closed its channel");
}

/* The end of the channel nearly always means that the process is on its way out; its own status
 * then says more. Only who stays is killed. */
static void channel_ended(struct worker_process *worker) {
    loop_watch_remove(worker->loop, &worker->channel_watch);
    if (worker->state == WORKER_STARTING)
        malformed(worker, "it ended before it was ready");
    else if (worker->state != WORKER_ENDING)
        loop_timer_start(worker->loop, &worker->kill_timer, CLOSED_GRACE_MS, on_channel_closed,
                         worker);
}

/* A pid is proven when the kernel says who sent, and that it is a child of ours. */
static bool prove_pid(struct worker_process *worker, pid_t pid) {
    siginfo_t info;
    if (pid <= 1 || waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
        return false;
    worker->pid = pid;
    return true;
}

static void take_ready(struct worker_process *worker) {
    if (worker->pid == 0) {
        malformed(worker, "it did not prove its pid");
        return;
    }
    worker->state = WORKER_READY;
    worker->events->ready(worker->context, worker);
}

static void take_failed(struct worker_process *worker) {
    char what[160];
    snprintf(what, sizeof what, "%.*s", (int)worker->header.length,
             worker->payload ? (const char *)worker->payload : "");
    malformed(worker, what);
}

static void take_result(struct worker_process *worker) {
    worker_drain(worker);
    if (worker->state == WORKER_ENDING)
        return; /* the drained output was over its limit */
    worker->state = WORKER_READY;
    worker->events->result(worker->context, worker, worker->payload, worker->header.length);
}

/* Which frame is lawful in which state, how long it may be, and who handles it. */
static const struct frame_rule {
    enum frame_type type;
    enum worker_state state;
    bool of_call; /* carries the number of the running call */
    uint32_t length_max;
    void (*handle)(struct worker_process *worker);
} frame_rules[] = {
    {FRAME_READY, WORKER_STARTING, false, 0, take_ready},
    {FRAME_FAILED, WORKER_STARTING, false, 1024, take_failed},
    {FRAME_RESULT, WORKER_BUSY, true, RESULT_MAX_BYTES, take_result},
};

static const struct frame_rule *lawful_rule(const struct worker_process *worker) {
    const struct frame_header *header = &worker->header;
    for (size_t i = 0; i < sizeof frame_rules / sizeof *frame_rules; i++) {
        const struct frame_rule *rule = &frame_rules[i];
        if (header->type == rule->type && worker->state == rule->state && header->flags == 0 &&
            header->length <= rule->length_max &&
            header->call == (rule->of_call ? worker->call : 0))
            return rule;
    }
    return NULL;
}

static void frame_done(struct worker_process *worker) {
    const struct frame_rule *rule = lawful_rule(worker);
    cleanup_free unsigned char *payload = worker->payload;
    if (rule)
        rule->handle(worker);
    worker->payload = NULL;
    worker->header_have = worker->payload_have = 0;
}

/* After the header: is the frame lawful, and is there memory for it? */
static bool header_done(struct worker_process *worker) {
    if (!lawful_rule(worker)) {
        malformed(worker, "it sent a frame out of turn");
        return false;
    }
    if (worker->header.length == 0)
        return true;
    worker->payload = malloc(worker->header.length);
    if (!worker->payload) {
        malformed(worker, "there is no memory for its frame");
        return false;
    }
    return true;
}

/* recvmsg while starting, to learn the sender's pid and to take the listener; plain recv later, so
 * that the kernel throws away any descriptor that a worker tries to pass. */
static ssize_t receive(struct worker_process *worker, void *bytes, size_t size) {
    if (worker->state != WORKER_STARTING)
        return recv(worker->channel, bytes, size, MSG_DONTWAIT);
    struct iovec part = {.iov_base = bytes, .iov_len = size};
    _Alignas(
        struct cmsghdr) char control[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    ssize_t got = recvmsg(worker->channel, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got <= 0)
        return got;
    for (struct cmsghdr *item = CMSG_FIRSTHDR(&message); item; item = CMSG_NXTHDR(&message, item)) {
        if (item->cmsg_level != SOL_SOCKET)
            continue;
        if (item->cmsg_type == SCM_CREDENTIALS) {
            struct ucred sender;
            memcpy(&sender, CMSG_DATA(item), sizeof sender);
            prove_pid(worker, sender.pid);
        } else if (item->cmsg_type == SCM_RIGHTS) {
            int fd;
            memcpy(&fd, CMSG_DATA(item), sizeof fd);
            if (worker->listener >= 0 || !loop_watch_add(worker->loop, &worker->listener_watch, fd,
                                                         EPOLLIN, on_listener, worker, NULL))
                close(fd);
            else
                worker->listener = fd;
        }
    }
    return got;
}

/* Reads what is there, at most one whole frame, so that nobody holds the supervisor here. */
static void read_channel(struct worker_process *worker) {
    for (;;) {
        bool in_header = worker->header_have < sizeof worker->header;
        unsigned char *target = in_header ? (unsigned char *)&worker->header + worker->header_have
                                          : worker->payload + worker->payload_have;
        size_t wanted = in_header ? sizeof worker->header - worker->header_have
                                  : worker->header.length - worker->payload_have;
        ssize_t got = receive(worker, target, wanted);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (got <= 0) {
            channel_ended(worker);
            return;
        }
        if (in_header)
            worker->header_have += (size_t)got;
        else
            worker->payload_have += (size_t)got;
        if (in_header && worker->header_have == sizeof worker->header && !header_done(worker))
            return;
        if (worker->header_have == sizeof worker->header &&
            worker->payload_have == worker->header.length) {
            frame_done(worker);
            return;
        }
    }
}

/* --- life and death --- */

struct worker_process *worker_create(struct loop *loop, struct log *log,
                                     const struct settings *settings,
                                     const struct worker_events *events, void *context,
                                     struct worker_ends *ends, struct error *error) {
    *ends = (struct worker_ends){-1, -1, -1};
    struct worker_process *worker = calloc(1, sizeof *worker);
    if (!worker) {
        error_set(error, ENOMEM, "a worker");
        return NULL;
    }
    worker->loop = loop;
    worker->log = log;
    worker->state = WORKER_STARTING;
    worker->channel = worker->listener = -1;
    worker->output.fd = worker->error_output.fd = -1;
    worker->output.worker = worker->error_output.worker = worker;
    worker->outgoing = buffer_make(FRAME_PAYLOAD_MAX + sizeof(struct frame_header));
    worker_set_owner(worker, events, context);
    int pair[2], yes = 1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        error_set(error, errno, "a channel");
        worker_destroy(worker);
        return NULL;
    }
    worker->channel = pair[0];
    ends->channel = pair[1];
    if (setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) == 0 &&
        loop_watch_add(loop, &worker->channel_watch, pair[0], EPOLLIN, on_channel, worker, error) &&
        open_stream(worker, &worker->output, "stdout", settings->output_max_bytes, &ends->output,
                    error) &&
        open_stream(worker, &worker->error_output, "stderr", settings->stderr_max_bytes,
                    &ends->error_output, error))
        return worker;
    for (size_t i = 0; i < 3; i++) {
        int end = i == 0 ? ends->channel : i == 1 ? ends->output : ends->error_output;
        if (end >= 0)
            close(end);
    }
    worker_destroy(worker);
    return NULL;
}

void worker_set_owner(struct worker_process *worker, const struct worker_events *events,
                      void *context) {
    worker->events = events;
    worker->context = context;
}

void worker_evaluate(struct worker_process *worker, uint32_t call, const struct buffer *payload) {
    const struct frame_header header = {
        .type = FRAME_EVALUATE, .call = call, .length = (uint32_t)payload->length};
    worker->call = call;
    worker->refusals = 0;
    worker->state = WORKER_BUSY;
    buffer_append(&worker->outgoing, &header, sizeof header);
    buffer_append(&worker->outgoing, payload->data, payload->length);
    send_outgoing(worker);
}

void worker_forget_output(struct worker_process *worker) {
    worker->output.bytes.length = worker->error_output.bytes.length = 0;
    buffer_shrink(&worker->output.bytes, KEEP_BYTES);
    buffer_shrink(&worker->error_output.bytes, KEEP_BYTES);
}

size_t worker_resident_bytes(const struct worker_process *worker) {
    char path[40], text[128];
    snprintf(path, sizeof path, "/proc/%d/statm", worker->pid);
    cleanup_fd int fd = worker->pid > 1 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (got <= 0)
        return 0;
    text[got] = 0;
    char *end;
    strtoull(text, &end, 10); /* the first number is the size of the address space */
    return (size_t)strtoull(end, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

void worker_reaped(struct worker_process *worker, int status) {
    worker->pid = 0;
    loop_timer_stop(worker->loop, &worker->kill_timer);
    if (worker->state == WORKER_BUSY && worker->channel_watch.active)
        read_channel(worker); /* a result that was sent before the end still counts */
    worker_drain(worker);
    worker->state = WORKER_ENDING;
    worker->events->ended(worker->context, worker, status);
}

void worker_destroy(struct worker_process *worker) {
    loop_timer_stop(worker->loop, &worker->kill_timer);
    loop_watch_remove(worker->loop, &worker->channel_watch);
    if (worker->channel >= 0)
        close(worker->channel);
    close_listener(worker);
    close_stream(&worker->output);
    close_stream(&worker->error_output);
    buffer_free(&worker->output.bytes);
    buffer_free(&worker->error_output.bytes);
    buffer_free(&worker->outgoing);
    free(worker->payload);
    free(worker);
}
