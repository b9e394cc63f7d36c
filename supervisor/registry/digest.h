/* Digests of files and listings, to tell whether they are the same: BLAKE2b under a key that never
 * leaves the process, so that nobody can prepare two texts with one digest. They are not for
 * anything that outlives the process. */
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

/* A digest being made; bytes may come in any portions. Aligned more strictly than what malloc
 * gives. */
struct digester {
    crypto_generichash_state state;
};

struct digester digest_begin(const struct digest_key *key);
void digest_add(struct digester *digester, const void *bytes, size_t size);
/* The same for text with its end, so that "a","bc" differs from "ab","c". NULL differs from "". */
void digest_add_text(struct digester *digester, const char *text);
void digest_add_number(struct digester *digester, uint64_t number);
/* Ends the digester as well. */
struct digest digest_end(struct digester *digester);

/* 32 hexadecimal digits. */
void digest_write(struct digest digest, char text[DIGEST_TEXT_BYTES]);

static inline bool digest_equal(struct digest left, struct digest right) {
    return memcmp(left.bytes, right.bytes, DIGEST_BYTES) == 0;
}

/* Adds all that VALUE, which may be NULL, says. */
void digest_add_json(struct digester *digester, struct json_object *value);

#endif
