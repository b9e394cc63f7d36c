/* UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef ECLAVE_COMMON_UTF8_H
#define ECLAVE_COMMON_UTF8_H

#include "common/buffer.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UTF8_MAX_BYTES = 4 }; /* of a character */

/* BYTE is not the first byte of a character. */
static inline bool utf8_is_continuation(unsigned char byte) {
    return (byte & 0xC0) == 0x80;
}

/* The number of well-formed bytes at the start, SIZE if all are. A sequence truncated by the end of
 * the input is ill-formed. */
size_t utf8_valid_prefix(const unsigned char *bytes, size_t size);
bool utf8_is_valid(const unsigned char *bytes, size_t size);

/* TEXT without the byte order mark at its start, if it has one. */
struct span utf8_without_mark(struct span text);

/* The length (1 to 4) of the well-formed sequence at the start of BYTES, or 0 if there is none. */
size_t utf8_sequence_length(const unsigned char *bytes, size_t size);

/* The code point of the well-formed sequence at the start of BYTES. */
uint32_t utf8_decode(const unsigned char *bytes);

/* The number of code points in well-formed UTF-8. */
size_t utf8_count(const unsigned char *bytes, size_t size);

/* The byte offset of code point number COUNT (from 0) in well-formed UTF-8, or SIZE if there are
 * fewer. */
size_t utf8_offset(const unsigned char *bytes, size_t size, size_t count);
/* The byte offset of the COUNTth code point from the end, or 0 if there are fewer. */
size_t utf8_offset_from_end(const unsigned char *bytes, size_t size, size_t count);

/* Encodes CODE into OUT, which has room for 4 bytes, and returns the length. A surrogate or a value
 * above U+10FFFF becomes U+FFFD. */
size_t utf8_encode(uint32_t code, unsigned char *out);

/* Appends BYTES to OUT, each ill-formed part replaced by one U+FFFD. False if OUT is full. */
bool utf8_append_repaired(struct buffer *out, const unsigned char *bytes, size_t size);

#endif
