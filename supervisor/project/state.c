/* Making and checking states. Believes nothing in one before its MAC is right. */
#include "supervisor/project/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEX_BYTES = 2 * STATE_HASH_BYTES };

void state_key_make(struct state_key *key) {
    randombytes_buf(key->bytes, sizeof key->bytes);
}

/* --- binding --- */

static void add(crypto_generichash_state *hash, const void *bytes, size_t size) {
    crypto_generichash_update(hash, bytes, size);
}

static void add_text(crypto_generichash_state *hash, const char *text, size_t size) {
    uint64_t length = size;
    add(hash, &length, sizeof length);
    add(hash, text, size);
}

static int by_name(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static void add_value(crypto_generichash_state *hash, struct json_object *value);

/* NOLINTBEGIN(misc-no-recursion): json.max_depth deep at most */
/* In the order of the names. Without memory for that, in the order that they have. */
static void add_object(crypto_generichash_state *hash, struct json_object *object) {
    size_t count = 0, size = (size_t)json_object_object_length(object);
    const char **names = calloc(size + 1, sizeof *names);
    json_object_object_foreach(object, name, value) {
        if (names) {
            names[count++] = name;
            continue;
        }
        add_text(hash, name, strlen(name));
        add_value(hash, value);
    }
    if (count)
        qsort(names, count, sizeof *names, by_name);
    for (size_t i = 0; i < count; i++) {
        add_text(hash, names[i], strlen(names[i]));
        add_value(hash, json_object_object_get(object, names[i]));
    }
    free(names);
}

static void add_value(crypto_generichash_state *hash, struct json_object *value) {
    int type = (int)json_object_get_type(value);
    add(hash, &type, sizeof type);
    if (json_object_is_type(value, json_type_object)) {
        add_object(hash, value);
    } else if (json_object_is_type(value, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(value); i++)
            add_value(hash, json_object_array_get_idx(value, i));
    } else {
        size_t length = 0;
        const char *text =
            json_object_to_json_string_length(value, JSON_C_TO_STRING_PLAIN, &length);
        add_text(hash, text ? text : "", text ? length : 0);
    }
    add(hash, "", 1); /* its end */
}

/* NOLINTEND(misc-no-recursion) */

/* Under the same key as the MAC, but never of the same bytes: a state's text has no zero byte, and
 * METHOD's length, which comes first here, has some. */
void state_bind(const struct state_key *key, const char *method, const char *name,
                struct json_object *arguments, unsigned char binding[STATE_HASH_BYTES]) {
    crypto_generichash_state hash;
    crypto_generichash_init(&hash, key->bytes, sizeof key->bytes, STATE_HASH_BYTES);
    add_text(&hash, method, strlen(method));
    add_text(&hash, name, strlen(name));
    if (arguments && json_object_object_length(arguments) > 0)
        add_value(&hash, arguments);
    crypto_generichash_final(&hash, binding, STATE_HASH_BYTES);
}

/* --- text: "RUN.ROUND.EXPIRY.BINDING.MAC", all in hexadecimal digits --- */

static void write_hex(const unsigned char bytes[STATE_HASH_BYTES], char text[HEX_BYTES + 1]) {
    sodium_bin2hex(text, HEX_BYTES + 1, bytes, STATE_HASH_BYTES);
}

static void write_mac(const struct state_key *key, const char *text, size_t size,
                      char mac[HEX_BYTES + 1]) {
    unsigned char bytes[STATE_HASH_BYTES];
    crypto_generichash(bytes, sizeof bytes, (const unsigned char *)text, size, key->bytes,
                       sizeof key->bytes);
    write_hex(bytes, mac);
}

void state_write(const struct state_key *key, const struct state *state,
                 char text[STATE_TEXT_BYTES]) {
    char binding[HEX_BYTES + 1], mac[HEX_BYTES + 1];
    write_hex(state->binding, binding);
    snprintf(text, STATE_TEXT_BYTES, "%" PRIx64 ".%" PRIx64 ".%" PRIx64 ".%s.", state->run,
             state->round, (uint64_t)state->expires_ns, binding);
    size_t length = strlen(text);
    write_mac(key, text, length, mac);
    snprintf(text + length, STATE_TEXT_BYTES - length, "%s", mac);
}

/* The number at the start of *TEXT, which we wrote; moves behind its point. */
static uint64_t take_number(const char **text) {
    char *end;
    uint64_t number = strtoull(*text, &end, 16);
    *text = *end ? end + 1 : end;
    return number;
}

const char *state_read(const struct state_key *key, const char *text,
                       const unsigned char binding[STATE_HASH_BYTES], int64_t now_ns,
                       struct state *state) {
    char mac[HEX_BYTES + 1], wanted[HEX_BYTES + 1], given[HEX_BYTES + 1];
    const char *last = strrchr(text, '.');
    if (!last || strlen(last + 1) != HEX_BYTES)
        return "requestState was not made by this server.";
    write_mac(key, text, (size_t)(last + 1 - text), mac);
    if (sodium_memcmp(mac, last + 1, HEX_BYTES) != 0)
        return "requestState was altered, or made by another process of this server.";
    state->run = take_number(&text);
    state->round = take_number(&text);
    state->expires_ns = (int64_t)take_number(&text);
    snprintf(given, sizeof given, "%s", text);
    write_hex(binding, wanted);
    if (strcmp(given, wanted) != 0)
        return "requestState belongs to another request: method, name and arguments must be those "
               "of the request that it answered.";
    memcpy(state->binding, binding, STATE_HASH_BYTES);
    return now_ns > state->expires_ns ? "requestState has expired; send the request anew." : NULL;
}
