/* ECL's documentation of the standard functions, mapped into the zygote, so that DOCUMENTATION and
 * DESCRIBE work in a worker, which opens no file. Costs nothing until it is used. */
#ifndef ECLAVE_WORKER_HELP_H
#define ECLAVE_WORKER_HELP_H

#include <ecl/ecl.h>

/* Maps the file. Without it there is no documentation, which is no error. */
void help_open(void);

/* The Lisp function ECLAVE:HELP-TEXT: the record of KEY, a base string, as a string; NIL when there
 * is none. */
cl_object help_text(cl_object key);

#endif
