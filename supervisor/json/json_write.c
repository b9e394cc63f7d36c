/* Writes JSON. */
#include "supervisor/json/json_write.h"
#include "common/utf8.h"
#include "supervisor/json/json_number.h"
#include "supervisor/json/json_string_internal.h"

#include <json-c/json.h>
#include <string.h>

enum { CHUNK_BYTES = 512, ESCAPE_MAX_BYTES = 6 };

/* The letter after the backslash in the escape of a byte, 0 for a byte that needs none; 'u':
 * \u00XX.
 */
static const unsigned char escape_letters[256] = {
    [0x00 ... 0x07] = 'u', [0x08] = 'b', [0x09] = 't',          [0x0A] = 'n', [0x0B] = 'u',
    [0x0C] = 'f',          [0x0D] = 'r', [0x0E ... 0x1F] = 'u', ['"'] = '"',  ['\\'] = '\\'};

static unsigned char *escape(unsigned char *to, unsigned char byte, unsigned char letter) {
    static const char digits[] = "0123456789abcdef";
    *to++ = '\\';
    *to++ = letter;
    if (letter != 'u')
        return to;
    memcpy(to, "00", 2);
    to[2] = (unsigned char)digits[byte >> 4];
    to[3] = (unsigned char)digits[byte & 15];
    return to + 4;
}

static void write_chunk(struct buffer *out, const unsigned char *bytes, size_t size) {
    unsigned char escaped[CHUNK_BYTES * ESCAPE_MAX_BYTES], *to = escaped;
    for (size_t i = 0; i < size; i++) {
        unsigned char letter = escape_letters[bytes[i]];
        if (letter)
            to = escape(to, bytes[i], letter);
        else
            *to++ = bytes[i];
    }
    buffer_append(out, escaped, (size_t)(to - escaped));
}

/* Copies long runs of plain bytes whole, and the bytes around escapes in chunks. */
static void write_escaped(struct buffer *out, const unsigned char *bytes, size_t size) {
    while (size && !out->failed) {
        size_t plain = json_plain_prefix(bytes, size);
        buffer_append(out, bytes, plain);
        bytes += plain;
        size -= plain;
        size_t chunk = size < CHUNK_BYTES ? size : CHUNK_BYTES;
        write_chunk(out, bytes, out->failed ? 0 : chunk);
        bytes += chunk;
        size -= chunk;
    }
}

void json_write_bytes(struct buffer *out, const void *bytes, size_t size) {
    const unsigned char *text = bytes;
    buffer_append(out, "\"", 1);
    out->failed |= size > out->maximum - out->length; /* escaping makes nothing shorter */
    if (out->failed)
        return;
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

void json_write_valid(struct buffer *out, const void *bytes, size_t size) {
    buffer_append(out, "\"", 1);
    out->failed |= size > out->maximum - out->length;
    write_escaped(out, bytes, size);
    buffer_append(out, "\"", 1);
}

void json_write_string(struct buffer *out, const char *text) {
    json_write_bytes(out, text, strlen(text));
}

void json_write_name(struct buffer *out, const char *name) {
    json_write_string(out, name);
    buffer_append(out, ":", 1);
}

/* --- values --- */

static void write_integer(struct buffer *out, int64_t number) {
    char digits[20];
    size_t at = sizeof digits;
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
    if (number < 0)
        buffer_append(out, "-", 1);
    do
        digits[--at] = (char)('0' + rest % 10);
    while (rest /= 10);
    buffer_append(out, digits + at, sizeof digits - at);
}

/* NOLINTBEGIN(misc-no-recursion): JSON_DEPTH_MAX deep at most */
static void write_array(struct buffer *out, struct json_object *array) {
    size_t count = json_object_array_length(array);
    buffer_append(out, "[", 1);
    for (size_t i = 0; i < count && !out->failed; i++) {
        if (i)
            buffer_append(out, ",", 1);
        json_write_tree(out, json_object_array_get_idx(array, i));
    }
    buffer_append(out, "]", 1);
}

static void write_object(struct buffer *out, struct json_object *object) {
    struct json_object_iterator at = json_object_iter_begin(object);
    const struct json_object_iterator end = json_object_iter_end(object);
    const char *before = "{";
    for (; !json_object_iter_equal(&at, &end) && !out->failed; json_object_iter_next(&at)) {
        buffer_append(out, before, 1);
        json_write_name(out, json_object_iter_peek_name(&at));
        json_write_tree(out, json_object_iter_peek_value(&at));
        before = ",";
    }
    buffer_append_text(out, *before == '{' ? "{}" : "}");
}

void json_write_tree(struct buffer *out, struct json_object *value) {
    switch (json_object_get_type(value)) {
    case json_type_object:
        write_object(out, value);
        break;
    case json_type_array:
        write_array(out, value);
        break;
    case json_type_string:
        json_write_bytes(out, json_object_get_string(value),
                         (size_t)json_object_get_string_len(value));
        break;
    case json_type_int:
        write_integer(out, json_object_get_int64(value));
        break;
    case json_type_double:
        buffer_append(out, json_number_text(value).bytes, json_number_text(value).length);
        break;
    case json_type_boolean:
        buffer_append_text(out, json_object_get_boolean(value) ? "true" : "false");
        break;
    case json_type_null:
        buffer_append_text(out, "null");
        break;
    }
}
/* NOLINTEND(misc-no-recursion) */

/* The length of the escape at TEXT, or of a pair of surrogates. *whole: not a lone surrogate. */
static size_t escape_length(const unsigned char *text, size_t size, bool *whole) {
    *whole = true;
    if (text[1] != 'u')
        return 2;
    unsigned unit = json_hex_unit(text + 2);
    if (unit < 0xD800 || unit > 0xDFFF)
        return 6;
    unsigned low = unit < 0xDC00 && size >= 12 && text[6] == '\\' && text[7] == 'u'
                       ? json_hex_unit(text + 8)
                       : 0;
    *whole = low >= 0xDC00 && low <= 0xDFFF;
    return *whole ? 12 : 6;
}

void json_write_raw(struct buffer *out, const void *text, size_t size) {
    const unsigned char *from = text, *end = from + size;
    unsigned char *to = buffer_reserve(out, size);
    if (!to)
        return;
    out->length += size;
    while (from < end) {
        size_t plain = json_plain_prefix(from, (size_t)(end - from)), taken = 1;
        bool whole = true;
        memcpy(to, from, plain);
        from += plain;
        to += plain;
        if (from == end)
            return;
        if (*from == '\\')
            taken = escape_length(from, (size_t)(end - from), &whole);
        memcpy(to, whole ? from : (const unsigned char *)"\\ufffd", taken);
        if (*from == '\n' || *from == '\r') /* never inside a string */
            *to = ' ';
        from += taken;
        to += taken;
    }
}
