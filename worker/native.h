/* Native code: has a unit of C source compiled, links it, and runs what defines it. Compiling needs
 * frames, and so a call; what was compiled stays. */
#ifndef ECLAVE_WORKER_NATIVE_H
#define ECLAVE_WORKER_NATIVE_H

#include "common/error.h"
#include <ecl/ecl.h>
#include <stdbool.h>
#include <stdint.h>

/* Loads ECL's compiler and the Lisp that uses it. In the zygote, after the runtime. AUTOMATIC: what
 * a call defines is compiled at its end. False with *error. */
bool native_load(bool automatic, struct error *error);

/* Between these two calls, units can be compiled, over CHANNEL with frames of number CALL. */
void native_begin(int channel, uint32_t call);
void native_end(void);

/* Notes the functions that the form (HEAD . REST), which ECL is about to compile to bytecode,
 * makes; VARIABLES and MACROS are the compiler's lists of what is bound around it. */
void native_note_form(cl_object head, cl_object rest, cl_object variables, cl_object macros);

/* Notes that the call evaluates FORM. */
void native_note_evaluation(cl_object form);

/* At the end of a call that evaluates, before its results are forgotten. With AUTOMATIC, notes the
 * functions that the call has made and that are in use. */
void native_note_live(void);
/* Is anything noted that native_refine would compile? */
bool native_is_coarse(void);
/* Compiles some of it, for a moment. */
void native_refine(void);

/* Compiles what has been preloaded, over CHANNEL, that of the zygote. Nothing is confined yet. */
void native_preloaded(int channel);

/* The Lisp function ECLAVE:BUILD-UNIT: compiles, links and runs the unit that ECL's compiler wrote
 * as HEADER and CODE, two strings, with its CONSTANTS, a vector. T if it ran, else NIL. */
cl_object native_build(cl_object header, cl_object code, cl_object constants);

/* The Lisp function ECLAVE:CALL-GUARDED: calls FUNCTION, and returns its value, or NIL if a memory
 * fault or an unhandled condition ended it. */
cl_object native_call_guarded(cl_object function);

/* The Lisp function ECLAVE:NOTE-NATIVE: FUNCTION is native code, and gets NAME if it has none. */
cl_object native_note(cl_object function, cl_object name);

/* The Lisp function ECLAVE:LIVE-FUNCTIONS: a list of the interpreted functions that the call has
 * made and that its values, or the symbols in its forms, lead to (reach.h); one for each code. */
cl_object native_live_functions(void);

/* Was any native code made? */
bool native_is_used(void);

/* Was CODE, the address of a function, sealed for this process? */
bool native_has(const void *code);

/* The function whose code has ADDRESS, or NULL. Functions within another one are not known. */
cl_object native_function(uintptr_t address);

#endif
