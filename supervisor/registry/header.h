/* Metadata at the head of a Lisp file: the form is told in registry.h. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_HEADER_H
#define ECLAVE_SUPERVISOR_REGISTRY_HEADER_H

#include "common/buffer.h"
#include "common/message.h"
#include <stdbool.h>

/* Does SOURCE begin with such a header? Then its lines, without what makes them comments, are
 * appended to OUT; OUT has failed when they do not fit. Line N of OUT is line N of SOURCE. */
bool header_take(struct span source, struct buffer *out);

#endif
