/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef ECLAVE_COMMON_UTF8_H
#define ECLAVE_COMMON_UTF8_H

#include "common/buffer.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number of bytes from the start that are well-formed, SIZE when all are. A sequence cut off
 * by the end of the input counts as ill-formed. */
size_t utf8_valid_prefix(const unsigned char *bytes, size_t size);
bool utf8_is_valid(const unsigned char *bytes, size_t size);

/* Length in bytes (1 to 4) of the well-formed sequence at the start of BYTES, or 0. */
size_t utf8_sequence_length(const unsigned char *bytes, size_t size);

/* The code point of the well-formed sequence at the start of BYTES. */
uint32_t utf8_decode(const unsigned char *bytes);

/* Characters (code points) in well-formed text. */
size_t utf8_count(const unsigned char *bytes, size_t size);

/* Byte offset of character number COUNT in well-formed text, SIZE when it has fewer. */
size_t utf8_offset(const unsigned char *bytes, size_t size, size_t count);

/* Writes CODE into OUT (room for 4 bytes) and returns its length; a surrogate or a value beyond
 * U+10FFFF becomes U+FFFD. */
size_t utf8_encode(uint32_t code, unsigned char *out);

/* Appends BYTES to OUT with each ill-formed part replaced by one U+FFFD. False when OUT is full. */
bool utf8_append_repaired(struct buffer *out, const unsigned char *bytes, size_t size);

#endif
