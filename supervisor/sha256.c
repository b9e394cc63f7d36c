/* SHA-256 as FIPS 180-4 has it, and the MAC that RFC 2104 makes of it. Allocates nothing. */
#include "supervisor/sha256.h"

#include <string.h>

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t word, unsigned by) {
    return word >> by | word << (32 - by);
}

static void fill_schedule(const unsigned char *block, uint32_t words[64]) {
    for (size_t i = 0; i < 16; i++)
        words[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
                   (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (size_t i = 16; i < 64; i++) {
        uint32_t old = words[i - 15], late = words[i - 2];
        words[i] = words[i - 16] + (turn(old, 7) ^ turn(old, 18) ^ old >> 3) + words[i - 7] +
                   (turn(late, 17) ^ turn(late, 19) ^ late >> 10);
    }
}

static void take_block(uint32_t state[8], const unsigned char *block) {
    uint32_t words[64], v[8]; /* v: a to h */
    fill_schedule(block, words);
    memcpy(v, state, sizeof v);
    for (size_t i = 0; i < 64; i++) {
        uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        uint32_t first = v[7] + (turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25)) + choice +
                         constants[i] + words[i];
        uint32_t second = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)) + majority;
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += first;
        v[0] = first + second;
    }
    for (size_t i = 0; i < 8; i++)
        state[i] += v[i];
}

struct sha256 sha256_begin(void) {
    return (struct sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                     0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(struct sha256 *sha, const void *bytes, size_t size) {
    const unsigned char *from = bytes;
    while (size) {
        size_t used = (size_t)(sha->length % SHA256_BLOCK_BYTES), room = SHA256_BLOCK_BYTES - used;
        size_t part = size < room ? size : room;
        memcpy(sha->block + used, from, part);
        sha->length += part;
        from += part;
        size -= part;
        if (part == room)
            take_block(sha->state, sha->block);
    }
}

void sha256_end(struct sha256 *sha, unsigned char digest[SHA256_BYTES]) {
    static const unsigned char padding[SHA256_BLOCK_BYTES] = {0x80};
    unsigned char length[8];
    for (unsigned i = 0; i < 8; i++)
        length[i] = (unsigned char)(sha->length * 8 >> (56 - 8 * i));
    size_t used = (size_t)(sha->length % SHA256_BLOCK_BYTES);
    sha256_add(sha, padding, used < 56 ? 56 - used : 120 - used);
    sha256_add(sha, length, sizeof length);
    for (unsigned i = 0; i < SHA256_BYTES; i++)
        digest[i] = (unsigned char)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}

static void hash_pair(const unsigned char *block, const void *text, size_t size,
                      unsigned char digest[SHA256_BYTES]) {
    struct sha256 sha = sha256_begin();
    sha256_add(&sha, block, SHA256_BLOCK_BYTES);
    sha256_add(&sha, text, size);
    sha256_end(&sha, digest);
}

void hmac_sha256(const void *key, size_t key_size, const void *text, size_t size,
                 unsigned char mac[SHA256_BYTES]) {
    unsigned char inner[SHA256_BLOCK_BYTES] = {0}, outer[SHA256_BLOCK_BYTES], digest[SHA256_BYTES];
    if (key_size > SHA256_BLOCK_BYTES) {
        struct sha256 sha = sha256_begin();
        sha256_add(&sha, key, key_size);
        sha256_end(&sha, inner);
    } else {
        memcpy(inner, key, key_size);
    }
    for (size_t i = 0; i < SHA256_BLOCK_BYTES; i++) {
        outer[i] = inner[i] ^ 0x5c;
        inner[i] ^= 0x36;
    }
    hash_pair(inner, text, size, digest);
    hash_pair(outer, digest, sizeof digest, mac);
}

bool bytes_equal_slowly(const void *one, const void *other, size_t size) {
    const volatile unsigned char *left = one, *right = other;
    unsigned char difference = 0;
    for (size_t i = 0; i < size; i++)
        difference |= left[i] ^ right[i];
    return difference == 0;
}
