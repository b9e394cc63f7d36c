/* Reads the metadata of an entry from register.json, a sidecar, or the header of a Lisp file: the
 * comments at its beginning. */
#include "common/utf8.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/registry/entry_internal.h"

#include <string.h>

static const char marker[] = ";;;";
enum { MARKER_BYTES = sizeof marker - 1 };

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

/* The rest of LINE after the marker; bytes NULL if there is no marker. */
static struct span after_marker(struct span line) {
    struct span text = skip_blanks(line);
    if (text.length < MARKER_BYTES || memcmp(text.bytes, marker, MARKER_BYTES) != 0)
        return (struct span){0};
    return skip(text, MARKER_BYTES);
}

static bool opens_object(struct span line) {
    struct span text = after_marker(line);
    if (!text.bytes)
        return false;
    text = skip_blanks(text);
    return text.length && text.bytes[0] == '{';
}

static bool may_precede(struct span line) {
    struct span text = skip_blanks(line);
    return !text.length || text.bytes[0] == '\n' || text.bytes[0] == ';';
}

/* Skips the lines that may come before a header and returns their number. *source is left at the
 * header, or at the first line that is neither. */
static size_t find(struct span *source) {
    size_t lines = 0;
    *source = utf8_without_mark(*source);
    while (source->length) {
        struct span line = first_line(*source);
        if (opens_object(line) || !may_precede(line))
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
        struct span line = first_line(source), text = after_marker(line);
        if (!text.bytes)
            break;
        buffer_append(out, text.bytes, text.length);
        source = skip(source, line.length);
    }
    return true;
}

/* --- where the metadata is --- */

void metadata_locate(const struct candidate *candidate, struct error *error) {
    const struct error why = *error;
    if (candidate->sidecar && candidate->body)
        error_set(error, 0, "%.80s: %.150s", candidate->sidecar, why.text);
    error->code = why.code;
}

static struct json_object *read_sidecar(const struct candidate *candidate,
                                        const struct file_content *sidecar, struct error *error) {
    struct json_object *parsed =
        json_file_parse((struct span){sidecar->bytes, sidecar->size}, error);
    if (!parsed)
        metadata_locate(candidate, error);
    return parsed;
}

/* The header that begins in LINE. */
static struct json_object *read_header(struct span source, size_t line, struct error *error) {
    cleanup_buffer struct buffer header = buffer_make(METADATA_MAX_BYTES);
    if (line > HEADER_LINE_MAX) {
        error_set(error, 0, "has a header in line %zu; it must begin in the first %d lines", line,
                  HEADER_LINE_MAX);
        return NULL;
    }
    header_take(source, &header);
    if (header.failed) {
        error_set(error, 0, "has a header of more than %d bytes", METADATA_MAX_BYTES);
        return NULL;
    }
    return json_file_parse((struct span){header.data, header.length}, error);
}

struct json_object *metadata_read(const struct candidate *candidate,
                                  const struct file_content *body,
                                  const struct file_content *sidecar, size_t *bytes,
                                  struct error *error) {
    *bytes = candidate->inline_metadata.bytes ? candidate->inline_metadata.length : sidecar->size;
    if (candidate->inline_metadata.bytes) {
        struct json_object *parsed = json_file_parse(candidate->inline_metadata, error);
        if (parsed)
            json_object_object_del(parsed, "file");
        return parsed;
    }
    bool may_have = candidate->folder != FOLDER_RESOURCES && candidate->body &&
                    has_suffix(candidate->body, ".lisp");
    const struct span source = {body->bytes, body->size};
    size_t line = may_have ? header_line(source) : 0;
    if (sidecar->bytes && line) {
        error_set(error, 0, "has metadata twice: in its header (line %zu) and in %.120s", line,
                  candidate->sidecar);
        return NULL;
    }
    if (sidecar->bytes)
        return read_sidecar(candidate, sidecar, error);
    if (line)
        return read_header(source, line, error);
    struct json_object *empty = json_object_new_object();
    if (!empty)
        error_set(error, ENOMEM, "cannot be loaded");
    return empty;
}
