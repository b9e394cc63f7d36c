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
    ROW(parse_double, "ECLAVE", "PARSE-DOUBLE")                                                    \
    ROW(double_text, "ECLAVE", "DOUBLE-TEXT")                                                      \
    ROW(send_event, "ECLAVE", "SEND-EVENT")                                                        \
    ROW(send_ask, "ECLAVE", "SEND-ASK")                                                            \
    ROW(unknown, "ECLAVE", "%UNKNOWN")                                                             \
    ROW(standard_output, "ECLAVE", "*STDOUT*")                                                     \
    ROW(standard_error, "ECLAVE", "*STDERR*")

/* our functions, by package and name */
#define LISP_FUNCTIONS(ROW)                                                                        \
    ROW(settle, "ECLAVE", "SETTLE")                                                                \
    ROW(install, "ECLAVE", "INSTALL")                                                              \
    ROW(resolve_package, "ECLAVE", "RESOLVE-PACKAGE")                                              \
    ROW(write_value, "ECLAVE", "WRITE-VALUE")                                                      \
    ROW(write_unprintable, "ECLAVE", "WRITE-UNPRINTABLE")                                          \
    ROW(write_type, "ECLAVE", "WRITE-TYPE")                                                        \
    ROW(write_message, "ECLAVE", "WRITE-MESSAGE")                                                  \
    ROW(write_fallback, "ECLAVE", "WRITE-FALLBACK")                                                \
    ROW(write_warning, "ECLAVE", "WRITE-WARNING")                                                  \
    ROW(write_failing_call, "ECLAVE", "WRITE-FAILING-CALL")                                        \
    ROW(write_frame, "ECLAVE", "WRITE-FRAME")                                                      \
    ROW(error_position, "ECLAVE", "ERROR-POSITION")                                                \
    ROW(run, "MCP", "RUN")

struct lisp {
#define ROW(member, package, name) cl_object member;
    LISP_SYMBOLS(ROW)
#undef ROW
    struct {
#define ROW(member, package, name) cl_object member;
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
