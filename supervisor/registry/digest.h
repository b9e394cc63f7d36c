/* Digests to compare files, listings and requests: BLAKE2b under a random key of this process, so
 * that nobody can prepare two contents with one digest. They mean nothing to another process. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_DIGEST_H
#define ECLAVE_SUPERVISOR_REGISTRY_DIGEST_H

#include <json-c/json.h>
#include <sodium.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { DIGEST_BYTES = 16, DIGEST_TEXT_BYTES = 2 * DIGEST_BYTES + 1 };

struct digest_key {
    unsigned char bytes[crypto_generichash_KEYBYTES];
};

struct digest {
    unsigned char bytes[DIGEST_BYTES];
};

/* A digest in the making. Its alignment is stricter than malloc's. */
struct digester {
    crypto_generichash_state state;
};

struct digester digest_begin(const struct digest_key *key);
/* Adds bytes; how they are divided into calls makes no difference. */
void digest_add(struct digester *digester, const void *bytes, size_t size);
/* Adds a string with its length, so that "a","bc" differs from "ab","c", and NULL from "". */
void digest_add_text(struct digester *digester, const char *text);
void digest_add_number(struct digester *digester, uint64_t number);
/* Adds VALUE (NULL: null), whatever the order of its members. */
void digest_add_json(struct digester *digester, struct json_object *value);
/* The digester may not be used afterwards. */
struct digest digest_end(struct digester *digester);

/* 32 hexadecimal digits. */
void digest_write(struct digest digest, char text[DIGEST_TEXT_BYTES]);

static inline bool digest_equal(struct digest left, struct digest right) {
    return memcmp(left.bytes, right.bytes, DIGEST_BYTES) == 0;
}

#endif
