/* The process of the keeper. Its requests come from the supervisor, and what is hostile in them is
 * written and not read. */
#include "common/descriptor.h"
#include "supervisor/state/keeper_wire.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { TOGETHER_MAX = KEEPER_TOGETHER_MAX, REQUEST_MAX = JOURNAL_RECORD_MAX };

struct open_session {
    uint64_t number;
    struct saved *saved;
    TAILQ_ENTRY(open_session) entry;
};

struct answer {
    struct wire_reply wire;
    struct buffer bytes;
    int fd; /* to be passed; -1: none */
    /* An append that is not on disk yet: */
    struct saved *written;
    struct journal before;
    size_t count_before;
};

struct state {
    int socket;
    struct store *store;
    bool sync;
    uint64_t limit_bytes, used_bytes;
    TAILQ_HEAD(, open_session) sessions;
    struct answer answers[TOGETHER_MAX];
    size_t answer_count;
};

static _Noreturn void leave(int status) {
    for (;;)
        syscall(SYS_exit_group, status); /* _exit would have a sanitizer scan for leaks */
}

/* --- sessions --- */

static struct open_session *find(struct state *state, uint64_t number) {
    struct open_session *session;
    TAILQ_FOREACH(session, &state->sessions, entry) {
        if (session->number == number)
            break;
    }
    return session;
}

static void add(struct state *state, uint64_t number, struct saved *saved) {
    struct open_session *session = calloc(1, sizeof *session);
    if (session) {
        session->number = number;
        session->saved = saved;
        TAILQ_INSERT_HEAD(&state->sessions, session, entry);
    } else {
        leave(1);
    }
}

/* --- the total --- */

static void measure(struct state *state) {
    size_t count;
    struct store_entry *list = store_list(state->store, &count, NULL);
    if (!list)
        return;
    state->used_bytes = 0;
    for (size_t i = 0; i < count; i++)
        state->used_bytes += list[i].bytes;
    free(list);
}

/* Those that are being written: they only save time. */
static void drop_new_images(const struct state *state) {
    const struct open_session *session;
    TAILQ_FOREACH(session, &state->sessions, entry) {
        saved_drop_new_image(session->saved);
    }
}

/* Whether BYTES more may be written. What others have added or removed counts when it matters. */
static bool has_room(struct state *state, uint64_t bytes, struct error *error) {
    if (state->used_bytes + bytes > state->limit_bytes)
        measure(state);
    if (state->used_bytes + bytes > state->limit_bytes) {
        drop_new_images(state);
        measure(state);
    }
    if (state->used_bytes + bytes <= state->limit_bytes)
        return true;
    return error_set(error, 0,
                     "the saved sessions take %llu KiB, and state.max_mb allows %llu MiB; "
                     "close-session and reset-session make room",
                     (unsigned long long)state->used_bytes >> 10,
                     (unsigned long long)state->limit_bytes >> 20);
}

/* --- operations: each answers, or fails with *error --- */

struct request {
    struct wire_request wire;
    struct open_session *session; /* NULL: it is not open */
    struct buffer bytes;
};

static enum store_end do_open(struct state *state, struct request *request, struct answer *answer,
                              struct error *error) {
    const char *name = buffer_string(&request->bytes, "");
    struct saved *saved = request->session ? request->session->saved : NULL;
    if (!saved) {
        const enum store_end end =
            saved_open(state->store, name, request->wire.unnamed, true, &saved, error);
        if (end != STORE_DONE)
            return end;
        if (state->sync && !saved_sync(saved, error)) {
            if (saved->created)
                store_remove(state->store, name, saved, false, NULL);
            saved_close(saved);
            return STORE_FAILED;
        }
        add(state, request->wire.session, saved);
        if (saved->created)
            state->used_bytes += saved->journal.end;
    }
    answer->wire.created = saved->created;
    answer->wire.count = saved->count;
    answer->wire.left_out = saved->left_out;
    if (saved->image.number)
        buffer_append(&answer->bytes, &saved->image, sizeof saved->image);
    return STORE_DONE;
}

static enum store_end do_read(struct state *state, struct request *request, struct answer *answer,
                              struct error *error) {
    (void)state;
    return saved_read(request->session->saved, (size_t)request->wire.number, &answer->bytes, error)
               ? STORE_DONE
               : STORE_FAILED;
}

static enum store_end do_append(struct state *state, struct request *request, struct answer *answer,
                                struct error *error) {
    struct saved *saved = request->session->saved;
    const struct span record = {request->bytes.data, request->bytes.length};
    const struct journal before = saved->journal;
    const size_t count = saved->count;
    if (state->used_bytes + journal_bytes(record) > state->limit_bytes && saved->image.number)
        saved_drop_image(saved); /* it only saves time */
    if (!has_room(state, journal_bytes(record), error) ||
        (!request->wire.unnamed && !saved_keep(saved, error)) ||
        !saved_append(saved, record, error))
        return STORE_FAILED;
    state->used_bytes += journal_bytes(record);
    answer->written = saved;
    answer->before = before;
    answer->count_before = count;
    return STORE_DONE;
}

static enum store_end do_shorten(struct state *state, struct request *request,
                                 struct answer *answer, struct error *error) {
    struct saved *saved = request->session->saved;
    struct error cause;
    (void)answer;
    const size_t count = (size_t)request->wire.number;
    if (saved->torn) { /* it is repaired so */
        if (!saved_shorten(saved, count, error))
            return STORE_FAILED;
        saved->torn = state->sync && !saved_sync(saved, error);
        return saved->torn ? STORE_FAILED : STORE_DONE;
    }
    if (!saved_return(saved, count, state->sync, error))
        return STORE_FAILED;
    saved_shorten(saved, count, &cause); /* which only makes room */
    return STORE_DONE;
}

static enum store_end do_copy(struct state *state, struct request *request, struct answer *answer,
                              struct error *error) {
    const struct saved *source = request->session->saved;
    (void)answer;
    if (!has_room(state, source->journal.end, error))
        return STORE_FAILED;
    struct saved *copy =
        saved_copy(source, (size_t)request->wire.number, buffer_string(&request->bytes, ""), error);
    if (!copy)
        return STORE_FAILED;
    if (state->sync && !saved_sync(copy, error)) {
        store_remove(state->store, copy->name, copy, false, NULL);
        saved_close(copy);
        return STORE_FAILED;
    }
    add(state, request->wire.other, copy);
    state->used_bytes += copy->journal.end;
    return STORE_DONE;
}

static enum store_end do_remove(struct state *state, struct request *request, struct answer *answer,
                                struct error *error) {
    const char *name = buffer_string(&request->bytes, "");
    struct open_session *session = request->session;
    (void)answer;
    const enum store_end result =
        store_remove(state->store, name, session ? session->saved : NULL, state->sync, error);
    if (result != STORE_DONE)
        return result;
    if (session) {
        TAILQ_REMOVE(&state->sessions, session, entry);
        saved_close(session->saved);
        free(session);
    }
    return STORE_DONE;
}

static enum store_end do_make_image(struct state *state, struct request *request,
                                    struct answer *answer, struct error *error) {
    (void)state;
    answer->fd = saved_make_image(request->session->saved, error);
    return answer->fd >= 0 ? STORE_DONE : STORE_FAILED;
}

static enum store_end do_drop_image(struct state *state, struct request *request,
                                    struct answer *answer, struct error *error) {
    (void)state, (void)answer, (void)error;
    saved_drop_new_image(request->session->saved);
    return STORE_DONE;
}

/* Images leave half of the room to journals, without which a call fails. */
static enum store_end do_keep_image(struct state *state, struct request *request,
                                    struct answer *answer, struct error *error) {
    struct saved *saved = request->session->saved;
    struct saved_image image;
    (void)answer;
    if (request->bytes.length != sizeof image) {
        saved_drop_new_image(saved);
        error_set(error, 0, "the image is malformed");
        return STORE_FAILED;
    }
    memcpy(&image, request->bytes.data, sizeof image);
    const uint64_t before = saved->image.number ? saved->image.facts.bytes : 0;
    measure(state); /* the new file as well */
    if (state->used_bytes > state->limit_bytes / 2 + before) {
        saved_drop_new_image(saved);
        error_set(error, 0, "it has no room in half of what state.max_mb allows");
        return STORE_FAILED;
    }
    if (!saved_keep_image(saved, &image, error))
        return STORE_FAILED;
    state->used_bytes -= before < state->used_bytes ? before : state->used_bytes;
    return STORE_DONE;
}

static enum store_end do_open_image(struct state *state, struct request *request,
                                    struct answer *answer, struct error *error) {
    (void)state;
    answer->fd = saved_open_image(request->session->saved, error);
    return answer->fd >= 0 ? STORE_DONE : STORE_FAILED;
}

static const struct {
    enum store_end (*run)(struct state *state, struct request *request, struct answer *answer,
                          struct error *error);
    bool needs_session;
} operations[KEEPER_OPERATIONS] = {
    [KEEPER_OPEN] = {do_open, false},
    [KEEPER_READ] = {do_read, true},
    [KEEPER_APPEND] = {do_append, true},
    [KEEPER_SHORTEN] = {do_shorten, true},
    [KEEPER_COPY] = {do_copy, true},
    [KEEPER_REMOVE] = {do_remove, false},
    [KEEPER_MAKE_IMAGE] = {do_make_image, true},
    [KEEPER_DROP_IMAGE] = {do_drop_image, true},
    [KEEPER_KEEP_IMAGE] = {do_keep_image, true},
    [KEEPER_OPEN_IMAGE] = {do_open_image, true},
};

static void fail(struct answer *answer, enum store_end end, const struct error *error) {
    answer->wire.end = end == STORE_LOCKED ? WIRE_LOCKED : WIRE_FAILED;
    answer->written = NULL;
    answer->bytes.length = 0;
    buffer_append_text(&answer->bytes, error->text);
}

static void serve(struct state *state, struct request *request) {
    struct answer *answer = &state->answers[state->answer_count++];
    struct error error = {.text = "The keeper was asked for nothing that it can do"};
    enum store_end end = STORE_FAILED;
    *answer = (struct answer){.bytes = buffer_make(JOURNAL_RECORD_MAX), .fd = -1};
    const uint32_t operation = request->wire.operation;
    request->session = find(state, request->wire.session);
    if (operation < KEEPER_OPERATIONS && operations[operation].run &&
        (!operations[operation].needs_session || request->session))
        end = operations[operation].run(state, request, answer, &error);
    if (end != STORE_DONE)
        fail(answer, end, &error);
}

/* --- the loop --- */

/* Writes everything to disk, and takes back what could not be. */
static void settle(struct state *state) {
    struct error error;
    for (size_t i = 0; i < state->answer_count; i++) {
        struct answer *answer = &state->answers[i];
        if (!state->sync || !answer->written || saved_sync(answer->written, &error))
            continue;
        saved_take_back(answer->written, &answer->before, answer->count_before);
        fail(answer, STORE_FAILED, &error);
    }
}

static bool send_header(const struct state *state, struct answer *answer) {
    answer->wire.has_descriptor = answer->fd >= 0;
    struct iovec part = {.iov_base = &answer->wire, .iov_len = sizeof answer->wire};
    const ssize_t sent =
        descriptors_send(state->socket, &part, 1, &answer->fd, answer->fd >= 0 ? 1 : 0);
    return sent > 0 && write_all(state->socket, (const char *)&answer->wire + sent,
                                 sizeof answer->wire - (size_t)sent);
}

static void answer_all(struct state *state) {
    settle(state);
    for (size_t i = 0; i < state->answer_count; i++) {
        struct answer *answer = &state->answers[i];
        answer->wire.length = answer->bytes.length;
        if (!send_header(state, answer) ||
            !write_all(state->socket, answer->bytes.data, answer->bytes.length))
            leave(0);
        if (answer->fd >= 0)
            close(answer->fd);
        buffer_free(&answer->bytes);
    }
    state->answer_count = 0;
}

static bool read_all(int fd, void *bytes, size_t size) {
    for (size_t have = 0; have < size;) {
        ssize_t got = read(fd, (char *)bytes + have, size - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        have += (size_t)got;
    }
    return true;
}

static void take_request(struct state *state) {
    struct request request = {.bytes = buffer_make(REQUEST_MAX)};
    if (!read_all(state->socket, &request.wire, sizeof request.wire) ||
        request.wire.length > REQUEST_MAX)
        leave(0);
    const size_t length = (size_t)request.wire.length;
    unsigned char *room = length ? buffer_reserve(&request.bytes, length) : NULL;
    if (length && (!room || !read_all(state->socket, room, length)))
        leave(0);
    request.bytes.length = length;
    serve(state, &request);
    buffer_free(&request.bytes);
}

_Noreturn void keeper_run(int socket, struct store *store, bool sync, uint64_t limit_bytes) {
    struct state state = {
        .socket = socket, .store = store, .sync = sync, .limit_bytes = limit_bytes};
    TAILQ_INIT(&state.sessions);
    measure(&state);
    for (;;) {
        struct pollfd more = {.fd = socket, .events = POLLIN};
        take_request(&state);
        while (state.answer_count < TOGETHER_MAX && poll(&more, 1, 0) == 1 && more.revents & POLLIN)
            take_request(&state);
        answer_all(&state);
    }
}
