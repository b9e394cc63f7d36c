/* ECL's documentation of the standard functions, mapped into the zygote so that DOCUMENTATION and
 * DESCRIBE work in a worker, which cannot open its file. */
#ifndef ECLAVE_WORKER_DOCUMENTATION_H
#define ECLAVE_WORKER_DOCUMENTATION_H

#include <ecl/ecl.h>

/* Maps the file. If that fails, the standard functions have no documentation. */
void documentation_open(void);

/* The Lisp function ECLAVE:HELP-TEXT: the record of KEY, a base string, as a string; NIL if there
 * is none. */
cl_object documentation_text(cl_object key);

#endif
