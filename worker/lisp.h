/* What C knows of Lisp by name: symbols and functions of ECL and of our runtime (lisp/), looked up
 * once in the zygote. Function objects are kept, not names, so user code that redefines a name
 * does not change what C calls. */
#ifndef ECLAVE_WORKER_LISP_H
#define ECLAVE_WORKER_LISP_H

#include "common/error.h"

#include <ecl/ecl.h>
#include <stdbool.h>

/* symbol of C, package, name */
#define LISP_SYMBOLS(ROW)                                                                          \
    ROW(package, "COMMON-LISP", "*PACKAGE*")                                                       \
    ROW(readtable, "COMMON-LISP", "*READTABLE*")                                                   \
    ROW(random_state, "COMMON-LISP", "*RANDOM-STATE*")                                             \
    ROW(bytecodes, "SI", "BYTECODES")                                                              \
    ROW(quit_tag, "SI", "*QUIT-TAG*")                                                              \
    ROW(exit_code, "EXT", "*PROGRAM-EXIT-CODE*")                                                   \
    ROW(debugger_hook, "EXT", "*INVOKE-DEBUGGER-HOOK*")                                            \
    ROW(stop, "ECLAVE", "STOP")                                                                    \
    ROW(keep_warning, "ECLAVE", "KEEP-WARNING")                                                    \
    ROW(reset_stacks, "ECLAVE", "RESET-STACKS")                                                    \
    ROW(help_text, "ECLAVE", "HELP-TEXT")                                                          \
    ROW(unknown, "ECLAVE", "%UNKNOWN")                                                             \
    ROW(standard_output, "ECLAVE", "*STDOUT*")                                                     \
    ROW(standard_error, "ECLAVE", "*STDERR*")

/* our functions, by the name in package ECLAVE */
#define LISP_FUNCTIONS(ROW)                                                                        \
    ROW(settle, "SETTLE")                                                                          \
    ROW(install, "INSTALL")                                                                        \
    ROW(resolve_package, "RESOLVE-PACKAGE")                                                        \
    ROW(write_value, "WRITE-VALUE")                                                                \
    ROW(write_unprintable, "WRITE-UNPRINTABLE")                                                    \
    ROW(write_type, "WRITE-TYPE")                                                                  \
    ROW(write_message, "WRITE-MESSAGE")                                                            \
    ROW(write_fallback, "WRITE-FALLBACK")                                                          \
    ROW(write_warning, "WRITE-WARNING")                                                            \
    ROW(write_failing_call, "WRITE-FAILING-CALL")                                                  \
    ROW(write_frame, "WRITE-FRAME")                                                                \
    ROW(error_position, "ERROR-POSITION")

struct lisp {
#define ROW(member, package, name) cl_object member;
    LISP_SYMBOLS(ROW)
#undef ROW
    struct {
#define ROW(member, name) cl_object member;
        LISP_FUNCTIONS(ROW)
#undef ROW
    } call;
};

extern struct lisp lisp; /* a root of the collector, so static */

/* Fills `lisp` but for its functions; ECL is booted. */
void lisp_find_symbols(void);

/* Fills in the functions; the runtime is loaded. False with *error when one is missing. */
bool lisp_find_functions(struct error *error);

#endif
