/* --native and what the operator loads: the functions of --systems and --preload are native code in
 * every session, and were compiled before the first. */
#include "tests/support/command.h"
#include "tests/support/lines.h"
#include "tests/support/project_files.h"

#include <string.h>

static void begin(void) {
    project_files_begin();
    project_files_write("fast.asd", "(defsystem \"fast\" :components ((:file \"fast\")))\n");
    project_files_write("fast.lisp",
                        "(defpackage :fast (:use :cl))\n"
                        "(in-package :fast)\n"
                        "(defun fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))\n"
                        "(defgeneric area (x))\n"
                        "(defmethod area ((x integer)) (* x x))\n"
                        "(defmethod area ((x string)) (if (next-method-p) 1 (length x)))\n"
                        "(defmacro twice (x) `(* 2 ,x))\n"
                        "(let ((n 0)) (defun counter () (incf n)) (defun last-count () n))\n"
                        "(flet ((half (x) (/ x 2))) (defun quarter (x) (half (half x))))\n"
                        "(defun wide (x) (coerce x 'long-float))\n"
                        "(defmacro own () (list (intern \"WIDE\") 2))\n"
                        "(defun call () (own))\n"
                        "(defun literal () (list 'bar \"text\" 1.5d0 (expt 10 20)))\n");
    project_files_write("more.lisp", "(defun more (x) (list x 'more))\n");
}

TestSuite(native_systems, .init = begin, .fini = project_files_end);

static void expect(const char *const *arguments, const char *value) {
    struct command_result result = command_run(&(struct command){
        .arguments = arguments,
        .environment = STRINGS(formatted("CL_SOURCE_REGISTRY=%s//", project_files_path()))});
    cr_expect_str_eq(result.output, formatted("%s\n", value), "%s", result.error);
    command_result_free(&result);
}

#define NATIVE "(flet ((native (f) (not (nth-value 1 (si:bc-split f))))) "
/* A long float and what shares a variable stay bytecode, and a macro expands. */
static const char fast[] =
    NATIVE "(list (native #'fast::fib) (native #'fast::counter) (native #'fast::quarter) "
           "(native #'fast::wide) (mapcar (lambda (m) (native (eclave::method-body m))) "
           "(clos:generic-function-methods #'fast::area)) "
           "(fast::fib 20) (fast::area 3) (fast::area \"abc\") (fast::twice 4) "
           "(fast::counter) (fast::counter) (fast::last-count) (fast::quarter 8) (fast::wide 1) "
           "(native #'fast::call) (fast::call) "
           "(equal (fast::literal) '(fast::bar \"text\" 1.5d0 100000000000000000000))))";
#define FAST_VALUE "=> (T NIL T NIL (T T) 6765 9 3 8 1 2 2 2 1.0l0 T 2.0l0 T)"

Test(native_systems, functions_of_systems_are_native_code) {
    static const char *const choices[] = {"on", "auto"};
    for (size_t i = 0; i < COUNT_OF(choices); i++)
        for (int boots = 0; boots < 2; boots++) /* written to an image, and restored from it */
            expect(STRINGS(ECLAVE_BINARY, "eval", "--native", choices[i], "--systems", "fast", "-e",
                           fast),
                   FAST_VALUE);
    expect(STRINGS(ECLAVE_BINARY, "eval", "--native", "on", "--image", "off", "--systems", "fast",
                   "-e", fast),
           FAST_VALUE);
}

Test(native_systems, functions_of_preloaded_files_are_native_code) {
    expect(STRINGS(ECLAVE_BINARY, "eval", "--native", "on", "--preload",
                   formatted("%s/more.lisp", project_files_path()), "-e",
                   NATIVE "(list (native #'more) (more 1)))"),
           "=> (T (1 MORE))");
    /* What a call defines is compiled with auto only, whatever was preloaded. */
    expect(STRINGS(ECLAVE_BINARY, "eval", "--native", "on", "--preload",
                   formatted("%s/more.lisp", project_files_path()), "-e",
                   "(defun own (x) x) (list eclave::*noted* (compile 'own) (more 2))"),
           "=> (NIL OWN (2 MORE))");
}

Test(native_systems, without_native_they_are_bytecode) {
    expect(STRINGS(ECLAVE_BINARY, "eval", "--systems", "fast", "-e",
                   NATIVE "(list (native #'fast::fib) (fast::fib 10)))"),
           "=> (NIL 55)");
}

Test(native_systems, their_functions_are_in_backtraces) {
    struct command_result result = command_run(&(struct command){
        .arguments = STRINGS(ECLAVE_BINARY, "eval", "--native", "on", "--systems", "fast", "-e",
                             "(fast::fib :x)"),
        .environment = STRINGS(formatted("CL_SOURCE_REGISTRY=%s//", project_files_path()))});
    cr_expect(strstr(result.output, "(FAST::FIB :X)"), "%s", result.output);
    command_result_free(&result);
}
