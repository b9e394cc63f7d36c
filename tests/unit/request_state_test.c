/* supervisor/project/request_state: a state that was altered, or that comes with another request or
 * key, is refused. */
#include "supervisor/json/json_tree.h"
#include "supervisor/project/request_state.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { EXPIRES_NS = 1000 };

/* A state of the request `tools/call` of "ask", with a new key. */
static void write_state(struct digest_key *key, struct digest *binding,
                        char text[REQUEST_STATE_BYTES]) {
    randombytes_buf(key->bytes, sizeof key->bytes);
    *binding = request_state_binding(key, "tools/call", "ask", NULL);
    const struct request_state state = {
        .invocation = 7, .round = 2, .expires_ns = EXPIRES_NS, .binding = *binding};
    request_state_write(key, &state, text);
}

Test(request_state, is_read_as_it_was_written) {
    struct digest_key key;
    struct request_state state;
    struct digest binding;
    char text[REQUEST_STATE_BYTES];
    write_state(&key, &binding, text);
    cr_assert_null(request_state_read(&key, text, binding, EXPIRES_NS, &state));
    cr_expect_eq(state.invocation, 7);
    cr_expect_eq(state.round, 2);
    cr_expect_eq(state.expires_ns, EXPIRES_NS);
    cr_expect(digest_equal(state.binding, binding));
    cr_expect_not_null(request_state_read(&key, text, binding, EXPIRES_NS + 1, &state),
                       "it has expired");
}

Test(request_state, is_refused_with_any_byte_changed) {
    struct digest_key key;
    struct request_state state;
    struct digest binding;
    char text[REQUEST_STATE_BYTES];
    write_state(&key, &binding, text);
    for (size_t i = 0, length = strlen(text); i < length; i++) {
        const char kept = text[i];
        for (unsigned change = 1; change < 256; change++) {
            text[i] = (char)((unsigned char)kept ^ change);
            cr_expect_not_null(request_state_read(&key, text, binding, 0, &state), "%zu: %u", i,
                               change);
        }
        text[i] = kept;
    }
    cr_expect_null(request_state_read(&key, text, binding, 0, &state));
}

Test(request_state, is_refused_if_shorter_or_longer) {
    struct digest_key key;
    struct request_state state;
    struct digest binding;
    char text[REQUEST_STATE_BYTES], other[2 * REQUEST_STATE_BYTES];
    write_state(&key, &binding, text);
    for (size_t i = 0, length = strlen(text); i < length; i++) {
        snprintf(other, sizeof other, "%.*s", (int)i, text);
        cr_expect_not_null(request_state_read(&key, other, binding, 0, &state), "%s", other);
        cr_expect_not_null(request_state_read(&key, text + i + 1, binding, 0, &state), "%s",
                           text + i + 1);
        snprintf(other, sizeof other, "%.*s0%s", (int)i, text, text + i);
        cr_expect_not_null(request_state_read(&key, other, binding, 0, &state), "%s", other);
    }
}

Test(request_state, is_refused_under_another_key) {
    struct digest_key key, other;
    struct request_state state;
    struct digest binding;
    char text[REQUEST_STATE_BYTES];
    write_state(&key, &binding, text);
    for (size_t i = 0; i < 8 * sizeof key.bytes; i++) {
        other = key;
        other.bytes[i / 8] ^= (unsigned char)(1 << i % 8);
        cr_expect_not_null(request_state_read(&other, text, binding, 0, &state), "bit %zu", i);
    }
}

Test(request_state, is_bound_to_its_request_in_any_order_of_members) {
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
    struct digest_key key;
    struct digest bindings[COUNT];
    randombytes_buf(key.bytes, sizeof key.bytes);
    for (size_t i = 0; i < COUNT; i++) {
        struct json_object *arguments = json_tree_parse(string_span(requests[i].arguments));
        bindings[i] = request_state_binding(&key, requests[i].method, requests[i].name, arguments);
        json_object_put(arguments);
        for (size_t j = 0; j < i; j++)
            cr_expect_eq(digest_equal(bindings[i], bindings[j]), i == 1, "%zu and %zu", i, j);
    }
}
