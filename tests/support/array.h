/* Answers of a batch: arrays of responses in any order. */
#ifndef ECLAVE_TESTS_SUPPORT_ARRAY_H
#define ECLAVE_TESTS_SUPPORT_ARRAY_H

#include "tests/support/json.h"

/* LINE, which must be an array. */
struct text array_of(const char *line);

/* The only response to ID, as JSON, in the array LINE. */
struct text array_element(const char *line, const char *id);

/* The response to ID must be an error with CODE, as JSON. */
void array_expect_code(const char *line, const char *id, const char *code);

#endif
