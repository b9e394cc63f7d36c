/* Bytes: a span refers to bytes that something else owns; a buffer owns bytes and grows up to a
 * hard maximum. A failed append (maximum exceeded, or out of memory) leaves the contents unchanged
 * and sets `failed`, so a writer may append many pieces and check once at the end. */
#ifndef ECLAVE_COMMON_BUFFER_H
#define ECLAVE_COMMON_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Not owned, not terminated. */
struct span {
    const unsigned char *bytes;
    size_t length;
};

static inline struct span string_span(const char *text) {
    return (struct span){(const unsigned char *)text, strlen(text)};
}

static inline bool span_equal(struct span left, struct span right) {
    return left.length == right.length &&
           (left.length == 0 || memcmp(left.bytes, right.bytes, left.length) == 0);
}

struct buffer {
    unsigned char *data;
    size_t length;
    size_t capacity;
    size_t maximum; /* bytes; an upper bound of `length` */
    bool failed;
};

/* An empty buffer that may grow to MAXIMUM bytes. Allocates nothing. */
struct buffer buffer_make(size_t maximum);

/* Releases the memory and leaves an empty buffer with the same maximum. */
void buffer_free(struct buffer *buffer);

/* Makes room for EXTRA more bytes after the contents and returns its address, or NULL after setting
 * `failed`. The caller fills the room and adds the number of bytes to `length`. */
unsigned char *buffer_reserve(struct buffer *buffer, size_t extra);

/* The contents as a string: a null character follows them, which does not count. OTHERWISE if the
 * buffer has failed. */
const char *buffer_string(struct buffer *buffer, const char *otherwise);

/* Appends SIZE bytes, a string, or formatted output. False, with nothing appended, on failure. */
bool buffer_append(struct buffer *buffer, const void *bytes, size_t size);
bool buffer_append_text(struct buffer *buffer, const char *text);
__attribute__((format(printf, 2, 3))) bool buffer_append_format(struct buffer *buffer,
                                                                const char *format, ...);

/* Removes the first SIZE bytes (at most `length`). */
void buffer_consume(struct buffer *buffer, size_t size);

/* Gives the memory that the contents do not need back. The contents may move. */
void buffer_trim(struct buffer *buffer);

/* Frees the memory if the buffer is empty and has more than KEEP bytes of it. */
void buffer_shrink(struct buffer *buffer, size_t keep);

static inline void cleanup_buffer_value(struct buffer *buffer) {
    buffer_free(buffer);
}
#define cleanup_buffer __attribute__((cleanup(cleanup_buffer_value)))

#endif
