/* Fuzz target: sessions whose workers are hostile. The input is a script of what a client asks,
 * what worker processes do (frames, output, system calls, forks, their end), and when signals and
 * time take effect. The product's sessions, workers and pipes run on real sockets and pipes;
 * processes, pids, signals and the clock are the script's. */
#include "common/message.h"
#include "supervisor/session/session_internal.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    PROCESSES_MAX = 24,
    CHANNELS_MAX = 64,
    OUTLETS_MAX = 64,
    HELD_MAX = 6,      /* channels or outlets of one process */
    DESCRIPTORS = 256, /* higher ones are a leak */
    REQUESTS_MAX = 48,
    KNOWN_MAX = 16,
    SPARES_MAX = 3,
    STEPS_MAX = 200,
    FIRST_PID = 5000000, /* the kernel's pids are lower */
    ZYGOTE_PID = 4999999,
    NS_PER_MS = 1000000,
    TIMEOUT_MS = 1000,
    OUTPUT_MAX = 4096
};

/* The worker's end of a channel, and what was read of the next frame. Freed with its last holder.
 */
struct channel {
    int peer; /* -1: free */
    ino_t inode;
    size_t holders;
    struct frame_header header;
    size_t header_have, payload_left;
    int descriptors[FRAME_DESCRIPTORS_MAX];
    size_t descriptor_count;
};

/* The write ends of a pair of pipes. */
struct outlet {
    int ends[2];
    size_t holders; /* 0: free */
};

/* A worker and its forks, which share a listener and a session id of the system. */
struct family {
    int end; /* of the kernel; -1: closed */
    size_t members;
    pid_t leader;
};

struct process {
    enum { FREE, ALIVE, ENDED } life;
    pid_t pid;
    int status;
    struct family *family;
    bool stop_due, stopped, stop_unseen;
    bool doomed;                        /* SIGKILL was sent */
    bool tied;                          /* its death signal is set */
    bool flushing;                      /* SIGUSR1 was sent */
    bool notifying;                     /* waits for the reply to a notification */
    struct channel *channels[HELD_MAX]; /* its own first */
    struct outlet *outlets[HELD_MAX];   /* the present one first */
    struct channel *offered;            /* for the fork that it was asked for */
    struct outlet *offered_outlet;
    bool has_call;
    struct frame_header call; /* with has_call */
};

struct request {
    struct call *call; /* NULL: none, or done */
    uint32_t number;
    enum call_kind kind;
    enum run_kind run;
    int64_t steps, submitted_ns;
    bool done, cancelled, transient, sent, asked, answers_at_once;
    size_t printed; /* bytes that an honest worker wrote to standard output */
};

/* What is known of a session: the highest number that its state can have. */
struct known {
    char name[SESSION_NAME_BYTES];
    uint64_t number;
    bool seen;
};

struct spare {
    struct worker_process *worker; /* NULL: free */
    struct pipes *pipes;
    bool ready;
};

/* The supervisor's end of a channel: the other end, and who wrote what is in it. */
struct record {
    ino_t inode;
    pid_t sender;
};

static struct script {
    struct fuzz_input input;
    struct settings settings;
    struct loop loop;
    struct log log;
    struct pool pool;
    struct sessions sessions;
    struct process processes[PROCESSES_MAX];
    struct family families[PROCESSES_MAX];
    struct channel channels[CHANNELS_MAX];
    struct outlet outlets[OUTLETS_MAX];
    struct record records[DESCRIPTORS];
    struct request requests[REQUESTS_MAX];
    struct known known[KNOWN_MAX];
    struct spare spares[SPARES_MAX];
    struct process *now; /* the current process */
    size_t request_count;
    pid_t next_pid;
    uint64_t next_notification;
    unsigned rounds;
    size_t memory_bytes, done, reaped, weighings;
    uint64_t kernel_kills, faults;
    bool submitting, honest_pool, refuses;
    bool strays_listed;
    /* What has happened and explains an outcome. */
    bool hostile, raw, died, terminated, violated, flooded, big, refused;
    /* Who wrote a byte, in which call (0: none). */
    struct {
        pid_t pid;
        uint32_t call;
    } marks[256];
    unsigned next_mark;
} script;

static uint8_t next(void) {
    return fuzz_byte(&script.input);
}

/* --- processes --- */

static struct process *process_of(pid_t pid) {
    for (struct process *process = script.processes; process < script.processes + PROCESSES_MAX;
         process++)
        if (process->life != FREE && process->pid == pid)
            return process;
    return NULL;
}

static struct process *free_process(void) {
    for (struct process *process = script.processes; process < script.processes + PROCESSES_MAX;
         process++)
        if (process->life == FREE)
            return process;
    return NULL;
}

static bool can_act(const struct process *process) {
    return process && process->life == ALIVE && !process->stopped && !process->notifying;
}

static struct channel *make_channel(int peer) {
    struct channel *channel = script.channels;
    struct stat facts;
    while (channel < script.channels + CHANNELS_MAX && channel->peer >= 0)
        channel++;
    FUZZ_CHECK(channel < script.channels + CHANNELS_MAX && fstat(peer, &facts) == 0, "channels");
    *channel = (struct channel){.peer = peer, .inode = facts.st_ino, .holders = 1};
    return channel;
}

static void close_all(const int *descriptors, size_t count) {
    for (size_t i = 0; i < count; i++)
        close(descriptors[i]);
}

static void drop_channel(struct channel *channel) {
    if (!channel || --channel->holders)
        return;
    close_all(channel->descriptors, channel->descriptor_count);
    close(channel->peer);
    channel->peer = -1;
}

static struct outlet *make_outlet(const int ends[2]) {
    struct outlet *outlet = script.outlets;
    while (outlet < script.outlets + OUTLETS_MAX && outlet->holders)
        outlet++;
    FUZZ_CHECK(outlet < script.outlets + OUTLETS_MAX, "outlets");
    *outlet = (struct outlet){.ends = {ends[0], ends[1]}, .holders = 1};
    for (size_t i = 0; i < 2; i++)
        fcntl(ends[i], F_SETFL, O_NONBLOCK);
    return outlet;
}

static void drop_outlet(struct outlet *outlet) {
    if (outlet && --outlet->holders == 0)
        close_all(outlet->ends, 2);
}

/* Puts OUTLET first; the last one has no room. */
static void push_outlet(struct process *process, struct outlet *outlet) {
    drop_outlet(process->outlets[HELD_MAX - 1]);
    for (size_t i = HELD_MAX - 1; i > 0; i--)
        process->outlets[i] = process->outlets[i - 1];
    process->outlets[0] = outlet;
}

static void push_channel(struct process *process, struct channel *channel) {
    drop_channel(process->channels[HELD_MAX - 1]);
    for (size_t i = HELD_MAX - 1; i > 0; i--)
        process->channels[i] = process->channels[i - 1];
    process->channels[0] = channel;
}

static void keep_first_outlet(struct process *process) {
    for (size_t i = 1; i < HELD_MAX; i++) {
        drop_outlet(process->outlets[i]);
        process->outlets[i] = NULL;
    }
}

static void keep_first_channel(struct process *process) {
    for (size_t i = 1; i < HELD_MAX; i++) {
        drop_channel(process->channels[i]);
        process->channels[i] = NULL;
    }
}

static void drop_offer(struct process *process) {
    drop_channel(process->offered);
    drop_outlet(process->offered_outlet);
    process->offered = NULL;
    process->offered_outlet = NULL;
}

static void end_process(struct process *process, int status) {
    if (process->life != ALIVE)
        return;
    keep_first_channel(process);
    keep_first_outlet(process);
    drop_channel(process->channels[0]);
    drop_outlet(process->outlets[0]);
    drop_offer(process);
    if (--process->family->members == 0 && process->family->end >= 0) {
        close(process->family->end);
        process->family->end = -1;
    }
    process->life = ENDED;
    process->status = status;
}

static void reap(struct process *process) {
    if (process->life != ENDED)
        return;
    process->life = FREE;
    script.reaped++;
    struct worker_process *worker = workers_find(&script.pool.workers, process->pid);
    if (worker)
        worker_reaped(worker, process->status, (struct usage){.cpu_us = 1});
}

/* What the signals ask for happens: processes stop and, with KILLS, die. */
static void settle_some(bool kills) {
    for (struct process *process = script.processes; process < script.processes + PROCESSES_MAX;
         process++) {
        if (process->life != ALIVE)
            continue;
        if (process->doomed && kills)
            end_process(process, SIGKILL);
        else if (process->stop_due && !process->stopped && !process->doomed)
            process->stopped = process->stop_unseen = true;
        process->stop_due = false;
    }
}

static void settle(void) {
    settle_some(true);
}

static void reap_all(void) {
    for (struct process *process = script.processes; process < script.processes + PROCESSES_MAX;
         process++)
        reap(process);
}

/* --- the edges --- */

static void on_kill(pid_t pid, int number) {
    struct process *process = process_of(pid);
    FUZZ_CHECK(process, "it signals %d, which is no process", (int)pid);
    bool proven = workers_find(&script.pool.workers, pid) != NULL;
    FUZZ_CHECK(proven || (number == SIGKILL && (process->notifying || script.strays_listed)),
               "it sends %d to %d, which was not proven", number, (int)pid);
    process->doomed |= number == SIGKILL;
    process->flushing |= number == SIGUSR1;
    if (number == SIGSTOP)
        process->stop_due = true;
    if (number == SIGCONT)
        process->stop_due = process->stopped = process->stop_unseen = false;
}

static bool is_child(pid_t pid) {
    return process_of(pid) != NULL;
}

static bool has_stopped(pid_t pid) {
    struct process *process = process_of(pid);
    bool seen = process && process->life == ALIVE && process->stopped && process->stop_unseen;
    if (seen)
        process->stop_unseen = false;
    return seen;
}

static pid_t session_of(pid_t pid) {
    const struct process *process = process_of(pid);
    return process ? process->family->leader : pid;
}

static const char *children(void) {
    static char list[16 * (PROCESSES_MAX + 1)];
    size_t length = (size_t)snprintf(list, sizeof list, "%d", ZYGOTE_PID);
    for (const struct process *process = script.processes;
         process < script.processes + PROCESSES_MAX; process++)
        if (process->life != FREE)
            length += (size_t)snprintf(list + length, sizeof list - length, " %d", process->pid);
    script.strays_listed = true;
    return list;
}

static void paired(const int pair[2]) {
    struct stat facts;
    FUZZ_CHECK(pair[0] < DESCRIPTORS && fstat(pair[1], &facts) == 0, "descriptor %d", pair[0]);
    for (size_t i = 0; i < DESCRIPTORS; i++)
        if (script.records[i].inode == facts.st_ino)
            script.records[i].inode = 0;
    script.records[pair[0]] = (struct record){.inode = facts.st_ino};
}

static pid_t sender(int fd) {
    FUZZ_CHECK(fd < DESCRIPTORS && script.records[fd].inode, "it reads from a stranger");
    return script.records[fd].sender;
}

size_t __wrap_worker_resident_bytes(const struct worker_process *worker);
void __wrap_worker_measure(struct worker_process *worker);
bool __wrap_weigher_ask(struct weigher *weigher, pid_t pid);
int __wrap_policy_oom_open(void);
uint64_t __wrap_policy_oom_kills(int fd);
bool __wrap_policy_oom_prefer(pid_t pid, enum policy_oom_order order);
void __wrap_pool_take(struct pool *pool, struct pool_waiter *waiter);

size_t __wrap_worker_resident_bytes(const struct worker_process *worker) {
    return worker->pid ? script.memory_bytes : 0;
}

void __wrap_worker_measure(struct worker_process *worker) {
    worker->memory.resident_bytes = script.memory_bytes;
    worker->memory.faults = ++script.faults;
}

/* The answer is a step of the script. */
bool __wrap_weigher_ask(struct weigher *weigher, pid_t pid) {
    FUZZ_CHECK(!weigher_is_busy(weigher), "two questions to the weigher");
    if (script.faults % 16 == 15)
        return false;
    weigher->asked = pid;
    return true;
}

int __wrap_policy_oom_open(void) {
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

uint64_t __wrap_policy_oom_kills(int fd) {
    (void)fd;
    return script.kernel_kills;
}

bool __wrap_policy_oom_prefer(pid_t pid, enum policy_oom_order order) {
    (void)order;
    FUZZ_CHECK(process_of(pid), "%d is not a worker", (int)pid);
    return true;
}

static void on_log(void *context, const struct log_event *event, const char *cause) {
    (void)context;
    FUZZ_CHECK(event->level < LOG_CRITICAL_LEVEL, "%s: %s", event->name, cause);
}

static void stop_after_rounds(void *context) {
    (void)context;
    if (script.rounds-- == 0)
        loop_stop(&script.loop);
}

static void run_loop(unsigned rounds) {
    script.rounds = rounds;
    script.loop.stopped = false;
    script.strays_listed = false;
    fuzz_faults_resume();
    FUZZ_CHECK(loop_run(&script.loop, NULL), "the loop failed");
    fuzz_faults_pause();
}

/* --- the pool --- */

static struct spare *spare_of(const struct worker_process *worker) {
    struct spare *spare = script.spares;
    while (spare < script.spares + SPARES_MAX && spare->worker != worker)
        spare++;
    return spare < script.spares + SPARES_MAX ? spare : NULL;
}

static void serve(struct spare *spare, struct pool_waiter *waiter) {
    struct spare served = *spare;
    *spare = (struct spare){.worker = NULL};
    waiter->served(waiter->context, served.worker, served.pipes, NULL);
}

static void spare_ready(void *context, struct worker_process *worker) {
    (void)context;
    struct spare *spare = spare_of(worker);
    struct pool_waiter *waiter = TAILQ_FIRST(&script.pool.waiters);
    spare->ready = true;
    if (!waiter)
        return;
    pool_withdraw(&script.pool, waiter);
    serve(spare, waiter);
}

static void spare_trouble(void *context, struct worker_process *worker, const char *what) {
    (void)context, (void)worker, (void)what;
}

static void spare_ended(void *context, struct worker_process *worker, int status) {
    (void)context, (void)status;
    struct spare *spare = spare_of(worker);
    pipes_close(spare->pipes);
    *spare = (struct spare){.worker = NULL};
    worker_destroy(worker);
}

static const struct worker_events spare_events = {.ready = spare_ready,
                                                  .fork_failed = spare_trouble,
                                                  .malformed = spare_trouble,
                                                  .violation = spare_trouble,
                                                  .ended = spare_ended};

void __wrap_pool_take(struct pool *pool, struct pool_waiter *waiter) {
    if (script.refuses) {
        script.refuses = false;
        script.refused = true;
        waiter->served(waiter->context, NULL, NULL, "this is a test");
        return;
    }
    for (struct spare *spare = script.spares; spare < script.spares + SPARES_MAX; spare++)
        if (spare->worker && spare->ready && spare->worker->state == WORKER_READY) {
            serve(spare, waiter);
            return;
        }
    waiter->waiting = true;
    TAILQ_INSERT_TAIL(&pool->waiters, waiter, entry);
    pool->waiter_count++;
}

/* --- what a process does --- */

/* The call whose output PROCESS may write: it is the head that runs it. 0: none. */
static uint32_t call_of(const struct process *process) {
    const struct session *session;
    TAILQ_FOREACH(session, &script.sessions.list, entry) {
        if (session->state == SESSION_EVALUATING && session->head &&
            session->head->pid == process->pid)
            return session->running->number;
    }
    return 0;
}

/* The byte that only PROCESS writes, and only in its present call. 0: there is none left. */
static uint8_t mark_of(const struct process *process) {
    uint32_t call = call_of(process);
    for (unsigned mark = script.next_mark; mark > 0; mark--)
        if (script.marks[mark].pid == process->pid && script.marks[mark].call == call)
            return (uint8_t)mark;
    if (script.next_mark == 255)
        return 0;
    script.next_mark++;
    script.marks[script.next_mark].pid = process->pid;
    script.marks[script.next_mark].call = call;
    return (uint8_t)script.next_mark;
}

/* False if not all of it found room. */
static bool write_output(const struct process *process, const struct outlet *outlet, size_t stream,
                         size_t size) {
    static unsigned char bytes[65536];
    uint8_t mark = mark_of(process);
    if (!outlet || !mark)
        return false;
    memset(bytes, mark, size);
    ssize_t written = write(outlet->ends[stream], bytes, size);
    FUZZ_CHECK(written >= 0 || errno == EAGAIN || errno == EPIPE, "%s", strerror(errno));
    return written == (ssize_t)size || (written < 0 && errno == EPIPE);
}

static struct request *request_of(uint32_t number) {
    for (struct request *request = script.requests; request < script.requests + REQUESTS_MAX;
         request++)
        if (request->number == number && request->call)
            return request;
    return NULL;
}

/* Two processes do not write to a channel at the same time: the supervisor reads between. */
static bool may_write(const struct process *process, const struct channel *channel) {
    int unread = 0;
    struct record *record = script.records;
    while (record < script.records + DESCRIPTORS && record->inode != channel->inode)
        record++;
    if (record == script.records + DESCRIPTORS)
        return false; /* the supervisor has closed it */
    if (record->sender != process->pid) {
        int fd = (int)(record - script.records);
        if (ioctl(fd, FIONREAD, &unread) != 0 || unread)
            run_loop(2);
        if (ioctl(fd, FIONREAD, &unread) != 0 || unread)
            return false;
    }
    record->sender = process->pid;
    return true;
}

/* Sends a frame on CHANNEL with DESCRIPTOR (-1: none), whatever it is. */
static void send_frame(const struct process *process, const struct channel *channel,
                       const struct frame_header *header, const void *payload, size_t size,
                       int descriptor) {
    if (!channel || !may_write(process, channel))
        return;
    struct iovec parts[] = {{.iov_base = (void *)(uintptr_t)header, .iov_len = sizeof *header},
                            {.iov_base = (void *)(uintptr_t)payload, .iov_len = size}};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof descriptor)] = {0};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    if (descriptor >= 0) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        struct cmsghdr *item = CMSG_FIRSTHDR(&message);
        *item = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof descriptor),
                                 .cmsg_level = SOL_SOCKET,
                                 .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(item), &descriptor, sizeof descriptor);
    }
    struct request *request = request_of(header->call);
    bool sent = sendmsg(channel->peer, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
    if (sent && request && header->type == FRAME_RESULT && call_of(process) == header->call)
        request->sent = true;
}

static void send_result(const struct process *process, const struct channel *channel,
                        unsigned choice) {
    static const char *const results[RUN_CONTENT] = {
        "{\"content\":[]}", "{\"messages\":[]}", "{\"contents\":[]}",
        "{\"values\":[],\"total\":0,\"hasMore\":false}", "{}"};
    cleanup_buffer struct buffer payload = buffer_make(4096);
    const struct request *request = request_of(process->call.call);
    message_put(&payload, SECTION_PACKAGE, "P", 1);
    if (choice % 4 == 1) {
        message_put(&payload, SECTION_CONDITION, "C", 1);
        message_put(&payload, SECTION_MESSAGE, "m", 1);
    } else if (process->call.type == FRAME_RUN) {
        const char *json = results[request ? request->run : RUN_LOAD];
        message_put(&payload, SECTION_JSON, json, strlen(json));
    } else if (choice % 4 == 2) {
        message_put(&payload, SECTION_VALUE, "1", 1);
    }
    const struct frame_header header = {
        .type = FRAME_RESULT, .call = process->call.call, .length = (uint32_t)payload.length};
    send_frame(process, channel, &header, payload.data, payload.length, -1);
}

static void send_plain(const struct process *process, const struct channel *channel,
                       enum frame_type type, uint32_t call, const char *payload) {
    const struct frame_header header = {
        .type = (uint16_t)type, .call = call, .length = (uint32_t)strlen(payload)};
    send_frame(process, channel, &header, payload, strlen(payload), -1);
}

/* --- frames to a process --- */

static void take_descriptors(struct channel *channel, struct msghdr *message) {
    for (struct cmsghdr *item = CMSG_FIRSTHDR(message); item; item = CMSG_NXTHDR(message, item)) {
        size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        FUZZ_CHECK(item->cmsg_type == SCM_RIGHTS && channel->descriptor_count == 0 &&
                       count <= FRAME_DESCRIPTORS_MAX,
                   "%zu descriptors in the middle of a frame", count);
        memcpy(channel->descriptors, CMSG_DATA(item), count * sizeof(int));
        channel->descriptor_count = count;
    }
}

/* True when a whole frame was read, whose header and descriptors CHANNEL then has. */
static bool read_frame(struct channel *channel) {
    static unsigned char payload[65536];
    while (channel->header_have < sizeof channel->header || channel->payload_left) {
        bool in_header = channel->header_have < sizeof channel->header;
        size_t wanted =
            in_header ? sizeof channel->header - channel->header_have : channel->payload_left;
        struct iovec part = {.iov_base = in_header ? (unsigned char *)&channel->header +
                                                         channel->header_have
                                                   : payload,
                             .iov_len = wanted < sizeof payload ? wanted : sizeof payload};
        _Alignas(struct cmsghdr) char control[256];
        struct msghdr message = {.msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = control,
                                 .msg_controllen = sizeof control};
        ssize_t got = recvmsg(channel->peer, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (got <= 0)
            return false;
        take_descriptors(channel, &message);
        if (in_header) {
            channel->header_have += (size_t)got;
            if (channel->header_have == sizeof channel->header)
                channel->payload_left = channel->header.length;
        } else {
            channel->payload_left -= (size_t)got;
        }
    }
    channel->header_have = 0;
    return true;
}

/* Whether CHANNEL is the one that the supervisor has for PROCESS. */
static bool is_own(const struct process *process, const struct channel *channel) {
    const struct worker_process *worker = workers_find(&script.pool.workers, process->pid);
    return worker && script.records[worker->channel].inode == channel->inode;
}

/* Reads one frame and keeps what it brings. Returns its type; 0: there is none. */
static unsigned take_frame(struct process *process, struct channel *channel) {
    if (!channel || !read_frame(channel))
        return 0;
    const struct frame_header *header = &channel->header;
    const int *descriptors = channel->descriptors;
    size_t count = channel->descriptor_count;
    channel->descriptor_count = 0;
    if (count && !is_own(process, channel)) {
        /* A process keeps the channels of its forks and of its origin, if all three are hostile.
         * The outputs that it could take there are those of code like its own. */
        close_all(descriptors, count);
    } else if (header->type == FRAME_FORK) {
        FUZZ_CHECK(count == 1 || count == 3, "%zu descriptors for a fork", count);
        drop_offer(process);
        process->offered = make_channel(descriptors[0]);
        process->offered_outlet = count == 3 ? make_outlet(descriptors + 1) : NULL;
    } else if (header->type == FRAME_OUTPUTS) {
        FUZZ_CHECK(count == 2, "%zu descriptors for the output", count);
        push_outlet(process, make_outlet(descriptors));
    } else {
        FUZZ_CHECK(count == 0, "%zu descriptors with type %u", count, header->type);
        process->has_call = header->type == FRAME_EVALUATE || header->type == FRAME_RUN;
        if (process->has_call)
            process->call = *header;
        else /* no process says how it can be tracked */
            FUZZ_CHECK(header->type == FRAME_ANSWER || header->type == FRAME_TRACK,
                       "a frame of type %u", header->type);
    }
    return header->type;
}

/* --- system calls of a process --- */

/* Returns the reply's flags, or -1 if there was none: the process then waits until it ends. */
static int notify(struct process *process, const struct seccomp_data *call) {
    const struct family *family = process->family;
    struct seccomp_notif request = {
        .id = ++script.next_notification, .pid = (uint32_t)process->pid, .data = *call};
    struct seccomp_notif_resp response;
    request.data.arch = seccomp_arch_native();
    if (family->end < 0 || send(family->end, &request, sizeof request, MSG_NOSIGNAL) < 0)
        return -1;
    process->notifying = true;
    for (unsigned tries = 0; tries < 8; tries++) {
        run_loop(1);
        if (recv(family->end, &response, sizeof response, MSG_DONTWAIT) <= 0)
            continue;
        FUZZ_CHECK(response.id == request.id, "a reply to another notification");
        process->notifying = false;
        return (int)response.flags;
    }
    struct pollfd closed = {.fd = family->end};
    FUZZ_CHECK(process->doomed || process->flushing || fuzz_faults.planned ||
                   (poll(&closed, 1, 0) > 0 && (closed.revents & POLLHUP)),
               "%d is neither answered nor killed", process->pid);
    return -1;
}

/* Forks PROCESS as soon as the supervisor lets it. NULL: it does not. */
static struct process *fork_process(struct process *process, unsigned long flags) {
    struct process *child = free_process();
    if (!child)
        return NULL;
    const struct worker_process *worker = workers_find(&script.pool.workers, process->pid);
    bool lawful = flags == (CLONE_PARENT | SIGCHLD);
    bool expected = lawful && worker && worker->clone_expected;
    script.violated |= !expected;
    int reply = notify(process, &(struct seccomp_data){.nr = SYS_clone, .args = {flags}});
    worker = workers_find(&script.pool.workers, process->pid);
    expected |= lawful && worker && worker->child && !worker->clone_expected; /* asked meanwhile */
    FUZZ_CHECK(expected || reply != SECCOMP_USER_NOTIF_FLAG_CONTINUE, "a clone that was not asked");
    if (reply != SECCOMP_USER_NOTIF_FLAG_CONTINUE)
        return NULL;
    *child = (struct process){.life = ALIVE, .pid = script.next_pid++, .family = process->family};
    child->family->members++;
    for (size_t i = 0; i < HELD_MAX; i++) {
        child->channels[i] = process->channels[i];
        child->outlets[i] = process->outlets[i];
        if (child->channels[i])
            child->channels[i]->holders++;
        if (child->outlets[i])
            child->outlets[i]->holders++;
    }
    if (process->offered) {
        process->offered->holders++;
        push_channel(child, process->offered);
    }
    if (process->offered_outlet) {
        process->offered_outlet->holders++;
        push_outlet(child, process->offered_outlet);
    }
    return child;
}

static void tie(struct process *process) {
    const struct seccomp_data call = {.nr = SYS_prctl, .args = {PR_SET_PDEATHSIG, SIGKILL}};
    if (can_act(process))
        process->tied |= notify(process, &call) == SECCOMP_USER_NOTIF_FLAG_CONTINUE;
}

/* --- what an honest process does --- */

static void fork_honestly(struct process *process) {
    struct process *child = fork_process(process, CLONE_PARENT | SIGCHLD);
    if (!child)
        return;
    if (process->offered_outlet)
        keep_first_outlet(child);
    keep_first_channel(child);
    drop_offer(process);
    tie(child);
    if (can_act(child))
        send_plain(child, child->channels[0], FRAME_READY, 0, "");
}

static void answer_honestly(struct process *process) {
    if (!process->has_call || !can_act(process))
        return;
    struct request *request = request_of(process->call.call);
    process->has_call = false;
    bool written = write_output(process, process->outlets[0], 0, 3);
    if (written && request && call_of(process) == request->number)
        request->printed += 3;
    write_output(process, process->outlets[0], 1, 2);
    send_result(process, process->channels[0], 0);
}

static void act_honestly(struct process *process) {
    if (!can_act(process))
        return;
    if (process->flushing) {
        write_output(process, process->outlets[0], 0, 1);
        end_process(process, 0);
        return;
    }
    for (unsigned type; can_act(process) && (type = take_frame(process, process->channels[0]));) {
        if (type == FRAME_FORK)
            fork_honestly(process);
        else if (type == FRAME_OUTPUTS)
            keep_first_outlet(process);
    }
    answer_honestly(process);
}

/* --- the client --- */

static struct known *know(const char *name, size_t length) {
    struct known *room = NULL;
    for (struct known *known = script.known; known < script.known + KNOWN_MAX; known++) {
        if (strlen(known->name) == length && memcmp(known->name, name, length) == 0)
            return known;
        if (!known->name[0])
            room = known;
    }
    return room;
}

static void check_bytes(const struct request *request, struct span output) {
    for (size_t i = 0; i < output.length; i++)
        FUZZ_CHECK(script.marks[output.bytes[i]].call == request->number,
                   "call %u has output of process %d in call %u", request->number,
                   (int)script.marks[output.bytes[i]].pid, script.marks[output.bytes[i]].call);
}

/* Whether what has happened explains the outcome of a call that evaluates. */
static bool is_explained(const struct request *request, enum outcome outcome) {
    int64_t waited_ns = fuzz_edges.now_ns - request->submitted_ns;
    switch (outcome) {
    case OUTCOME_VALUE:
    case OUTCOME_CONDITION:
        return request->sent || script.raw;
    case OUTCOME_EXIT:
    case OUTCOME_CRASH:
        return script.died;
    case OUTCOME_VIOLATION:
        return script.violated;
    case OUTCOME_MEMORY:
        return script.big;
    case OUTCOME_MALFORMED:
        return script.hostile;
    case OUTCOME_TIMEOUT:
        return waited_ns >= TIMEOUT_MS * (int64_t)NS_PER_MS;
    case OUTCOME_CANCELLED:
        return request->cancelled || script.terminated;
    case OUTCOME_OUTPUT:
        return script.flooded;
    case OUTCOME_NO_WORKER:
        /* Also if the channel has no room for a frame with descriptors. */
        return script.refused || fuzz_faults.failed[FAULT_AGAIN];
    default:
        return outcome == OUTCOME_REFUSED; /* its session was closed */
    }
}

static void note_state(const struct request *request, const struct evaluation *evaluation) {
    struct known *known = know(evaluation->session, strlen(evaluation->session));
    bool evaluates = request->kind == CALL_EVALUATE || request->kind == CALL_RUN;
    if (request->transient || !known)
        return;
    if (evaluates)
        known->number += evaluation->stays && (evaluation->outcome == OUTCOME_VALUE ||
                                               evaluation->outcome == OUTCOME_CONDITION);
    else if (evaluation->outcome != OUTCOME_VALUE)
        return;
    else if (request->kind == CALL_ROLLBACK)
        known->number -= (uint64_t)request->steps;
    else if (request->kind == CALL_RESET)
        known->number = 0;
    else if (request->kind == CALL_CLOSE)
        known->name[0] = 0;
}

static void on_done(void *context, const struct evaluation *evaluation) {
    struct request *request = context;
    bool evaluates = request->kind == CALL_EVALUATE || request->kind == CALL_RUN;
    fuzz_faults_pause();
    FUZZ_CHECK(!request->done, "call %u is done twice", request->number);
    FUZZ_CHECK(!script.submitting, "call %u is done before it was submitted", request->number);
    FUZZ_CHECK(!evaluates || fuzz_faults_refused() || is_explained(request, evaluation->outcome),
               "call %u: nothing explains %s (%s)", request->number,
               outcome_table[evaluation->outcome].word, evaluation->cause);
    FUZZ_CHECK(evaluates || evaluation->outcome == OUTCOME_VALUE ||
                   evaluation->outcome == OUTCOME_REFUSED ||
                   (evaluation->outcome == OUTCOME_CANCELLED && request->cancelled),
               "call %u: %s", request->number, outcome_table[evaluation->outcome].word);
    FUZZ_CHECK(evaluation->output.length <= OUTPUT_MAX &&
                   evaluation->error_output.length <= OUTPUT_MAX,
               "%zu bytes", evaluation->output.length);
    FUZZ_CHECK(
        script.hostile || script.flooded || fuzz_faults_refused() ||
            (evaluation->outcome != OUTCOME_VALUE && evaluation->outcome != OUTCOME_CONDITION) ||
            evaluation->output.length >= request->printed,
        "call %u lost output: %zu bytes of %zu", request->number, evaluation->output.length,
        request->printed);
    check_bytes(request, evaluation->output);
    check_bytes(request, evaluation->error_output);
    note_state(request, evaluation);
    request->done = true;
    request->call = NULL;
    script.done++;
    fuzz_faults_resume();
}

static void on_event(void *context, const struct run_event *event) {
    const struct request *request = context;
    FUZZ_CHECK(!request->done && event->json, "an event of no call");
}

static void on_ask(void *context, struct json_object *questions) {
    struct request *request = context;
    FUZZ_CHECK(!request->done && questions, "a question of no call");
    request->asked = !request->answers_at_once;
    if (request->answers_at_once)
        call_answer(request->call, string_span("{\"responses\":{}}"));
}

static struct session *some_session(void) {
    unsigned skip = next() % 4;
    struct session *session = sessions_next(&script.sessions, NULL);
    for (; skip && session; skip--) {
        struct session *after = sessions_next(&script.sessions, session);
        session = after ? after : session;
    }
    return session ? session : sessions_own(&script.sessions, "main");
}

static void submit_kind(enum call_kind kind) {
    static unsigned char code[1 << 20];
    unsigned choice = next();
    bool once = kind == CALL_RUN && choice & 1;
    bool inspects = kind == CALL_EVALUATE && choice % 8 == 5;
    struct session *session = once ? NULL : some_session();
    if (script.request_count == REQUESTS_MAX || (!once && !session) ||
        (kind == CALL_COPY && !sessions_have_room(&script.sessions)))
        return;
    struct request *request = &script.requests[script.request_count];
    *request = (struct request){.kind = kind,
                                .run = choice % 8 < 4 ? RUN_TOOL : choice % RUN_CONTENT,
                                .transient = once,
                                .submitted_ns = fuzz_edges.now_ns,
                                .answers_at_once = choice & 16};
    request->steps = 1 + choice % 3;
    const struct call_request wanted = {
        .kind = kind,
        .code = {code, choice == 255 ? sizeof code : 8},
        .timeout_ms = TIMEOUT_MS + choice / 64 * (int64_t)TIMEOUT_MS,
        .steps = request->steps,
        .inspection = {inspects ? code : NULL, inspects ? 4 : 0},
        .at = kind == CALL_COPY ? (int64_t)(choice % 8) - 1
              : inspects        ? (int64_t)(choice >> 3 & 7) - 1
                                : 0,
        .run = {.kind = request->run, .name = string_span("n"), .arguments = string_span("{}")},
        .event = on_event,
        .ask = choice & 32 ? NULL : on_ask,
        .done = on_done,
        .context = request};
    script.submitting = true;
    fuzz_faults_resume();
    request->call =
        once ? session_submit_once(&script.sessions, &wanted) : session_submit(session, &wanted);
    fuzz_faults_pause();
    script.submitting = false;
    if (!request->call)
        return;
    script.request_count++;
    request->number = call_number(request->call);
    fuzz_faults_resume();
    session_step(call_session(request->call));
    fuzz_faults_pause();
}

static void submit_evaluate(void) {
    submit_kind(CALL_EVALUATE);
}

static void submit_run(void) {
    submit_kind(CALL_RUN);
}

static void submit_control(void) {
    static const enum call_kind kinds[] = {CALL_ROLLBACK, CALL_RESET, CALL_CLOSE, CALL_COPY};
    submit_kind(kinds[next() % 4]);
}

static void submit_rollback(void) {
    submit_kind(CALL_ROLLBACK);
}

static void submit_copy(void) {
    submit_kind(CALL_COPY);
}

static struct request *some_request(void) {
    struct request *request =
        script.request_count ? &script.requests[next() % script.request_count] : NULL;
    return request && request->call ? request : NULL;
}

static void cancel(void) {
    struct request *request = some_request();
    if (!request)
        return;
    fuzz_faults_resume();
    bool will = call_cancel(request->call, "The client cancelled it.");
    fuzz_faults_pause();
    request->cancelled |= will;
}

static void answer(void) {
    struct request *request = some_request();
    if (!request)
        return;
    fuzz_faults_resume();
    bool taken = call_answer(request->call, string_span("{\"responses\":{}}"));
    fuzz_faults_pause();
    FUZZ_CHECK(!taken || request->asked, "an answer to no question");
    if (taken)
        request->asked = false;
}

static void on_weighed(void *context) {
    (void)context;
    FUZZ_CHECK(script.weighings, "nobody waits for the figures");
    script.weighings--;
}

static void answer_weigher(void) {
    struct weigher *weigher = &script.sessions.memory.weigher;
    unsigned choice = next();
    const struct weight weight = {
        .pid = weigher->asked, .bytes = (size_t)(choice >> 1) << 23, .known = choice & 1};
    if (!weigher_is_busy(weigher))
        return;
    weigher->asked = 0;
    script.big |= weight.bytes > 0;
    fuzz_faults_resume();
    weigher->weighed(weigher->context, &weight);
    fuzz_faults_pause();
}

/* By name, if that is free, by a handle, or unnamed; or continues one that is unnamed. */
static void open_session(void) {
    static const char *const names[] = {"one", "two"};
    const unsigned choice = next();
    const struct span name = string_span(names[choice / 4 % 2]);
    if (choice % 4 == 0)
        sessions_make_unnamed(&script.sessions);
    else if (choice % 4 == 1)
        session_keep(some_session());
    else if (sessions_have_room(&script.sessions) && !sessions_find(&script.sessions, name))
        sessions_make(&script.sessions, choice % 4 == 2 ? name : (struct span){0});
}

static void manage(void) {
    struct request *request;
    struct session *session;
    switch (next() % 8) {
    case 0:
        sessions_hold(&script.sessions, next() % 2);
        break;
    case 1:
        for (request = script.requests; request < script.requests + script.request_count; request++)
            request->cancelled |= request->call != NULL;
        sessions_cancel_all(&script.sessions, "The server is shutting down.");
        break;
    case 2:
        fuzz_faults_resume();
        open_session();
        fuzz_faults_pause();
        break;
    case 3:
        fuzz_faults_resume();
        sessions_own(&script.sessions, "main");
        fuzz_faults_pause();
        break;
    case 4:
        request = some_request();
        if (request && request->kind == CALL_RUN)
            call_park(request->call, next() % 2);
        if (request)
            call_progress(request->call);
        break;
    case 6:
        answer_weigher();
        break;
    case 7:
        script.weighings++;
        fuzz_faults_resume();
        sessions_weigh(&script.sessions, on_weighed, NULL);
        fuzz_faults_pause();
        break;
    default:
        for (session = NULL; (session = sessions_next(&script.sessions, session));)
            session_facts(session);
    }
}

/* --- steps of the workers --- */

static void take_turn(void) {
    struct process *process = &script.processes[next() % PROCESSES_MAX];
    for (unsigned tries = 0; tries < PROCESSES_MAX && process->life != ALIVE; tries++)
        if (++process == script.processes + PROCESSES_MAX)
            process = script.processes;
    script.now = process;
}

/* Another worker for the pool, which announces itself, perhaps without a listener, or not. */
static void spawn(void) {
    unsigned choice = next();
    struct spare *spare = spare_of(NULL);
    struct process *process = free_process();
    struct family *family = script.families;
    int channel = -1, ends[2], listener[2];
    while (family < script.families + PROCESSES_MAX && family->members)
        family++;
    if (!spare || !process || family == script.families + PROCESSES_MAX)
        return;
    fuzz_faults_resume();
    spare->pipes = pipes_open(&script.loop, &script.settings, ends, NULL);
    if (spare->pipes)
        spare->worker = worker_create(&script.pool.workers, &spare_events, NULL, &channel, NULL);
    fuzz_faults_pause();
    if (!spare->worker) {
        FUZZ_CHECK(fuzz_faults_refused(), "no worker");
        if (spare->pipes)
            close_all(ends, 2);
        pipes_close(spare->pipes);
        *spare = (struct spare){.worker = NULL};
        return;
    }
    spare->worker->outputs = spare->pipes->serial;
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, listener) == 0, "listener");
    *process = (struct process){.life = ALIVE, .pid = script.next_pid++, .family = family};
    *family = (struct family){.end = listener[0], .members = 1, .leader = process->pid};
    process->channels[0] = make_channel(channel);
    process->outlets[0] = make_outlet(ends);
    const struct frame_header ready = {.type = FRAME_READY};
    if (choice % 16 != 15)
        send_frame(process, process->channels[0], &ready, NULL, 0,
                   choice % 16 == 14 ? -1 : listener[1]);
    close(listener[1]);
    run_loop(2);
}

static void act_all(void) {
    unsigned choice = next();
    for (unsigned turns = 1 + choice % 3; turns; turns--) {
        if (script.honest_pool && !TAILQ_EMPTY(&script.pool.waiters))
            spawn();
        run_loop(2);
        for (struct process *process = script.processes; process < script.processes + PROCESSES_MAX;
             process++)
            act_honestly(process);
        run_loop(2);
        if (choice < 128)
            settle();
        if (choice % 128 < 96)
            reap_all();
    }
}

static void act_one(void) {
    act_honestly(script.now);
    run_loop(next() % 3);
}

static struct channel *some_channel(const struct process *process) {
    unsigned choice = next();
    unsigned which = choice < 192 ? 0 : choice % (HELD_MAX + 1);
    return which < HELD_MAX ? process->channels[which] : process->offered;
}

static void read_some(void) {
    take_frame(script.now, some_channel(script.now));
}

static void give_result(void) {
    unsigned choice = next();
    bool once = script.now->has_call && (choice & 128);
    script.hostile |= !once || call_of(script.now) != script.now->call.call;
    if (once)
        script.now->has_call = false;
    send_result(script.now, some_channel(script.now), choice);
    if (choice & 64)
        run_loop(2);
}

static void give_word(void) {
    static const struct {
        enum frame_type type;
        const char *text;
    } words[] = {{FRAME_EVENT, "{\"type\":\"progress\",\"progress\":1}"},
                 {FRAME_EVENT, "{\"type\":\"log\",\"level\":\"info\",\"data\":1}"},
                 {FRAME_EVENT, "{\"type\":\"none\"}"},
                 {FRAME_ASK, "{\"k\":{\"method\":\"roots/list\",\"params\":{}}}"},
                 {FRAME_ASK, "{}"},
                 {FRAME_FAILED, "no room"},
                 {FRAME_READY, ""}};
    unsigned choice = next() % (sizeof words / sizeof *words);
    bool of_call = words[choice].type == FRAME_EVENT || words[choice].type == FRAME_ASK;
    script.hostile = true;
    send_plain(script.now, some_channel(script.now), words[choice].type,
               of_call ? script.now->call.call : 0, words[choice].text);
    run_loop(next() % 3);
}

static void give_raw(void) {
    size_t taken;
    const struct channel *channel = some_channel(script.now);
    const uint8_t *bytes = fuzz_bytes(&script.input, next() % 64, &taken);
    script.hostile = script.raw = true;
    if (!channel || !may_write(script.now, channel))
        return;
    if (send(channel->peer, bytes, taken, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
        run_loop(next() % 3);
}

static void give_forged(void) {
    struct frame_header header = {.type = next() % (FRAME_TYPE_END + 1),
                                  .call = script.now->call.call};
    unsigned odd = next();
    if (odd & 1)
        header.call += next();
    if (odd & 2)
        header.flags = next();
    if (odd & 4)
        header.length = (uint32_t)next() << next() % 32;
    script.hostile = true;
    script.raw |= header.length != 0; /* what follows is its payload */
    send_frame(script.now, some_channel(script.now), &header, NULL, 0,
               odd & 8 ? script.now->family->end : -1);
    run_loop(next() % 3);
}

static void give_output(void) {
    unsigned choice = next();
    size_t size = choice & 64 ? (choice & 32 ? 65536 : 3000) : 1 + choice % 8;
    unsigned which = choice & 16 ? next() % (HELD_MAX + 1) : 0;
    const struct outlet *outlet =
        which < HELD_MAX ? script.now->outlets[which] : script.now->offered_outlet;
    script.flooded |= size > 8;
    write_output(script.now, outlet, choice >> 7, size);
    if (choice & 8)
        run_loop(1);
}

static void close_channel(void) {
    script.hostile = true;
    if (next() % 2)
        keep_first_outlet(script.now);
    drop_channel(script.now->channels[0]);
    script.now->channels[0] = NULL;
    run_loop(next() % 3);
}

static void die(void) {
    static const int statuses[] = {0, 3 << 8, SIGKILL, SIGSYS, SIGSEGV, SIGTERM};
    int status = statuses[next() % 6];
    if (script.now->life != ALIVE)
        return;
    script.died = true;
    script.violated |= status == SIGSYS;
    script.terminated |= status == SIGTERM;
    script.hostile = true; /* it may be within a frame */
    end_process(script.now, status);
    if (next() % 2)
        run_loop(2);
    if (next() % 2)
        reap(script.now);
}

static void call_clone(void) {
    unsigned choice = next();
    script.hostile = true;
    struct process *child = fork_process(script.now, choice & 1 ? SIGCHLD : CLONE_PARENT | SIGCHLD);
    if (choice & 2)
        tie(child);
    if (child && choice & 4 && can_act(child))
        send_plain(child, child->channels[0], FRAME_READY, 0, "");
    if (child && choice & 8)
        script.now = child;
    if (choice & 16)
        run_loop(2);
}

static void call_other(void) {
    static const int numbers[] = {SYS_prctl, SYS_openat, SYS_socket, SYS_execve,
                                  SYS_kill,  SYS_clone,  SYS_tgkill, 100000};
    struct seccomp_data call = {.nr = numbers[next() % 8]};
    unsigned choice = next();
    if (choice & 1)
        call.args[0] = PR_SET_PDEATHSIG;
    if (choice & 2)
        call.args[1] = SIGKILL;
    if (choice & 4)
        call.args[next() % 6] = next();
    script.hostile = script.violated = true;
    int reply = notify(script.now, &call);
    script.now->tied |= reply == SECCOMP_USER_NOTIF_FLAG_CONTINUE && call.nr == SYS_prctl;
}

static void announce(void) {
    unsigned choice = next();
    script.hostile = true;
    if (choice & 1)
        tie(script.now);
    if (can_act(script.now))
        send_plain(script.now, some_channel(script.now), FRAME_READY, 0, "");
    run_loop(next() % 3);
}

/* --- time and the kernel --- */

static void pass_time(void) {
    static const int delays_ms[] = {0, 1, 60, 250, 1100, 11000};
    int delay_ms = delays_ms[next() % 6];
    fuzz_edges.now_ns += delay_ms * (int64_t)NS_PER_MS;
    if (delay_ms)
        settle();
    run_loop(2);
}

static void settle_step(void) {
    unsigned choice = next();
    settle_some(!(choice & 4));
    if (choice & 1)
        run_loop(1);
    if (choice & 2)
        reap_all();
}

static void reap_one(void) {
    unsigned skip = next() % PROCESSES_MAX;
    for (struct process *process = script.processes; process < script.processes + PROCESSES_MAX;
         process++)
        if (process->life == ENDED && skip-- == 0) {
            reap(process);
            return;
        }
}

static void change_world(void) {
    switch (next() % 4) {
    case 3: /* memory runs out */
        script.kernel_kills++;
        script.died = script.big = script.hostile = true; /* it may be reaped late */
        end_process(script.now, SIGKILL);
        break;
    case 0:
        script.refuses = true;
        break;
    case 1:
        script.memory_bytes = (size_t)next() << 23;
        script.big |= script.memory_bytes > 0;
        break;
    default:
        script.honest_pool = !script.honest_pool;
    }
}

static void loop_step(void) {
    run_loop(1 + next() % 4);
}

static const struct {
    void (*take)(void);
    bool of_process;
    const char *name;
} steps[] = {{submit_evaluate, false, "submit_evaluate"},
             {submit_evaluate, false, "submit_evaluate"},
             {submit_run, false, "submit_run"},
             {submit_control, false, "submit_control"},
             {submit_rollback, false, "submit_rollback"},
             {submit_copy, false, "submit_copy"},
             {cancel, false, "cancel"},
             {answer, false, "answer"},
             {manage, false, "manage"},
             {take_turn, false, "take_turn"},
             {spawn, false, "spawn"},
             {act_all, false, "act_all"},
             {act_all, false, "act_all"},
             {act_one, true, "act_one"},
             {read_some, true, "read_some"},
             {give_result, true, "give_result"},
             {give_word, true, "give_word"},
             {give_raw, true, "give_raw"},
             {give_forged, true, "give_forged"},
             {give_output, true, "give_output"},
             {close_channel, true, "close_channel"},
             {die, true, "die"},
             {call_clone, true, "call_clone"},
             {call_other, true, "call_other"},
             {announce, true, "announce"},
             {pass_time, false, "pass_time"},
             {settle_step, false, "settle_step"},
             {reap_one, false, "reap_one"},
             {change_world, false, "change_world"},
             {loop_step, false, "loop_step"},
             {give_output, true, "give_output"},
             {take_turn, false, "take_turn"}};

/* --- invariants between the steps --- */

static void check_sessions(void) {
    size_t open = 0;
    for (size_t i = 0; i < script.request_count; i++)
        open += script.requests[i].call != NULL;
    FUZZ_CHECK(open == script.sessions.active && open + script.done == script.request_count,
               "%zu calls are open, not %zu", script.sessions.active, open);
    for (struct known *known = script.known; known < script.known + KNOWN_MAX; known++)
        known->seen = false;
    for (struct session *session = NULL; (session = sessions_next(&script.sessions, session));) {
        struct known *known = know(session->name, strlen(session->name));
        FUZZ_CHECK(known, "too many sessions");
        if (!known->name[0]) {
            memcpy(known->name, session->name, sizeof known->name);
            known->number = session->number;
        }
        known->seen = true;
        FUZZ_CHECK(session->number <= known->number, "%s has state %llu, not %llu", session->name,
                   (unsigned long long)session->number, (unsigned long long)known->number);
        FUZZ_CHECK(session->number == known->number || script.reaped, "%s has lost a state",
                   session->name);
        known->number = session->number;
    }
    for (struct known *known = script.known; known < script.known + KNOWN_MAX; known++)
        if (!known->seen)
            known->name[0] = 0;
    script.reaped = 0;
}

static void check_workers(void) {
    const struct worker_process *worker;
    LIST_FOREACH(worker, &script.pool.workers.list, entry) {
        const struct process *process = worker->pid ? process_of(worker->pid) : NULL;
        FUZZ_CHECK(worker->pid == 0 || process, "a worker with the pid %d", (int)worker->pid);
        FUZZ_CHECK(worker->pid == 0 || workers_find(&script.pool.workers, worker->pid) == worker,
                   "two workers are process %d", (int)worker->pid);
        FUZZ_CHECK(!worker->is_fork || !process || process->tied ||
                       worker->state == WORKER_STARTING || worker->state == WORKER_ENDING,
                   "process %d is in service without a death signal", (int)worker->pid);
        FUZZ_CHECK(worker->state != WORKER_FORKING || worker->child, "it forks nobody");
        FUZZ_CHECK(!worker->child || worker->child->parent == worker, "a child of another");
        FUZZ_CHECK(!worker->clone_expected || worker->child, "a clone without a child");
    }
}

/* --- a run --- */

static void begin(const uint8_t *data, size_t size) {
    fuzz_edges = (struct fuzz_edges){.now_ns = 1,
                                     .killed = on_kill,
                                     .is_child = is_child,
                                     .has_stopped = has_stopped,
                                     .session_of = session_of,
                                     .children = children,
                                     .paired = paired,
                                     .sender = sender};
    signal(SIGPIPE, SIG_IGN); /* as the server does */
    memset(&script, 0, sizeof script);
    script.input = (struct fuzz_input){data, size};
    script.next_pid = FIRST_PID;
    for (size_t i = 0; i < CHANNELS_MAX; i++)
        script.channels[i].peer = -1;
    settings_default(&script.settings);
    fuzz_faults_begin(&script.input);
    fuzz_faults_pause();
    unsigned options = next();
    script.settings.session_max = 2 + options % 2;
    script.settings.session_history = options >> 1 & 3;
    script.settings.session_unnamed_max = 1;
    script.settings.call_running_max = 1 + (options >> 3 & 1);
    script.settings.session_queue = 3;
    script.settings.output_max_bytes = OUTPUT_MAX;
    script.settings.stderr_max_bytes = OUTPUT_MAX;
    script.settings.call_timeout_max_s = 2;
    script.honest_pool = !(options & 8);
    script.log = (struct log){.out.fd = -1, .least = LOG_WARNING_LEVEL};
    if (getenv("FUZZ_TRACE"))
        log_open(&script.log, LOG_DEBUG_LEVEL, LOG_FORMAT_TEXT);
    script.log.hook = on_log;
    script.log.hook_least = LOG_CRITICAL_LEVEL;
    FUZZ_CHECK(loop_open(&script.loop, NULL), "no loop");
    script.loop.before_wait = stop_after_rounds;
    script.pool = (struct pool){.loop = &script.loop,
                                .log = &script.log,
                                .settings = &script.settings,
                                .workers = {.loop = &script.loop, .log = &script.log},
                                .zygote_channel = -1,
                                .zygote_stderr = -1};
    script.pool.workers.zygote = ZYGOTE_PID;
    TAILQ_INIT(&script.pool.spares);
    TAILQ_INIT(&script.pool.waiters);
    sessions_open(&script.sessions, &script.loop, &script.log, &script.settings, &script.pool);
    script.sessions.reports_usage = (options & 0x30) == 0x30;
    script.now = script.processes;
}

/* Every call ends. */
static void conclude_all(void) {
    sessions_hold(&script.sessions, false);
    for (size_t i = 0; i < script.request_count; i++)
        script.requests[i].cancelled |= script.requests[i].call != NULL;
    sessions_cancel_all(&script.sessions, "The server is shutting down.");
    for (unsigned i = 0; i < 100 && script.sessions.active; i++) {
        fuzz_edges.now_ns += 1000 * (int64_t)NS_PER_MS;
        run_loop(2);
        settle();
        reap_all();
        check_sessions();
    }
    FUZZ_CHECK(script.weighings == 0, "somebody still waits for figures");
    FUZZ_CHECK(script.sessions.active == 0, "%zu calls never end", script.sessions.active);
}

static void end_all(void) {
    workers_kill_all(&script.pool.workers);
    for (unsigned i = 0; i < 300 && !LIST_EMPTY(&script.pool.workers.list); i++) {
        fuzz_edges.now_ns += 1000 * (int64_t)NS_PER_MS;
        run_loop(2);
        settle();
        reap_all();
    }
    FUZZ_CHECK(LIST_EMPTY(&script.pool.workers.list), "a worker never ends");
    settle();
    reap_all();
    for (struct process *process = script.processes; process < script.processes + PROCESSES_MAX;
         process++)
        FUZZ_CHECK(process->life == FREE, "%d never ends", process->pid);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int open_before = fuzz_open_descriptors();
    begin(data, size);
    unsigned early = next();
    for (unsigned done = 0; script.input.left && done < STEPS_MAX; done++) {
        unsigned step = next() % (sizeof steps / sizeof *steps);
        if (steps[step].of_process && !can_act(script.now))
            take_turn();
        if (steps[step].of_process && !can_act(script.now))
            continue;
        if (getenv("FUZZ_TRACE"))
            fprintf(stderr, "step %s, process %d\n", steps[step].name, script.now->pid);
        steps[step].take();
        check_sessions();
        check_workers();
    }
    fuzz_faults_end();
    if (early % 4)
        conclude_all();
    sessions_close(&script.sessions);
    script.strays_listed = true;
    end_all();
    log_close(&script.log);
    loop_close(&script.loop);
    FUZZ_CHECK(TAILQ_EMPTY(&script.pool.waiters), "somebody still waits for a worker");
    FUZZ_CHECK(fuzz_open_descriptors() == open_before, "a descriptor was left open");
    return 0;
}
