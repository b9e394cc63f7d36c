/* Inside a JSON string: runs of bytes without an escape, and the digits of \uXXXX. */
#ifndef ECLAVE_SUPERVISOR_JSON_JSON_STRING_INTERNAL_H
#define ECLAVE_SUPERVISOR_JSON_JSON_STRING_INTERNAL_H

#include "common/utf8.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* True for a byte that needs no escape. U+007F needs none. */
static inline bool json_is_plain(unsigned char byte) {
    return byte >= 0x20 && byte != '"' && byte != '\\';
}

/* Zero if all eight bytes of WORD are plain; else a word whose lowest bit is in the first byte that
 * is not. A subtraction sets the high bit of each byte that was too small. It borrows from the next
 * byte only after such a byte. */
static inline uint64_t json_not_plain(uint64_t word) {
    const uint64_t each = UINT64_C(0x0101010101010101), high = each << 7;
    uint64_t quote = word ^ each * '"', backslash = word ^ each * '\\';
    uint64_t small = (word - each * 0x20) & ~word, is_quote = (quote - each) & ~quote,
             is_backslash = (backslash - each) & ~backslash;
    return (small | is_quote | is_backslash) & high;
}

/* The number of plain bytes before the first that is not plain. */
static inline size_t json_plain_prefix(const unsigned char *bytes, size_t size) {
    size_t at = 0;
    for (uint64_t word, stop; size - at >= sizeof word; at += sizeof word) {
        memcpy(&word, bytes + at, sizeof word);
        stop = json_not_plain(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? word
                                                                        : __builtin_bswap64(word));
        if (stop)
            return at + (size_t)__builtin_ctzll(stop) / 8;
    }
    while (at < size && json_is_plain(bytes[at]))
        at++;
    return at;
}

/* The UTF-16 unit of a valid \uXXXX, from its four digits. */
static inline unsigned json_hex_unit(const unsigned char *digits) {
    unsigned unit = 0;
    for (int i = 0; i < 4; i++)
        unit = unit * 16 +
               (digits[i] <= '9' ? digits[i] - (unsigned)'0' : (digits[i] | 0x20U) - 'a' + 10U);
    return unit;
}

/* Decodes the character at *at, inside a valid string of which BYTES has at least SIZE, and moves
 * *at past it. A lone surrogate is returned as it is. */
static inline uint32_t json_next_character(const unsigned char *bytes, size_t size, size_t *at) {
    static const char names[] = "b\bf\fn\nr\rt\t";
    const unsigned char *next = bytes + *at;
    if (next[0] != '\\') {
        *at += utf8_sequence_length(next, size - *at);
        return utf8_decode(next);
    }
    if (next[1] == 'u') {
        uint32_t unit = json_hex_unit(next + 2);
        *at += 6;
        bool high = unit >= 0xD800 && unit <= 0xDBFF;
        uint32_t low = high && next[6] == '\\' && next[7] == 'u' ? json_hex_unit(next + 8) : 0;
        if (low < 0xDC00 || low > 0xDFFF)
            return unit;
        *at += 6;
        return 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
    }
    *at += 2;
    for (size_t i = 0; i + 1 < sizeof names; i += 2)
        if ((unsigned char)names[i] == next[1])
            return (unsigned char)names[i + 1];
    return next[1];
}

#endif
