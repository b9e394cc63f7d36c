/* Lines from standard input. */
#include "supervisor/base/input.h"
#include "common/utf8.h"
#include "supervisor/base/clock.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 65536, KEEP_BYTES = 4 * READ_BYTES };

static bool is_trimmed(unsigned char byte) {
    return byte == ' ' || byte == '\t' || byte == '\r';
}

/* Passes a line on, without byte order mark and surrounding blanks. Drops an empty one. */
static void deliver(struct input *input, const unsigned char *bytes, size_t size) {
    struct span line = utf8_without_mark((struct span){bytes, size});
    while (line.length && is_trimmed(line.bytes[0])) {
        line.bytes++;
        line.length--;
    }
    while (line.length && is_trimmed(line.bytes[line.length - 1]))
        line.length--;
    if (line.length)
        input->handler.line(input->handler.context, line.bytes, line.length);
}

static void end_of_line(struct input *input, size_t start, size_t end) {
    if (input->skipping)
        input->skipping = false;
    else if (end - start > input->line_max)
        input->handler.too_long(input->handler.context);
    else
        deliver(input, input->pending.data + start, end - start);
    input->ended_lines++;
}

static void on_turn(void *context);

/* Pauses until the loop has served its other work. */
static void yield(struct input *input) {
    loop_watch_change(input->loop, &input->watch, 0);
    loop_timer_start(input->loop, &input->turn, 0, on_turn, input);
}

/* Delivers the complete lines in the buffer until the input is paused or ended, or they have taken
 * long. */
static void deliver_lines(struct input *input) {
    struct buffer *pending = &input->pending;
    size_t start = 0, from = input->scanned;
    int64_t begun_ns = clock_now_ns();
    while (!input->paused && !input->ended && !input->turn.active) {
        unsigned char *newline = from < pending->length
                                     ? memchr(pending->data + from, '\n', pending->length - from)
                                     : NULL;
        if (!newline) {
            from = pending->length;
            break;
        }
        size_t end = (size_t)(newline - pending->data);
        end_of_line(input, start, end);
        start = from = end + 1;
        if (!input->paused && !input->ended && clock_now_ns() - begun_ns >= LOOP_TURN_NS)
            yield(input);
    }
    input->scanned = from - start;
    if (start)
        buffer_consume(pending, start);
    if (input->paused || input->ended || input->turn.active)
        return;
    if (!input->skipping && pending->length > input->line_max) {
        input->skipping = true;
        input->handler.too_long(input->handler.context);
    }
    if (input->skipping) {
        pending->length = 0;
        input->scanned = 0;
    }
    buffer_shrink(pending, KEEP_BYTES);
}

static void on_turn(void *context) {
    struct input *input = context;
    loop_watch_change(input->loop, &input->watch, EPOLLIN);
    deliver_lines(input);
}

static void finish(struct input *input) {
    if (input->ended)
        return;
    if (input->pending.length && !input->skipping)
        deliver(input, input->pending.data, input->pending.length);
    input->pending.length = input->scanned = 0;
    if (input->ended || input->paused) /* after a pause, the end is read again */
        return;
    input->ended = true;
    loop_watch_remove(input->loop, &input->watch);
    input->handler.end(input->handler.context);
}

static void on_readable(void *context, uint32_t events) {
    (void)events;
    struct input *input = context;
    unsigned char *room = buffer_reserve(&input->pending, READ_BYTES);
    if (!room) {
        finish(input);
        return;
    }
    ssize_t got = stream_read(&input->stream, room, READ_BYTES);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        input->failure = got < 0 ? errno : 0;
        finish(input);
        return;
    }
    input->pending.length += (size_t)got;
    deliver_lines(input);
}

bool input_open(struct input *input, struct loop *loop, size_t line_max,
                const struct input_handler *handler, struct error *error) {
    *input = (struct input){.loop = loop,
                            .pending = buffer_make(line_max + (size_t)2 * READ_BYTES),
                            .line_max = line_max,
                            .handler = *handler};
    if (!stream_open(&input->stream, STDIN_FILENO, false, error) ||
        !loop_watch_add(loop, &input->watch, input->stream.fd, EPOLLIN, on_readable, input, error))
        return false;
    loop_put_first(loop, &input->watch);
    return true;
}

uint64_t input_line_number(const struct input *input) {
    return input->ended_lines + 1;
}

void input_pause(struct input *input, bool paused) {
    if (input->ended || input->paused == paused)
        return;
    input->paused = paused;
    loop_timer_stop(input->loop, &input->turn);
    loop_watch_change(input->loop, &input->watch, paused ? 0 : EPOLLIN);
    if (!paused)
        deliver_lines(input);
}

void input_stop(struct input *input) {
    input->ended = true;
    loop_timer_stop(input->loop, &input->turn);
    loop_watch_remove(input->loop, &input->watch);
}

void input_close(struct input *input) {
    if (!input->loop)
        return;
    input_stop(input);
    stream_close(&input->stream);
    buffer_free(&input->pending);
}
