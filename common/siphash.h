/* SipHash-2-4: a 64-bit hash under a key that whoever chooses the input does not know. */
#ifndef ECLAVE_COMMON_SIPHASH_H
#define ECLAVE_COMMON_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t siphash(const unsigned char key[16], const void *bytes, size_t size);

#endif
