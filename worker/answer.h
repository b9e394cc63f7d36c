/* The texts of one answer. Lisp writes each to a stream of ours, bounded while it is written; what
 * is kept is well-formed UTF-8. Nothing of a text whose writing fails is kept. */
#ifndef ECLAVE_WORKER_ANSWER_H
#define ECLAVE_WORKER_ANSWER_H

#include "common/buffer.h"
#include "common/frame.h"
#include "common/message.h"

#include <ecl/ecl.h>
#include <stdbool.h>
#include <stddef.h>

/* Characters kept of each kind of text; of a value, the configuration decides. */
enum {
    ANSWER_TYPE_CHARS = 500,
    ANSWER_MESSAGE_CHARS = 10000,
    ANSWER_FRAME_CHARS = 300,
    ANSWER_WARNING_CHARS = 2000
};

enum answer_style {
    ANSWER_PLAIN = 0,
    ANSWER_TIDY = 1, /* without addresses and stream objects: the same failure reads the same */
    ANSWER_LINE = 2, /* newlines become blanks, and what was cut becomes "..." */
};

/* Where in the arena a text is; the arena moves when it grows. */
struct answer_text {
    size_t offset;
    size_t length;
};

struct answer {
    struct buffer arena;
    struct answer_text package, condition, message;
    struct answer_text json; /* what a run returned, empty for an evaluation */
    struct answer_text values[RESULT_VALUES_MAX];
    struct answer_text frames[RESULT_FRAMES_MAX];
    struct answer_text warnings[RESULT_WARNINGS_MAX];
    size_t value_count, frame_count, warning_count;
    size_t warnings_left_out;
    bool failed; /* condition and message count, and values do not */
};

/* Makes the streams that Lisp writes to. Needs a booted ECL. */
void answer_initialize(void);

/* An empty answer. */
void answer_begin(struct answer *answer);

/* Runs WRITE(ARGUMENT, stream) under a guard and keeps at most CHARACTERS characters of what it
 * writes; the number of those beyond is told at the end. False, with nothing kept, when it did not
 * return. */
bool answer_write(struct answer *answer, struct answer_text *text, size_t characters, int style,
                  void (*write)(void *argument, cl_object stream), void *argument);

/* Keeps STRING as it is, whole. False when it does not fit. */
bool answer_keep(struct answer *answer, struct answer_text *text, cl_object string);

/* Adds to TEXT, which is empty or the last that was kept. */
__attribute__((format(printf, 3, 4))) void
answer_add(struct answer *answer, struct answer_text *text, const char *format, ...);

/* Makes the payload of the result frame. False when it does not fit. */
bool answer_encode(const struct answer *answer, struct buffer *payload);

#endif
