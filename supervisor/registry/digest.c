/* SipHash-2-4-128, fed in portions. Never allocates and never keeps a key. */
#include "supervisor/registry/digest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint64_t rotate(uint64_t word, unsigned bits) {
    return word << bits | word >> (64 - bits);
}

static void mix(uint64_t v[4], int rounds) {
    while (rounds-- > 0) {
        v[0] += v[1];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[0] = rotate(v[0], 32);
        v[2] += v[3];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] += v[3];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] += v[1];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[2] = rotate(v[2], 32);
    }
}

static void take_word(uint64_t v[4], uint64_t word) {
    v[3] ^= word;
    mix(v, 2);
    v[0] ^= word;
}

struct digester digest_begin(const struct digest_key *key) {
    return (struct digester){.state = {key->words[0] ^ UINT64_C(0x736f6d6570736575),
                                       key->words[1] ^ UINT64_C(0x646f72616e646f6d) ^ 0xee,
                                       key->words[0] ^ UINT64_C(0x6c7967656e657261),
                                       key->words[1] ^ UINT64_C(0x7465646279746573)}};
}

static uint64_t word_at(const unsigned char *bytes) {
    uint64_t word = 0;
    for (unsigned i = 0; i < 8; i++)
        word |= (uint64_t)bytes[i] << 8 * i;
    return word;
}

static void take_byte(struct digester *digester, unsigned char byte) {
    digester->pending |= (uint64_t)byte << 8 * (digester->length++ % 8);
    if (digester->length % 8 == 0) {
        take_word(digester->state, digester->pending);
        digester->pending = 0;
    }
}

void digest_add(struct digester *digester, const void *bytes, size_t size) {
    const unsigned char *at = bytes;
    for (; size && digester->length % 8; size--)
        take_byte(digester, *at++);
    for (; size >= 8; size -= 8, at += 8, digester->length += 8)
        take_word(digester->state, word_at(at));
    for (; size; size--)
        take_byte(digester, *at++);
}

void digest_add_number(struct digester *digester, uint64_t number) {
    digest_add(digester, &number, sizeof number);
}

void digest_add_text(struct digester *digester, const char *text) {
    digest_add_number(digester, text ? strlen(text) : UINT64_MAX);
    if (text)
        digest_add(digester, text, strlen(text));
}

static uint64_t fold(const uint64_t v[4]) {
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

struct digest digest_end(struct digester *digester) {
    struct digest digest;
    uint64_t *v = digester->state;
    take_word(v, digester->pending | digester->length << 56);
    v[2] ^= 0xee;
    mix(v, 4);
    digest.words[0] = fold(v);
    v[1] ^= 0xdd;
    mix(v, 4);
    digest.words[1] = fold(v);
    return digest;
}

void digest_write(struct digest digest, char text[DIGEST_TEXT_BYTES]) {
    snprintf(text, DIGEST_TEXT_BYTES, "%016" PRIx64 "%016" PRIx64, digest.words[0],
             digest.words[1]);
}
