/* See client.h: moves bytes and reports failures, without blocking. */
#include "tests/support/client_parts.h"
#include "tests/support/user.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

enum {
    TRANSCRIPT_LINE_MAX = 400,
    TICK_MS = 10 /* between two checks of the condition */
};

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
    if (transcript->length > CLIENT_TRANSCRIPT_MAX)
        buffer_consume(transcript, CLIENT_TRANSCRIPT_MAX / 2);
    buffer_append_text(transcript, arrow);
    buffer_append(transcript, bytes, shown);
    // cppcheck-suppress knownConditionTrueFalse ; it takes the ?: above for its first branch
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
    else if (!client->notices && line_is_notice(line))
        line_take(client, line);
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

/* Reads the available bytes into BUFFER; closes *fd at its end. */
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

void client_end_stdin(struct client *client) {
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
            client_end_stdin(client); /* the server reads no more; waits report it */
            return;
        }
        if (put < 0)
            break;
        written += (size_t)put;
    }
    buffer_consume(buffer, written);
    if (buffer->length == 0 && client->close_in)
        client_end_stdin(client);
}

void client_reap(struct client *client) {
    siginfo_t end = {0};
    if (client->reaped ||
        waitid(P_PID, (id_t)client->pid, &end, WEXITED | WNOHANG | WNOWAIT) != 0 || !end.si_pid)
        return;
    user_check(client->pid, client->unprivileged);
    int status = 0;
    waitpid(client->pid, &status, 0);
    client->reaped = true;
    client->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Reads and writes what is possible within TIMEOUT_MS. */
void client_pump(struct client *client, int timeout_ms) {
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
        client_reap(client);
}

/* Waits until DONE; false after a failure, such as the watchdog's. */
bool client_wait_until(struct client *client, bool (*done)(struct client *client, void *context),
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
        client_pump(client, TICK_MS);
    }
    return false;
}

/* Sending. */

void client_send(struct client *client, const void *bytes, size_t length) {
    note(client, "> ", bytes, length);
    if (client->in < 0)
        return;
    client_record_sent(client, bytes, length);
    if (!buffer_append(&client->to_server, bytes, length))
        abort();
    client_pump(client, 0);
}

void client_send_line(struct client *client, const char *line) {
    size_t length = strlen(line);
    note(client, "> ", line, length);
    if (client->in < 0)
        return;
    client_record_sent(client, line, length);
    client_record_sent(client, "\n", 1);
    if (!buffer_append(&client->to_server, line, length) ||
        !buffer_append(&client->to_server, "\n", 1))
        abort();
    client_pump(client, 0);
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
    client_wait_until(client, all_sent, NULL, "the server to read its stdin");
}

void client_close_stdin(struct client *client) {
    if (client->in < 0)
        return;
    client->close_in = true;
    if (client->to_server.length == 0)
        client_end_stdin(client);
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
