/* Makes and checks states: "INVOCATION.ROUND.EXPIRY.BINDING.MAC", all in hexadecimal digits. */
#include "supervisor/project/request_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAC_TEXT_BYTES = 2 * crypto_generichash_BYTES + 1 };

struct digest request_state_binding(const struct digest_key *key, const char *method,
                                    const char *name, struct json_object *arguments) {
    struct digester digester = digest_begin(key);
    digest_add_text(&digester, method);
    digest_add_text(&digester, name);
    if (arguments && json_object_object_length(arguments) > 0)
        digest_add_json(&digester, arguments);
    return digest_end(&digester);
}

/* The key is that of the bindings, but these have another length, and BLAKE2b of one length tells
 * nothing about that of another. */
static void write_mac(const struct digest_key *key, const char *text, size_t size,
                      char mac[MAC_TEXT_BYTES]) {
    unsigned char bytes[crypto_generichash_BYTES];
    crypto_generichash(bytes, sizeof bytes, (const unsigned char *)text, size, key->bytes,
                       sizeof key->bytes);
    sodium_bin2hex(mac, MAC_TEXT_BYTES, bytes, sizeof bytes);
}

void request_state_write(const struct digest_key *key, const struct request_state *state,
                         char text[REQUEST_STATE_BYTES]) {
    char binding[DIGEST_TEXT_BYTES], mac[MAC_TEXT_BYTES];
    digest_write(state->binding, binding);
    snprintf(text, REQUEST_STATE_BYTES, "%" PRIx64 ".%" PRIx64 ".%" PRIx64 ".%s.",
             state->invocation, state->round, (uint64_t)state->expires_ns, binding);
    size_t length = strlen(text);
    write_mac(key, text, length, mac);
    snprintf(text + length, REQUEST_STATE_BYTES - length, "%s", mac);
}

/* Reads the number at the start of *TEXT and moves *TEXT after the point that follows it. */
static uint64_t take_number(const char **text) {
    char *end;
    uint64_t number = strtoull(*text, &end, 16);
    *text = *end ? end + 1 : end;
    return number;
}

const char *request_state_read(const struct digest_key *key, const char *text,
                               struct digest binding, int64_t now_ns, struct request_state *state) {
    char mac[MAC_TEXT_BYTES], expected[DIGEST_TEXT_BYTES];
    const char *last = strrchr(text, '.');
    if (!last || strlen(last + 1) != MAC_TEXT_BYTES - 1)
        return "requestState was not made by this server.";
    write_mac(key, text, (size_t)(last + 1 - text), mac);
    if (sodium_memcmp(mac, last + 1, MAC_TEXT_BYTES - 1) != 0)
        return "requestState was altered, or made by another process of this server.";
    state->invocation = take_number(&text);
    state->round = take_number(&text);
    state->expires_ns = (int64_t)take_number(&text);
    state->binding = binding;
    digest_write(binding, expected);
    if (strncmp(text, expected, DIGEST_TEXT_BYTES - 1) != 0)
        return "requestState belongs to another request: method, name and arguments must be those "
               "of the request that it answered.";
    return now_ns > state->expires_ns ? "requestState has expired; send the request anew." : NULL;
}
