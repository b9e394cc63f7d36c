/* BLAKE2b, after RFC 7693. */
#include "common/blake2b.h"

#include <string.h>

enum { WORDS = 16, ROUNDS = 12 };

static const uint64_t start[8] = {UINT64_C(0x6a09e667f3bcc908), UINT64_C(0xbb67ae8584caa73b),
                                  UINT64_C(0x3c6ef372fe94f82b), UINT64_C(0xa54ff53a5f1d36f1),
                                  UINT64_C(0x510e527fade682d1), UINT64_C(0x9b05688c2b3e6c1f),
                                  UINT64_C(0x1f83d9abfb41bd6b), UINT64_C(0x5be0cd19137e2179)};

static const unsigned char order[10][WORDS] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

static uint64_t rotate(uint64_t word, unsigned bits) {
    return word >> bits | word << (64 - bits);
}

static void mix(uint64_t v[WORDS], size_t a, size_t b, size_t c, size_t d, uint64_t x, uint64_t y) {
    v[a] += v[b] + x;
    v[d] = rotate(v[d] ^ v[a], 32);
    v[c] += v[d];
    v[b] = rotate(v[b] ^ v[c], 24);
    v[a] += v[b] + y;
    v[d] = rotate(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = rotate(v[b] ^ v[c], 63);
}

/* Takes in the block, of which the bytes after those that wait are 0. */
static void compress(struct blake2b *hash, uint64_t last) {
    uint64_t v[WORDS], words[WORDS];
    hash->length += hash->waiting;
    for (size_t i = 0; i < WORDS; i++) {
        words[i] = 0;
        for (size_t byte = sizeof *words; byte-- > 0;)
            words[i] = words[i] << 8 | hash->block[i * sizeof *words + byte];
    }
    memcpy(v, hash->state, sizeof hash->state);
    memcpy(v + 8, start, sizeof start);
    v[12] ^= hash->length;
    v[14] ^= last;
    for (size_t round = 0; round < ROUNDS; round++) {
        const unsigned char *at = order[round % 10];
        for (size_t i = 0; i < 4; i++)
            mix(v, i, 4 + i, 8 + i, 12 + i, words[at[2 * i]], words[at[2 * i + 1]]);
        for (size_t i = 0; i < 4; i++)
            mix(v, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, words[at[2 * i + 8]],
                words[at[2 * i + 9]]);
    }
    for (size_t i = 0; i < 8; i++)
        hash->state[i] ^= v[i] ^ v[i + 8];
    hash->waiting = 0;
}

void blake2b_begin(struct blake2b *hash) {
    *hash = (struct blake2b){0};
    memcpy(hash->state, start, sizeof start);
    hash->state[0] ^= UINT64_C(0x01010000) ^ BLAKE2B_BYTES;
}

void blake2b_add(struct blake2b *hash, const void *bytes, size_t size) {
    const unsigned char *at = bytes;
    while (size) {
        /* The last block waits for the end, since it is taken in differently. */
        if (hash->waiting == BLAKE2B_BLOCK_BYTES)
            compress(hash, 0);
        size_t taken = BLAKE2B_BLOCK_BYTES - hash->waiting;
        if (taken > size)
            taken = size;
        memcpy(hash->block + hash->waiting, at, taken);
        hash->waiting += taken;
        at += taken;
        size -= taken;
    }
}

void blake2b_end(struct blake2b *hash, unsigned char result[BLAKE2B_BYTES]) {
    memset(hash->block + hash->waiting, 0, BLAKE2B_BLOCK_BYTES - hash->waiting);
    compress(hash, UINT64_MAX);
    for (size_t i = 0; i < BLAKE2B_BYTES; i++)
        result[i] = (unsigned char)(hash->state[i / 8] >> 8 * (i % 8));
}
