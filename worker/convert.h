/* Conversion between Lisp objects and C's bytes: strings as UTF-8, floats as decimal numbers. */
#ifndef ECLAVE_WORKER_CONVERT_H
#define ECLAVE_WORKER_CONVERT_H

#include "common/buffer.h"

#include <ecl/ecl.h>

/* Appends STRING, a string or a base string, to UTF8; a surrogate becomes U+FFFD. Signals no Lisp
 * error. False if UTF8 is full. */
bool convert_string_to_utf8(struct buffer *utf8, cl_object string);

/* The Lisp string of well-formed UTF8: a base string if it is ASCII. May signal STORAGE-EXHAUSTED.
 */
cl_object convert_utf8_to_string(struct span utf8);

/* ECL prints floats in a notation that other readers do not accept ("1.e100") and reads a syntax of
 * its own, so JSON numbers are converted here, without loss. */

/* The Lisp function ECLAVE:PARSE-DOUBLE: the double nearest to the JSON number in TEXT, a base
 * string; NIL if it is too large. */
cl_object convert_parse_double(cl_object text);

/* The Lisp function ECLAVE:DOUBLE-TEXT: the shortest decimal number that reads as NUMBER, a single
 * or a double float; NIL for an infinity or a NaN. */
cl_object convert_double_text(cl_object number);

#endif
