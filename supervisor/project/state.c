/* Making and checking states. Believes nothing in one before its MAC is right. */
#include "supervisor/project/state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { HEX_BYTES = 2 * SHA256_BYTES };

bool state_key_make(struct state_key *key, struct error *error) {
    return getrandom(key->bytes, sizeof key->bytes, 0) == (ssize_t)sizeof key->bytes ||
           error_set(error, errno, "no random bytes");
}

/* --- binding --- */

static void digest_text(struct sha256 *sha, const char *text, size_t size) {
    uint64_t length = size;
    sha256_add(sha, &length, sizeof length);
    sha256_add(sha, text, size);
}

static int by_name(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static void digest_value(struct sha256 *sha, struct json_object *value);

/* NOLINTBEGIN(misc-no-recursion): json.max_depth deep at most */
/* In the order of the names. Without memory for that, in the order that they have. */
static void digest_object(struct sha256 *sha, struct json_object *object) {
    size_t count = 0, size = (size_t)json_object_object_length(object);
    const char **names = calloc(size + 1, sizeof *names);
    json_object_object_foreach(object, name, value) {
        if (names) {
            names[count++] = name;
            continue;
        }
        digest_text(sha, name, strlen(name));
        digest_value(sha, value);
    }
    if (count)
        qsort(names, count, sizeof *names, by_name);
    for (size_t i = 0; i < count; i++) {
        digest_text(sha, names[i], strlen(names[i]));
        digest_value(sha, json_object_object_get(object, names[i]));
    }
    free(names);
}

static void digest_value(struct sha256 *sha, struct json_object *value) {
    int type = (int)json_object_get_type(value);
    sha256_add(sha, &type, sizeof type);
    if (json_object_is_type(value, json_type_object)) {
        digest_object(sha, value);
    } else if (json_object_is_type(value, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(value); i++)
            digest_value(sha, json_object_array_get_idx(value, i));
    } else {
        size_t length = 0;
        const char *text =
            json_object_to_json_string_length(value, JSON_C_TO_STRING_PLAIN, &length);
        digest_text(sha, text ? text : "", text ? length : 0);
    }
    sha256_add(sha, "", 1); /* its end */
}

/* NOLINTEND(misc-no-recursion) */

void state_bind(const struct state_key *key, const char *method, const char *name,
                struct json_object *arguments, unsigned char binding[SHA256_BYTES]) {
    unsigned char digest[SHA256_BYTES];
    struct sha256 sha = sha256_begin();
    digest_text(&sha, method, strlen(method));
    digest_text(&sha, name, strlen(name));
    if (arguments && json_object_object_length(arguments) > 0)
        digest_value(&sha, arguments);
    sha256_end(&sha, digest);
    hmac_sha256(key->bytes, sizeof key->bytes, digest, sizeof digest, binding);
}

/* --- text: "RUN.ROUND.EXPIRY.BINDING.MAC", all in hexadecimal digits --- */

static void write_hex(const unsigned char bytes[SHA256_BYTES], char text[HEX_BYTES + 1]) {
    for (size_t i = 0; i < SHA256_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

static void write_mac(const struct state_key *key, const char *text, size_t size,
                      char mac[HEX_BYTES + 1]) {
    unsigned char bytes[SHA256_BYTES];
    hmac_sha256(key->bytes, sizeof key->bytes, text, size, bytes);
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
                       const unsigned char binding[SHA256_BYTES], int64_t now_ns,
                       struct state *state) {
    char mac[HEX_BYTES + 1], wanted[HEX_BYTES + 1], given[HEX_BYTES + 1];
    const char *last = strrchr(text, '.');
    if (!last || strlen(last + 1) != HEX_BYTES)
        return "requestState was not made by this server.";
    write_mac(key, text, (size_t)(last + 1 - text), mac);
    if (!bytes_equal_slowly(mac, last + 1, HEX_BYTES))
        return "requestState was altered, or made by another process of this server.";
    state->run = take_number(&text);
    state->round = take_number(&text);
    state->expires_ns = (int64_t)take_number(&text);
    snprintf(given, sizeof given, "%s", text);
    write_hex(binding, wanted);
    if (strcmp(given, wanted) != 0)
        return "requestState belongs to another request: method, name and arguments must be those "
               "of the request that it answered.";
    memcpy(state->binding, binding, SHA256_BYTES);
    return now_ns > state->expires_ns ? "requestState has expired; send the request anew." : NULL;
}
