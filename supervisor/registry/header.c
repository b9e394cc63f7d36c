/* Cuts the metadata out of the comments that a Lisp file begins with. Never looks beyond those
 * comments. */
#include "supervisor/registry/header.h"

#include <string.h>

static const char marker[] = ";;;";
static const char mark_of_utf8[] = "\xef\xbb\xbf";
enum { MARKER_BYTES = sizeof marker - 1, MARK_BYTES = sizeof mark_of_utf8 - 1 };

bool header_has_mark(struct span source) {
    return source.length >= MARK_BYTES && memcmp(source.bytes, mark_of_utf8, MARK_BYTES) == 0;
}

static struct span skip(struct span text, size_t count) {
    return (struct span){text.bytes + count, text.length - count};
}

static struct span skip_blanks(struct span text) {
    size_t count = 0;
    while (count < text.length && strchr(" \t\r\f", text.bytes[count]) && text.bytes[count])
        count++;
    return skip(text, count);
}

static struct span first_line(struct span text) {
    const unsigned char *newline = memchr(text.bytes, '\n', text.length);
    return (struct span){text.bytes, newline ? (size_t)(newline - text.bytes) + 1 : text.length};
}

/* What stands in LINE behind the marker; bytes NULL where there is none. */
static struct span behind_marker(struct span line) {
    struct span text = skip_blanks(line);
    if (text.length < MARKER_BYTES || memcmp(text.bytes, marker, MARKER_BYTES) != 0)
        return (struct span){0};
    return skip(text, MARKER_BYTES);
}

static bool opens_object(struct span line) {
    struct span text = behind_marker(line);
    text = text.bytes ? skip_blanks(text) : text;
    return text.length && text.bytes[0] == '{';
}

static bool is_passed_over(struct span line) {
    struct span text = skip_blanks(line);
    return !text.length || text.bytes[0] == '\n' || text.bytes[0] == ';';
}

/* Skips what may stand before a header; returns the number of lines. *source is left at the header,
 * or at something that is none. */
static size_t find(struct span *source) {
    size_t lines = 0;
    if (header_has_mark(*source))
        *source = skip(*source, MARK_BYTES);
    while (source->length) {
        struct span line = first_line(*source);
        if (opens_object(line) || !is_passed_over(line))
            break;
        *source = skip(*source, line.length);
        lines++;
    }
    return lines;
}

size_t header_line(struct span source) {
    size_t lines = find(&source);
    return source.length && opens_object(first_line(source)) ? lines + 1 : 0;
}

bool header_take(struct span source, struct buffer *out) {
    size_t lines = find(&source);
    if (!source.length || !opens_object(first_line(source)))
        return false;
    while (lines--)
        buffer_append(out, "\n", 1);
    while (source.length) {
        struct span line = first_line(source), text = behind_marker(line);
        if (!text.bytes)
            break;
        buffer_append(out, text.bytes, text.length);
        source = skip(source, line.length);
    }
    return true;
}
