/* Keyed BLAKE2b, fed in portions. Never allocates. */
#include "supervisor/registry/digest.h"

struct digester digest_begin(const struct digest_key *key) {
    struct digester digester;
    crypto_generichash_init(&digester.state, key->bytes, sizeof key->bytes, DIGEST_BYTES);
    return digester;
}

void digest_add(struct digester *digester, const void *bytes, size_t size) {
    crypto_generichash_update(&digester->state, bytes, size);
}

void digest_add_number(struct digester *digester, uint64_t number) {
    digest_add(digester, &number, sizeof number);
}

void digest_add_text(struct digester *digester, const char *text) {
    digest_add_number(digester, text ? strlen(text) : UINT64_MAX);
    if (text)
        digest_add(digester, text, strlen(text));
}

struct digest digest_end(struct digester *digester) {
    struct digest digest;
    crypto_generichash_final(&digester->state, digest.bytes, sizeof digest.bytes);
    return digest;
}

void digest_write(struct digest digest, char text[DIGEST_TEXT_BYTES]) {
    sodium_bin2hex(text, DIGEST_TEXT_BYTES, digest.bytes, sizeof digest.bytes);
}
