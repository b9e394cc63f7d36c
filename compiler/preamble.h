/* The preamble of native code, of which each unit takes only what it needs: tcc reads a few
 * kilobytes then instead of 160. */
#ifndef ECLAVE_COMPILER_PREAMBLE_H
#define ECLAVE_COMPILER_PREAMBLE_H

#include "common/buffer.h"
#include <stdbool.h>
#include <stddef.h>

struct preamble;

/* Indexes TEXT, which is terminated, preprocessed C, and must live as long as the result. NULL when
 * out of memory, or if TEXT is something else. Free with preamble_free. */
struct preamble *preamble_open(const char *text);
void preamble_free(struct preamble *preamble);

/* Appends to OUT, in their order, the declarations and macros that the C source BODY of LENGTH
 * bytes needs, and what these need. False when out of memory. */
bool preamble_take(const struct preamble *preamble, const char *body, size_t length,
                   struct buffer *out);

#endif
