/* Answers of a batch: arrays of responses in any order. */
#ifndef ECLAVE_TESTS_SUPPORT_ARRAY_H
#define ECLAVE_TESTS_SUPPORT_ARRAY_H

#include "tests/support/json.h"

/* LINE, which must be an array. */
struct text array_of(const char *line);

/* The only response to ID, as JSON, in the array LINE. */
struct text array_element(const char *line, const char *id);

/* Whether the response to ID is an error with CODE, as JSON; and that it must be one. */
bool array_has_code(const char *line, const char *id, const char *code);
void array_expect_code(const char *line, const char *id, const char *code);

#endif
