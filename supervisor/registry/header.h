/* Metadata at the head of a Lisp file: the form is told in registry.h. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_HEADER_H
#define ECLAVE_SUPERVISOR_REGISTRY_HEADER_H

#include "common/buffer.h"
#include <stdbool.h>
#include <stddef.h>

enum { HEADER_LINE_MAX = 10, HEADER_MARK_BYTES = 3 };

/* Does SOURCE begin with a byte order mark, of HEADER_MARK_BYTES? */
bool header_has_mark(struct span source);
/* The line, from 1, that a header begins in, behind nothing but comments; 0: there is none. It may
 * be beyond HEADER_LINE_MAX. */
size_t header_line(struct span source);
/* Is there such a header in SOURCE? Then its lines, without what makes them comments, are appended
 * to OUT; OUT has failed when they do not fit. Line N of OUT is line N of SOURCE. */
bool header_take(struct span source, struct buffer *out);

#endif
