/* The interface between C and Lisp: symbols of ECL and of the runtime (lisp/), functions of the
 * runtime that C calls, and C functions that it calls. All are looked up once, in the zygote; C
 * keeps function objects, so user code that redefines a name does not change what C calls. */
#ifndef ECLAVE_WORKER_LISP_H
#define ECLAVE_WORKER_LISP_H

#include "common/error.h"

#include <ecl/ecl.h>
#include <stdbool.h>

/* member, package, name */
#define LISP_SYMBOLS(ROW)                                                                          \
    ROW(package, "COMMON-LISP", "*PACKAGE*")                                                       \
    ROW(readtable, "COMMON-LISP", "*READTABLE*")                                                   \
    ROW(random_state, "COMMON-LISP", "*RANDOM-STATE*")                                             \
    ROW(bytecodes, "SI", "BYTECODES")                                                              \
    ROW(quit_tag, "SI", "*QUIT-TAG*")                                                              \
    ROW(exit_code, "EXT", "*PROGRAM-EXIT-CODE*")                                                   \
    ROW(source_location, "EXT", "*SOURCE-LOCATION*")                                               \
    ROW(debugger_hook, "EXT", "*INVOKE-DEBUGGER-HOOK*")                                            \
    ROW(user_debugger_hook, "COMMON-LISP", "*DEBUGGER-HOOK*")                                      \
    ROW(break_on_signals, "COMMON-LISP", "*BREAK-ON-SIGNALS*")                                     \
    ROW(form, "COMMON-LISP", "-")                                                                  \
    ROW(form1, "COMMON-LISP", "+")                                                                 \
    ROW(form2, "COMMON-LISP", "++")                                                                \
    ROW(form3, "COMMON-LISP", "+++")                                                               \
    ROW(value1, "COMMON-LISP", "*")                                                                \
    ROW(value2, "COMMON-LISP", "**")                                                               \
    ROW(value3, "COMMON-LISP", "***")                                                              \
    ROW(values1, "COMMON-LISP", "/")                                                               \
    ROW(values2, "COMMON-LISP", "//")                                                              \
    ROW(values3, "COMMON-LISP", "///")                                                             \
    ROW(code_walker, "SI", "*CODE-WALKER*")                                                        \
    ROW(function_operator, "COMMON-LISP", "FUNCTION")                                              \
    ROW(lambda, "COMMON-LISP", "LAMBDA")                                                           \
    ROW(lambda_block, "EXT", "LAMBDA-BLOCK")                                                       \
    ROW(flet, "COMMON-LISP", "FLET")                                                               \
    ROW(labels, "COMMON-LISP", "LABELS")                                                           \
    ROW(special, "COMMON-LISP", "SPECIAL")                                                         \
    ROW(macro, "SI", "MACRO")                                                                      \
    ROW(symbol_macro, "SI", "SYMBOL-MACRO")                                                        \
    ROW(apply, "COMMON-LISP", "APPLY")                                                             \
    ROW(setq, "COMMON-LISP", "SETQ")                                                               \
    ROW(restart_clusters, "SI", "*RESTART-CLUSTERS*")                                              \
    ROW(clock_ns, "ECLAVE", "CLOCK-NS")                                                            \
    ROW(bytes_allocated, "ECLAVE", "BYTES-ALLOCATED")                                              \
    ROW(confined, "ECLAVE", "*CONFINED*")                                                          \
    ROW(scratch, "ECLAVE", "*SCRATCH*")                                                            \
    ROW(stop, "ECLAVE", "STOP")                                                                    \
    ROW(keep_warning, "ECLAVE", "KEEP-WARNING")                                                    \
    ROW(note_place, "ECLAVE", "NOTE-PLACE")                                                        \
    ROW(reset_stacks, "ECLAVE", "RESET-STACKS")                                                    \
    ROW(unlock_names, "ECLAVE", "UNLOCK-NAMES")                                                    \
    ROW(lock_names, "ECLAVE", "LOCK-NAMES")                                                        \
    ROW(help_text, "ECLAVE", "HELP-TEXT")                                                          \
    ROW(map_asdf, "ECLAVE", "MAP-ASDF")                                                            \
    ROW(initialize_asdf, "ECLAVE", "INITIALIZE-ASDF")                                              \
    ROW(parse_double, "ECLAVE", "PARSE-DOUBLE")                                                    \
    ROW(double_text, "ECLAVE", "DOUBLE-TEXT")                                                      \
    ROW(send_event, "ECLAVE", "SEND-EVENT")                                                        \
    ROW(send_ask, "ECLAVE", "SEND-ASK")                                                            \
    ROW(find_regex, "ECLAVE", "FIND-REGEX")                                                        \
    ROW(numbered_object, "ECLAVE", "NUMBERED-OBJECT")                                              \
    ROW(unknown, "ECLAVE", "%UNKNOWN")                                                             \
    ROW(standard_output, "ECLAVE", "*STDOUT*")                                                     \
    ROW(standard_error, "ECLAVE", "*STDERR*")

/* member, package, name */
#define LISP_FUNCTIONS(ROW)                                                                        \
    ROW(settle, "ECLAVE", "SETTLE")                                                                \
    ROW(install, "ECLAVE", "INSTALL")                                                              \
    ROW(resolve_package, "ECLAVE", "RESOLVE-PACKAGE")                                              \
    ROW(open_input, "ECLAVE", "OPEN-INPUT")                                                        \
    ROW(user_package, "ECLAVE", "USER-PACKAGE")                                                    \
    ROW(write_value, "ECLAVE", "WRITE-VALUE")                                                      \
    ROW(write_unprintable, "ECLAVE", "WRITE-UNPRINTABLE")                                          \
    ROW(write_type, "ECLAVE", "WRITE-TYPE")                                                        \
    ROW(write_message, "ECLAVE", "WRITE-MESSAGE")                                                  \
    ROW(write_fallback, "ECLAVE", "WRITE-FALLBACK")                                                \
    ROW(warn_undefined, "ECLAVE", "WARN-UNDEFINED")                                                \
    ROW(write_warning, "ECLAVE", "WRITE-WARNING")                                                  \
    ROW(write_failing_call, "ECLAVE", "WRITE-FAILING-CALL")                                        \
    ROW(write_frame, "ECLAVE", "WRITE-FRAME")                                                      \
    ROW(error_position, "ECLAVE", "ERROR-POSITION")                                                \
    ROW(write_string, "COMMON-LISP", "WRITE-STRING")                                               \
    ROW(inspect_session, "ECLAVE", "INSPECT-SESSION")                                              \
    ROW(note_image, "ECLAVE", "NOTE-IMAGE")                                                        \
    ROW(note_form, "ECLAVE", "NOTE-FORM")                                                          \
    ROW(note_error, "ECLAVE", "NOTE-ERROR")                                                        \
    ROW(prepare_systems, "ECLAVE", "PREPARE-SYSTEMS")                                              \
    ROW(settle_systems, "ECLAVE", "SETTLE-SYSTEMS")                                                \
    ROW(contents, "MCP", "CONTENTS")                                                               \
    ROW(run, "MCP", "RUN")

struct lisp {
#define ROW(member, package, name) cl_object member;
    LISP_SYMBOLS(ROW)
#undef ROW
    struct {
#define ROW(member, package, name) cl_object member;
        LISP_FUNCTIONS(ROW)
#undef ROW
    } function;
};

extern struct lisp lisp; /* static, so that it is a root of the collector */

/* Makes the package ECLAVE, fills in the symbols and defines the C functions. ECL must be booted.
 */
void lisp_define(void);

/* Fills in the functions of the runtime, which must be loaded. False with *error. */
bool lisp_find_functions(struct error *error);

#endif
