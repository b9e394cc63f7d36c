/* Bounded byte buffers. */
#include "common/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_FIRST_CAPACITY = 512 };

struct buffer buffer_make(size_t maximum) {
    return (struct buffer){.maximum = maximum};
}

void buffer_free(struct buffer *buffer) {
    free(buffer->data);
    *buffer = buffer_make(buffer->maximum);
}

/* May allocate one byte more than the maximum, for the terminator that vsnprintf writes. */
static bool grow(struct buffer *buffer, size_t needed) {
    if (needed <= buffer->capacity && buffer->data)
        return true;
    size_t capacity = buffer->capacity ? buffer->capacity : BUFFER_FIRST_CAPACITY;
    while (capacity < needed)
        capacity += capacity / 2;
    if (capacity > buffer->maximum)
        capacity = buffer->maximum + 1;
    unsigned char *data = realloc(buffer->data, capacity);
    if (!data)
        return false;
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

static bool fits(const struct buffer *buffer, size_t extra) {
    return extra <= buffer->maximum && buffer->length <= buffer->maximum - extra;
}

unsigned char *buffer_reserve(struct buffer *buffer, size_t extra) {
    if (!fits(buffer, extra) || !grow(buffer, buffer->length + extra)) {
        buffer->failed = true;
        return NULL;
    }
    return buffer->data + buffer->length;
}

bool buffer_append(struct buffer *buffer, const void *bytes, size_t size) {
    unsigned char *end = buffer_reserve(buffer, size);
    if (!end)
        return false;
    if (size)
        memcpy(end, bytes, size);
    buffer->length += size;
    return true;
}

bool buffer_append_text(struct buffer *buffer, const char *text) {
    return buffer_append(buffer, text, strlen(text));
}

bool buffer_append_format(struct buffer *buffer, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    int size = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    bool done =
        size >= 0 && fits(buffer, (size_t)size) && grow(buffer, buffer->length + (size_t)size + 1);
    if (done) {
        vsnprintf((char *)buffer->data + buffer->length, (size_t)size + 1, format, again);
        buffer->length += (size_t)size;
    }
    buffer->failed |= !done;
    va_end(again);
    return done;
}

const char *buffer_string(struct buffer *buffer, const char *otherwise) {
    if (buffer->failed || !buffer_append(buffer, "", 1))
        return otherwise;
    buffer->length--;
    return (const char *)buffer->data;
}

void buffer_consume(struct buffer *buffer, size_t size) {
    buffer->length -= size;
    if (buffer->length)
        memmove(buffer->data, buffer->data + size, buffer->length);
}

void buffer_trim(struct buffer *buffer) {
    unsigned char *data = buffer->length ? realloc(buffer->data, buffer->length) : NULL;
    if (buffer->length == 0) {
        buffer_free(buffer);
    } else if (data) {
        buffer->data = data;
        buffer->capacity = buffer->length;
    }
}

void buffer_shrink(struct buffer *buffer, size_t keep) {
    if (buffer->length == 0 && buffer->capacity > keep)
        buffer_free(buffer);
}
