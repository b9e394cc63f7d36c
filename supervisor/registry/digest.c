/* Keyed BLAKE2b over bytes, strings and JSON. */
#include "supervisor/registry/digest.h"

#include <stdlib.h>

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

static int by_name(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* NOLINTBEGIN(misc-no-recursion): the parsers limit the depth */
/* Sorts the members by name; when out of memory, takes them as they are. */
static void add_object(struct digester *digester, struct json_object *object) {
    size_t count = 0, size = (size_t)json_object_object_length(object);
    const char **names = calloc(size + 1, sizeof *names);
    digest_add_number(digester, size);
    json_object_object_foreach(object, name, value) {
        if (names) {
            names[count++] = name;
            continue;
        }
        digest_add_text(digester, name);
        digest_add_json(digester, value);
    }
    if (count)
        qsort(names, count, sizeof *names, by_name);
    for (size_t i = 0; i < count; i++) {
        digest_add_text(digester, names[i]);
        digest_add_json(digester, json_object_object_get(object, names[i]));
    }
    free(names);
}

void digest_add_json(struct digester *digester, struct json_object *value) {
    enum json_type type = json_object_get_type(value);
    digest_add_number(digester, (uint64_t)type);
    if (type == json_type_object) {
        add_object(digester, value);
    } else if (type == json_type_array) {
        digest_add_number(digester, json_object_array_length(value));
        for (size_t i = 0; i < json_object_array_length(value); i++)
            digest_add_json(digester, json_object_array_get_idx(value, i));
    } else if (type == json_type_string) {
        size_t length = (size_t)json_object_get_string_len(value);
        digest_add_number(digester, length);
        digest_add(digester, json_object_get_string(value), length);
    } else {
        digest_add_text(digester, json_object_get_string(value));
    }
}
/* NOLINTEND(misc-no-recursion) */
