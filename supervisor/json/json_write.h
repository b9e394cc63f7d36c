/* JSON written directly into a buffer, so that a ten-megabyte answer is copied once. The output is
 * one line of well-formed UTF-8 for any input. A failure sets buffer->failed; after it, the
 * functions do nothing. */
#ifndef ECLAVE_SUPERVISOR_JSON_JSON_WRITE_H
#define ECLAVE_SUPERVISOR_JSON_JSON_WRITE_H

#include "common/buffer.h"

/* A JSON string, with quotes; ill-formed UTF-8 is replaced by U+FFFD. */
void json_write_bytes(struct buffer *out, const void *bytes, size_t size);
/* The same for bytes that are known to be UTF-8. */
void json_write_valid(struct buffer *out, const void *bytes, size_t size);
void json_write_string(struct buffer *out, const char *text);

/* NAME as a string, and the colon. */
void json_write_name(struct buffer *out, const char *name);

struct json_object;
/* VALUE (NULL: null), which was parsed from well-formed text. */
void json_write_tree(struct buffer *out, struct json_object *value);

/* TEXT, a JSON value that json_inspect accepted, with line breaks replaced by blanks and escapes of
 * lone surrogates by U+FFFD. */
void json_write_raw(struct buffer *out, const void *text, size_t size);

#endif
