/* Doubles as text and back, without loss. ECL's own printer writes what no other reader of numbers
 * takes ("1.e100"), and its reader has a syntax of its own. */
#ifndef ECLAVE_WORKER_NUMBER_H
#define ECLAVE_WORKER_NUMBER_H

#include <ecl/ecl.h>

/* The Lisp function ECLAVE:PARSE-DOUBLE: the double nearest to what TEXT, a base string, says in
 * the notation of JSON; NIL when it is too large for one. */
cl_object number_parse_double(cl_object text);

/* The Lisp function ECLAVE:DOUBLE-TEXT: the shortest text that reads as FLOAT, a single or a
 * double, again; NIL for an infinity and for what is not a number. */
cl_object number_double_text(cl_object number);

#endif
