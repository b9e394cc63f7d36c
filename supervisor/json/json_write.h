/* JSON text straight into a buffer, so that a ten-megabyte answer is copied once. Whatever bytes
 * go in, what comes out is well-formed UTF-8 on one line. Failures stay in buffer->failed, and once
 * there is one, nothing more is done: what does not fit costs no more than what would. */
#ifndef ECLAVE_SUPERVISOR_JSON_JSON_WRITE_H
#define ECLAVE_SUPERVISOR_JSON_JSON_WRITE_H

#include "common/buffer.h"

/* BYTES as a JSON string with its quotes; ill-formed UTF-8 is replaced by U+FFFD. */
void json_write_bytes(struct buffer *out, const void *bytes, size_t size);
void json_write_string(struct buffer *out, const char *text);

struct json_object;
/* VALUE, which was parsed from well-formed text; NULL: null. */
void json_write_tree(struct buffer *out, struct json_object *value);

/* TEXT, one JSON value that json_inspect found fine, without a line break; an escape of half a
 * character becomes one of U+FFFD. */
void json_write_raw(struct buffer *out, const void *text, size_t size);

/* "NAME":  (the caller writes the value and the commas) */
void json_write_name(struct buffer *out, const char *name);

#endif
