/* The function objects that the variables of a session lead to. */
#ifndef ECLAVE_WORKER_REACH_H
#define ECLAVE_WORKER_REACH_H

#include <ecl/ecl.h>

/* ECL must be booted. */
void reach_initialize(void);

/* A list of the interpreted functions, not redirected yet, that were made by one of DEFINITIONS and
 * that ROOT leads to: through lists, arrays, tables, instances, closures, and the symbols that
 * occur there with their values and the constants of their functions. DEFINITIONS is a list of what
 * FUNCTION-LAMBDA-EXPRESSION has of them, the same conses. ROOT is a list. Ends when as many
 * are found, or after some ten thousand objects; allocates nothing but the result. */
cl_object reach_functions(cl_object root, cl_object definitions);

#endif
