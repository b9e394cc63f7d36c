/* Cuts the metadata out of the comment that a Lisp file begins with. Never looks beyond that
 * comment. */
#include "supervisor/registry/header.h"

#include <string.h>

static const char marker[] = ";;;";
enum { MARKER_BYTES = sizeof marker - 1 };

static bool begins_with_marker(struct span text) {
    return text.length >= MARKER_BYTES && memcmp(text.bytes, marker, MARKER_BYTES) == 0;
}

static bool opens_object(struct span text) {
    size_t at = MARKER_BYTES;
    while (at < text.length && (text.bytes[at] == ' ' || text.bytes[at] == '\t'))
        at++;
    return at < text.length && text.bytes[at] == '{';
}

bool header_take(struct span source, struct buffer *out) {
    if (!begins_with_marker(source) || !opens_object(source))
        return false;
    while (begins_with_marker(source)) {
        const unsigned char *newline = memchr(source.bytes, '\n', source.length);
        size_t length = newline ? (size_t)(newline - source.bytes) + 1 : source.length;
        buffer_append(out, source.bytes + MARKER_BYTES, length - MARKER_BYTES);
        source.bytes += length;
        source.length -= length;
    }
    return true;
}
