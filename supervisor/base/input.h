/* Lines from the client: doc/contract.md, section 2, steps 1 and 2. Memory is bounded for any
 * input; a line is reported as too long as soon as it is, not at its end. When lines take long to
 * handle, the loop serves its other work between them. */
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
    void (*end)(void *context); /* called once, last */
    void *context;
};

struct input {
    struct loop *loop;
    struct stream stream;
    struct loop_watch watch;
    struct buffer pending;
    size_t scanned; /* bytes of pending that hold no newline */
    size_t line_max;
    bool skipping; /* inside a line that was reported as too long */
    bool paused, ended;
    struct loop_timer turn; /* runs while lines wait for the loop's other work */
    uint64_t ended_lines;   /* lines with a newline, empty ones included */
    int failure;            /* errno of the read that ended the input, 0 at end of file */
    struct input_handler handler;
};

bool input_open(struct input *input, struct loop *loop, size_t line_max,
                const struct input_handler *handler, struct error *error);
/* The number, from 1, of the line that is being handled. */
uint64_t input_line_number(const struct input *input);
/* While paused, nothing is read and lines already read are kept. */
void input_pause(struct input *input, bool paused);
/* Drops lines already read and reads no more. May be called from a handler; input_close may not. */
void input_stop(struct input *input);
void input_close(struct input *input);

#endif
