/* supervisor/project/state: a state that was changed, or comes with another request or key, is
 * refused. */
#include "supervisor/project/state.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { EXPIRES_NS = 1000 };

/* Writes a state of the request `tools/call` of "ask" with KEY; *binding is its binding. */
static void write_state(const struct state_key *key, unsigned char binding[STATE_HASH_BYTES],
                        char text[STATE_TEXT_BYTES]) {
    struct state state = {.run = 7, .round = 2, .expires_ns = EXPIRES_NS};
    state_bind(key, "tools/call", "ask", NULL, binding);
    memcpy(state.binding, binding, STATE_HASH_BYTES);
    state_write(key, &state, text);
}

Test(state, is_read_as_it_was_written) {
    struct state_key key;
    struct state state;
    unsigned char binding[STATE_HASH_BYTES];
    char text[STATE_TEXT_BYTES];
    state_key_make(&key);
    write_state(&key, binding, text);
    cr_assert_null(state_read(&key, text, binding, EXPIRES_NS, &state));
    cr_expect_eq(state.run, 7);
    cr_expect_eq(state.round, 2);
    cr_expect_eq(state.expires_ns, EXPIRES_NS);
    cr_expect_arr_eq(state.binding, binding, sizeof binding);
    cr_expect_not_null(state_read(&key, text, binding, EXPIRES_NS + 1, &state), "its time is over");
}

Test(state, is_refused_with_any_byte_changed) {
    struct state_key key;
    struct state state;
    unsigned char binding[STATE_HASH_BYTES];
    char text[STATE_TEXT_BYTES];
    state_key_make(&key);
    write_state(&key, binding, text);
    for (size_t i = 0, length = strlen(text); i < length; i++) {
        const char kept = text[i];
        for (unsigned change = 1; change < 256; change++) {
            text[i] = (char)((unsigned char)kept ^ change);
            cr_expect_not_null(state_read(&key, text, binding, 0, &state), "%zu: %u", i, change);
        }
        text[i] = kept;
    }
    cr_expect_null(state_read(&key, text, binding, 0, &state));
}

Test(state, is_refused_if_shorter_or_longer) {
    struct state_key key;
    struct state state;
    unsigned char binding[STATE_HASH_BYTES];
    char text[STATE_TEXT_BYTES], other[2 * STATE_TEXT_BYTES];
    state_key_make(&key);
    write_state(&key, binding, text);
    for (size_t i = 0, length = strlen(text); i < length; i++) {
        snprintf(other, sizeof other, "%.*s", (int)i, text);
        cr_expect_not_null(state_read(&key, other, binding, 0, &state), "%s", other);
        cr_expect_not_null(state_read(&key, text + i + 1, binding, 0, &state), "%s", text + i + 1);
        snprintf(other, sizeof other, "%.*s0%s", (int)i, text, text + i);
        cr_expect_not_null(state_read(&key, other, binding, 0, &state), "%s", other);
    }
}

Test(state, is_refused_under_another_key) {
    struct state_key key, other;
    struct state state;
    unsigned char binding[STATE_HASH_BYTES];
    char text[STATE_TEXT_BYTES];
    state_key_make(&key);
    write_state(&key, binding, text);
    for (size_t i = 0; i < 8 * sizeof key.bytes; i++) {
        other = key;
        other.bytes[i / 8] ^= (unsigned char)(1 << i % 8);
        cr_expect_not_null(state_read(&other, text, binding, 0, &state), "bit %zu", i);
    }
}

Test(state, is_bound_to_its_request_in_any_order_of_members) {
    static const struct {
        const char *method, *name, *arguments;
    } requests[] = {
        {"tools/call", "ask", "{\"a\":1,\"b\":[2,\"3\"]}"},
        {"tools/call", "ask", "{\"b\":[2,\"3\"],\"a\":1}"}, /* the same */
        {"tools/call", "ask", "{}"},
        {"tools/calla", "sk", "{}"},
        {"tools/call", "ask", "{\"a\":1,\"b\":[2,3]}"},
        {"tools/call", "ask", "{\"a\":1,\"b\":[\"3\",2]}"},
        {"tools/call", "ask", "{\"a\":1,\"b\":[[2,\"3\"]]}"},
        {"prompts/get", "ask", "{\"a\":1,\"b\":[2,\"3\"]}"},
        {"tools/call", "other", "{\"a\":1,\"b\":[2,\"3\"]}"},
    };
    enum { COUNT = sizeof requests / sizeof *requests };
    struct state_key key;
    unsigned char bindings[COUNT][STATE_HASH_BYTES];
    state_key_make(&key);
    for (size_t i = 0; i < COUNT; i++) {
        struct json_object *arguments = json_tokener_parse(requests[i].arguments);
        state_bind(&key, requests[i].method, requests[i].name, arguments, bindings[i]);
        json_object_put(arguments);
        for (size_t j = 0; j < i; j++)
            cr_expect_eq(memcmp(bindings[i], bindings[j], STATE_HASH_BYTES) == 0, i == 1,
                         "%zu and %zu", i, j);
    }
}
