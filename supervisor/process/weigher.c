/* The weigher: a fork of this program that answers one question at a time. */
#include "supervisor/process/weigher.h"
#include "common/child.h"
#include "common/cleanup.h"
#include "common/descriptor.h"
#include "policy/policy.h"
#include "supervisor/process/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    FAILURES_MAX = 3,    /* then no further process is started */
    PARTS = 3,           /* descriptors of struct tracker_parts */
    MAPPINGS_MAX = 1000, /* that are tracked: the supervisor has work with each */
};

struct question {
    pid_t pid;
    int task;
    struct tracked_message said;
};

/* The descriptors are passed, and here are their numbers in the weigher. */
struct reply {
    struct weight weight;
    bool done;
    struct tracker_parts parts;
};

/* --- the process --- */

struct weight weigh_process(pid_t pid) {
    static const char label[] = "\nPss:";
    char text[1024];
    struct weight weight = {.pid = pid};
    if (pid <= 1)
        return weight;
    read_process_file(pid, "smaps_rollup", text, sizeof text);
    const char *line = strstr(text, label);
    weight.known = line != NULL;
    if (line)
        weight.bytes = (size_t)strtoull(line + sizeof label - 1, NULL, 10) * 1024;
    return weight;
}

/* Whether it lies between the spans: it is of the kernel, shared, or reserves addresses. */
static bool is_left_out(const struct maps_line *line) {
    enum { RESERVED_BYTES = 1 << 20 };
    return line->of == MAPS_OF_KERNEL || line->shared ||
           (line->protection == PROT_NONE && line->end - line->start > RESERVED_BYTES);
}

static bool add_span(struct tracker_spans *spans, uint64_t start, uint64_t end) {
    if (start >= end)
        return true;
    if (spans->count == TRACKER_SPANS_MAX)
        return false;
    spans->list[spans->count++] = (struct tracker_span){start, end};
    return true;
}

/* False if there would be too many, or there are too many mappings. */
static bool find_spans(pid_t pid, const struct tracked_message *said, struct tracker_spans *spans) {
    const uint64_t first = 0x10000, last = UINT64_C(0x7ffffffff000);
    char path[64], text[MAPS_LINE_BYTES];
    uint64_t from = first;
    struct maps_line line;
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *maps = fopen(path, "re");
    bool good = maps != NULL;
    for (size_t count = 0; good && fgets(text, sizeof text, maps); count++) {
        good = count < MAPPINGS_MAX && strchr(text, '\n') && maps_parse(text, &line);
        if (!good || line.start >= last || !is_left_out(&line))
            continue;
        good = add_span(spans, from, line.start);
        from = line.end;
    }
    good = good && !ferror(maps) && add_span(spans, from, last);
    if (maps)
        fclose(maps);
    tracker_leave_out(spans, said->start, said->end);
    return good;
}

static int open_of(pid_t pid, const char *name) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* The descriptor FD of PID, if it is a userfaultfd; -1: it is not. */
static int take_userfault(pid_t pid, int fd) {
    static const char kind[] = "anon_inode:[userfaultfd]";
    char path[64], target[sizeof kind] = "";
    cleanup_fd int process = (int)syscall(SYS_pidfd_open, pid, 0);
    int taken = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, fd, 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", taken);
    if (taken >= 0 && (readlink(path, target, sizeof target) != sizeof kind - 1 ||
                       memcmp(target, kind, sizeof kind - 1) != 0)) {
        close(taken);
        taken = -1;
    }
    return taken;
}

bool weigher_open_parts(pid_t pid, const struct tracked_message *said,
                        struct tracker_parts *parts) {
    *parts = (struct tracker_parts){.userfault = -1, .pagemap = -1, .memory = -1};
    if (pid <= 1 || said->userfault < 0 || !find_spans(pid, said, &parts->spans))
        return false;
    parts->userfault = take_userfault(pid, said->userfault);
    parts->pagemap = open_of(pid, "pagemap");
    parts->memory = open_of(pid, "mem");
    if (parts->userfault >= 0 && parts->pagemap >= 0 && parts->memory >= 0 &&
        tracker_prepare(parts->userfault) && tracker_register(parts->userfault, &parts->spans))
        return true;
    tracker_close_parts(parts);
    return false;
}

static bool register_again(const struct question *question, int userfault) {
    struct tracker_spans spans = {.count = 0};
    return userfault >= 0 && find_spans(question->pid, &question->said, &spans) &&
           tracker_register(userfault, &spans);
}

/* USERFAULT: that came with the question; -1: none. */
static bool reply_to(const struct question *question, int userfault) {
    struct reply reply = {.weight.pid = question->pid};
    struct iovec part = {.iov_base = &reply, .iov_len = sizeof reply};
    bool opened = false;
    if (question->task == WEIGHER_WEIGHS)
        reply.weight = weigh_process(question->pid);
    else if (question->task == WEIGHER_OPENS)
        opened = reply.done = weigher_open_parts(question->pid, &question->said, &reply.parts);
    else
        reply.done = register_again(question, userfault);
    const int descriptors[PARTS] = {reply.parts.userfault, reply.parts.pagemap, reply.parts.memory};
    bool sent = descriptors_send(STDIN_FILENO, &part, 1, descriptors, opened ? PARTS : 0) ==
                (ssize_t)sizeof reply;
    if (opened)
        tracker_close_parts(&reply.parts);
    return sent;
}

/* False at the end. */
static bool answer_one(void) {
    struct question question;
    int descriptors[DESCRIPTORS_MAX] = {-1};
    size_t count = 0;
    ssize_t got =
        descriptors_receive(STDIN_FILENO, &question, sizeof question, descriptors, &count);
    bool good = got == (ssize_t)sizeof question && reply_to(&question, descriptors[0]);
    while (count > 0)
        close(descriptors[--count]);
    return good;
}

/* Keeps no descriptor but the socket, and ends with the supervisor. */
static _Noreturn void run(int socket) {
    bool ready = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && dup2(socket, STDIN_FILENO) >= 0 &&
                 close_range(STDIN_FILENO + 1, ~0U, 0) == 0 && policy_retain_tracing(NULL) &&
                 prctl(PR_SET_NAME, "eclave-weigher") == 0;
    while (ready)
        ready = answer_one();
    for (;;)
        syscall(SYS_exit_group, 0); /* _exit would have a sanitizer scan for leaks */
}

/* --- in the supervisor --- */

void weigher_open(struct weigher *weigher, struct loop *loop, weigher_callback weighed,
                  weigher_tracked tracked, void *context) {
    *weigher = (struct weigher){
        .loop = loop, .socket = -1, .weighed = weighed, .tracked = tracked, .context = context};
}

void weigher_close(struct weigher *weigher) {
    if (weigher->socket < 0)
        return;
    loop_watch_remove(weigher->loop, &weigher->watch);
    close(weigher->socket);
    weigher->socket = -1;
    weigher->asked = 0;
}

bool weigher_is_busy(const struct weigher *weigher) {
    return weigher->asked != 0;
}

/* Moves the descriptors that came with REPLY into it. */
static void take_parts(struct reply *reply, int *descriptors, size_t count) {
    reply->parts.userfault = descriptors[0];
    reply->parts.pagemap = descriptors[1];
    reply->parts.memory = descriptors[2];
    if (reply->done && count == PARTS)
        return;
    reply->done = false;
    while (count > 0)
        close(descriptors[--count]);
}

static void on_answer(void *context, uint32_t events) {
    (void)events;
    struct weigher *weigher = context;
    struct reply reply = {0};
    int descriptors[DESCRIPTORS_MAX] = {-1, -1, -1};
    size_t count = 0;
    ssize_t got = descriptors_receive(weigher->socket, &reply, sizeof reply, descriptors, &count);
    const bool no_room = got < 0 && errno == EMSGSIZE; /* for more descriptors */
    pid_t asked = weigher->asked;
    weigher->asked = 0;
    reply.done = reply.done && got == (ssize_t)sizeof reply;
    if (count || weigher->task == WEIGHER_OPENS)
        take_parts(&reply, descriptors, count);
    if (got == (ssize_t)sizeof reply) {
        weigher->failures = 0;
    } else if (!no_room) {
        weigher->failures++;
        weigher_close(weigher);
        reply = (struct reply){.weight.pid = asked};
    }
    if (asked && weigher->task == WEIGHER_WEIGHS)
        weigher->weighed(weigher->context, &reply.weight);
    else if (asked)
        weigher->tracked(weigher->context, asked, reply.done,
                         reply.done && weigher->task == WEIGHER_OPENS ? &reply.parts : NULL);
}

/* Starts the process, unless it runs. False if it cannot. */
static bool start(struct weigher *weigher) {
    int pair[2];
    if (weigher->socket >= 0)
        return true;
    if (weigher->settled || weigher->failures >= FAILURES_MAX ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    cleanup_fd int theirs = pair[1];
    pid_t pid = fork();
    if (pid == 0)
        run(theirs);
    if (pid > 0 && loop_watch_add(weigher->loop, &weigher->watch, pair[0], EPOLLIN, on_answer,
                                  weigher, NULL)) {
        weigher->socket = pair[0];
        return true;
    }
    close(pair[0]);
    return false;
}

void weigher_settle(struct weigher *weigher) {
    start(weigher);
    weigher->settled = true;
}

/* FD: -1: none. */
static bool ask(struct weigher *weigher, const struct question *question, int fd) {
    struct iovec part = {.iov_base = (void *)question, .iov_len = sizeof *question};
    if (!start(weigher))
        return false;
    if (descriptors_send(weigher->socket, &part, 1, &fd, fd >= 0) != (ssize_t)sizeof *question) {
        weigher->failures++;
        weigher_close(weigher);
        return false;
    }
    weigher->asked = question->pid;
    weigher->task = question->task;
    return true;
}

bool weigher_ask(struct weigher *weigher, pid_t pid) {
    const struct question question = {.pid = pid, .task = WEIGHER_WEIGHS};
    return ask(weigher, &question, -1);
}

bool weigher_track(struct weigher *weigher, pid_t pid, const struct tracked_message *said) {
    const struct question question = {.pid = pid, .task = WEIGHER_OPENS, .said = *said};
    return ask(weigher, &question, -1);
}

bool weigher_register(struct weigher *weigher, pid_t pid, const struct tracked_message *said,
                      int userfault) {
    const struct question question = {.pid = pid, .task = WEIGHER_REGISTERS, .said = *said};
    return ask(weigher, &question, userfault);
}
