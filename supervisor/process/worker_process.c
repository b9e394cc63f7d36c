/* The supervisor's end of a worker. Never blocks on it, never believes it, never signals a pid
 * that the kernel did not vouch for. */
#include "supervisor/process/worker_process.h"
#include "common/cleanup.h"
#include "common/descriptor.h"
#include "supervisor/process/listener.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    KEEP_BYTES = 256 * 1024,
    RESULT_MAX_BYTES = 32 << 20, /* far above what a worker that keeps to its limits sends */
    STOP_GRACE_MS = 200,         /* from the request to write out to the kill */
    CLOSED_GRACE_MS = 1000,      /* from the end of the channel to the kill */
    FORK_LIMIT_MS = 10000,       /* a fork collects garbage first when there was much of it */
    STRAYS_RETRY_MS = 10,        /* between two looks for strays while a relative is being born */
    STRAYS_RETRIES_MAX = 100
};

static bool read_channel(struct worker_process *worker);
static void abandon_fork(struct worker_process *parent, const char *what);

static void trace(const struct worker_process *worker, const char *what,
                  const struct frame_header *header) {
    static const char *const names[] = {
        [FRAME_READY] = "READY",   [FRAME_FAILED] = "FAILED", [FRAME_EVALUATE] = "EVALUATE",
        [FRAME_RESULT] = "RESULT", [FRAME_FORK] = "FORK",     [FRAME_RUN] = "RUN",
        [FRAME_EVENT] = "EVENT",   [FRAME_ASK] = "ASK",       [FRAME_ANSWER] = "ANSWER"};
    const bool known = header->type < sizeof names / sizeof *names && names[header->type];
    const struct log_event event = {
        .name = "frame", .session = worker->session, .call = header->call, .pid = worker->pid};
    LOG_TRACE(worker->workers->log, &event, "%s %s, %u bytes", what,
              known ? names[header->type] : "an unknown frame", header->length);
}

static void signal_worker(const struct worker_process *worker, int number) {
    if (worker->pid > 1 && !worker->reaped)
        kill(worker->pid, number);
}

/* Kills every child of this process that no table knows and whose session id, which no worker can
 * change, is LEADER; any when LEADER is 0. */
static void kill_strays(const struct workers *workers, pid_t leader) {
    char path[64], word[24];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", gettid());
    FILE *children = fopen(path, "re");
    if (!children)
        return;
    while (fscanf(children, "%23s", word) == 1) {
        pid_t pid = (pid_t)strtol(word, NULL, 10);
        if (pid > 1 && pid != workers->zygote && !workers_find(workers, pid) &&
            (leader == 0 || getsid(pid) == leader))
            kill(pid, SIGKILL);
    }
    fclose(children);
}

void workers_kill_all(const struct workers *workers) {
    for (const struct worker_process *worker = workers->first; worker; worker = worker->next) {
        signal_worker(worker, SIGKILL);
        shutdown(worker->channel, SHUT_RDWR); /* ends one whose pid was never proven */
    }
    kill_strays(workers, 0);
}

/* Is another fork with the same listener about to announce itself? It looks like a stray until
 * then. */
static bool awaits_relative(const struct worker_process *worker) {
    const struct worker_process *other = worker->workers->first;
    while (other && (other == worker || other->listener != worker->listener ||
                     other->state != WORKER_STARTING))
        other = other->next;
    return other != NULL;
}

/* A fork whose pid was never proven: what a hostile worker made of the one clone it was granted
 * cannot be recognised among the reaped. One that meant well has ended by the end of its channel.
 */
static void on_forgotten(void *context) {
    struct worker_process *worker = context;
    if (worker->is_fork && awaits_relative(worker) && worker->stray_looks++ < STRAYS_RETRIES_MAX) {
        loop_timer_start(worker->workers->loop, &worker->timer, STRAYS_RETRY_MS, on_forgotten,
                         worker);
        return;
    }
    if (worker->is_fork && worker->listener->leader > 1)
        kill_strays(worker->workers, worker->listener->leader);
    if (worker->parent)
        abandon_fork(worker->parent, "the fork was given up");
    worker->events->ended(worker->context, worker, 0);
}

/* Ends a worker that cannot be signalled: its end of the channel tells it. */
static void forget(struct worker_process *worker) {
    loop_watch_remove(worker->workers->loop, &worker->channel_watch);
    shutdown(worker->channel, SHUT_RDWR);
    loop_timer_start(worker->workers->loop, &worker->timer, 0, on_forgotten, worker);
}

void worker_kill(struct worker_process *worker) {
    bool proven = worker->pid != 0;
    worker->state = WORKER_ENDING;
    signal_worker(worker, SIGKILL);
    if (!proven)
        forget(worker);
}

static void on_kill_timer(void *context) {
    worker_kill(context);
}

void worker_stop(struct worker_process *worker) {
    worker->state = WORKER_ENDING;
    signal_worker(worker, SIGUSR1);
    loop_timer_start(worker->workers->loop, &worker->timer, STOP_GRACE_MS, on_kill_timer, worker);
}

/* The fork under way is over, one way or the other. A parent that is ending keeps its own timer. */
static void end_forking(struct worker_process *parent) {
    if (parent->state != WORKER_FORKING)
        return;
    parent->state = WORKER_READY;
    if (parent->channel_watch.active) /* else it is the timer of who closed its channel */
        loop_timer_stop(parent->workers->loop, &parent->timer);
}

/* The fork under way has come to nothing; both sides forget each other. */
static void abandon_fork(struct worker_process *parent, const char *what) {
    struct worker_process *child = parent->child;
    if (!child)
        return;
    parent->child = NULL;
    parent->clone_expected = false;
    child->parent = NULL;
    if (child->state == WORKER_STARTING)
        worker_kill(child);
    end_forking(parent);
    parent->events->fork_failed(parent->context, parent, what);
}

static void malformed(struct worker_process *worker, const char *what) {
    if (worker->state == WORKER_ENDING)
        return;
    struct worker_process *parent = worker->parent;
    worker_kill(worker);
    abandon_fork(worker, what);
    worker->events->malformed(worker->context, worker, what);
    if (parent)
        abandon_fork(parent, what);
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
    loop_watch_change(worker->workers->loop, &worker->channel_watch,
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
    loop_watch_remove(worker->workers->loop, &worker->channel_watch);
    if (worker->state == WORKER_STARTING)
        malformed(worker, "it ended before it was ready");
    else if (worker->state != WORKER_ENDING)
        loop_timer_start(worker->workers->loop, &worker->timer, CLOSED_GRACE_MS, on_channel_closed,
                         worker);
}

/* A pid is proven when the kernel says who sent, that it is a child of ours, and that it is none
 * of those that are known already. */
static bool prove_pid(struct worker_process *worker, pid_t pid) {
    siginfo_t info;
    if (pid <= 1 || workers_find(worker->workers, pid) ||
        waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
        return false;
    worker->pid = pid;
    if (!worker->is_fork)
        worker->listener->leader = pid;
    return true;
}

static void take_ready(struct worker_process *worker) {
    struct worker_process *parent = worker->parent;
    if (worker->pid == 0) {
        malformed(worker, "it did not prove its pid");
        return;
    }
    if (worker->is_fork && !listener_saw_tie(worker->listener, worker->pid)) {
        malformed(worker, "it would outlive the supervisor");
        return;
    }
    worker->state = WORKER_READY;
    loop_timer_stop(worker->workers->loop, &worker->timer);
    if (parent) {
        worker->parent = parent->child = NULL;
        parent->clone_expected = false;
        end_forking(parent);
    }
    worker->events->ready(worker->context, worker);
    if (parent)
        parent->events->ready(parent->context, parent);
}

static void take_failed(struct worker_process *worker) {
    char what[160];
    snprintf(what, sizeof what, "%.*s", (int)worker->header.length,
             worker->payload ? (const char *)worker->payload : "");
    for (char *byte = what; *byte; byte++)
        if (*byte < ' ' || *byte > '~') /* from a worker it may be anything */
            *byte = '?';
    if (worker->state == WORKER_FORKING)
        abandon_fork(worker, what);
    else
        malformed(worker, what);
}

/* Has it read what it speaks of? */
static bool has_read_call(struct worker_process *worker) {
    if (worker->outgoing.length)
        malformed(worker, "it answered a call that it had not read");
    return !worker->outgoing.length;
}

static void take_result(struct worker_process *worker) {
    if (!has_read_call(worker))
        return;
    worker->state = WORKER_READY;
    worker->events->result(worker->context, worker, worker->payload, worker->header.length);
}

static void take_event(struct worker_process *worker) {
    if (has_read_call(worker))
        worker->events->event(worker->context, worker, worker->payload, worker->header.length);
}

static void take_ask(struct worker_process *worker) {
    if (!has_read_call(worker))
        return;
    worker->state = WORKER_ASKING;
    worker->events->ask(worker->context, worker, worker->payload, worker->header.length);
}

/* Which frame is lawful in which state, how long it may be, and who handles it. */
static const struct frame_rule {
    enum frame_type type;
    enum worker_state state;
    enum { OUTSIDE, OF_CALL, OF_RUN } of; /* carries the number of the running call, or of a run */
    uint32_t length_max;
    void (*handle)(struct worker_process *worker);
} frame_rules[] = {
    {FRAME_READY, WORKER_STARTING, OUTSIDE, 0, take_ready},
    {FRAME_FAILED, WORKER_STARTING, OUTSIDE, 1024, take_failed},
    {FRAME_FAILED, WORKER_FORKING, OUTSIDE, 1024, take_failed},
    {FRAME_RESULT, WORKER_BUSY, OF_CALL, RESULT_MAX_BYTES, take_result},
    {FRAME_EVENT, WORKER_BUSY, OF_RUN, FRAME_EVENT_MAX, take_event},
    {FRAME_ASK, WORKER_BUSY, OF_RUN, FRAME_ASK_MAX, take_ask},
};

static const struct frame_rule *lawful_rule(const struct worker_process *worker) {
    const struct frame_header *header = &worker->header;
    for (size_t i = 0; i < sizeof frame_rules / sizeof *frame_rules; i++) {
        const struct frame_rule *rule = &frame_rules[i];
        if (header->type == rule->type && worker->state == rule->state && header->flags == 0 &&
            header->length <= rule->length_max &&
            header->call == (rule->of == OUTSIDE ? 0 : worker->call) &&
            (rule->of != OF_RUN || worker->runs))
            return rule;
    }
    return NULL;
}

static void frame_done(struct worker_process *worker) {
    const struct frame_rule *rule = lawful_rule(worker);
    cleanup_free unsigned char *payload = worker->payload;
    worker->header_have = worker->payload_have = 0;
    trace(worker, rule ? "received" : "dropped", &worker->header);
    if (rule)
        rule->handle(worker);
    worker->payload = NULL;
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

/* Takes the listener, of which there is one in a first worker's READY; closes everything else. */
static void take_descriptors(struct worker_process *worker, struct cmsghdr *item) {
    int fd;
    if (descriptors_take(item, &fd, 1) > 0 && (worker->state != WORKER_STARTING || worker->parent ||
                                               !listener_open(worker->listener, fd)))
        close(fd);
}

/* Takes what came beside the bytes: the sender's pid, which the kernel vouches for, and in a first
 * worker's READY the listener. False when the sender is another process than before: a parent that
 * answers for its fork. */
static bool take_ancillary(struct worker_process *worker, struct msghdr *message) {
    bool proven = true;
    for (struct cmsghdr *item = CMSG_FIRSTHDR(message); item; item = CMSG_NXTHDR(message, item)) {
        if (item->cmsg_level != SOL_SOCKET)
            continue;
        if (item->cmsg_type == SCM_CREDENTIALS) {
            struct ucred sender;
            memcpy(&sender, CMSG_DATA(item), sizeof sender);
            proven = worker->pid ? worker->pid == sender.pid : prove_pid(worker, sender.pid);
        } else if (item->cmsg_type == SCM_RIGHTS) {
            take_descriptors(worker, item);
        }
    }
    return proven;
}

/* As recv, and proves the sender. Room for one descriptor, which alignment makes two; the kernel
 * drops the others. */
static ssize_t receive(struct worker_process *worker, void *bytes, size_t size, bool *proven) {
    struct iovec part = {.iov_base = bytes, .iov_len = size};
    _Alignas(
        struct cmsghdr) char control[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    ssize_t got = recvmsg(worker->channel, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    *proven = got <= 0 || take_ancillary(worker, &message);
    return got;
}

/* Reads what is there, at most one whole frame, so that nobody holds the supervisor here. Returns
 * whether it was one. */
static bool read_channel(struct worker_process *worker) {
    for (;;) {
        bool in_header = worker->header_have < sizeof worker->header, proven;
        unsigned char *target = in_header ? (unsigned char *)&worker->header + worker->header_have
                                          : worker->payload + worker->payload_have;
        size_t wanted = in_header ? sizeof worker->header - worker->header_have
                                  : worker->header.length - worker->payload_have;
        ssize_t got = receive(worker, target, wanted, &proven);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return false;
        if (got <= 0) {
            channel_ended(worker);
            return false;
        }
        if (!proven) {
            malformed(worker, "another process spoke for it");
            return false;
        }
        if (in_header)
            worker->header_have += (size_t)got;
        else
            worker->payload_have += (size_t)got;
        if (in_header && worker->header_have == sizeof worker->header && !header_done(worker)) {
            /* Nothing that it says counts any more, and there is no payload to read into. */
            loop_watch_remove(worker->workers->loop, &worker->channel_watch);
            return false;
        }
        if (worker->header_have == sizeof worker->header &&
            worker->payload_have == worker->header.length) {
            frame_done(worker);
            return true;
        }
    }
}

/* --- birth --- */

struct worker_process *worker_create(struct workers *workers, const struct worker_events *events,
                                     void *context, int *their_channel, struct error *error) {
    int pair[2], yes = 1;
    struct worker_process *worker = calloc(1, sizeof *worker);
    if (!worker) {
        error_set(error, ENOMEM, "a worker");
        return NULL;
    }
    worker->workers = workers;
    worker->state = WORKER_STARTING;
    worker->channel = -1;
    worker->outgoing = buffer_make(FRAME_PAYLOAD_MAX + sizeof(struct frame_header));
    worker->next = workers->first;
    workers->first = worker;
    worker_set_owner(worker, events, context, NULL);
    worker->listener = listener_create(workers);
    if (!worker->listener || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        error_set(error, errno, "a channel");
        worker_destroy(worker);
        return NULL;
    }
    worker->channel = pair[0];
    *their_channel = pair[1];
    /* Its own end never blocks: a worker need not read. Theirs does. */
    if (setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) == 0 &&
        fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0 &&
        loop_watch_add(workers->loop, &worker->channel_watch, pair[0], EPOLLIN, on_channel, worker,
                       error))
        return worker;
    close(pair[1]);
    worker_destroy(worker);
    return NULL;
}

static void on_fork_limit(void *context) {
    struct worker_process *parent = context;
    malformed(parent, "it did not fork when asked to");
}

bool worker_can_fork(const struct worker_process *worker) {
    return worker->listener->fd >= 0;
}

struct worker_process *worker_fork(struct worker_process *parent,
                                   const struct worker_events *events, void *context,
                                   const char *session, const int outputs[2], struct error *error) {
    int descriptors[FRAME_DESCRIPTORS_MAX];
    const struct frame_header header = {.type = FRAME_FORK};
    struct worker_process *child =
        worker_create(parent->workers, events, context, &descriptors[0], error);
    if (!child)
        return NULL;
    child->session = session;
    if (outputs)
        memcpy(descriptors + 1, outputs, 2 * sizeof *outputs);
    bool sent = frame_send(parent->channel, &header, NULL, descriptors, outputs ? 3 : 1, error);
    close(descriptors[0]);
    trace(parent, sent ? "sent" : "could not send", &header);
    if (!sent) {
        worker_destroy(child);
        return NULL;
    }
    listener_leave(child->listener);
    child->listener = listener_join(parent->listener);
    child->is_fork = true;
    child->parent = parent;
    parent->child = child;
    parent->clone_expected = true;
    parent->state = WORKER_FORKING;
    loop_timer_start(parent->workers->loop, &parent->timer, FORK_LIMIT_MS, on_fork_limit, parent);
    return child;
}

void worker_set_owner(struct worker_process *worker, const struct worker_events *events,
                      void *context, const char *session) {
    worker->events = events;
    worker->context = context;
    worker->session = session;
}

/* Queues a frame of the running call. False with no memory. */
static bool send_frame(struct worker_process *worker, enum frame_type type, const void *payload,
                       size_t size) {
    const struct frame_header header = {
        .type = (uint16_t)type, .call = worker->call, .length = (uint32_t)size};
    bool queued = size <= FRAME_PAYLOAD_MAX &&
                  buffer_reserve(&worker->outgoing, sizeof header + size) &&
                  buffer_append(&worker->outgoing, &header, sizeof header) &&
                  buffer_append(&worker->outgoing, payload, size);
    trace(worker, queued ? "sent" : "could not send", &header);
    send_outgoing(worker);
    return queued;
}

static bool begin_call(struct worker_process *worker, uint32_t call, bool runs,
                       const struct buffer *payload) {
    worker->call = call;
    worker->runs = runs;
    worker->notified = 0;
    worker->state = WORKER_BUSY;
    return send_frame(worker, runs ? FRAME_RUN : FRAME_EVALUATE, payload->data, payload->length);
}

bool worker_evaluate(struct worker_process *worker, uint32_t call, const struct buffer *payload) {
    return begin_call(worker, call, false, payload);
}

bool worker_run(struct worker_process *worker, uint32_t call, const struct buffer *payload) {
    return begin_call(worker, call, true, payload);
}

bool worker_answer(struct worker_process *worker, struct span answer) {
    if (worker->state != WORKER_ASKING ||
        !send_frame(worker, FRAME_ANSWER, answer.bytes, answer.length))
        return false;
    worker->state = WORKER_BUSY;
    return true;
}

/* --- what it costs --- */

static ssize_t read_process_file(pid_t pid, const char *name, char *text, size_t size) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    cleanup_fd int fd = pid > 1 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t got = fd >= 0 ? read(fd, text, size - 1) : -1;
    text[got > 0 ? got : 0] = 0;
    return got;
}

size_t worker_resident_bytes(const struct worker_process *worker) {
    char text[128], *end;
    if (read_process_file(worker->pid, "statm", text, sizeof text) <= 0)
        return 0;
    strtoull(text, &end, 10); /* the first number is the size of the address space */
    return (size_t)strtoull(end, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

size_t worker_proportional_bytes(const struct worker_process *worker, bool *exact) {
    static const char label[] = "\nPss:";
    char text[1024];
    *exact = read_process_file(worker->pid, "smaps_rollup", text, sizeof text) > 0;
    const char *line = strstr(text, label);
    if (!line) {
        *exact = false;
        return worker_resident_bytes(worker);
    }
    return (size_t)strtoull(line + sizeof label - 1, NULL, 10) * 1024;
}

/* --- death --- */

struct worker_process *workers_find(const struct workers *workers, pid_t pid) {
    struct worker_process *worker = workers->first;
    while (worker && worker->pid != pid)
        worker = worker->next;
    return worker;
}

void worker_reaped(struct worker_process *worker, int status, struct usage usage) {
    const struct log_event event = {
        .name = "worker", .session = worker->session, .call = worker->call, .pid = worker->pid};
    LOG_TRACE(worker->workers->log, &event, "%s %d",
              WIFSIGNALED(status) ? "ended by signal" : "ended with status",
              WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    worker->reaped = true;
    worker->usage = usage;
    while (worker->state == WORKER_BUSY && worker->channel_watch.active && read_channel(worker))
        ; /* a result that was sent before the end still counts */
    worker->pid = 0;
    struct worker_process *parent = worker->parent;
    loop_timer_stop(worker->workers->loop, &worker->timer);
    worker->state = WORKER_ENDING;
    abandon_fork(worker, "it ended");
    if (parent)
        abandon_fork(parent, "the fork ended");
    loop_timer_stop(worker->workers->loop, &worker->timer);
    worker->events->ended(worker->context, worker, status);
}

void worker_destroy(struct worker_process *worker) {
    struct worker_process **link = &worker->workers->first;
    while (*link && *link != worker)
        link = &(*link)->next;
    if (*link)
        *link = worker->next;
    if (worker->parent)
        worker->parent->child = NULL;
    if (worker->child)
        worker->child->parent = NULL;
    loop_timer_stop(worker->workers->loop, &worker->timer);
    loop_watch_remove(worker->workers->loop, &worker->channel_watch);
    if (worker->channel >= 0)
        close(worker->channel);
    listener_leave(worker->listener);
    buffer_free(&worker->outgoing);
    free(worker->payload);
    free(worker);
}
