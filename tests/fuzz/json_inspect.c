/* Fuzz target: the strict JSON inspector. tests/support/json.h must accept exactly the same, and
 * the values that are built from the text must be those that it finds, with every digit, since a
 * request must not be checked as one thing and served as another. The first two bytes of
 * the input are the limits of depth and of values. */
#include "supervisor/json/json_inspect.h"
#include "common/utf8.h"
#include "supervisor/json/json_number.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/json.h"

#include <json-c/json.h>
#include <string.h>

static struct text text_of_span(struct span span) {
    return (struct text){(const char *)span.bytes, span.length};
}

static struct span text_as_span(struct text text) {
    return (struct span){(const unsigned char *)text.bytes, text.length};
}

static bool is_container(struct text value) {
    return json_kind(value) == VALUE_ARRAY || json_kind(value) == VALUE_OBJECT;
}

static bool is_scalar_id(struct text value) {
    return json_kind(value) == VALUE_STRING || json_kind(value) == VALUE_NUMBER;
}

/* --- against the values that are built --- */

static void compare(struct text text, struct json_object *value);

static void compare_string(struct text text, struct json_object *value) {
    size_t length;
    char *decoded = json_decode(text, &length);
    FUZZ_CHECK(json_object_is_type(value, json_type_string), "no string");
    FUZZ_CHECK((size_t)json_object_get_string_len(value) == length &&
                   memcmp(json_object_get_string(value), decoded, length) == 0,
               "another string");
    free(decoded);
}

/* Every number keeps its text, and its nearest double. */
static void compare_number(struct text text, struct json_object *value) {
    char *digits = strndup(text.bytes, text.length);
    double want = strtod(digits, NULL), have = json_object_get_double(value);
    FUZZ_CHECK(json_is_number(value), "no number");
    FUZZ_CHECK(want == have, "%g is not %g", have, want);
    FUZZ_CHECK(strcmp(json_object_to_json_string(value), digits) == 0, "another number");
    FUZZ_CHECK(!json_is_integer(text) || json_number_is_integer(value), "no integer");
    json_number_drop_fraction(value);
    struct json_object *again = json_number_make(text_as_span(text));
    FUZZ_CHECK(json_number_compare(value, again) == 0, "%s is another number", digits);
    json_object_put(again);
    free(digits);
}

struct comparison {
    struct text container;
    struct json_object *value;
    size_t index;
};

static bool visit_element(struct text whole, struct text name, struct text value, void *context) {
    (void)whole, (void)name;
    struct comparison *comparison = context;
    compare(value, json_object_array_get_idx(comparison->value, comparison->index++));
    return true;
}

/* Of a repeated member the last counts. */
static bool visit_member(struct text whole, struct text name, struct text value, void *context) {
    (void)whole;
    const struct comparison *comparison = context;
    struct json_object *member;
    struct text last;
    size_t length;
    char *decoded = json_decode(name, &length);
    FUZZ_CHECK(strlen(decoded) == length, "a zero byte in the name %.*s", (int)name.length,
               name.bytes);
    FUZZ_CHECK(json_object_object_get_ex(comparison->value, decoded, &member), "no %s", decoded);
    FUZZ_CHECK(json_member(comparison->container, decoded, &last), "no %s", decoded);
    if (last.bytes == value.bytes)
        compare(value, member);
    free(decoded);
    return true;
}

static void compare(struct text text, struct json_object *value) {
    struct comparison comparison = {.container = text, .value = value};
    switch (json_kind(text)) {
    case VALUE_NULL:
        FUZZ_CHECK(!value, "no null");
        break;
    case VALUE_BOOLEAN:
        FUZZ_CHECK(json_object_is_type(value, json_type_boolean) &&
                       json_object_get_boolean(value) == text_is(text, "true"),
                   "another boolean");
        break;
    case VALUE_NUMBER:
        compare_number(text, value);
        break;
    case VALUE_STRING:
        compare_string(text, value);
        break;
    case VALUE_ARRAY:
        FUZZ_CHECK(json_object_is_type(value, json_type_array), "no array");
        json_walk(text, visit_element, &comparison);
        FUZZ_CHECK(comparison.index == json_object_array_length(value), "another length");
        break;
    case VALUE_OBJECT:
        FUZZ_CHECK(json_object_is_type(value, json_type_object), "no object");
        json_walk(text, visit_member, &comparison);
        json_object_object_foreach(value, key, member) {
            struct text found;
            (void)member;
            FUZZ_CHECK(json_member(text, key, &found), "a member %s from nowhere", key);
        }
        break;
    }
}

/* As rpc.c does. */
static void compare_with_tree(struct text text) {
    struct json_object *root = json_tree_parse(text_as_span(text));
    compare(text, root);
    json_object_put(root);
}

/* --- against the reader of the tests --- */

static bool visit_value(struct text whole, struct text name, struct text value, void *context) {
    (void)whole, (void)name;
    size_t *count = context;
    ++*count;
    json_walk(value, visit_value, count);
    return true;
}

static size_t count_values(struct text text) {
    size_t count = 1;
    json_walk(text, visit_value, &count);
    return count;
}

static void check_token(const struct json_token *token, bool there, struct text value) {
    FUZZ_CHECK((token->text.bytes != NULL) == there, "there: %d", there);
    if (!there)
        return;
    FUZZ_CHECK((const char *)token->text.bytes == value.bytes, "another place");
    FUZZ_CHECK((token->kind == JSON_STRING) == (json_kind(value) == VALUE_STRING) &&
                   (token->kind == JSON_NUMBER) == (json_kind(value) == VALUE_NUMBER),
               "kind %d", (int)token->kind);
    if (is_container(value))
        return;
    FUZZ_CHECK(token->text.length == value.length, "%zu bytes", token->text.length);
    FUZZ_CHECK(token->is_integer == json_is_integer(value), "an integer?");
    FUZZ_CHECK(token->has_lone_surrogate == json_has_lone_surrogate(value), "half a character?");
}

static void check_tokens(struct text text, const struct json_shape *shape) {
    struct text id = {0}, params, request_id = {0}, meta, progress_token = {0};
    bool has_id = json_member(text, "id", &id);
    bool has_request_id =
        json_member(text, "params", &params) && json_member(params, "requestId", &request_id);
    bool has_progress_token = json_member(text, "params", &params) &&
                              json_member(params, "_meta", &meta) &&
                              json_member(meta, "progressToken", &progress_token);
    check_token(&shape->id, has_id, id);
    check_token(&shape->progress_token, has_progress_token, progress_token);
    check_token(&shape->request_id, has_request_id, request_id);
    if (!has_id || !has_request_id || !is_scalar_id(id) || !is_scalar_id(request_id) ||
        shape->id.has_lone_surrogate || shape->request_id.has_lone_surrogate)
        return;
    bool same = json_kind(id) == json_kind(request_id) && json_same_id(id, request_id);
    FUZZ_CHECK(json_token_equal(&shape->id, &shape->request_id) == same, "same: %d", same);
}

static void check_elements(struct text text) {
    const struct span span = text_as_span(text);
    struct span element;
    struct text want;
    size_t offset = 0, index = 0;
    for (; json_next_element(span, &offset, &element); index++) {
        FUZZ_CHECK(json_element(text, index, &want), "one too many");
        struct text have = json_without_blanks(text_of_span(element));
        FUZZ_CHECK(have.bytes == want.bytes && have.length == want.length, "element %zu", index);
    }
    FUZZ_CHECK(index == json_count(text), "%zu elements", index);
}

static void check_accepted(struct text text, const struct json_shape *shape) {
    static const enum json_kind kinds[] = {
        [VALUE_NULL] = JSON_LITERAL,  [VALUE_BOOLEAN] = JSON_LITERAL, [VALUE_NUMBER] = JSON_NUMBER,
        [VALUE_STRING] = JSON_STRING, [VALUE_ARRAY] = JSON_ARRAY,     [VALUE_OBJECT] = JSON_OBJECT};
    FUZZ_CHECK(shape->kind == kinds[json_kind(text)], "kind %d", (int)shape->kind);
    if (json_kind(text) == VALUE_OBJECT)
        check_tokens(text, shape);
    if (json_kind(text) == VALUE_ARRAY)
        check_elements(text);
    compare_with_tree(text);
}

/* Any bytes can be written as a string, which is read as their repair. */
static void check_written(struct text bytes) {
    cleanup_buffer struct buffer out = buffer_make(1 << 20), repaired = buffer_make(1 << 20);
    json_write_bytes(&out, bytes.bytes, bytes.length);
    utf8_append_repaired(&repaired, (const unsigned char *)bytes.bytes, bytes.length);
    struct text written = {(const char *)out.data, out.length};
    const char *fault = json_fault(written, 0);
    FUZZ_CHECK(!out.failed && !fault && json_kind(written) == VALUE_STRING, "%s", fault);
    size_t length;
    char *decoded = json_decode(written, &length);
    FUZZ_CHECK(length == repaired.length &&
                   (length == 0 || memcmp(decoded, repaired.data, length) == 0),
               "it reads as something else");
    free(decoded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct fuzz_input input = {data, size};
    struct json_limits limits = {.depth = fuzz_byte(&input), .values = fuzz_byte(&input)};
    /* A copy, so that a read beyond the end is a finding. */
    char *copy = malloc(input.left ? input.left : 1);
    if (input.left)
        memcpy(copy, input.bytes, input.left);
    struct text text = {copy, input.left};
    struct json_shape shape;
    enum json_fault fault = json_inspect((const unsigned char *)copy, text.length, limits, &shape);
    bool lawful = !json_fault(text, limits.depth);
    lawful = lawful && !json_has_zero_name(text);
    bool few = lawful && (!limits.values || count_values(text) <= limits.values);
    FUZZ_CHECK((fault == JSON_FINE) == few, "fault %d, lawful %d", (int)fault, lawful);
    FUZZ_CHECK((fault == JSON_NOT_UTF8) == !json_utf8_valid(text), "UTF-8?");
    FUZZ_CHECK(shape.fault_at <= text.length, "fault at %zu", shape.fault_at);
    if (fault == JSON_TOO_DEEP)
        FUZZ_CHECK(json_fault(text, limits.depth), "not too deep");
    if (fault == JSON_FINE)
        check_accepted(json_without_blanks(text), &shape);
    check_written(text);
    free(copy);
    return 0;
}
