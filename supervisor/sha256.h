/* SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104), for the states that clients keep for us. */
#ifndef ECLAVE_SUPERVISOR_SHA256_H
#define ECLAVE_SUPERVISOR_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32, SHA256_BLOCK_BYTES = 64 };

/* A digest being made; bytes may come in any portions. */
struct sha256 {
    uint32_t state[8];
    uint64_t length; /* bytes so far */
    unsigned char block[SHA256_BLOCK_BYTES];
};

struct sha256 sha256_begin(void);
void sha256_add(struct sha256 *sha, const void *bytes, size_t size);
void sha256_end(struct sha256 *sha, unsigned char digest[SHA256_BYTES]);

/* The MAC of TEXT under KEY, of any length. */
void hmac_sha256(const void *key, size_t key_size, const void *text, size_t size,
                 unsigned char mac[SHA256_BYTES]);

/* Are the SIZE bytes the same? Takes as long wherever they differ. */
bool bytes_equal_slowly(const void *one, const void *other, size_t size);

#endif
