/* A growable byte buffer with a hard maximum, the only place where untrusted bytes pile up.
 * A failed append (over the maximum, or no memory) leaves the contents as they were and is
 * remembered in `failed`, so a writer may append many pieces and check once at the end. */
#ifndef ECLAVE_COMMON_BUFFER_H
#define ECLAVE_COMMON_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct buffer {
    unsigned char *data;
    size_t length;
    size_t capacity;
    size_t maximum; /* bytes; length never passes it */
    bool failed;
};

/* An empty buffer that may grow to MAXIMUM bytes. It owns nothing yet. */
struct buffer buffer_make(size_t maximum);

/* Releases the memory and leaves an empty buffer with the same maximum. */
void buffer_free(struct buffer *buffer);

/* Makes room for EXTRA more bytes and returns where they go, or NULL (then `failed` is set). The
 * caller writes there and adds what it wrote to `length`. */
unsigned char *buffer_reserve(struct buffer *buffer, size_t extra);

/* Appends SIZE bytes. False when they do not fit; nothing is appended then. */
bool buffer_append(struct buffer *buffer, const void *bytes, size_t size);
bool buffer_append_text(struct buffer *buffer, const char *text);
__attribute__((format(printf, 2, 3))) bool buffer_append_format(struct buffer *buffer,
                                                                const char *format, ...);

/* Drops the first SIZE bytes (SIZE at most length). */
void buffer_consume(struct buffer *buffer, size_t size);

/* Gives memory back when the buffer holds nothing and once grew beyond KEEP bytes. */
void buffer_shrink(struct buffer *buffer, size_t keep);

static inline void cleanup_buffer_value(struct buffer *buffer) {
    buffer_free(buffer);
}
#define cleanup_buffer __attribute__((cleanup(cleanup_buffer_value)))

#endif
