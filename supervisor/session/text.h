/* The text of an evaluation, for people and models (doc/contract.md, section 5). */
#ifndef ECLAVE_SUPERVISOR_SESSION_TEXT_H
#define ECLAVE_SUPERVISOR_SESSION_TEXT_H

#include "common/buffer.h"
#include "supervisor/session/evaluation.h"
#include "supervisor/settings/settings.h"

struct text_limits {
    size_t max_chars;       /* of the whole text, and of a captured stream alone */
    size_t value_max_chars; /* of one value; a hostile worker may exceed it */
    size_t reserved_chars;  /* of max_chars, for what the caller appends */
};

enum {
    TEXT_RESERVED_MAX = 512, /* an upper bound of reserved_chars */
    TEXT_TAIL_CHARS = 4000   /* of each stream, in the message of an error */
};

/* What read-output can read of a call. */
enum text_stream { TEXT_STDOUT, TEXT_STDERR, TEXT_VALUES, TEXT_STREAMS };
extern const char *const text_stream_names[TEXT_STREAMS];

struct text_limits text_limits_of(const struct settings *settings);

/* Appends the text of a success or a failure, at most max_chars - reserved_chars characters.
 * Captured output is cut first, then values. A line replaces what is left out of a stream; if the
 * call is kept (kept_output.h), it says how to read that. */
void text_append_evaluation(struct buffer *out, const struct evaluation *evaluation,
                            const struct text_limits *limits);

/* Does that text leave out a part of the captured output or of the values? */
bool text_is_cut(const struct evaluation *evaluation, const struct text_limits *limits);

/* Appends captured bytes, repaired to well-formed UTF-8. Of more than SHOWN_CHARS characters, only
 * the head and the tail, with a line between them that gives the number left out. */
void text_append_captured(struct buffer *out, struct span captured, size_t shown_chars);

/* The same as a JSON string. */
void text_write_captured(struct buffer *out, struct span captured, size_t shown_chars);

/* Appends the last CHARS characters of each captured stream that is not empty, with a heading that
 * says how to read the rest, if the call is kept. */
void text_append_tails(struct buffer *out, const struct evaluation *evaluation, size_t chars);

/* Appends the captured error output and the warnings, one in each line. For a run, whose answer has
 * no other place for them. */
void text_append_errors(struct buffer *out, const struct evaluation *evaluation,
                        size_t shown_chars);

/* The same as a JSON string. */
void text_write_errors(struct buffer *out, const struct evaluation *evaluation, size_t shown_chars);

/* Appends a printed value. One that is considerably longer than MAX_CHARS is cut, with the number
 * of characters left out. */
void text_append_value(struct buffer *out, struct span value, size_t max_chars);

/* Appends the text of an error that occurred outside a worker: the marker line with TYPE, MESSAGE,
 * and an empty backtrace. */
void text_append_error(struct buffer *out, const char *type, const char *message);

#endif
