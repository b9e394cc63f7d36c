/* See client.h. This file starts and ends the server and moves bytes; client_calls.c knows MCP.
 * It must never block in a read or a write. */
#include "tests/support/client.h"
#include "common/buffer.h"
#include "common/cleanup.h"
#include "tests/support/process.h"
#include "tests/support/wire.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

enum {
    BYTES_MAX = 1 << 30, /* of anything that one test sends or receives */
    TRANSCRIPT_MAX = 32 << 10,
    TRANSCRIPT_LINE_MAX = 400,
    WATCHDOG_DEFAULT_S = 60,
    NOBODY = 65534,
    DESCENDANTS_MAX = 512,
    TICK_MS = 10 /* between two looks at /proc */
};

struct line {
    char *bytes;
    size_t length;
    bool unread;
    bool batch;
    struct wire_message message; /* when not a batch */
};

struct client {
    struct client *next; /* in live_clients */
    pid_t pid;
    int process; /* pidfd */
    bool reaped;
    int status; /* as client_wait returns it */
    int in, out, error;
    bool socket, batches, collect, paused, close_in;
    uint64_t watchdog_ms;
    struct buffer to_server, from_server, from_error, transcript;
    size_t scanned; /* bytes of from_server without a newline */
    struct line *lines;
    size_t line_count, line_capacity, first_unread;
    char **kept;
    size_t kept_count;
    char *failure;
};

/* The servers that this process has running, so that what one leaves behind is told from another's
 * children. */
static struct client *live_clients;

static uint64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void *grown(void *table, size_t count, size_t size) {
    void *larger = realloc(table, count * size);
    if (!larger)
        abort();
    return larger;
}

char *client_keep(struct client *client, char *string) {
    client->kept = grown(client->kept, client->kept_count + 1, sizeof *client->kept);
    client->kept[client->kept_count++] = string;
    return string;
}

/* Failing. */

static void note(struct client *client, const char *arrow, const void *bytes, size_t length) {
    struct buffer *transcript = &client->transcript;
    size_t shown = length < TRANSCRIPT_LINE_MAX ? length : TRANSCRIPT_LINE_MAX;
    if (transcript->length > TRANSCRIPT_MAX)
        buffer_consume(transcript, TRANSCRIPT_MAX / 2);
    buffer_append_text(transcript, arrow);
    buffer_append(transcript, bytes, shown);
    if (shown < length)
        buffer_append_format(transcript, " [%zu bytes more]", length - shown);
    buffer_append_text(transcript, "\n");
}

void client_fail(struct client *client, const char *format, ...) {
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (client->collect) {
        if (!client->failure)
            client->failure = strdup(text);
        return;
    }
    fprintf(stderr, "%s\n--- the last lines sent (>) and received (<):\n%.*s", text,
            (int)client->transcript.length, (const char *)client->transcript.data);
    fprintf(stderr, "--- the server (%s) wrote to stderr:\n%s---\n",
            client_ended(client) ? "ended" : "running", client_stderr(client));
    if (!client->reaped)
        kill(client->pid, SIGKILL);
    cr_assert_fail("%s", text);
}

const char *client_failure(const struct client *client) {
    return client->failure;
}

/* Starting. */

struct wires {
    int server[3]; /* its descriptors 0, 1 and 2 */
    int in, out, error;
};

static void fill_pipe(int fd) {
    static const char blanks[4096] = {0};
    fcntl(fd, F_SETFL, O_NONBLOCK);
    while (write(fd, blanks, sizeof blanks) > 0 || write(fd, blanks, 1) > 0)
        ;
    fcntl(fd, F_SETFL, 0);
}

static struct wires make_wires(const struct client_options *options) {
    struct wires wires = {.in = -1};
    int in[2], out[2], error[2];
    cr_assert_eq(pipe2(error, O_CLOEXEC), 0);
    if (options->stderr_full)
        fill_pipe(error[1]);
    wires.error = error[0];
    wires.server[2] = error[1];
    if (options->socket) {
        cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in), 0);
        wires.in = wires.out = in[0];
        wires.server[0] = wires.server[1] = in[1];
        return wires;
    }
    cr_assert_eq(pipe2(out, O_CLOEXEC), 0);
    wires.out = out[0];
    wires.server[1] = out[1];
    if (options->stdin_null) {
        wires.server[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        return wires;
    }
    cr_assert_eq(pipe2(in, O_CLOEXEC), 0);
    wires.in = in[1];
    wires.server[0] = in[0];
    return wires;
}

static void set_environment(const char *const *environment) {
    static const char *const of_the_tests[] = {"ECLAVE_SEED", "ECLAVE_THOROUGH",
                                               "ECLAVE_WATCHDOG_S"};
    for (size_t i = 0; i < sizeof of_the_tests / sizeof of_the_tests[0]; i++)
        unsetenv(of_the_tests[i]); /* they are no settings of the server */
    for (; environment && *environment; environment++) {
        if (strchr(*environment, '='))
            putenv((char *)*environment);
        else
            unsetenv(*environment);
    }
}

/* In the child: becomes the server, or says why not and ends. */
_Noreturn static void become_server(const struct client_options *options, const char *program,
                                    const struct wires *wires, pid_t parent) {
    enum { ARGUMENTS_MAX = 64 };
    const char *arguments[ARGUMENTS_MAX] = {program};
    for (size_t i = 0; options->arguments && options->arguments[i] && i < ARGUMENTS_MAX - 2; i++)
        arguments[i + 1] = options->arguments[i];
    /* The wires may lie on 0 to 2 themselves, so they are moved up before they are moved down. */
    int moved[3];
    for (int i = 0; i < 3; i++)
        moved[i] = fcntl(wires->server[i], F_DUPFD, 10);
    for (int i = 0; i < 3; i++)
        dup2(moved[i], i);
    close_range(3, ~0U, 0);
    if (options->unprivileged && (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY)))
        _exit(126);
    /* Changing the user forgets the death signal, so it comes last. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(125);
    signal(SIGPIPE, SIG_DFL);
    set_environment(options->environment);
    execv(program, (char *const *)arguments);
    fprintf(stderr, "cannot start %s: %s\n", program, strerror(errno));
    _exit(127);
}

static uint64_t watchdog_of(const struct client_options *options) {
    const char *text = getenv("ECLAVE_WATCHDOG_S");
    unsigned long seconds = options->watchdog_s ? options->watchdog_s
                            : text              ? strtoul(text, NULL, 10)
                                                : WATCHDOG_DEFAULT_S;
    return seconds * UINT64_C(1000);
}

struct client *client_start(const struct client_options *options) {
    static const struct client_options plain;
    if (!options)
        options = &plain;
    const char *program = options->program ? options->program : ECLAVE_BINARY;
    cr_assert_eq(access(program, X_OK), 0, "there is no server to test at %s", program);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);

    struct wires wires = make_wires(options);
    pid_t parent = getpid(), pid = fork();
    cr_assert_geq(pid, 0, "fork: %s", strerror(errno));
    if (pid == 0)
        become_server(options, program, &wires, parent);
    close(wires.server[0]);
    if (!options->socket)
        close(wires.server[1]);
    close(wires.server[2]);

    struct client *client = calloc(1, sizeof *client);
    if (!client)
        abort();
    *client = (struct client){.next = live_clients,
                              .pid = pid,
                              .process = pidfd_open(pid, 0),
                              .in = wires.in,
                              .out = wires.out,
                              .error = wires.error,
                              .socket = options->socket,
                              .batches = options->batches,
                              .collect = options->collect,
                              .watchdog_ms = watchdog_of(options),
                              .to_server = buffer_make(BYTES_MAX),
                              .from_server = buffer_make(BYTES_MAX),
                              .from_error = buffer_make(BYTES_MAX),
                              .transcript = buffer_make(4 * TRANSCRIPT_MAX)};
    live_clients = client;
    if (client->in >= 0)
        fcntl(client->in, F_SETFL, O_NONBLOCK);
    fcntl(client->out, F_SETFL, O_NONBLOCK);
    fcntl(client->error, F_SETFL, O_NONBLOCK);
    if (options->stderr_full) {
        client->error = -1; /* kept open and unread until this process ends */
    }
    return client;
}

/* Receiving. */

static void add_line(struct client *client, const char *bytes, size_t length) {
    if (client->line_count == client->line_capacity) {
        client->line_capacity = client->line_capacity ? 2 * client->line_capacity : 64;
        client->lines = grown(client->lines, client->line_capacity, sizeof *client->lines);
    }
    struct line *line = &client->lines[client->line_count++];
    *line = (struct line){.bytes = grown(NULL, length + 1, 1), .length = length, .unread = true};
    memcpy(line->bytes, bytes, length);
    line->bytes[length] = '\0';
    note(client, "< ", bytes, length);

    struct text text = {line->bytes, length};
    line->batch = client->batches && length && bytes[0] == '[';
    const char *fault = line->batch ? wire_batch_fault(text) : wire_fault(text, &line->message);
    if (fault)
        client_fail(client, "the server wrote a line that is no JSON-RPC message (%s): %.*s", fault,
                    (int)(length < 1000 ? length : 1000), line->bytes);
}

static void split_lines(struct client *client) {
    struct buffer *buffer = &client->from_server;
    size_t start = 0;
    for (;;) {
        const unsigned char *from = buffer->data + start + client->scanned;
        size_t rest = buffer->length - start - client->scanned;
        const unsigned char *end = rest ? memchr(from, '\n', rest) : NULL;
        if (!end)
            break;
        size_t length = (size_t)(end - buffer->data) - start;
        add_line(client, (const char *)buffer->data + start, length);
        start += length + 1;
        client->scanned = 0;
    }
    client->scanned = buffer->length - start;
    if (start)
        buffer_consume(buffer, start);
}

/* Reads what is there into BUFFER; closes *fd at its end. */
static void drain(int *fd, struct buffer *buffer) {
    enum { CHUNK = 1 << 16 };
    for (int rounds = 0; rounds < 16; rounds++) {
        unsigned char *room = buffer_reserve(buffer, CHUNK);
        if (!room)
            abort();
        ssize_t got = read(*fd, room, CHUNK);
        if (got > 0) {
            buffer->length += (size_t)got;
            continue;
        }
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        close(*fd);
        *fd = -1;
        return;
    }
}

static void end_stdin(struct client *client) {
    if (client->in >= 0 && client->socket)
        shutdown(client->in, SHUT_WR);
    else if (client->in >= 0)
        close(client->in);
    client->in = -1;
    client->close_in = false;
    buffer_free(&client->to_server);
}

static void feed(struct client *client) {
    struct buffer *buffer = &client->to_server;
    size_t written = 0;
    while (written < buffer->length) {
        ssize_t put = write(client->in, buffer->data + written, buffer->length - written);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0 && errno != EAGAIN) {
            end_stdin(client); /* the server does not listen any more; waits will tell */
            return;
        }
        if (put < 0)
            break;
        written += (size_t)put;
    }
    buffer_consume(buffer, written);
    if (buffer->length == 0 && client->close_in)
        end_stdin(client);
}

static void reap(struct client *client) {
    int status;
    if (client->reaped || waitpid(client->pid, &status, WNOHANG) != client->pid)
        return;
    client->reaped = true;
    client->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Moves whatever can be moved within TIMEOUT_MS. */
static void pump(struct client *client, int timeout_ms) {
    bool sending = client->in >= 0 && (client->to_server.length || client->close_in);
    struct pollfd polled[] = {
        {.fd = sending ? client->in : -1, .events = POLLOUT},
        {.fd = client->paused ? -1 : client->out, .events = POLLIN},
        {.fd = client->error, .events = POLLIN},
        {.fd = client->reaped ? -1 : client->process, .events = POLLIN},
    };
    if (poll(polled, sizeof polled / sizeof polled[0], timeout_ms) <= 0)
        return;
    if (polled[0].revents)
        feed(client);
    if (polled[1].revents) {
        int *out = &client->out;
        bool same = client->socket && client->in == *out;
        drain(out, &client->from_server);
        if (same && *out < 0)
            client->in = -1;
        split_lines(client);
    }
    if (polled[2].revents)
        drain(&client->error, &client->from_error);
    if (polled[3].revents)
        reap(client);
}

/* Waits until DONE; false after a failure, which the watchdog makes as well. */
static bool await(struct client *client, bool (*done)(struct client *client, void *context),
                  void *context, const char *what) {
    uint64_t end = now_ms() + client->watchdog_ms;
    while (!client->failure) {
        if (done(client, context))
            return true;
        if (now_ms() >= end) {
            client_fail(client, "waited %llu s in vain for %s",
                        (unsigned long long)(client->watchdog_ms / 1000), what);
            break;
        }
        pump(client, TICK_MS);
    }
    return false;
}

/* Sending. */

void client_send(struct client *client, const void *bytes, size_t length) {
    note(client, "> ", bytes, length);
    if (client->in < 0)
        return;
    if (!buffer_append(&client->to_server, bytes, length))
        abort();
    pump(client, 0);
}

void client_send_line(struct client *client, const char *line) {
    size_t length = strlen(line);
    note(client, "> ", line, length);
    if (client->in < 0)
        return;
    if (!buffer_append(&client->to_server, line, length) ||
        !buffer_append(&client->to_server, "\n", 1))
        abort();
    pump(client, 0);
}

void client_send_format(struct client *client, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *line;
    if (vasprintf(&line, format, arguments) < 0)
        abort();
    va_end(arguments);
    client_send_line(client, line);
    free(line);
}

static bool all_sent(struct client *client, void *context) {
    (void)context;
    return client->in < 0 || (client->to_server.length == 0 && !client->close_in);
}

void client_flush(struct client *client) {
    await(client, all_sent, NULL, "the server to read its stdin");
}

void client_close_stdin(struct client *client) {
    if (client->in < 0)
        return;
    client->close_in = true;
    if (client->to_server.length == 0)
        end_stdin(client);
    else
        client_flush(client);
}

void client_close_stdout(struct client *client) {
    if (client->out >= 0 && client->socket)
        shutdown(client->out, SHUT_RD);
    else if (client->out >= 0)
        close(client->out);
    client->out = -1;
}

void client_pause_reading(struct client *client, bool paused) {
    client->paused = paused;
}

void client_allow_batches(struct client *client) {
    client->batches = true;
}

/* Lines. */

/* What a reader wants: the next unread line for which WANTED is true, seen from line FROM on. */
struct wish {
    bool (*wanted)(const struct line *line, const void *detail);
    const void *detail;
    size_t from;
    struct line *found;
    bool end_is_fine;
};

static bool look(struct client *client, void *context) {
    struct wish *wish = context;
    for (; wish->from < client->line_count; wish->from++) {
        struct line *line = &client->lines[wish->from];
        if (line->unread && wish->wanted(line, wish->detail)) {
            wish->found = line;
            return true;
        }
    }
    if (client->out < 0 && !wish->end_is_fine) {
        client_fail(client, "the server closed its stdout instead of answering");
        return false;
    }
    return client->out < 0;
}

static const char *hand_out(struct client *client, struct line *line, size_t *length) {
    line->unread = false;
    while (client->first_unread < client->line_count && !client->lines[client->first_unread].unread)
        client->first_unread++;
    if (length)
        *length = line->length;
    return line->bytes;
}

static const char *fulfil(struct client *client, struct wish *wish, size_t *length,
                          const char *what) {
    wish->from = client->first_unread;
    bool done = await(client, look, wish, what);
    return done && wish->found ? hand_out(client, wish->found, length) : NULL;
}

static bool any_line(const struct line *line, const void *detail) {
    (void)line, (void)detail;
    return true;
}

const char *client_read_line(struct client *client, size_t *length) {
    struct wish wish = {.wanted = any_line};
    return fulfil(client, &wish, length, "a line");
}

const char *client_read_line_or_end(struct client *client, size_t *length) {
    struct wish wish = {.wanted = any_line, .end_is_fine = true};
    return fulfil(client, &wish, length, "a line or the end of stdout");
}

const char *client_take_line(struct client *client, size_t *length) {
    pump(client, 0);
    if (client->first_unread == client->line_count)
        return NULL;
    return hand_out(client, &client->lines[client->first_unread], length);
}

static bool is_response(const struct line *line) {
    return line->batch || line->message.kind == WIRE_RESULT || line->message.kind == WIRE_ERROR;
}

static bool has_id(const struct line *line, const void *id) {
    return is_response(line) && !line->batch && json_same_id(line->message.id, text_of(id));
}

const char *client_await(struct client *client, const char *id, size_t *length) {
    char what[200];
    snprintf(what, sizeof what, "the response with id %s", id);
    struct wish wish = {.wanted = has_id, .detail = id};
    return fulfil(client, &wish, length, what);
}

static bool has_method(const struct line *line, const void *method) {
    if (line->batch || line->message.kind != WIRE_NOTIFICATION)
        return false;
    char *name = json_decode(line->message.method, NULL);
    bool same = strcmp(name, method) == 0;
    free(name);
    return same;
}

const char *client_await_notification(struct client *client, const char *method, size_t *length) {
    char what[200];
    snprintf(what, sizeof what, "the notification %s", method);
    struct wish wish = {.wanted = has_method, .detail = method};
    return fulfil(client, &wish, length, what);
}

size_t client_unread_responses(const struct client *client) {
    size_t count = 0;
    for (size_t i = client->first_unread; i < client->line_count; i++)
        count += client->lines[i].unread && is_response(&client->lines[i]);
    return count;
}

/* The process. */

pid_t client_pid(const struct client *client) {
    return client->pid;
}

void client_kill(struct client *client, int signal) {
    reap(client);
    if (!client->reaped)
        kill(client->pid, signal);
}

bool client_ended(struct client *client) {
    reap(client);
    return client->reaped;
}

static bool has_ended(struct client *client, void *context) {
    (void)context;
    return client->reaped && client->out < 0;
}

int client_wait(struct client *client) {
    bool reading = client->out >= 0;
    await(client, has_ended, NULL, "the server to end and close its stdout");
    if (reading && client->from_server.length)
        client_fail(client, "the server's last line has no newline: %.*s",
                    (int)(client->from_server.length < 200 ? client->from_server.length : 200),
                    (const char *)client->from_server.data);
    return client->reaped ? client->status : -1;
}

const char *client_stderr(struct client *client) {
    pump(client, 0);
    if (!buffer_reserve(&client->from_error, 1))
        abort();
    client->from_error.data[client->from_error.length] = '\0';
    return (const char *)client->from_error.data;
}

static bool stderr_holds(struct client *client, void *context) {
    return memmem(client->from_error.data, client->from_error.length, context, strlen(context)) ||
           client->error < 0;
}

void client_await_stderr(struct client *client, const char *text) {
    char what[200];
    snprintf(what, sizeof what, "\"%s\" on stderr", text);
    await(client, stderr_holds, (void *)text, what);
    if (!strstr(client_stderr(client), text))
        client_fail(client, "stderr ended without \"%s\"", text);
}

static bool is_live_server(pid_t pid) {
    for (const struct client *client = live_clients; client; client = client->next)
        if (client->pid == pid && !client->reaped)
            return true;
    return false;
}

/* What an ended server left behind came to this process, which is its subreaper. */
static size_t orphans(pid_t *pids, size_t maximum) {
    pid_t all[DESCENDANTS_MAX], servers[DESCENDANTS_MAX];
    size_t count = process_descendants(getpid(), all, DESCENDANTS_MAX), server_count = 0, kept = 0;
    for (size_t i = 0; i < count; i++) {
        pid_t below[DESCENDANTS_MAX];
        if (!is_live_server(all[i]))
            continue;
        servers[server_count++] = all[i];
        size_t more = process_descendants(all[i], below, DESCENDANTS_MAX);
        for (size_t j = 0; j < more && server_count < DESCENDANTS_MAX; j++)
            servers[server_count++] = below[j];
    }
    for (size_t i = 0; i < count && kept < maximum; i++) {
        bool foreign = false;
        for (size_t j = 0; j < server_count; j++)
            foreign = foreign || servers[j] == all[i];
        if (!foreign)
            pids[kept++] = all[i];
    }
    return kept;
}

size_t client_descendants(struct client *client, pid_t *pids, size_t maximum) {
    return client_ended(client) ? orphans(pids, maximum)
                                : process_descendants(client->pid, pids, maximum);
}

/* The busiest confined descendant over one look. */
struct busy {
    pid_t pids[DESCENDANTS_MAX];
    long ticks[DESCENDANTS_MAX];
    size_t count;
    pid_t found;
};

static bool find_busy(struct client *client, void *context) {
    enum { BUSY_TICKS = 5, SECCOMP_MODE_IS_FILTER = 2 };
    struct busy *busy = context;
    for (size_t i = 0; i < busy->count; i++)
        if (process_ticks(busy->pids[i]) >= busy->ticks[i] + BUSY_TICKS &&
            process_status(busy->pids[i], "Seccomp") == SECCOMP_MODE_IS_FILTER)
            busy->found = busy->pids[i];
    pid_t pids[DESCENDANTS_MAX];
    size_t count = client_descendants(client, pids, DESCENDANTS_MAX);
    if (count != busy->count || memcmp(pids, busy->pids, count * sizeof *pids) != 0) {
        memcpy(busy->pids, pids, count * sizeof *pids);
        busy->count = count;
        for (size_t i = 0; i < count; i++)
            busy->ticks[i] = process_ticks(pids[i]);
    }
    return busy->found != 0;
}

pid_t client_busy_worker(struct client *client) {
    struct busy busy = {.count = 0};
    await(client, find_busy, &busy, "a worker that is busy");
    return busy.found;
}

/* Ending. */

static bool nothing_left(struct client *client, void *context) {
    (void)context;
    pid_t pid;
    return client_descendants(client, &pid, 1) == 0;
}

static void unlink_client(struct client *client) {
    struct client **link = &live_clients;
    while (*link && *link != client)
        link = &(*link)->next;
    if (*link)
        *link = client->next;
}

void client_free(struct client *client) {
    if (!client)
        return;
    pid_t pids[DESCENDANTS_MAX];
    size_t count = client_descendants(client, pids, DESCENDANTS_MAX);
    if (!client->reaped) {
        kill(client->pid, SIGKILL);
        while (waitpid(client->pid, NULL, 0) < 0 && errno == EINTR)
            ;
        client->reaped = true;
    }
    for (size_t i = 0; i < count; i++)
        kill(pids[i], SIGKILL);
    for (size_t i = 0; i < count; i++) /* parents first: what they leave is then this process's */
        while (waitpid(pids[i], NULL, 0) < 0 && errno == EINTR)
            ;
    unlink_client(client);
    if (client->in >= 0 && client->in != client->out)
        close(client->in);
    if (client->out >= 0)
        close(client->out);
    if (client->error >= 0)
        close(client->error);
    if (client->process >= 0)
        close(client->process);
    for (size_t i = 0; i < client->line_count; i++)
        free(client->lines[i].bytes);
    for (size_t i = 0; i < client->kept_count; i++)
        free(client->kept[i]);
    free(client->lines);
    free(client->kept);
    free(client->failure);
    buffer_free(&client->to_server);
    buffer_free(&client->from_server);
    buffer_free(&client->from_error);
    buffer_free(&client->transcript);
    free(client);
}

void client_end(struct client *client) {
    client_close_stdin(client);
    int status = client_wait(client);
    if (status != 0)
        client_fail(client, "the server ended with status %d", status);
    for (size_t i = client->first_unread; i < client->line_count; i++)
        if (client->lines[i].unread && is_response(&client->lines[i]))
            client_fail(client, "nobody asked for this response: %.500s", client->lines[i].bytes);
    await(client, nothing_left, NULL, "the server's descendants to end");
}

void client_finish(struct client *client) {
    client_end(client);
    client_free(client);
}
