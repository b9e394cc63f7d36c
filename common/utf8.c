/* UTF-8 validation, conversion and repair. */
#include "common/utf8.h"

#include <string.h>

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
        if (!utf8_is_continuation(bytes[i]))
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

/* A decoder's states, as shifts: the state after a byte is in the bits of the byte's row that the
 * state before it selects. A state names what must follow: 1 to 3 continuation bytes, or those
 * after a first byte that narrows the second. */
enum {
    BROKEN = 0, /* no shift leads out of it */
    COMPLETE = 6,
    ONE_MORE = 12,
    TWO_MORE = 18,
    THREE_MORE = 24,
    AFTER_E0 = 30,
    AFTER_ED = 36,
    AFTER_F0 = 42,
    AFTER_F4 = 48,
    STATE_MASK = 63
};

#define TO(before, after) ((uint64_t)(after) << (before))
#define CONTINUATION      (TO(ONE_MORE, COMPLETE) | TO(TWO_MORE, ONE_MORE) | TO(THREE_MORE, TWO_MORE))

static const uint64_t decoder[256] = {
    [0x00 ... 0x7F] = TO(COMPLETE, COMPLETE),
    [0x80 ... 0x8F] = CONTINUATION | TO(AFTER_ED, ONE_MORE) | TO(AFTER_F4, TWO_MORE),
    [0x90 ... 0x9F] = CONTINUATION | TO(AFTER_ED, ONE_MORE) | TO(AFTER_F0, TWO_MORE),
    [0xA0 ... 0xBF] = CONTINUATION | TO(AFTER_E0, ONE_MORE) | TO(AFTER_F0, TWO_MORE),
    [0xC2 ... 0xDF] = TO(COMPLETE, ONE_MORE),
    [0xE0] = TO(COMPLETE, AFTER_E0),
    [0xE1 ... 0xEC] = TO(COMPLETE, TWO_MORE),
    [0xED] = TO(COMPLETE, AFTER_ED),
    [0xEE ... 0xEF] = TO(COMPLETE, TWO_MORE),
    [0xF0] = TO(COMPLETE, AFTER_F0),
    [0xF1 ... 0xF3] = TO(COMPLETE, THREE_MORE),
    [0xF4] = TO(COMPLETE, AFTER_F4),
};

static unsigned next_state(unsigned state, unsigned char byte) {
    return (unsigned)(decoder[byte] >> state) & STATE_MASK;
}

/* As utf8_valid_prefix, one character at a time. */
static size_t valid_characters(const unsigned char *bytes, size_t size) {
    size_t at = 0, length;
    while ((length = utf8_sequence_length(bytes + at, size - at)) > 0)
        at += length;
    return at;
}

size_t utf8_valid_prefix(const unsigned char *bytes, size_t size) {
    enum { STRIDE = 64 };
    size_t at = 0;
    for (;;) {
        at += ascii_prefix(bytes + at, size - at);
        if (at == size)
            return size;
        const size_t start = at, end = size - at < STRIDE ? size : at + STRIDE;
        unsigned state = COMPLETE;
        while (at < end && state != BROKEN)
            state = next_state(state, bytes[at++]);
        while (state > COMPLETE && at < size)
            state = next_state(state, bytes[at++]);
        if (state != COMPLETE)
            return start + valid_characters(bytes + start, size - start);
    }
}

bool utf8_is_valid(const unsigned char *bytes, size_t size) {
    return size == 0 || utf8_valid_prefix(bytes, size) == size;
}

/* The number of bytes in WORD that begin a character. */
static size_t count_in_word(uint64_t word) {
    const uint64_t each = UINT64_C(0x0101010101010101);
    uint64_t continuations = word >> 7 & ~word >> 6 & each;
    return sizeof word - (size_t)(continuations * each >> 56);
}

size_t utf8_count(const unsigned char *bytes, size_t size) {
    size_t count = 0, at = 0;
    for (uint64_t word; size - at >= sizeof word; at += sizeof word) {
        memcpy(&word, bytes + at, sizeof word);
        count += count_in_word(word);
    }
    for (; at < size; at++)
        count += !utf8_is_continuation(bytes[at]);
    return count;
}

size_t utf8_offset(const unsigned char *bytes, size_t size, size_t count) {
    size_t at = 0;
    for (uint64_t word; size - at >= sizeof word && count > sizeof word; at += sizeof word) {
        memcpy(&word, bytes + at, sizeof word);
        count -= count_in_word(word);
    }
    while (at < size) {
        if (!utf8_is_continuation(bytes[at]) && count-- == 0)
            return at;
        at++;
    }
    return size;
}

size_t utf8_offset_from_end(const unsigned char *bytes, size_t size, size_t count) {
    while (size && count)
        count -= !utf8_is_continuation(bytes[--size]);
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
    if (bytes[0] < 0xE0) /* of no sequence of more than two bytes */
        return 1;
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
        size_t good = utf8_sequence_length(bytes, size) ? utf8_valid_prefix(bytes, size) : 0;
        if (good && !buffer_append(out, bytes, good))
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

struct span utf8_without_mark(struct span text) {
    static const unsigned char mark[] = {0xEF, 0xBB, 0xBF};
    const bool marked = text.length >= sizeof mark && memcmp(text.bytes, mark, sizeof mark) == 0;
    return marked ? (struct span){text.bytes + sizeof mark, text.length - sizeof mark} : text;
}
