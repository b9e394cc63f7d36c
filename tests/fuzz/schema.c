/* Fuzz target: a schema and a value, two lines of JSON. The check ends, has the same result twice,
 * its errors are printable, and "not" gives the opposite result. */
#include "supervisor/schema/schema.h"
#include "supervisor/json/json_inspect.h"
#include "supervisor/json/json_tree.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/json.h"

#include <string.h>

enum { LINE_MAX_BYTES = 1 << 16 };

/* NULL, and false, when the line is not JSON that the server accepts. */
static bool read_line(const uint8_t *bytes, size_t size, struct json_object **value) {
    static const struct json_limits limits = {.depth = JSON_DEPTH_MAX};
    struct json_shape shape;
    *value = NULL;
    if (size > LINE_MAX_BYTES || json_inspect(bytes, size, limits, &shape) != JSON_FINE)
        return false;
    *value = json_tree_parse((struct span){bytes, size});
    return true;
}

static void check_message(const struct error *error) {
    FUZZ_CHECK(error->text[0], "no reason");
    FUZZ_CHECK(json_utf8_valid(text_of(error->text)), "not UTF-8: %s", error->text);
    for (const char *at = error->text; *at; at++)
        FUZZ_CHECK((unsigned char)*at >= ' ', "a control in %s", error->text);
}

/* An error in a schema names its place. One in a value does not, if it is at the root. */
static void check_schema_error(const struct error *error) {
    check_message(error);
    FUZZ_CHECK(error->text[0] == '/' || strncmp(error->text, "the ", 4) == 0 ||
                   strncmp(error->text, "\xe2\x80\xa6", 3) == 0,
               "no place in %s", error->text);
}

/* The schema's negation must give the opposite, unless it has references, which would change their
 * target. */
static void check_negation(struct json_object *json, struct json_object *value, bool accepts) {
    struct json_object *outer = json_object_new_object();
    struct error error = {0};
    json_object_object_add(outer, "not", json_object_get(json));
    struct schema *schema =
        strstr(json_object_to_json_string(json), "$ref") ? NULL : schema_compile(outer, &error);
    if (schema) {
        bool other = schema_check(schema, value, &error);
        FUZZ_CHECK(error.code || other != accepts, "%s and its negation", error.text);
        schema_free(schema);
    }
    json_object_put(outer);
}

static void check_value(const struct schema *schema, struct json_object *json,
                        struct json_object *value) {
    struct error error = {0};
    bool accepts = schema_check(schema, value, &error);
    FUZZ_CHECK(schema_check(schema, value, NULL) == accepts, "two answers");
    if (!accepts)
        check_message(&error);
    if (!error.code)
        check_negation(json, value, accepts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *newline = size ? memchr(data, '\n', size) : NULL;
    size_t length = newline ? (size_t)(newline - data) : size;
    struct json_object *json, *value = NULL;
    struct error error = {0};
    if (!read_line(data, length, &json))
        return 0;
    struct schema *schema = schema_compile(json, &error);
    if (!schema)
        check_schema_error(&error);
    else if (newline && read_line(newline + 1, size - length - 1, &value))
        check_value(schema, json, value);
    schema_free(schema);
    json_object_put(json);
    json_object_put(value);
    return 0;
}
