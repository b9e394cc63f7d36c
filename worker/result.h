/* The result of one call: strings that Lisp writes to one of our streams, which bounds them while
 * they are written. They are well-formed UTF-8; a string whose writing fails is not kept. */
#ifndef ECLAVE_WORKER_RESULT_H
#define ECLAVE_WORKER_RESULT_H

#include "common/buffer.h"
#include "common/frame.h"
#include "common/message.h"

#include <ecl/ecl.h>
#include <stdbool.h>
#include <stddef.h>

/* Characters kept of each string; of a value, the configuration decides. */
enum {
    RESULT_TYPE_CHARS = 500,
    RESULT_MESSAGE_CHARS = 10000,
    RESULT_FRAME_CHARS = 300,
    RESULT_WARNING_CHARS = 2000,
    RESULT_INSPECTION_CHARS = 1 << 20
};

enum result_style {
    RESULT_TIDY = 1, /* without stream objects */
    RESULT_LINE = 2  /* on one line; "..." replaces the rest if it is cut */
};

/* The place of a string in the arena, which moves when it grows. */
struct result_text {
    size_t offset;
    size_t length;
};

struct result {
    struct buffer arena;
    struct result_text package, condition, message;
    struct result_text json; /* of a run; empty for an evaluation */
    struct result_text values[RESULT_VALUES_MAX];
    struct result_text frames[RESULT_FRAMES_MAX];
    struct result_text warnings[RESULT_WARNINGS_MAX];
    size_t value_count, frame_count, warning_count;
    size_t warnings_left_out;
    bool failed;           /* with a condition and a message instead of values */
    bool settles, refines; /* as of result_message */
};

/* Makes the streams that Lisp writes to. ECL must be booted. */
void result_initialize(void);

/* Makes RESULT empty. Its memory is kept for reuse; all zero is a valid initial state. */
void result_begin(struct result *result);

/* Calls WRITE(ARGUMENT, stream) under a guard and keeps at most CHARACTERS characters of its output
 * in *TEXT, followed by the number of those cut. False, with nothing kept, if WRITE does not return
 * or memory is exhausted. */
bool result_write(struct result *result, struct result_text *text, size_t characters, int style,
                  void (*write)(void *argument, cl_object stream), void *argument);

/* Keeps all of STRING in *TEXT. False if it does not fit. */
bool result_keep(struct result *result, struct result_text *text, cl_object string);

/* Appends to TEXT, which must be empty or the last one that was kept. */
__attribute__((format(printf, 3, 4))) void
result_add(struct result *result, struct result_text *text, const char *format, ...);

/* Appends the payload of FRAME_RESULT. False if it does not fit. */
bool result_encode(const struct result *result, struct buffer *payload);

#endif
