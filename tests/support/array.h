/* Answers of a batch: arrays of responses, which come in any order. */
#ifndef ECLAVE_TESTS_SUPPORT_ARRAY_H
#define ECLAVE_TESTS_SUPPORT_ARRAY_H

#include "tests/support/json.h"

/* LINE, which must be an array. */
struct text array_of(const char *line);

/* The response to ID (JSON text) in the array LINE, which must be there once. */
struct text array_element(const char *line, const char *id);

/* Wants that to be an error of CODE (JSON text). */
void array_expect_code(const char *line, const char *id, const char *code);

#endif
