/* UTF-8 validation, conversion and repair. */
#include "common/utf8.h"

#include <string.h>

static bool is_continuation(unsigned char byte) {
    return (byte & 0xC0) == 0x80;
}

size_t utf8_sequence_length(const unsigned char *bytes, size_t size) {
    if (size == 0)
        return 0;
    unsigned char first = bytes[0];
    if (first < 0x80)
        return 1;
    size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || size < length)
        return 0;
    for (size_t i = 1; i < length; i++)
        if (!is_continuation(bytes[i]))
            return 0;
    unsigned char second = bytes[1];
    bool ill_formed = (first == 0xE0 && second < 0xA0)     /* overlong */
                      || (first == 0xED && second > 0x9F)  /* surrogate */
                      || (first == 0xF0 && second < 0x90)  /* overlong */
                      || (first == 0xF4 && second > 0x8F); /* above U+10FFFF */
    return ill_formed ? 0 : length;
}

/* The number of ASCII bytes at the start, counted eight at a time. */
static size_t ascii_prefix(const unsigned char *bytes, size_t size) {
    size_t at = 0;
    while (size - at >= sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, bytes + at, sizeof word);
        if (word & UINT64_C(0x8080808080808080))
            break;
        at += sizeof word;
    }
    while (at < size && bytes[at] < 0x80)
        at++;
    return at;
}

size_t utf8_valid_prefix(const unsigned char *bytes, size_t size) {
    size_t at = 0;
    for (;;) {
        at += ascii_prefix(bytes + at, size - at);
        if (at == size)
            return size;
        size_t length = utf8_sequence_length(bytes + at, size - at);
        if (length == 0)
            return at;
        at += length;
    }
}

bool utf8_is_valid(const unsigned char *bytes, size_t size) {
    return size == 0 || utf8_valid_prefix(bytes, size) == size;
}

size_t utf8_count(const unsigned char *bytes, size_t size) {
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += !is_continuation(bytes[i]);
    return count;
}

size_t utf8_offset(const unsigned char *bytes, size_t size, size_t count) {
    size_t at = 0;
    while (at < size) {
        if (!is_continuation(bytes[at]) && count-- == 0)
            return at;
        at++;
    }
    return size;
}

uint32_t utf8_decode(const unsigned char *bytes) {
    if (bytes[0] < 0x80)
        return bytes[0];
    if (bytes[0] < 0xE0)
        return (bytes[0] & 0x1FU) << 6 | (bytes[1] & 0x3FU);
    if (bytes[0] < 0xF0)
        return (bytes[0] & 0x0FU) << 12 | (bytes[1] & 0x3FU) << 6 | (bytes[2] & 0x3FU);
    return (bytes[0] & 0x07U) << 18 | (bytes[1] & 0x3FU) << 12 | (bytes[2] & 0x3FU) << 6 |
           (bytes[3] & 0x3FU);
}

size_t utf8_encode(uint32_t code, unsigned char *out) {
    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
        code = 0xFFFD;
    if (code < 0x80) {
        out[0] = (unsigned char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (unsigned char)(0xC0 | code >> 6);
        out[1] = (unsigned char)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (unsigned char)(0xE0 | code >> 12);
        out[1] = (unsigned char)(0x80 | (code >> 6 & 0x3F));
        out[2] = (unsigned char)(0x80 | (code & 0x3F));
        return 3;
    }
    out[0] = (unsigned char)(0xF0 | code >> 18);
    out[1] = (unsigned char)(0x80 | (code >> 12 & 0x3F));
    out[2] = (unsigned char)(0x80 | (code >> 6 & 0x3F));
    out[3] = (unsigned char)(0x80 | (code & 0x3F));
    return 4;
}

/* The length of the ill-formed part at the start of BYTES that one U+FFFD replaces: the longest
 * prefix of a well-formed sequence, but at least one byte (Unicode's "maximal subpart"). */
static size_t ill_formed_length(const unsigned char *bytes, size_t size) {
    static const unsigned char tails[3] = {0x80, 0x80, 0x80};
    for (size_t kept = 3; kept > 1; kept--) {
        unsigned char attempt[4];
        if (kept > size)
            continue;
        memcpy(attempt, bytes, kept);
        memcpy(attempt + kept, tails, sizeof attempt - kept);
        size_t length = utf8_sequence_length(attempt, sizeof attempt);
        if (length > kept)
            return kept;
    }
    return 1;
}

bool utf8_append_repaired(struct buffer *out, const unsigned char *bytes, size_t size) {
    while (size) {
        size_t good = utf8_valid_prefix(bytes, size);
        if (!buffer_append(out, bytes, good))
            return false;
        bytes += good;
        size -= good;
        if (size) {
            if (!buffer_append(out, "\xEF\xBF\xBD", 3))
                return false;
            size_t bad = ill_formed_length(bytes, size);
            bytes += bad;
            size -= bad;
        }
    }
    return true;
}
