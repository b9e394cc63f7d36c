/* BLAKE2b of 16 bytes, without a key (RFC 7693). The worker has no library for it. */
#ifndef ECLAVE_COMMON_BLAKE2B_H
#define ECLAVE_COMMON_BLAKE2B_H

#include <stddef.h>
#include <stdint.h>

enum { BLAKE2B_BYTES = 16, BLAKE2B_BLOCK_BYTES = 128 };

struct blake2b {
    uint64_t state[8];
    uint64_t length; /* of what is hashed, without what waits in the block */
    unsigned char block[BLAKE2B_BLOCK_BYTES];
    size_t waiting; /* bytes in the block */
};

void blake2b_begin(struct blake2b *hash);
void blake2b_add(struct blake2b *hash, const void *bytes, size_t size);
void blake2b_end(struct blake2b *hash, unsigned char result[BLAKE2B_BYTES]);

#endif
