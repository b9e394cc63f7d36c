/* Digests of files and listings, to tell whether they are the same: SipHash-2-4 with 128 bits of
 * result (Aumasson and Bernstein, https://github.com/veorq/SipHash, public domain). It is a few
 * lines where SHA-256 would want a library, several times faster, and with a key that never leaves
 * the process nobody can prepare two texts with one digest. It is not for anything that outlives
 * the process. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_DIGEST_H
#define ECLAVE_SUPERVISOR_REGISTRY_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct digest_key {
    uint64_t words[2];
};

struct digest {
    uint64_t words[2];
};

enum { DIGEST_TEXT_BYTES = 33 };

/* A digest being made; bytes may come in any portions. */
struct digester {
    uint64_t state[4];
    uint64_t pending; /* the last length % 8 bytes, the first of them lowest */
    uint64_t length;
};

struct digester digest_begin(const struct digest_key *key);
void digest_add(struct digester *digester, const void *bytes, size_t size);
/* The same for text with its end, so that "a","bc" differs from "ab","c". NULL differs from "". */
void digest_add_text(struct digester *digester, const char *text);
void digest_add_number(struct digester *digester, uint64_t number);
struct digest digest_end(struct digester *digester);

/* 32 hexadecimal digits. */
void digest_write(struct digest digest, char text[DIGEST_TEXT_BYTES]);

static inline bool digest_equal(struct digest left, struct digest right) {
    return left.words[0] == right.words[0] && left.words[1] == right.words[1];
}

#endif
