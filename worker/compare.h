/* Regular expressions, for the comparisons of eclave batch (lisp/compare.lisp). */
#ifndef ECLAVE_WORKER_COMPARE_H
#define ECLAVE_WORKER_COMPARE_H

#include <ecl/ecl.h>

/* Loads the character set. Called in the zygote, since files cannot be opened later. */
void compare_initialize(void);

/* The Lisp function ECLAVE:FIND-REGEX: whether the extended regular expression PATTERN matches a
 * part of TEXT, both strings; T or NIL, or a string that says why PATTERN is malformed. Takes time
 * and memory without a bound of its own, so that the process needs one. */
cl_object compare_find_regex(cl_object pattern, cl_object text);

#endif
