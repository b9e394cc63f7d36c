/* Bytecode that calls native code in its own place. A function object of ECL's interpreter stays
 * the object that it is, wherever it is kept, and so does what it is closed over; only its code
 * becomes one that passes the records of its variables and its arguments on to a native function.
 */
#ifndef ECLAVE_WORKER_TRAMPOLINE_H
#define ECLAVE_WORKER_TRAMPOLINE_H

#include <ecl/ecl.h>
#include <stdbool.h>
#include <stddef.h>

/* Defines the Lisp functions ECLAVE:CODE-OF and ECLAVE:REDIRECT. */
void trampoline_define(void);

/* ECLAVE:CODE-OF: the code of FUNCTION, which all closures that were made by one form share; NIL
 * if the interpreter does not run it. */
cl_object trampoline_code_of(cl_object function);

/* ECLAVE:REDIRECT: has CODE call the function NATIVE. Its arguments are the records at the
 * positions RECORDS, a list, of the environment of the closure, then REQUIRED arguments of the
 * call, and, with REST other than NIL, a list's worth of others. NIL if those are too many, else T.
 * Code that is running is not affected. */
cl_object trampoline_install(cl_object code, cl_object native, cl_object records,
                             cl_object required, cl_object rest);

/* Was CODE redirected? */
bool trampoline_is(cl_object code);

/* The function that CODE, which was redirected, calls. */
cl_object trampoline_native(cl_object code);

/* How many arguments CODE, which was redirected, passes before those by which it was called;
 * negative if it passes those as a list. */
ptrdiff_t trampoline_extra(cl_object code);

#endif
