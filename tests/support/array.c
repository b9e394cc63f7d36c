/* See array.h. */
#include "tests/support/array.h"
#include <criterion/criterion.h>

struct text array_of(const char *line) {
    struct text array = text_of(line);
    cr_assert_eq(json_kind(array), VALUE_ARRAY, "not an array: %s", line);
    return array;
}

struct text array_element(const char *line, const char *id) {
    struct text found = {0}, element, value;
    const struct text array = array_of(line);
    for (size_t i = 0; json_element(array, i, &element); i++)
        if (json_member(element, "id", &value) && text_is(value, id)) {
            cr_assert_null(found.bytes, "%s is there twice: %s", id, line);
            found = element;
        }
    cr_assert_not_null(found.bytes, "no %s in %s", id, line);
    return found;
}

bool array_has_code(const char *line, const char *id, const char *code) {
    struct text value;
    return json_at(array_element(line, id), &value, "error", "code", NULL) && text_is(value, code);
}

void array_expect_code(const char *line, const char *id, const char *code) {
    cr_assert(array_has_code(line, id, code), "no error %s for %s in %s", code, id, line);
}
