/* Lisp strings as UTF-8 in C's memory. Never signals a Lisp error. */
#ifndef ECLAVE_WORKER_TEXT_H
#define ECLAVE_WORKER_TEXT_H

#include "common/buffer.h"

#include <ecl/ecl.h>

/* Appends STRING, a base string or a string; a surrogate becomes U+FFFD. False when TEXT is full.
 */
bool text_append(struct buffer *text, cl_object string);

#endif
