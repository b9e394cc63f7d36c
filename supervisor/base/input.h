/* Lines from the client: CONTRACT.md section 2, steps 1 and 2. Memory stays bounded whatever
 * comes, and a line is reported as too long when it is seen to be, not at its end. When lines take
 * long to handle, the loop gets a turn before the next one. */
#ifndef ECLAVE_SUPERVISOR_BASE_INPUT_H
#define ECLAVE_SUPERVISOR_BASE_INPUT_H

#include "common/buffer.h"
#include "supervisor/base/loop.h"
#include "supervisor/base/stdio.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct input_handler {
    void (*line)(void *context, const unsigned char *bytes, size_t size);
    void (*too_long)(void *context);
    void (*end)(void *context); /* once; nothing comes after it */
    void *context;
};

struct input {
    struct loop *loop;
    struct stream stream;
    struct loop_watch watch;
    struct buffer pending;
    size_t scanned; /* bytes of pending known to hold no newline */
    size_t line_max;
    bool skipping; /* inside a line that was reported as too long */
    bool paused, ended;
    struct loop_timer turn; /* runs while lines that were read wait for the loop's other work */
    uint64_t ended_lines;   /* those that came to their newline, empty ones included */
    int failure;            /* errno of the read that ended the input, 0 for its own end */
    struct input_handler handler;
};

bool input_open(struct input *input, struct loop *loop, size_t line_max,
                const struct input_handler *handler, struct error *error);
/* Inside a handler: the number of its line, the first being 1. */
uint64_t input_line_number(const struct input *input);
/* While paused nothing is read, and lines already read wait. */
void input_pause(struct input *input, bool paused);
/* No more lines, not even those already read. May be called from a handler; close may not. */
void input_stop(struct input *input);
void input_close(struct input *input);

#endif
