/* Writes JSON strings. Never emits a raw control character or an ill-formed sequence. */
#include "supervisor/json_write.h"
#include "common/utf8.h"

#include <json-c/json.h>
#include <string.h>

/* Which bytes may stand in a JSON string as they are. U+007F is harmless and left alone. */
static bool is_plain(unsigned char byte) {
    return byte >= 0x20 && byte != '"' && byte != '\\';
}

static void write_escape(struct buffer *out, unsigned char byte) {
    static const char names[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    for (size_t i = 0; i + 1 < sizeof names - 1; i += 2)
        if ((unsigned char)names[i] == byte) {
            char pair[2] = {'\\', names[i + 1]};
            buffer_append(out, pair, sizeof pair);
            return;
        }
    buffer_append_format(out, "\\u%04x", byte);
}

/* Well-formed text. */
static void write_escaped(struct buffer *out, const unsigned char *bytes, size_t size) {
    size_t start = 0;
    for (size_t at = 0; at < size; at++) {
        if (is_plain(bytes[at]))
            continue;
        buffer_append(out, bytes + start, at - start);
        write_escape(out, bytes[at]);
        start = at + 1;
    }
    buffer_append(out, bytes + start, size - start);
}

void json_write_bytes(struct buffer *out, const void *bytes, size_t size) {
    const unsigned char *text = bytes;
    buffer_append(out, "\"", 1);
    if (utf8_is_valid(text, size)) {
        if (size)
            write_escaped(out, text, size);
    } else {
        cleanup_buffer struct buffer repaired = buffer_make(out->maximum);
        if (utf8_append_repaired(&repaired, text, size))
            write_escaped(out, repaired.data, repaired.length);
        else
            out->failed = true;
    }
    buffer_append(out, "\"", 1);
}

void json_write_string(struct buffer *out, const char *text) {
    json_write_bytes(out, text, strlen(text));
}

void json_write_name(struct buffer *out, const char *name) {
    json_write_string(out, name);
    buffer_append(out, ":", 1);
}

void json_write_tree(struct buffer *out, struct json_object *value) {
    size_t length;
    const char *text = json_object_to_json_string_length(
        value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &length);
    if (text)
        buffer_append(out, text, length);
    else
        out->failed = true;
}

void json_write_raw(struct buffer *out, const void *text, size_t size) {
    const unsigned char *bytes = text;
    unsigned char *to = buffer_reserve(out, size);
    if (!to)
        return;
    for (size_t i = 0; i < size; i++) /* inside strings there are none */
        to[i] = bytes[i] == '\n' || bytes[i] == '\r' ? ' ' : bytes[i];
    out->length += size;
}
