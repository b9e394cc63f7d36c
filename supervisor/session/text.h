/* The texts of CONTRACT.md section 5: what a person or a model reads of an evaluation. */
#ifndef ECLAVE_SUPERVISOR_SESSION_TEXT_H
#define ECLAVE_SUPERVISOR_SESSION_TEXT_H

#include "common/buffer.h"
#include "supervisor/session/evaluation.h"
#include "supervisor/settings/settings.h"

struct text_limits {
    size_t shown_chars;     /* of each captured stream */
    size_t value_max_chars; /* of one value; the worker keeps to it, this makes sure */
};

struct text_limits text_limits_of(const struct settings *settings);

/* Appends the text of a success or a failure, as the outcome has it. */
void text_append_evaluation(struct buffer *out, const struct evaluation *evaluation,
                            const struct text_limits *limits);

/* Appends captured bytes: repaired to well-formed UTF-8, and when they are more than SHOWN_CHARS
 * characters, their head and tail with one line between that says how many were left out. */
void text_append_captured(struct buffer *out, struct span captured, size_t shown_chars);

/* The same as a JSON string. */
void text_write_captured(struct buffer *out, struct span captured, size_t shown_chars);

/* Appends the captured error output and, a line each, the warnings: where the text of the answer is
 * the definition's own and has no place for them. */
void text_append_errors(struct buffer *out, const struct evaluation *evaluation,
                        size_t shown_chars);

/* The same as a JSON string. */
void text_write_errors(struct buffer *out, const struct evaluation *evaluation, size_t shown_chars);

/* Appends a printed value, cut visibly when it has more than MAX_CHARS characters and some. */
void text_append_value(struct buffer *out, struct span value, size_t max_chars);

/* Appends the text of a tool error that no worker was asked about: marker line with TYPE, message,
 * and a backtrace section without frames. */
void text_append_error(struct buffer *out, const char *type, const char *message);

#endif
