/* Names that code uses and that nothing defines. They are noted while ECL compiles the code of a
 * call, and become warnings at its end if they are undefined even then, as those of a compiler do
 * at the end of a compilation unit. */
#ifndef ECLAVE_WORKER_UNDEFINED_H
#define ECLAVE_WORKER_UNDEFINED_H

#include <ecl/ecl.h>

/* Notes from now on. ECL must be booted. */
void undefined_initialize(void);

/* Forgets what is noted, and notes again. */
void undefined_begin(void);

/* Adds the warnings to the result, but for the name that CONDITION, the error of the call or NULL,
 * is about. Lisp may signal. */
void undefined_end(cl_object condition);

#endif
