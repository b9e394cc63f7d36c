/* Which bytes may stand in a JSON string as they are, found eight at a time: all but controls, the
 * quotation mark and the backslash. U+007F is harmless and left alone. */
#ifndef ECLAVE_SUPERVISOR_JSON_JSON_PLAIN_H
#define ECLAVE_SUPERVISOR_JSON_JSON_PLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline bool json_is_plain(unsigned char byte) {
    return byte >= 0x20 && byte != '"' && byte != '\\';
}

/* Is each byte of WORD plain? A subtraction sets the high bit of a byte that was too small; what it
 * borrows can only make one wrong behind another that is right. */
static inline bool json_word_is_plain(uint64_t word) {
    const uint64_t each = UINT64_C(0x0101010101010101), high = each << 7;
    uint64_t quote = word ^ each * '"', backslash = word ^ each * '\\';
    uint64_t small = (word - each * 0x20) & ~word, is_quote = (quote - each) & ~quote,
             is_backslash = (backslash - each) & ~backslash;
    return ((small | is_quote | is_backslash) & high) == 0;
}

/* How many bytes from the beginning on are plain. */
static inline size_t json_plain_prefix(const unsigned char *bytes, size_t size) {
    size_t at = 0;
    for (uint64_t word; size - at >= sizeof word; at += sizeof word) {
        memcpy(&word, bytes + at, sizeof word);
        if (!json_word_is_plain(word))
            break;
    }
    while (at < size && json_is_plain(bytes[at]))
        at++;
    return at;
}

#endif
