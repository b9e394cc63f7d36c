/* C source to an object, by tcc. For a process that ends after one translation unit: tcc does not
 * survive its own errors. */
#ifndef ECLAVE_COMPILER_TRANSLATE_H
#define ECLAVE_COMPILER_TRANSLATE_H

#include <stdbool.h>
#include <stddef.h>

/* Indexes the preamble, once, for this process and its forks. False when out of memory. */
bool translate_prepare(void);

/* Compiles TEXT of LENGTH bytes, which the preamble precedes. *OBJECT, from malloc, becomes the
 * caller's. False if TEXT does not compile; a crash is as good. */
bool translate(const char *text, size_t length, unsigned char **object, size_t *size);

#endif
