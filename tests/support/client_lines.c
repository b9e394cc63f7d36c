/* See client.h: lines, each returned once. */
#include "tests/support/client_parts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The next unread line from FROM on for which WANTED is true. */
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

void line_take(struct client *client, struct line *line) {
    line->unread = false;
    while (client->first_unread < client->line_count && !client->lines[client->first_unread].unread)
        client->first_unread++;
}

static const char *hand_out(struct client *client, struct line *line, size_t *length) {
    line_take(client, line);
    if (length)
        *length = line->length;
    return line->bytes;
}

static const char *fulfil(struct client *client, struct wish *wish, size_t *length,
                          const char *what) {
    wish->from = client->first_unread;
    bool done = client_wait_until(client, look, wish, what);
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
    client_pump(client, 0);
    if (client->first_unread == client->line_count)
        return NULL;
    return hand_out(client, &client->lines[client->first_unread], length);
}

bool line_is_response(const struct line *line) {
    return line->batch || line->message.kind == WIRE_RESULT || line->message.kind == WIRE_ERROR;
}

const char *client_read_response(struct client *client) {
    struct wish wish;
    const char *line;
    do {
        wish = (struct wish){.wanted = any_line};
        line = fulfil(client, &wish, NULL, "a response");
    } while (line && !line_is_response(wish.found));
    return line;
}

/* Sent at start-up to a client that asked for such events: a layer is missing here, or Lisp was
 * booted since there was no image. */
bool line_is_notice(const struct line *line) {
    struct text value;
    return !line->batch && line->message.kind == WIRE_NOTIFICATION &&
           json_at((struct text){line->bytes, line->length}, &value, "params", "data", "event",
                   NULL) &&
           (text_is(value, "\"layer-missing\"") || text_is(value, "\"image\""));
}

static bool has_id(const struct line *line, const void *id) {
    return line_is_response(line) && !line->batch && json_same_id(line->message.id, text_of(id));
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
        count += client->lines[i].unread && line_is_response(&client->lines[i]);
    return count;
}
