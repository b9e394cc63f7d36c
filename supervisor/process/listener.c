/* Answers notified system calls. Never lets a call run that the policy does not know, and lets one
 * clone run only where this very process was asked to fork. */
#include "supervisor/process/listener.h"
#include "policy/policy.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    NOTIFIED_LOGGED = 5,  /* of one call */
    NOTIFIED_MAX = 10000, /* of one call; more is an attack on the supervisor's time */
    STRUCT_ROOM = 256     /* the kernel's structures may have grown */
};

struct listener *listener_create(struct workers *workers) {
    struct listener *listener = calloc(1, sizeof *listener);
    if (!listener)
        return NULL;
    *listener = (struct listener){.workers = workers, .fd = -1, .members = 1};
    return listener;
}

struct listener *listener_join(struct listener *listener) {
    listener->members++;
    return listener;
}

static void close_listener(struct listener *listener) {
    loop_watch_remove(listener->workers->loop, &listener->watch);
    if (listener->fd >= 0)
        close(listener->fd);
    listener->fd = -1;
}

void listener_leave(struct listener *listener) {
    if (!listener || --listener->members)
        return;
    close_listener(listener);
    free(listener);
}

static void answer(struct listener *listener, uint64_t id, int error, uint32_t flags) {
    union {
        struct seccomp_notif_resp response;
        unsigned char room[STRUCT_ROOM];
    } reply = {.room = {0}};
    reply.response.id = id;
    reply.response.error = -error;
    reply.response.flags = flags;
    ioctl(listener->fd, SECCOMP_IOCTL_NOTIF_SEND, &reply.response);
}

/* The fork that this worker was asked for, with exactly its arguments. All of them are in
 * registers, so nothing can change between this look and the call. */
static bool is_expected_clone(const struct worker_process *worker,
                              const struct seccomp_data *call) {
    if (!worker->clone_expected || call->nr != SYS_clone ||
        call->args[0] != (CLONE_PARENT | SIGCHLD))
        return false;
    for (int i = 1; i < 5; i++)
        if (call->args[i] != 0)
            return false;
    return true;
}

/* A fork that has not announced itself yet makes sure that it dies with this process. The call has
 * its arguments in registers and no way back, so it is as good as done. */
static void note_tied(struct listener *listener, pid_t pid) {
    listener->tied[listener->tied_next++ % LISTENER_TIED_MAX] = pid;
}

bool listener_saw_tie(struct listener *listener, pid_t pid) {
    for (size_t i = 0; i < LISTENER_TIED_MAX; i++)
        if (listener->tied[i] == pid) {
            listener->tied[i] = 0;
            return true;
        }
    return false;
}

static void refuse(struct listener *listener, const struct worker_process *worker,
                   const struct seccomp_notif *request, const struct policy_ruling *verdict) {
    answer(listener, request->id, verdict->error, 0);
    if (worker->notified <= NOTIFIED_LOGGED) {
        const struct log_event event = {
            .level = LOG_INFO_LEVEL, .name = "refused", .call = worker->call};
        const __u64 *arguments = request->data.args;
        log_write(listener->workers->log, &event, "%s(%#llx, %#llx, %#llx, %#llx, %#llx, %#llx)",
                  verdict->name, arguments[0], arguments[1], arguments[2], arguments[3],
                  arguments[4], arguments[5]);
    }
}

static void violation(struct listener *listener, struct worker_process *worker, pid_t pid,
                      const char *name) {
    if (!worker) {
        /* A fork that has not announced itself: nobody owns it, and one that means well makes no
         * such call before. Ours until it is reaped, so the pid cannot be another's by now. */
        const struct log_event event = {.level = LOG_WARNING_LEVEL, .name = "violation"};
        log_write(listener->workers->log, &event, "%s in a process that no session knows", name);
        if (pid > 1)
            kill(pid, SIGKILL);
    } else if (worker->state != WORKER_ENDING) {
        worker_kill(worker);
        worker->events->violation(worker->context, worker, name);
    }
}

static void on_notified(void *context, uint32_t events) {
    struct listener *listener = context;
    union {
        struct seccomp_notif request;
        unsigned char room[STRUCT_ROOM];
    } notified = {.room = {0}};
    if (!(events & EPOLLIN)) {
        close_listener(listener);
        return;
    }
    if (ioctl(listener->fd, SECCOMP_IOCTL_NOTIF_RECV, &notified.request) != 0)
        return; /* it died, or a signal took the call back */
    const struct seccomp_notif *request = &notified.request;
    pid_t pid = (pid_t)request->pid;
    struct worker_process *worker = workers_find(listener->workers, pid);
    struct policy_ruling verdict =
        policy_judge(listener->workers->grants, &request->data,
                     policy_judges_by_pid(request->data.nr) ? policy_pid_within(pid) : pid);
    bool clone = worker && is_expected_clone(worker, &request->data);
    bool flood = worker && worker->notified++ >= NOTIFIED_MAX;
    if (worker && clone)
        worker->clone_expected = false;
    if (!worker && request->data.nr == SYS_prctl && verdict.verdict == POLICY_ALLOW)
        note_tied(listener, pid);
    if (clone || (verdict.verdict == POLICY_ALLOW && !flood))
        /* Lawful only for calls whose arguments are all in registers. */
        answer(listener, request->id, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
    else if (!worker || verdict.verdict == POLICY_KILL || flood)
        violation(listener, worker, pid, verdict.name);
    else
        refuse(listener, worker, request, &verdict);
}

bool listener_open(struct listener *listener, int fd) {
    if (listener->fd >= 0 || !loop_watch_add(listener->workers->loop, &listener->watch, fd, EPOLLIN,
                                             on_notified, listener, NULL))
        return false;
    listener->fd = fd;
    return true;
}
