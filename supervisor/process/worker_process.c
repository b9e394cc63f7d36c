/* The supervisor's end of a worker: killing, the seccomp listener, the channel, forks, reaping.
 * Does not block on a worker, and signals only pids that the kernel has proven. */
#include "supervisor/process/worker_process.h"
#include "common/child.h"
#include "common/cleanup.h"
#include "common/descriptor.h"
#include "common/track.h"
#include "policy/code.h"
#include "policy/policy.h"
#include "supervisor/base/clock.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    KEEP_BYTES = 256 * 1024,
    RESULT_MAX_BYTES = 32 << 20, /* far above what a worker within its limits sends */
    STOP_GRACE_MS = 200,         /* from the request to flush to the kill */
    SETTLE_MS = 10,              /* for FRAME_PREFAULT, */
    SETTLE_PAGES = 100,          /* and another millisecond for so many pages */
    CLOSED_GRACE_MS = 1000,      /* from the end of the channel to the kill */
    FORK_LIMIT_MS = 10000,       /* a worker may collect garbage before it forks */
    FORK_LEAST_MS = 2000,        /* worker_limit_fork: on a busy machine too */
    STRAYS_RETRY_MS = 10,        /* while another fork has not announced itself */
    STRAYS_RETRIES_MAX = 100,
    CLONES_MAX = 64,         /* of one fork that signals interrupt */
    SENDS_MAX = 8,           /* to a channel in one turn, */
    SEND_BYTES = 256 * 1024, /* of at most so many bytes */
    READS_MAX = 32,          /* of a channel in one turn: a worker may send a frame byte by byte */
    READ_BYTES = 128 * 1024,
    TIED_MAX = 8,            /* forks of one worker that announce themselves at the same time */
    NOTIFIED_LOGGED = 5,     /* refused system calls of one call that are logged */
    NOTIFIED_MAX = 10000,    /* in one call; more is an attack on the supervisor's time */
    NOTIFICATION_BYTES = 256 /* a newer kernel's structures may be larger than these headers' */
};

/* The notification descriptor of a seccomp filter, which a worker and all its forks share. */
struct listener {
    struct workers *workers;
    struct loop_watch watch;
    int fd;       /* -1: none, as with --degraded */
    pid_t leader; /* the first worker, whose pid is the session id of all of them; 0: not proven */
    pid_t tied[TIED_MAX]; /* forks that set their death signal before they announced themselves */
    size_t tied_next;
    size_t members;
};

enum reading { READ_NOTHING, READ_PART, READ_FRAME };

static enum reading read_channel(struct worker_process *worker);
static void abandon_fork(struct worker_process *parent, const char *what);
static void end_native(struct worker_process *worker);

static void trace(const struct worker_process *worker, const char *what,
                  const struct frame_header *header) {
    static const char *const names[] = {
        [FRAME_READY] = "READY",     [FRAME_FAILED] = "FAILED",   [FRAME_EVALUATE] = "EVALUATE",
        [FRAME_RESULT] = "RESULT",   [FRAME_FORK] = "FORK",       [FRAME_RUN] = "RUN",
        [FRAME_EVENT] = "EVENT",     [FRAME_ASK] = "ASK",         [FRAME_ANSWER] = "ANSWER",
        [FRAME_OUTPUTS] = "OUTPUTS", [FRAME_COMPILE] = "COMPILE", [FRAME_CODE] = "CODE",
        [FRAME_OBJECT] = "OBJECT",   [FRAME_SEALED] = "SEALED",   [FRAME_ADOPT] = "ADOPT",
        [FRAME_TRACK] = "TRACK",     [FRAME_PAGES] = "PAGES",     [FRAME_TRACKED] = "TRACKED",
        [FRAME_REFINE] = "REFINE",   [FRAME_REFINED] = "REFINED", [FRAME_PREFAULT] = "PREFAULT"};
    const bool known = header->type < sizeof names / sizeof *names && names[header->type];
    const struct log_event event = {
        .name = "frame", .session = worker->session, .call = header->call, .pid = worker->pid};
    LOG_TRACE(worker->workers->log, &event, "%s %s, %u bytes", what,
              known ? names[header->type] : "an unknown frame", header->length);
}

void workers_signal(const struct workers *workers, pid_t pid, int number) {
    if (workers->launcher && !workers->may_signal)
        policy_launcher_signal(workers->launcher, pid, number);
    else
        kill(pid, number);
}

void workers_prefer(const struct workers *workers, pid_t pid, enum policy_oom_order order) {
    if (workers->launcher)
        policy_launcher_prefer(workers->launcher, pid, order);
    else
        policy_oom_prefer(pid, order);
}

void workers_group(const struct workers *workers, pid_t pid, uint64_t session) {
    if (workers->launcher)
        policy_launcher_group(workers->launcher, pid, session);
}

int workers_open_oom(const struct workers *workers) {
    return workers->launcher ? policy_launcher_open_oom(workers->launcher) : policy_oom_open();
}

static void signal_worker(const struct worker_process *worker, int number) {
    if (worker->pid > 1 && !worker->reaped && !worker->workers->left_alone)
        workers_signal(worker->workers, worker->pid, number);
}

/* --- rest --- */

void worker_rest(struct worker_process *worker) {
    if (worker->rest != REST_NONE ||
        (worker->state != WORKER_READY && worker->state != WORKER_ASKING))
        return;
    worker->rests = worker->settles;
    if (worker->settles)
        return;
    signal_worker(worker, SIGSTOP);
    worker->rest = REST_REQUESTED;
}

bool worker_is_stopped(struct worker_process *worker) {
    siginfo_t info = {.si_pid = 0};
    if (worker->rest == REST_REQUESTED && worker->pid > 1 &&
        waitid(P_PID, (id_t)worker->pid, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid != 0)
        worker->rest = REST_STOPPED;
    return worker->rest == REST_STOPPED;
}

/* After the frame for which it wakes was sent, so that it wakes once. */
static void wake(struct worker_process *worker) {
    worker->wakes++;
    worker->settles = worker->rests = false;
    if (worker->rest == REST_NONE)
        return;
    worker->rest = REST_NONE;
    signal_worker(worker, SIGCONT);
}

/* Counts the unknown children of this process whose session id, which a worker cannot change, is
 * LEADER, 0: any; and kills them if KILL. */
static size_t find_strays(const struct workers *workers, pid_t leader, bool kill) {
    char path[64], word[24];
    size_t count = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", gettid());
    FILE *children = fopen(path, "re");
    if (!children)
        return 0;
    while (fscanf(children, "%23s", word) == 1) {
        pid_t pid = (pid_t)strtol(word, NULL, 10);
        bool is_known = pid == workers->zygote ||
                        (workers->launcher && pid == workers->launcher->pid) ||
                        workers_find(workers, pid);
        if (pid <= 1 || is_known || (leader != 0 && getsid(pid) != leader))
            continue;
        count++;
        if (kill)
            workers_signal(workers, pid, SIGKILL);
    }
    fclose(children);
    return count;
}

void workers_kill_all(const struct workers *workers) {
    const struct worker_process *worker;
    LIST_FOREACH(worker, &workers->list, entry) {
        signal_worker(worker, SIGKILL);
        shutdown(worker->channel, SHUT_RDWR); /* ends one whose pid is not proven */
    }
    find_strays(workers, 0, true);
}

/* Another fork with the same listener has not announced itself, and still looks like a stray. */
static bool awaits_relative(const struct worker_process *worker) {
    const struct worker_process *other;
    LIST_FOREACH(other, &worker->workers->list, entry) {
        if (other != worker && other->listener == worker->listener &&
            other->state == WORKER_STARTING)
            return true;
    }
    return false;
}

/* Gives up a worker whose pid is not proven. An honest fork has ended with its channel; a process
 * that a hostile worker made with the clone it was granted must be searched for. */
static void on_abandoned(void *context) {
    struct worker_process *worker = context;
    if (worker->is_fork && awaits_relative(worker) &&
        worker->stray_retries++ < STRAYS_RETRIES_MAX) {
        loop_timer_start(worker->workers->loop, &worker->timer, STRAYS_RETRY_MS, on_abandoned,
                         worker);
        return;
    }
    if (worker->is_fork && worker->listener->leader > 1)
        find_strays(worker->workers, worker->listener->leader, true);
    if (worker->parent)
        abandon_fork(worker->parent, "the fork was abandoned");
    worker->events->ended(worker->context, worker, 0);
}

void worker_kill(struct worker_process *worker) {
    worker->state = WORKER_ENDING;
    worker->killed = true;
    end_native(worker);
    signal_worker(worker, SIGKILL);
    if (worker->pid == 0) { /* it cannot be signalled; the end of its channel ends it */
        loop_watch_remove(worker->workers->loop, &worker->channel_watch);
        shutdown(worker->channel, SHUT_RDWR);
        loop_timer_start(worker->workers->loop, &worker->timer, 0, on_abandoned, worker);
    }
}

static void on_kill_timer(void *context) {
    worker_kill(context);
}

void worker_kill_later(struct worker_process *worker) {
    loop_timer_start(worker->workers->loop, &worker->timer, 0, on_kill_timer, worker);
}

void worker_stop(struct worker_process *worker) {
    worker->state = WORKER_ENDING;
    signal_worker(worker, SIGUSR1);
    wake(worker);
    loop_timer_start(worker->workers->loop, &worker->timer, STOP_GRACE_MS, on_kill_timer, worker);
}

/* A parent that is ending, or whose channel has ended, keeps the timer of its kill. */
static void end_forking(struct worker_process *parent) {
    if (parent->state != WORKER_FORKING)
        return;
    parent->state = WORKER_READY;
    if (parent->channel_watch.active)
        loop_timer_stop(parent->workers->loop, &parent->timer);
}

/* Ends the fork that PARENT is making, if there is one, as failed. */
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

/* --- the listener --- */

static void close_listener(struct listener *listener) {
    loop_watch_remove(listener->workers->loop, &listener->watch);
    if (listener->fd >= 0)
        close(listener->fd);
    listener->fd = -1;
}

/* LISTENER may be NULL. */
static void leave_listener(struct listener *listener) {
    if (!listener || --listener->members)
        return;
    close_listener(listener);
    free(listener);
}

static void drop_gift(struct worker_process *worker) {
    if (worker->gift >= 0)
        close(worker->gift);
    worker->gift = -1;
}

/* Installs the channel of the fork that is apart in the process that made the notified call ID, if
 * one is awaited. A call that a signal interrupts comes again. */
static void give_channel(const struct listener *listener, uint64_t id) {
    struct worker_process *fork;
    LIST_FOREACH(fork, &listener->workers->list, entry) {
        if (fork->listener != listener || fork->state != WORKER_STARTING || fork->gift < 0)
            continue;
        struct seccomp_notif_addfd addition = {.id = id,
                                               .flags = SECCOMP_ADDFD_FLAG_SETFD,
                                               .srcfd = (uint32_t)fork->gift,
                                               .newfd = FRAME_CHANNEL};
        if (ioctl(listener->fd, SECCOMP_IOCTL_NOTIF_ADDFD, &addition) >= 0)
            drop_gift(fork);
        return;
    }
}

static void drop_sealed(struct worker_process *worker) {
    if (worker->native.sealed >= 0)
        close(worker->native.sealed);
    worker->native.sealed = -1;
}

static void end_native(struct worker_process *worker) {
    if (worker->native.compilation)
        compiler_cancel(worker->native.compilation);
    worker->native.compilation = NULL;
    drop_sealed(worker);
}

/* REQUEST maps the code that was sealed for WORKER, which it may do once. */
static bool gives_code(struct listener *listener, struct worker_process *worker,
                       const struct seccomp_notif *request) {
    return worker && worker->state == WORKER_BUSY &&
           policy_code_give(listener->fd, request, &worker->native.sealed,
                            worker->native.sealed_bytes);
}

static void reply(struct listener *listener, uint64_t id, int error, uint32_t flags) {
    union {
        struct seccomp_notif_resp response;
        unsigned char room[NOTIFICATION_BYTES];
    } message = {.room = {0}};
    message.response.id = id;
    message.response.error = -error;
    message.response.flags = flags;
    ioctl(listener->fd, SECCOMP_IOCTL_NOTIF_SEND, &message.response);
}

/* A signal, such as the one that stops an idle process, may interrupt a clone that was permitted,
 * and the kernel makes the call again. Then no process has come of it. */
static bool may_clone_again(struct worker_process *worker) {
    const struct worker_process *child = worker->child;
    return child && child->pid == 0 && child->state == WORKER_STARTING &&
           worker->listener->leader > 1 && worker->clones++ < CLONES_MAX &&
           find_strays(worker->workers, worker->listener->leader, false) == 0;
}

/* CALL is the clone that WORKER was asked for, with exactly its arguments. They are all in
 * registers, so the worker cannot change them after this check. */
static bool is_expected_clone(struct worker_process *worker, const struct seccomp_data *call) {
    if (call->nr != SYS_clone || call->args[0] != (CLONE_PARENT | SIGCHLD))
        return false;
    for (int i = 1; i < 5; i++)
        if (call->args[i] != 0)
            return false;
    return worker->clone_expected || may_clone_again(worker);
}

/* CALL makes the userfaultfd that WORKER was asked for. It may make it again if a signal interrupts
 * it, but has one use: to be handed over. */
static bool is_expected_userfault(const struct worker_process *worker,
                                  const struct seccomp_data *call) {
    return call->nr == SYS_userfaultfd && call->args[0] == TRACK_FLAGS &&
           worker->tracking.state == TRACKING_ASKED;
}

/* CALL lets others of its user inspect WORKER, which is asked to for a while, or ends that. */
static bool is_expected_inspection(const struct worker_process *worker,
                                   const struct seccomp_data *call) {
    return call->nr == SYS_prctl && call->args[0] == PR_SET_DUMPABLE &&
           (call->args[1] == 0 ||
            (call->args[1] == 1 && (worker->tracking.state == TRACKING_ASKED ||
                                    worker->tracking.state == TRACKING_MADE)));
}

/* True, once for each fork, if the fork PID has set its death signal. */
static bool take_tied(struct listener *listener, pid_t pid) {
    for (size_t i = 0; i < TIED_MAX; i++)
        if (listener->tied[i] == pid) {
            listener->tied[i] = 0;
            return true;
        }
    return false;
}

static void refuse_call(struct listener *listener, const struct worker_process *worker,
                        const struct seccomp_notif *request, const struct policy_ruling *ruling) {
    reply(listener, request->id, ruling->error, 0);
    if (worker->notified <= NOTIFIED_LOGGED) {
        const struct log_event event = {
            .level = LOG_INFO_LEVEL, .name = "refused", .call = worker->call};
        const __u64 *arguments = request->data.args;
        log_write(listener->workers->log, &event, "%s(%#llx, %#llx, %#llx, %#llx, %#llx, %#llx)",
                  ruling->name, arguments[0], arguments[1], arguments[2], arguments[3],
                  arguments[4], arguments[5]);
    }
}

static void kill_for_call(struct listener *listener, struct worker_process *worker, pid_t pid,
                          const char *name) {
    if (!worker) {
        /* A fork that has not announced itself, and is hostile, since the runtime makes no such
         * call before. It is a child of ours until it is reaped, so its pid cannot be reused. */
        const struct log_event event = {.level = LOG_WARNING_LEVEL, .name = "violation"};
        log_write(listener->workers->log, &event, "%s in a fork that has not announced itself",
                  name);
        if (pid > 1)
            workers_signal(listener->workers, pid, SIGKILL);
    } else if (worker->state != WORKER_ENDING) {
        worker_kill(worker);
        worker->events->violation(worker->context, worker, name);
    }
}

static void on_notified(void *context, uint32_t events) {
    struct listener *listener = context;
    union {
        struct seccomp_notif request;
        unsigned char room[NOTIFICATION_BYTES];
    } notified = {.room = {0}};
    if (!(events & EPOLLIN)) {
        close_listener(listener);
        return;
    }
    if (ioctl(listener->fd, SECCOMP_IOCTL_NOTIF_RECV, &notified.request) != 0)
        return; /* the process has ended, or a signal interrupted the call */
    const struct seccomp_notif *request = &notified.request;
    pid_t pid = (pid_t)request->pid;
    struct worker_process *worker = workers_find(listener->workers, pid);
    struct policy_ruling ruling =
        policy_judge(listener->workers->grants, &request->data,
                     policy_judges_by_pid(request->data.nr) ? policy_pid_within(pid) : pid);
    if (ruling.verdict == POLICY_ALLOW && policy_maps_code(&request->data) &&
        !gives_code(listener, worker, request))
        ruling =
            (struct policy_ruling){.verdict = POLICY_REFUSE, .error = EPERM, .name = ruling.name};
    bool clone = worker && is_expected_clone(worker, &request->data);
    const bool first = clone && worker->clone_expected;
    bool userfault = worker && is_expected_userfault(worker, &request->data);
    bool inspection = worker && is_expected_inspection(worker, &request->data);
    bool flood = worker && worker->notified++ >= NOTIFIED_MAX;
    if (worker && clone)
        worker->clone_expected = false;
    if (worker && userfault)
        worker->tracking.state = TRACKING_MADE;
    /* The prctl that sets the death signal. Its arguments are in registers too, so it will be made
     * as checked, and a fork that has set the signal is not allowed to clear it. */
    if (!worker && request->data.nr == SYS_prctl && ruling.verdict == POLICY_ALLOW) {
        listener->tied[listener->tied_next++ % TIED_MAX] = pid;
        give_channel(listener, request->id);
    }
    if (clone || userfault || inspection || (ruling.verdict == POLICY_ALLOW && !flood))
        /* Safe only for calls whose arguments are all in registers. */
        reply(listener, request->id, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
    else if (!worker || ruling.verdict == POLICY_KILL || flood)
        kill_for_call(listener, worker, pid, ruling.name);
    else
        refuse_call(listener, worker, request, &ruling);
    if (first && worker->state == WORKER_FORKING && worker->child)
        worker->events->cloned(worker->context, worker);
}

/* Takes over FD. False, with FD still the caller's, if it cannot be watched or is a second one. */
static bool open_listener(struct listener *listener, int fd) {
    if (listener->fd >= 0 || !loop_watch_add(listener->workers->loop, &listener->watch, fd, EPOLLIN,
                                             on_notified, listener, NULL))
        return false;
    listener->fd = fd;
    return true;
}

/* --- the channel --- */

/* A worker that reads while this writes could take frames of any size in one turn. */
static void send_outgoing(struct worker_process *worker) {
    struct buffer *outgoing = &worker->outgoing;
    for (unsigned sends = 0; sends < SENDS_MAX && worker->sent < outgoing->length; sends++) {
        const size_t rest = outgoing->length - worker->sent;
        ssize_t sent = send(worker->channel, outgoing->data + worker->sent,
                            rest < SEND_BYTES ? rest : SEND_BYTES, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            break; /* full until EPOLLOUT; or the worker has ended, and will be reaped */
        worker->sent += (size_t)sent;
    }
    if (worker->sent == outgoing->length) {
        outgoing->length = worker->sent = 0;
        buffer_shrink(outgoing, KEEP_BYTES);
    }
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
    malformed(context, "the worker closed its channel");
}

/* The worker has most likely ended, and its exit status will say more; it is killed only if it does
 * not end in time. */
static void channel_ended(struct worker_process *worker) {
    loop_watch_remove(worker->workers->loop, &worker->channel_watch);
    if (worker->state == WORKER_STARTING)
        malformed(worker, "the worker ended before it was ready");
    else if (worker->state != WORKER_ENDING)
        loop_timer_start(worker->workers->loop, &worker->timer, CLOSED_GRACE_MS, on_channel_closed,
                         worker);
}

/* PID, which the kernel reports as the sender's, is proven if it is a child of ours and not that of
 * another worker. */
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
        malformed(worker, "the worker did not prove its pid");
        return;
    }
    if (worker->is_fork && !take_tied(worker->listener, worker->pid)) {
        malformed(worker, "the fork did not set its death signal");
        return;
    }
    if (worker->spoilt) {
        malformed(worker, "the fork cannot be given its state");
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
        if (*byte < ' ' || *byte > '~') /* a worker may send any bytes */
            *byte = '?';
    if (worker->state == WORKER_FORKING)
        abandon_fork(worker, what);
    else
        malformed(worker, what);
}

/* A worker that has not read its whole call cannot know the answer. */
static bool has_read_call(struct worker_process *worker) {
    if (worker->outgoing.length)
        malformed(worker, "the worker answered a call that it had not read");
    return !worker->outgoing.length;
}

bool worker_is_answering(const struct worker_process *worker) {
    return worker->state == WORKER_BUSY && worker->header_have == sizeof worker->header &&
           worker->header.type == FRAME_RESULT;
}

int64_t worker_cpu_us(const struct worker_process *worker) {
    clockid_t clock;
    struct timespec used;
    if (worker->pid <= 1 || worker->reaped || clock_getcpuclockid(worker->pid, &clock) != 0 ||
        clock_gettime(clock, &used) != 0)
        return clock_now_ns() / CLOCK_NS_PER_US;
    return (int64_t)used.tv_sec * CLOCK_US_PER_MS * CLOCK_MS_PER_S + used.tv_nsec / CLOCK_NS_PER_US;
}

static void take_result(struct worker_process *worker) {
    if (!has_read_call(worker))
        return;
    end_native(worker);
    worker->state = WORKER_READY;
    worker->tracking.wakes = worker->wakes;
    worker->events->result(worker->context, worker, worker->payload, worker->header.length);
}

static void take_refined(struct worker_process *worker) {
    if (!has_read_call(worker))
        return;
    end_native(worker);
    worker->state = WORKER_READY;
    worker->native.coarse = worker->header.length > 0;
    worker->events->refined(worker->context, worker);
}

static void take_event(struct worker_process *worker) {
    if (has_read_call(worker))
        worker->events->event(worker->context, worker, worker->payload, worker->header.length);
}

static void take_ask(struct worker_process *worker) {
    if (!has_read_call(worker))
        return;
    if (worker->native.compilation) { /* it waits for that */
        malformed(worker, "the worker sent an unexpected frame");
        return;
    }
    worker->state = WORKER_ASKING;
    worker->events->ask(worker->context, worker, worker->payload, worker->header.length);
    worker_rest(worker);
}

/* --- tracking --- */

static void take_tracked(struct worker_process *worker) {
    struct tracking *tracking = &worker->tracking;
    if (worker->header.length != sizeof tracking->said ||
        (tracking->state != TRACKING_ASKED && tracking->state != TRACKING_MADE)) {
        malformed(worker, "the worker sent an unexpected frame");
        return;
    }
    memcpy(&tracking->said, worker->payload, sizeof tracking->said);
    tracking->state = TRACKING_SAID;
    worker->events->tracks(worker->context, worker);
}

/* Has a READY worker close its userfaultfd, before its next frame. */
static void close_userfault(struct worker_process *worker) {
    const struct frame_header header = {.type = FRAME_TRACK,
                                        .length = sizeof worker->tracking.said.userfault};
    if (!worker->tracking.gives_up)
        return;
    worker->tracking.gives_up = false;
    if (worker->tracking.said.userfault <= FRAME_CHANNEL)
        worker->tracking.said.userfault = -1; /* of a worker that lies */
    frame_send(worker->channel, &header, &worker->tracking.said.userfault, NULL, 0, NULL);
    trace(worker, "sent", &header);
}

/* --- native code --- */

static bool send_frame(struct worker_process *worker, enum frame_type type, const void *payload,
                       size_t size);

static void on_compiled(void *context, const unsigned char *object, size_t size) {
    struct worker_process *worker = context;
    worker->native.compilation = NULL;
    if (worker->state == WORKER_BUSY && !send_frame(worker, FRAME_OBJECT, object, size))
        malformed(worker, "out of memory for native code");
}

/* A worker waits for each reply before it sends more. */
static bool may_use_native(struct worker_process *worker) {
    if (!worker->workers->compiler || worker->native.compilation || worker->outgoing.length)
        malformed(worker, "the worker sent an unexpected frame");
    return worker->state == WORKER_BUSY;
}

static void take_compile(struct worker_process *worker) {
    if (!may_use_native(worker))
        return;
    unsigned char *text = worker->payload;
    worker->payload = NULL;
    worker->native.compilation =
        compiler_begin(worker->workers->compiler, text, worker->header.length, on_compiled, worker);
    if (!worker->native.compilation)
        on_compiled(worker, NULL, 0);
}

static void take_code(struct worker_process *worker) {
    struct native_use *native = &worker->native;
    const size_t size = worker->header.length;
    if (!may_use_native(worker))
        return;
    drop_sealed(worker);
    if (size && size % UNIT_PAGE_BYTES == 0 && native->units < UNITS_MAX &&
        size <= UNITS_BYTES_MAX - native->bytes)
        native->sealed = policy_code_seal(worker->payload, size, NULL);
    if (native->sealed >= 0) {
        native->sealed_bytes = size;
        native->units++;
        native->bytes += size;
    }
    if (!send_frame(worker, FRAME_SEALED, "", native->sealed >= 0))
        malformed(worker, "out of memory for native code");
}

/* The frames that are allowed in each state, and their handlers. */
static const struct frame_rule {
    enum frame_type type;
    enum worker_state state;
    enum {
        OUTSIDE, /* with the number 0 */
        OF_WORK, /* with the number of what the worker does, */
        OF_CALL, /* which is a call, */
        OF_RUN,
        OF_REFINING
    } of;
    uint32_t length_max; /* bytes */
    void (*handle)(struct worker_process *worker);
} frame_rules[] = {
    {FRAME_READY, WORKER_STARTING, OUTSIDE, 0, take_ready},
    {FRAME_FAILED, WORKER_STARTING, OUTSIDE, 1024, take_failed},
    {FRAME_FAILED, WORKER_FORKING, OUTSIDE, 1024, take_failed},
    {FRAME_TRACKED, WORKER_READY, OUTSIDE, sizeof(struct tracked_message), take_tracked},
    {FRAME_TRACKED, WORKER_BUSY, OUTSIDE, sizeof(struct tracked_message), take_tracked},
    {FRAME_TRACKED, WORKER_FORKING, OUTSIDE, sizeof(struct tracked_message), take_tracked},
    {FRAME_RESULT, WORKER_BUSY, OF_CALL, RESULT_MAX_BYTES, take_result},
    {FRAME_EVENT, WORKER_BUSY, OF_RUN, FRAME_EVENT_MAX, take_event},
    {FRAME_ASK, WORKER_BUSY, OF_RUN, FRAME_ASK_MAX, take_ask},
    {FRAME_COMPILE, WORKER_BUSY, OF_WORK, UNIT_TEXT_MAX, take_compile},
    {FRAME_CODE, WORKER_BUSY, OF_WORK, UNIT_CODE_MAX, take_code},
    {FRAME_REFINED, WORKER_BUSY, OF_REFINING, 1, take_refined},
};

static bool is_of_work(const struct frame_rule *rule, enum worker_work work) {
    switch (rule->of) {
    case OF_CALL:
        return work != WORK_REFINE;
    case OF_RUN:
        return work == WORK_RUN;
    case OF_REFINING:
        return work == WORK_REFINE;
    default:
        return true;
    }
}

static const struct frame_rule *allowing_rule(const struct worker_process *worker) {
    const struct frame_header *header = &worker->header;
    for (size_t i = 0; i < sizeof frame_rules / sizeof *frame_rules; i++) {
        const struct frame_rule *rule = &frame_rules[i];
        if (header->type == rule->type && worker->state == rule->state && header->flags == 0 &&
            header->length <= rule->length_max &&
            header->call == (rule->of == OUTSIDE ? 0 : worker->call) &&
            is_of_work(rule, worker->work))
            return rule;
    }
    return NULL;
}

static void frame_done(struct worker_process *worker) {
    const struct frame_rule *rule = allowing_rule(worker);
    worker->header_have = worker->payload_have = 0;
    trace(worker, rule ? "received" : "dropped", &worker->header);
    if (rule)
        rule->handle(worker);
    free(worker->payload); /* unless a handler has taken it */
    worker->payload = NULL;
}

static bool header_done(struct worker_process *worker) {
    if (!allowing_rule(worker)) {
        malformed(worker, "the worker sent an unexpected frame");
        return false;
    }
    if (worker->header.length == 0)
        return true;
    worker->payload = malloc(worker->header.length);
    if (!worker->payload) {
        malformed(worker, "out of memory for a frame of the worker");
        return false;
    }
    return true;
}

/* Takes the sender's pid, which the kernel supplies, and the listener, which the READY of a worker
 * from the zygote carries. Closes any other descriptor. False if the sender is not the process that
 * sent before: a parent that pretends to be its fork. */
static bool take_ancillary(struct worker_process *worker, struct msghdr *message) {
    bool proven = true;
    for (struct cmsghdr *item = CMSG_FIRSTHDR(message); item; item = CMSG_NXTHDR(message, item)) {
        int fd;
        if (item->cmsg_level != SOL_SOCKET)
            continue;
        if (item->cmsg_type == SCM_CREDENTIALS) {
            struct ucred sender;
            memcpy(&sender, CMSG_DATA(item), sizeof sender);
            proven = worker->pid ? worker->pid == sender.pid : prove_pid(worker, sender.pid);
        } else if (item->cmsg_type == SCM_RIGHTS && descriptors_take(item, &fd, 1) > 0 &&
                   (worker->state != WORKER_STARTING || worker->parent ||
                    !open_listener(worker->listener, fd))) {
            close(fd);
        }
    }
    return proven;
}

/* As recv, and checks the sender. The kernel drops the descriptors for which there is no room. */
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

/* Reads at most one whole frame, in READS_MAX reads, so that one worker cannot occupy the
 * supervisor. */
static enum reading read_channel(struct worker_process *worker) {
    for (unsigned reads = 0; reads < READS_MAX; reads++) {
        bool in_header = worker->header_have < sizeof worker->header, proven;
        unsigned char *target = in_header ? (unsigned char *)&worker->header + worker->header_have
                                          : worker->payload + worker->payload_have;
        size_t wanted = in_header ? sizeof worker->header - worker->header_have
                                  : worker->header.length - worker->payload_have;
        if (wanted > READ_BYTES)
            wanted = READ_BYTES;
        ssize_t got = receive(worker, target, wanted, &proven);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return READ_NOTHING;
        if (got <= 0) {
            channel_ended(worker);
            return READ_NOTHING;
        }
        if (!proven) {
            malformed(worker, "another process sent on the channel of the worker");
            return READ_NOTHING;
        }
        if (in_header)
            worker->header_have += (size_t)got;
        else
            worker->payload_have += (size_t)got;
        if (in_header && worker->header_have == sizeof worker->header && !header_done(worker)) {
            /* There is no payload to read into, and nothing more is accepted from the worker. */
            loop_watch_remove(worker->workers->loop, &worker->channel_watch);
            return READ_NOTHING;
        }
        if (worker->header_have == sizeof worker->header &&
            worker->payload_have == worker->header.length) {
            frame_done(worker);
            return READ_FRAME;
        }
    }
    return READ_PART;
}

/* --- creation, forks and calls --- */

struct worker_process *worker_create(struct workers *workers, const struct worker_events *events,
                                     void *context, int *their_channel, struct error *error) {
    int pair[2], yes = 1;
    struct worker_process *worker = calloc(1, sizeof *worker);
    if (!worker) {
        error_set(error, ENOMEM, "new worker");
        return NULL;
    }
    worker->workers = workers;
    worker->state = WORKER_STARTING;
    worker->channel = worker->gift = worker->native.sealed = -1;
    worker->outgoing = buffer_make(FRAME_PAYLOAD_MAX + sizeof(struct frame_header));
    LIST_INSERT_HEAD(&workers->list, worker, entry);
    worker_set_owner(worker, events, context, NULL);
    worker->listener = calloc(1, sizeof *worker->listener);
    if (worker->listener)
        *worker->listener = (struct listener){.workers = workers, .fd = -1, .members = 1};
    if (!worker->listener || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        error_set(error, errno, "channel of a new worker");
        worker_destroy(worker);
        return NULL;
    }
    worker->channel = pair[0];
    *their_channel = pair[1];
    /* Only this end does not block: a worker may fail to read. */
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
    malformed(context, "the worker did not fork in time");
}

bool worker_can_fork(const struct worker_process *worker) {
    return worker->listener->fd >= 0;
}

struct worker_process *worker_fork(struct worker_process *parent,
                                   const struct worker_events *events, void *context,
                                   const char *session, const int outputs[2], bool apart,
                                   struct error *error) {
    int descriptors[FRAME_DESCRIPTORS_MAX];
    const struct frame_header header = {.type = FRAME_FORK};
    struct worker_process *child =
        worker_create(parent->workers, events, context, &descriptors[0], error);
    if (!child)
        return NULL;
    child->session = session;
    close_userfault(parent);
    if (outputs)
        memcpy(descriptors + 1, outputs, 2 * sizeof *outputs);
    const size_t count = apart ? 0 : outputs ? 3 : 1;
    bool sent = frame_send(parent->channel, &header, NULL, descriptors, count, error);
    child->gift = descriptors[0];
    if (!apart)
        drop_gift(child);
    trace(parent, sent ? "sent" : "could not send", &header);
    if (!sent) {
        worker_destroy(child);
        return NULL;
    }
    leave_listener(child->listener);
    child->listener = parent->listener;
    child->listener->members++;
    child->is_fork = true;
    child->outputs = parent->outputs;
    child->native.units = parent->native.units;
    child->native.bytes = parent->native.bytes;
    child->native.coarse = parent->native.coarse;
    child->parent = parent;
    parent->child = child;
    parent->clone_expected = true;
    parent->clones = 0;
    parent->state = WORKER_FORKING;
    wake(parent);
    loop_timer_start(parent->workers->loop, &parent->timer, FORK_LIMIT_MS, on_fork_limit, parent);
    return child;
}

static void on_settled(void *context) {
    struct worker_process *worker = context;
    worker->settles = false;
    if (worker->rests)
        worker_rest(worker);
}

void worker_prefault(struct worker_process *worker, const struct page_runs *runs) {
    const struct frame_header header = {.type = FRAME_PREFAULT,
                                        .length = (uint32_t)(runs->count * sizeof *runs->list)};
    if (worker->state != WORKER_READY || !worker->channel_watch.active)
        return; /* the timer is that of its kill */
    frame_send(worker->channel, &header, runs->list, NULL, 0, NULL);
    trace(worker, "sent", &header);
    wake(worker);
    worker->settles = true;
    loop_timer_start(worker->workers->loop, &worker->timer,
                     SETTLE_MS + (int64_t)(runs->pages / SETTLE_PAGES), on_settled, worker);
}

void worker_limit_fork(struct worker_process *parent, int64_t limit_ms) {
    if (parent->state == WORKER_FORKING && limit_ms < FORK_LIMIT_MS)
        loop_timer_start(parent->workers->loop, &parent->timer,
                         limit_ms > FORK_LEAST_MS ? limit_ms : FORK_LEAST_MS, on_fork_limit,
                         parent);
}

void worker_spoil(struct worker_process *worker) {
    worker->spoilt = true;
}

void worker_set_owner(struct worker_process *worker, const struct worker_events *events,
                      void *context, const char *session) {
    worker->events = events;
    worker->context = context;
    worker->session = session;
}

/* Queues a frame of call number CALL. False when out of memory. */
static bool queue_frame(struct worker_process *worker, enum frame_type type, uint32_t call,
                        const void *payload, size_t size) {
    const struct frame_header header = {
        .type = (uint16_t)type, .call = call, .length = (uint32_t)size};
    bool queued = size <= FRAME_PAYLOAD_MAX &&
                  buffer_reserve(&worker->outgoing, sizeof header + size) &&
                  buffer_append(&worker->outgoing, &header, sizeof header) &&
                  buffer_append(&worker->outgoing, payload, size);
    trace(worker, queued ? "sent" : "could not send", &header);
    return queued;
}

static void send_queued(struct worker_process *worker) {
    send_outgoing(worker);
    wake(worker);
}

/* The same of the running call, and sends it. */
static bool send_frame(struct worker_process *worker, enum frame_type type, const void *payload,
                       size_t size) {
    bool queued = queue_frame(worker, type, worker->call, payload, size);
    send_queued(worker);
    return queued;
}

void worker_track(struct worker_process *worker) {
    const unsigned char inspectable = geteuid() != 0; /* root's weigher needs no permission */
    if (worker->tracking.state != TRACKING_NOT || worker->state != WORKER_READY ||
        !queue_frame(worker, FRAME_TRACK, 0, &inspectable, sizeof inspectable))
        return;
    worker->tracking.state = TRACKING_ASKED;
    send_queued(worker);
}

void worker_set_tracker(struct worker_process *worker, struct tracker *tracker) {
    struct tracking *tracking = &worker->tracking;
    tracking->gives_up = true;
    tracking->state = TRACKING_SETTLED;
    tracking->tracker = tracker;
}

void worker_track_again(struct worker_process *worker) {
    worker->tracking.gives_up = true;
    worker->tracking.state = TRACKING_NOT;
}

bool worker_has_answered(const struct worker_process *worker) {
    return worker->tracking.wakes > 0;
}

bool worker_is_unchanged(const struct worker_process *worker) {
    return worker->state == WORKER_READY && worker->wakes == worker->tracking.wakes;
}

/* As FRAME_PAGES says. */
static bool append_pages(struct buffer *bytes, const struct page_set *set) {
    const uint64_t count = set->count;
    bool good = buffer_reserve(bytes, bytes->maximum) && buffer_append(bytes, &count, sizeof count);
    for (size_t i = 0; good && i < set->count; i++)
        good = buffer_append(bytes, &set->pages[i].address, sizeof set->pages[i].address);
    for (size_t i = 0; good && i < set->count; i++)
        good = buffer_append(bytes, set->pages[i].bytes, TRACKER_PAGE_BYTES);
    return good;
}

bool worker_put_pages(struct worker_process *worker, const struct page_set *set,
                      struct error *error) {
    const struct frame_header header = {.type = FRAME_PAGES};
    cleanup_buffer struct buffer bytes =
        buffer_make(sizeof(uint64_t) + set->count * (sizeof(uint64_t) + TRACKER_PAGE_BYTES));
    cleanup_fd int file =
        append_pages(&bytes, set) ? descriptor_seal("pages", bytes.data, bytes.length) : -1;
    bool sent = file >= 0 ? frame_send(worker->channel, &header, NULL, &file, 1, error)
                          : error_set(error, errno, "cannot keep pages of a worker");
    trace(worker, sent ? "sent" : "could not send", &header);
    wake(worker);
    return sent || error->code == EPIPE; /* it has ended, and will be reaped */
}

bool worker_set_outputs(struct worker_process *worker, const int outputs[2], uint64_t serial,
                        struct error *error) {
    const struct frame_header header = {.type = FRAME_OUTPUTS};
    bool sent =
        frame_send(worker->channel, &header, NULL, outputs, 2, error) || error->code == EPIPE;
    trace(worker, sent ? "sent" : "could not send", &header);
    if (sent)
        worker->outputs = serial;
    return sent;
}

static void begin_work(struct worker_process *worker, uint32_t call, enum worker_work work) {
    worker->call = call;
    worker->work = work;
    worker->notified = 0;
    worker->state = WORKER_BUSY;
}

/* The same, and sends it. */
static bool send_work(struct worker_process *worker, uint32_t call, enum worker_work work,
                      enum frame_type type, struct span payload) {
    close_userfault(worker);
    begin_work(worker, call, work);
    return send_frame(worker, type, payload.bytes, payload.length);
}

bool worker_evaluate(struct worker_process *worker, uint32_t call, const struct buffer *payload) {
    return send_work(worker, call, WORK_EVALUATE, FRAME_EVALUATE,
                     (struct span){payload->data, payload->length});
}

bool worker_adopt(struct worker_process *worker, uint32_t call, const struct buffer *payload,
                  int fd) {
    const struct frame_header header = {
        .type = FRAME_ADOPT, .call = call, .length = (uint32_t)payload->length};
    struct error error;
    begin_work(worker, call, WORK_EVALUATE);
    bool sent = frame_send(worker->channel, &header, payload->data, &fd, 1, &error) ||
                error.code == EPIPE; /* it has ended, and will be reaped */
    trace(worker, sent ? "sent" : "could not send", &header);
    wake(worker);
    return sent;
}

bool worker_run(struct worker_process *worker, uint32_t call, const struct buffer *payload) {
    return send_work(worker, call, WORK_RUN, FRAME_RUN,
                     (struct span){payload->data, payload->length});
}

bool worker_refine(struct worker_process *worker) {
    return send_work(worker, 0, WORK_REFINE, FRAME_REFINE, (struct span){0});
}

bool worker_answer(struct worker_process *worker, struct span answer) {
    if (worker->state != WORKER_ASKING ||
        !send_frame(worker, FRAME_ANSWER, answer.bytes, answer.length))
        return false;
    worker->state = WORKER_BUSY;
    return true;
}

/* --- memory --- */

size_t worker_resident_bytes(const struct worker_process *worker) {
    char text[128], *end;
    if (worker->pid <= 1 || read_process_file(worker->pid, "statm", text, sizeof text) <= 0)
        return 0;
    strtoull(text, &end, 10); /* the first number is the size of the address space */
    return (size_t)strtoull(end, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

/* Field NUMBER, counted from 1, of the line TEXT of /proc/PID/stat. */
static size_t stat_field(const char *text, int number) {
    const char *at = strrchr(text, ')'); /* ends field 2, a name that may contain anything */
    for (int field = 2; at && field < number; field++)
        at = strchr(at + 1, ' ');
    return at ? (size_t)strtoull(at, NULL, 10) : 0;
}

void worker_measure(struct worker_process *worker) {
    enum { MINOR_FAULTS = 10, RESIDENT_PAGES = 24 };
    char text[1024];
    if (worker->pid <= 1 || read_process_file(worker->pid, "stat", text, sizeof text) <= 0)
        return;
    worker->memory.faults = stat_field(text, MINOR_FAULTS);
    worker->memory.resident_bytes =
        stat_field(text, RESIDENT_PAGES) * (size_t)sysconf(_SC_PAGESIZE) + worker->native.bytes;
}

/* --- reaping --- */

struct worker_process *workers_find(const struct workers *workers, pid_t pid) {
    struct worker_process *worker = LIST_FIRST(&workers->list);
    while (worker && worker->pid != pid)
        worker = LIST_NEXT(worker, entry);
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
    while (worker->state == WORKER_BUSY && worker->channel_watch.active &&
           read_channel(worker) != READ_NOTHING)
        ; /* a result that was sent before the end is valid */
    end_native(worker);
    worker->pid = 0;
    struct worker_process *parent = worker->parent;
    loop_timer_stop(worker->workers->loop, &worker->timer);
    worker->state = WORKER_ENDING;
    abandon_fork(worker, "the worker ended");
    if (parent)
        abandon_fork(parent, "the fork ended");
    loop_timer_stop(worker->workers->loop, &worker->timer);
    worker->events->ended(worker->context, worker, status);
}

void worker_destroy(struct worker_process *worker) {
    LIST_REMOVE(worker, entry);
    if (worker->parent)
        worker->parent->child = NULL;
    if (worker->child)
        worker->child->parent = NULL;
    loop_timer_stop(worker->workers->loop, &worker->timer);
    loop_watch_remove(worker->workers->loop, &worker->channel_watch);
    if (worker->channel >= 0)
        close(worker->channel);
    drop_gift(worker);
    end_native(worker);
    tracker_free(worker->tracking.tracker);
    leave_listener(worker->listener);
    buffer_free(&worker->outgoing);
    free(worker->payload);
    free(worker);
}
