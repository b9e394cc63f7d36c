/* SipHash-2-4 as its authors describe it (Aumasson and Bernstein, 2012). Never allocates. */
#include "common/siphash.h"

#include <endian.h>
#include <string.h>

struct state {
    uint64_t v0, v1, v2, v3;
};

static uint64_t rotate(uint64_t word, unsigned bits) {
    return word << bits | word >> (64 - bits);
}

static void rounds(struct state *state, unsigned count) {
    while (count--) {
        state->v0 += state->v1;
        state->v1 = rotate(state->v1, 13) ^ state->v0;
        state->v0 = rotate(state->v0, 32);
        state->v2 += state->v3;
        state->v3 = rotate(state->v3, 16) ^ state->v2;
        state->v0 += state->v3;
        state->v3 = rotate(state->v3, 21) ^ state->v0;
        state->v2 += state->v1;
        state->v1 = rotate(state->v1, 17) ^ state->v2;
        state->v2 = rotate(state->v2, 32);
    }
}

static uint64_t load(const unsigned char *bytes, size_t size) {
    uint64_t word = 0;
    if (size)
        memcpy(&word, bytes, size);
    return le64toh(word);
}

static void absorb(struct state *state, uint64_t word) {
    state->v3 ^= word;
    rounds(state, 2);
    state->v0 ^= word;
}

uint64_t siphash(const unsigned char key[16], const void *bytes, size_t size) {
    const unsigned char *at = bytes;
    const uint64_t k0 = load(key, 8), k1 = load(key + 8, 8);
    struct state state = {k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d),
                          k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573)};
    size_t left = size;
    for (; left >= 8; left -= 8, at += 8)
        absorb(&state, load(at, 8));
    absorb(&state, load(at, left) | (uint64_t)size << 56);
    state.v2 ^= 0xff;
    rounds(&state, 4);
    return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}
