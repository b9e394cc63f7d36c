/* The supervisor's end of the keeper. */
#include "supervisor/state/keeper.h"
#include "common/cleanup.h"
#include "common/descriptor.h"
#include "policy/policy.h"
#include "supervisor/state/keeper_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TURN_BYTES = 1 << 20 }; /* sent or received before others get a turn */

struct keeper_pending {
    keeper_done done; /* NULL: nobody waits for it */
    void *context;
    TAILQ_ENTRY(keeper_pending) entry;
};

/* --- the start --- */

/* Keeps no descriptor but the socket and the directory. */
static _Noreturn void run(int socket, struct store *store, const char *path, bool sync,
                          uint64_t limit_bytes) {
    enum { SOCKET = STDIN_FILENO, DIRECTORY = STDOUT_FILENO, OTHERS };
    struct error error;
    int moved = fcntl(store->fd, F_DUPFD_CLOEXEC, 16); /* it may have one of these numbers */
    bool ready = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && moved >= 0 && dup2(socket, SOCKET) >= 0 &&
                 dup2(moved, DIRECTORY) >= 0 && close_range(OTHERS, ~0U, 0) == 0 &&
                 prctl(PR_SET_NAME, "eclave-keeper") == 0 && policy_confine_keeper(path, &error);
    store->fd = DIRECTORY;
    if (ready)
        keeper_run(SOCKET, store, sync, limit_bytes);
    for (;;)
        syscall(SYS_exit_group, 1);
}

static void on_ready(void *context, uint32_t events);

bool keeper_start(struct keeper *keeper, struct loop *loop, struct store *store, const char *path,
                  bool sync, uint64_t limit_bytes, struct error *error) {
    int pair[2];
    *keeper = (struct keeper){.loop = loop,
                              .socket = -1,
                              .out = buffer_make(SIZE_MAX / 2),
                              .in = buffer_make(SIZE_MAX / 2)};
    TAILQ_INIT(&keeper->pending);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return error_set(error, errno, "cannot start the keeper of the state directory");
    cleanup_fd int theirs = pair[1];
    cleanup_fd int ours = pair[0];
    pid_t pid = fork();
    if (pid == 0)
        run(theirs, store, path, sync, limit_bytes);
    store_close(store);
    if (pid < 0 || fcntl(ours, F_SETFL, O_NONBLOCK) != 0)
        return error_set(error, errno, "cannot start the keeper of the state directory");
    if (!loop_watch_add(loop, &keeper->watch, ours, EPOLLIN, on_ready, keeper, error))
        return false;
    keeper->socket = steal_fd(&ours);
    return true;
}

void keeper_close(struct keeper *keeper) {
    if (!keeper_is_there(keeper))
        return;
    loop_watch_remove(keeper->loop, &keeper->watch);
    close(keeper->socket);
    keeper->socket = -1;
    while (!TAILQ_EMPTY(&keeper->pending)) {
        struct keeper_pending *pending = TAILQ_FIRST(&keeper->pending);
        TAILQ_REMOVE(&keeper->pending, pending, entry);
        free(pending);
    }
    buffer_free(&keeper->out);
    buffer_free(&keeper->in);
    while (keeper->received_count)
        close(keeper->received[--keeper->received_count]);
    keeper->loop = NULL;
}

bool keeper_is_there(const struct keeper *keeper) {
    return keeper->loop && keeper->socket >= 0;
}

static void fail(struct keeper *keeper, const char *what) {
    struct error error;
    error_set(&error, 0, "the keeper of the state directory %s, without which nothing is saved",
              what);
    loop_fail(keeper->loop, &error);
}

/* --- requests --- */

static void send_out(struct keeper *keeper) {
    size_t turn = 0;
    while (keeper->sent < keeper->out.length && turn < TURN_BYTES) {
        size_t left = keeper->out.length - keeper->sent;
        ssize_t put = send(keeper->socket, keeper->out.data + keeper->sent,
                           left < TURN_BYTES ? left : TURN_BYTES, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0 && errno != EAGAIN) {
            fail(keeper, "has ended");
            return;
        }
        if (put < 0)
            break;
        keeper->sent += (size_t)put;
        turn += (size_t)put;
    }
    if (keeper->sent == keeper->out.length) {
        keeper->sent = keeper->out.length = 0;
        buffer_shrink(&keeper->out, TURN_BYTES);
    }
    loop_watch_change(keeper->loop, &keeper->watch,
                      keeper->out.length ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void keeper_ask(struct keeper *keeper, const struct keeper_request *request, keeper_done done,
                void *context) {
    const struct wire_request wire = {.operation = request->operation,
                                      .unnamed = request->unnamed,
                                      .session = request->session,
                                      .other = request->other,
                                      .number = request->number,
                                      .length = request->bytes.length};
    struct keeper_pending *pending = malloc(sizeof *pending);
    if (!pending || !buffer_append(&keeper->out, &wire, sizeof wire) ||
        !buffer_append(&keeper->out, request->bytes.bytes, request->bytes.length)) {
        free(pending);
        fail(keeper, "cannot be reached: out of memory");
        return;
    }
    *pending = (struct keeper_pending){.done = done, .context = context};
    TAILQ_INSERT_TAIL(&keeper->pending, pending, entry);
    send_out(keeper);
}

void keeper_forget(struct keeper *keeper, const void *context) {
    struct keeper_pending *pending;
    if (!keeper_is_there(keeper))
        return;
    TAILQ_FOREACH(pending, &keeper->pending, entry) {
        if (pending->context == context)
            pending->done = NULL;
    }
}

/* --- replies --- */

static void deliver(struct keeper *keeper, const struct wire_reply *wire, struct buffer *bytes) {
    struct keeper_pending *pending = TAILQ_FIRST(&keeper->pending);
    if (!pending) {
        fail(keeper, "sent what nobody asked for");
        return;
    }
    struct keeper_reply reply = {.locked = wire->end == WIRE_LOCKED,
                                 .created = wire->created,
                                 .count = wire->count,
                                 .left_out = wire->left_out,
                                 .fd = -1};
    if (wire->has_descriptor && keeper->received_count) {
        reply.fd = keeper->received[0];
        memmove(keeper->received, keeper->received + 1,
                --keeper->received_count * sizeof *keeper->received);
    }
    if (wire->end == WIRE_DONE)
        reply.record = (struct span){bytes->data, bytes->length};
    else
        reply.failure = buffer_string(bytes, "It failed");
    TAILQ_REMOVE(&keeper->pending, pending, entry);
    if (pending->done)
        pending->done(pending->context, &reply);
    if (reply.fd >= 0)
        close(reply.fd);
    free(pending);
}

/* One reply, if it has arrived. */
static bool take_reply(struct keeper *keeper) {
    struct wire_reply wire;
    if (keeper->in.length < sizeof wire)
        return false;
    memcpy(&wire, keeper->in.data, sizeof wire);
    if (wire.length > JOURNAL_RECORD_MAX) {
        fail(keeper, "sent a malformed reply");
        return false;
    }
    if (keeper->in.length - sizeof wire < wire.length)
        return false;
    cleanup_buffer struct buffer bytes = buffer_make(JOURNAL_RECORD_MAX + 1);
    if (!buffer_append(&bytes, keeper->in.data + sizeof wire, (size_t)wire.length)) {
        fail(keeper, "cannot be heard: out of memory");
        return false;
    }
    buffer_consume(&keeper->in, sizeof wire + (size_t)wire.length);
    buffer_shrink(&keeper->in, TURN_BYTES);
    deliver(keeper, &wire, &bytes);
    return true;
}

static void receive(struct keeper *keeper) {
    int descriptors[DESCRIPTORS_MAX];
    size_t count = 0;
    unsigned char *room = buffer_reserve(&keeper->in, TURN_BYTES / 4);
    ssize_t got =
        room ? descriptors_receive(keeper->socket, room, TURN_BYTES / 4, descriptors, &count) : 0;
    const int code = errno;
    for (size_t i = 0; i < count; i++) {
        if (keeper->received_count < KEEPER_TOGETHER_MAX)
            keeper->received[keeper->received_count++] = descriptors[i];
        else
            close(descriptors[i]);
    }
    if (got < 0 && (code == EAGAIN || code == EINTR))
        return;
    if (got <= 0) {
        fail(keeper, "has ended");
        return;
    }
    keeper->in.length += (size_t)got;
    while (!keeper->loop->failed && take_reply(keeper))
        ;
}

static void on_ready(void *context, uint32_t events) {
    struct keeper *keeper = context;
    if (events & EPOLLOUT)
        send_out(keeper);
    if (events & ~(uint32_t)EPOLLOUT)
        receive(keeper);
}
