/* ECL's ASDF, which is native code that a confined process cannot map. The Lisp side is
 * lisp/systems.lisp. */
#ifndef ECLAVE_WORKER_ASDF_H
#define ECLAVE_WORKER_ASDF_H

#include <ecl/ecl.h>

/* The Lisp function ECLAVE:MAP-ASDF: maps FILE, a base string, without running any of it, so that
 * this process and its forks can initialize it. NIL if that fails. */
cl_object asdf_map(cl_object file);

/* The Lisp function ECLAVE:INITIALIZE-ASDF: runs the code that defines ASDF. NIL if it is not
 * mapped. */
cl_object asdf_initialize(void);

#endif
