/* --native as a client sees it: COMPILE makes native code, which computes what bytecode computes
 * and belongs to the state of the session; what cannot be compiled stays bytecode; and code that
 * may run instructions of its choice still maps nothing executable but what was sealed for it. */
#include "tests/support/client_sessions.h"
#include "tests/support/lines.h"
#include "tests/support/lisp_file.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WITH_NATIVE "--native", "on"
#define FIB         "(defun fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))"

/* --- what is compiled --- */

#define OTHER_PACKAGE                                                                              \
    "(defpackage :other (:use :cl)) (defun other::wanted () 1) "                                   \
    "(defmacro own () (list (intern \"WANTED\"))) "

static const struct {
    const char *code, *value;
} compiled[] = {
    {FIB "(multiple-value-list (compile 'fib))", "=> (FIB NIL NIL)"},
    {FIB "(compile 'fib) (fib 20)", "=> 6765"},
    {FIB "(compile 'fib) (nth-value 1 (si:bc-split #'fib))", "=> NIL"},
    {FIB "(compile 'fib) (third (function-lambda-expression #'fib))", "=> (N)"},
    {FIB "(compile 'fib) (search \"is native code\" (with-output-to-string (*standard-output*) "
         "(disassemble 'fib)))",
     "=> 28"},
    {"(multiple-value-bind (f w e) (compile nil '(lambda (x) (* x 2))) "
     "(list (funcall f 21) w e (si:bc-split f)))",
     "=> (42 NIL NIL NIL)"},
    {"(let ((f (funcall (compile nil '(lambda () (let ((n 0)) (lambda () (incf n)))))))) "
     "(list (funcall f) (funcall f)))",
     "=> (1 2)"},
    {OTHER_PACKAGE "(let ((*package* (find-package :other))) (eval '(defun call () (own))) "
                   "(compile 'call)) (call)",
     "=> 1"}, /* a macro interns a symbol where it was used */
    {"(list (funcall (compile nil '(lambda () (< 2147483648 -1)))) (funcall (compile nil '(lambda "
     "() "
     "-2147483649))))",
     "=> (NIL -2147483649)"},
    {"(let ((y 10)) (defun next (x) (+ x (incf y)))) (multiple-value-list (compile 'next))",
     "=> (NEXT NIL NIL)"},
    {"(let ((y 10)) (defun next (x) (+ x (incf y)))) (next 0) (compile 'next) (next 1)", "=> 13"},
    {"(defmacro both (x) `(list ,x ,x)) (list (multiple-value-list (compile 'both)) (both 1))",
     "=> ((BOTH NIL NIL) (1 1))"},
    {"(defgeneric size (x)) (defmethod size ((x integer)) x) (defmethod size ((x string)) "
     "(+ 1 (if (next-method-p) 1 0) (length x))) (list (size \"ab\") "
     "(multiple-value-list (compile 'size)) (size \"abc\") (size 7))",
     "=> (3 (SIZE NIL NIL) 4 7)"},
    {"(defclass a () ()) (defclass b (a) ()) (defmethod m ((x a)) (list 'a)) "
     "(defmethod m ((x b)) (cons 'b (call-next-method))) (compile 'm) (m (make-instance 'b))",
     "=> (B A)"},
    {"(funcall (compile nil '(lambda () (list 'bar \"lit\" 1.5d0 #c(1 2) (expt 10 20) #\\a "
     "(load-time-value (+ 1 2)) '(1 . 2)))))",
     "=> (BAR \"lit\" 1.5d0 #C(1 2) 100000000000000000000 #\\a 3 (1 . 2))"},
    {"(funcall (compile nil '(lambda (&rest r &key (k 3) &allow-other-keys) (handler-case "
     "(/ (second r) k) (division-by-zero () :zero)))) :k 0)",
     "=> :ZERO"},
    {"(funcall (compile nil '(lambda (x) (block b (mapc (lambda (i) (when (> i x) (return-from b "
     "i))) '(1 5 9)) nil))) 4)",
     "=> 5"},
    {"(let ((log '())) (funcall (compile nil '(lambda (f) (catch 'done (unwind-protect (throw "
     "'done 1) (funcall f)))))  (lambda () (push 2 log))) log)",
     "=> (2)"},
    {"(defvar *d* 1) (defun d () *d*) (compile 'd) (let ((*d* 2)) (list (d) (funcall (compile nil "
     "'(lambda () (let ((*d* 3)) (d)))))))",
     "=> (2 3)"},
    {"(funcall (compile nil '(lambda (a b) (declare (double-float a b) (optimize speed)) (let ((s "
     "0d0)) (declare (double-float s)) (dotimes (i 10 s) (incf s (* a b)))))) 2d0 3d0)",
     "=> 60.0d0"},
    {"(let ((*print-base* 2) (*print-radix* t) (*read-default-float-format* 'double-float)) "
     "(format nil \"~d\" (funcall (compile nil '(lambda (x) (+ x 1234567 (floor 99.5)))) 1)))",
     "=> \"1234667\""},
    {"(defun deep (n) (if (= n 0) 0 (+ 1 (deep (- n 1))))) (compile 'deep) (handler-case (deep "
     "100000000) (storage-condition () :full))",
     "=> :FULL"},
    /* A function that nothing refers to runs on. */
    {"(defun gone (f) (fmakunbound 'gone) (si:gc t) (funcall f) (si:gc t) (list 'still \"here\")) "
     "(compile 'gone) (gone (lambda () (dotimes (i 100000) (make-string 20))))",
     "=> (STILL \"here\")"},
    {"(let ((fs (loop for i below 60 collect (let ((i i)) (compile nil `(lambda (x) (list x "
     "',(list "
     "i (format nil \"s~a\" i)))))))))  (si:gc t) (dotimes (i 100000) (make-string 20)) (si:gc t) "
     "(loop for f in fs for i from 0 always (equal (second (funcall f 1)) (list i (format nil "
     "\"s~a\" i)))))",
     "=> T"},
};

/* The first function of each row is compiled, and called before and after. */
static const struct {
    const char *functions, *calls, *value;
    bool native;
} closures[] = {
    /* Both share the variable, whichever is native. */
    {"(let ((n 0)) (list (lambda () (incf n)) (lambda () (decf n 10)) (lambda () n)))",
     "(list (call 0) (call 1) (call 0) (call 2))", "((1 -9 -8 -8) (-7 -17 -16 -16))", true},
    {"(let ((a 1) (b 2)) (list (lambda (x) (multiple-value-setq (a b) (values b x)) (list a b)) "
     "(lambda () (psetq a b b a) (push a b))))",
     "(list (call 0 5) (call 1))", "(((2 5) (5 . 2)) (((5 . 2) 5) (5 5 . 2)))", true},
    /* Defaults, and parameters that hide variables. */
    {"(let ((n 7) (x 1)) (list (lambda (x &optional (y (incf n)) (n n) &key (z (list x n))) "
     "(list x y n z)) (lambda () n)))",
     "(list (call 0 3) (call 0 4 5) (call 0 4 5 6 :z 0) (call 1))",
     "(((3 8 8 (3 8)) (4 5 8 (4 8)) (4 5 6 0) 8) ((3 9 9 (3 9)) (4 5 9 (4 9)) (4 5 6 0) 9))", true},
    /* One name at two levels. */
    {"(let ((n 1)) (let ((outer (lambda () (incf n)))) (let ((n n)) (list (lambda () (incf n 10)) "
     "outer))))",
     "(list (call 0) (call 1))", "((11 2) (21 3))", true},
    /* Local functions and macros. */
    {"(let ((n 0)) (flet ((add (k &optional (d 1)) (incf n (* k d)))) (list (lambda (k) (add k) "
     "(add k 2)) (lambda () n))))",
     "(list (call 0 2) (call 1))", "((6 6) (12 12))", true},
    {"(let ((n 0)) (macrolet ((add (k) `(incf n ,k))) (symbol-macrolet ((twice (* 2 n))) (list "
     "(lambda (k) (add k) twice)))))",
     "(list (call 0 2) (call 0 2))", "((4 8) (12 16))", true},
    {"(flet ((f (x) (double 2 x))) (macrolet ((double (x y) `(+ ,x ,y))) (list (lambda (k) (f "
     "k)))))",
     "(progn (defun double (x y) (* x y 3)) (call 0 2))", "(12 12)", true},
    {"(macrolet ((m (x) `(* 2 ,x))) (flet ((f (x) (m x))) (list (lambda (k) (m (f k))))))",
     "(call 0 2)", "(8 8)", true},
    /* Made in loops, whose blocks and tags they do not use. */
    {"(let ((fs '())) (dotimes (i 3 fs) (let ((i i) (n 0)) (push (lambda (k) (list i (incf n k))) "
     "fs))))",
     "(list (call 0 2) (call 1 1) (call 2 0))", "(((2 2) (1 1) (0 0)) ((2 4) (1 2) (0 0)))", true},
    /* A closure that returns closures. */
    {"(let ((n 0)) (list (lambda (k) (lambda () (incf n k))) (lambda () n)))",
     "(list (funcall (call 0 2)) (call 1))", "((2 2) (4 4))", true},
    /* Methods and functions that are closed over the same. */
    {"(let ((n 0)) (defmethod m ((x integer)) (incf n x)) (defun f () (m n)) (list #'f #'m))",
     "(list (call 1 2) (call 0))", "((2 4) (6 12))", true},
    /* What a function of variables cannot do: leave a block, be asked for a local function, and
     * tell which variables are special. */
    {"(block b (list (lambda (x) (if x (list x) (return-from b x)))))", "(call 0 1)", "((1) (1))",
     false},
    {"(tagbody (return-from all (list (lambda (x) (if x (list x) (go end))))) end)", "(call 0 1)",
     "((1) (1))", false},
    {"(let ((n 1)) (flet ((f () n)) (list (lambda () (eq #'f #'f)))))", "(call 0)", "(T T)", false},
    {"(let ((v 1)) (locally (declare (special v)) (list (lambda () v))))",
     "(progv '(v) '(2) (call 0))", "(2 2)", false},
    {"(let ((v 1)) (list (lambda () (list v (locally (declare (special v)) v)))))",
     "(progv '(v) '(2) (call 0))", "((1 2) (1 2))", false},
    {"(let ((n 0)) (macrolet ((m (x) `(+ n ,x))) (flet ((f (x) (m x))) (list #'f))))", "(call 0 1)",
     "(1 1)", false},
    {"(macrolet ((m (x) `(+ 1 ,x))) (flet ((f (x) (m x))) (list #'f)))", "(call 0 1)", "(2 2)",
     false},
    {"(symbol-macrolet ((v 1)) (let ((v 2)) (list (lambda () v))))", "(call 0)", "(2 2)", false},
    {"(let ((v 2)) (symbol-macrolet ((v 1)) (list (lambda () v))))", "(call 0)", "(1 1)", false},
};

#define NATIVE_P                                                                                   \
    "(defun native-p (f) (and (search \"is native code\" (with-output-to-string "                  \
    "(*standard-output*) (disassemble f))) t))"

Test(native, compiled_code_computes_the_same) {
    struct client *client = client_start_with(WITH_NATIVE);
    for (size_t i = 0; i < COUNT_OF(compiled); i++) {
        const char *name = client_session_open(client);
        client_session_expect(client, name, compiled[i].code, compiled[i].value);
        client_session_close(client, name);
    }
    client_finish(client);
}

/* Closures of one form have one code, and are compiled once. */
Test(native, closures_of_one_form_are_compiled_together) {
    struct client *client = client_start_with(WITH_NATIVE);
    client_session_expect(
        client, NULL,
        NATIVE_P
        "(defvar *fs* (loop for i below 5000 collect (let ((i i) (n 0)) (lambda () (incf n "
        "i))))) (mapc #'funcall *fs*) (list (eq (compile nil (nth 7 *fs*)) (nth 7 *fs*)) "
        "(loop for f in *fs* always (native-p f)) (loop for f in *fs* for i from 0 always "
        "(= (funcall f) (* 2 i))))",
        "=> (T T T)");
    client_finish(client);
}

/* A closure becomes native in place, and still shares what it shared. */
Test(native, closures_are_compiled_in_place) {
    struct client *client = client_start_with(WITH_NATIVE);
    for (size_t i = 0; i < COUNT_OF(closures); i++) {
        const char *name = client_session_open(client);
        client_session_expect(
            client, name,
            formatted(NATIVE_P "(defvar *fs* (block all %s)) (defun calls () (flet ((call (i &rest "
                               "list) (apply (nth i *fs*) list))) %s)) (list (equal '%s (list "
                               "(calls) (progn (compile nil (first *fs*)) (calls)))) (native-p "
                               "(first *fs*)))",
                      closures[i].functions, closures[i].calls, closures[i].value),
            closures[i].native ? "=> (T T)" : "=> (T NIL)");
        client_session_close(client, name);
    }
    client_finish(client);
}

/* --- backtraces --- */

/* Errors name the function that made them and its callers, native or not, in order and with their
 * arguments, whatever the functions declare. */
static const struct {
    const char *definitions, *call, *backtrace;
} failing[] = {
    {"(defun inner (x y) (list (car x) y)) (defun outer (x &optional (y 2)) (list (inner x y)))"
     "(defun last-one (z) (list (outer z))) (mapc 'compile '(inner outer))",
     "(last-one 5)", "0: (CAR 5 ...)\n1: (INNER 5 2)\n2: (OUTER 5)\n3: (LAST-ONE 5)"},
    {"(defun inner (x y) (declare (optimize speed (debug 0))) (if (eql x 5) (error \"five\") y))"
     "(defun outer (x) (declare (optimize (debug 3))) (list (inner x 1)))"
     "(mapc 'compile '(inner outer))",
     "(outer 5)", "0: (INNER 5 1)\n1: (OUTER 5)"},
    {"(defun outer (x) (declare (optimize (debug 3))) (let ((y (list x))) (error \"~a\" y)))"
     "(compile 'outer)",
     "(outer 5)", "[Backtrace]\n0: (OUTER 5)"},
    /* Parameters in registers and on the stack, and declared ones. */
    {"(defun inner (a b c d e f g h) (declare (fixnum a h) (double-float b)) (error \"~a\" (list a "
     "b "
     "c d e f g h)))"
     "(defun outer (a &optional b c d (e 5) (f 6) (g 7)) (list (inner a b c d e f g 8)))"
     "(mapc 'compile '(inner outer))",
     "(outer 1 2d0 3 4 5 6 7)", "0: (INNER 1 2.0d0 3 4 5 6 7 8)\n1: (OUTER 1 2.0d0 3 4 5 6 7)"},
    {"(defun inner (&rest r &key (k 1) &allow-other-keys) (error \"~a ~a\" r k))"
     "(defun outer (x) (list (inner :k 2 :l x)))(mapc 'compile '(inner outer))",
     "(outer 3)", "0: (INNER :K 2 :L 3)\n1: (OUTER 3)"},
    {"(defclass a () ()) (defmethod size ((x a) &key k) (car k))"
     "(defmethod size :around (x &key k) (list (call-next-method))) (compile 'size)",
     "(list (size (make-instance 'a) :k 7))",
     "0: (CAR 7 ...)\n1: (SIZE #<A @1> :K 7)\n2: (SIZE #<A @1> :K 7)"},
    /* By way of ECL, and of interpreted code and functions within a function. */
    {"(defun inner (f x) (funcall f x)) (defun outer (l) (labels ((each (x) (list (inner (lambda "
     "(y)"
     " (error \"~a\" y)) x)))) (sort l (lambda (a b) (each a) (< a b))))) (defun between (l) (list "
     "(outer l))) (defun outermost (l) (list (between l))) (mapc 'compile '(inner outer "
     "outermost))",
     "(outermost (list 1 1))",
     "0: (INNER #<compiled-function @1> 1)\n1: (OUTER (1 1))\n"
     "2: (BETWEEN (1 1))\n3: (OUTERMOST (1 1))"},
    {"(compile 'inner) (defun outer (f) (handler-bind ((error (lambda (c) (inner f 2)))) (error "
     "\"first\"))) (compile 'outer)",
     "(outer (lambda (x) (error \"~a\" x)))",
     "0: ((LAMBDA (X)) 2)\n1: (INNER #<bytecompiled-function @1> 2)\n"},
    {"(defun inner (x y) (declare (double-float x y)) (/ x y)) (defun outer (x) (list (inner x "
     "0d0))) (mapc 'compile '(inner outer))",
     "(outer 1d0)", "0: (INNER 1.0d0 0.0d0)\n1: (OUTER 1.0d0)"},
    {"(defun inner (x) (declare (optimize (safety 0))) (car x)) (defun outer (x) (list (inner x)))"
     "(mapc 'compile '(inner outer))",
     "(outer 5)", "0: (INNER 5)\n1: (OUTER 5)"},
    /* None, if the stack is destroyed; the next error has them again. */
    {"(defun smash () (ffi:c-inline () () :void \"{ long *p = __builtin_frame_address(0); p[0] = "
     "16; "
     "*(int *)8 = 0; }\")) (defun inner () (list (smash))) (defun outer () (list (inner)))"
     "(mapc 'compile '(smash inner outer))",
     "(outer)", "[Backtrace]\n0: (outer)"},
    {"(defun inner (n m) (list (inner (1+ n) m))) (compile 'inner)", "(inner 1 'm)",
     " M)\n19: (INNER "},
    {"(compile 'outer) (defun inner (x) (outer x x)) (compile 'inner)", "(list (inner 3))",
     "0: (INNER 3)"},
};

Test(native, backtraces_have_native_functions) {
    struct client *client = client_start_with(WITH_NATIVE);
    for (size_t i = 0; i < COUNT_OF(failing); i++) {
        struct evaluation evaluation = client_evaluate(client, failing[i].definitions);
        cr_assert_not(evaluation.is_error, "%s", evaluation.line);
        evaluation = client_evaluate(client, failing[i].call);
        cr_assert(evaluation.is_error, "%s: %s", failing[i].call, evaluation.line);
        expect_contains(evaluation.text, failing[i].backtrace);
    }
    client_finish(client);
}

/* --- what is computed in place --- */

/* Arithmetic and lists: for all operands, at the limits of fixnums and of the products that are
 * computed in place, the result or the type of the error is that of bytecode. */
static const char operands[] =
    "(progn"
    " (defvar *edges* (list 0 (expt 2 15) (expt 2 29) (expt 2 30) (expt 2 31) (expt 2 60)"
    "                       (expt 2 61) (expt 2 62) (expt 2 63) (expt 10 30)))"
    " (defvar *operands* (append (loop for edge in *edges* append (loop for off from -2 to 2"
    "                              append (list (+ edge off) (- (+ edge off)))))"
    "                            (list 1/2 -7/3 1.5 0.0 1d300 (expt 2d0 61) #c(1 2) nil 'a \"s\""
    "                                  #\\a '(1) '(1 . 2))))"
    " (defun try (function &rest arguments)"
    "   (handler-case (apply function arguments)"
    "     (error (condition) (class-name (class-of condition)))))"
    " (defun differences (expression &rest lists)"
    "   (let ((bytecode (eval expression)) (native (compile nil expression)))"
    "     (loop for x in (first lists)"
    "           append (loop for rest in (if (rest lists) (mapcar #'list (second lists)) '(()))"
    "                        unless (equal (apply #'try bytecode x rest) (apply #'try native x "
    "rest))"
    "                          collect (list* expression x rest)))))"
    " (length *operands*))";

static const char *const of_one[] = {"1+",   "1-",    "-",   "zerop", "plusp", "minusp",
                                     "oddp", "evenp", "car", "cdr",   "rest",  "endp"};
static const char *const of_two[] = {"+", "-",  "*",  "=",   "/=",  "<",
                                     ">", "<=", ">=", "eql", "max", "min"};

Test(native, arithmetic_and_lists_have_the_results_of_bytecode) {
    struct client *client = client_start_with(WITH_NATIVE);
    client_session_expect(client, NULL, operands, "=> 113");
    for (size_t i = 0; i < COUNT_OF(of_one); i++)
        client_session_expect(client, NULL,
                              formatted("(differences '(lambda (x) (%s x)) *operands*)", of_one[i]),
                              "=> NIL");
    for (size_t i = 0; i < COUNT_OF(of_two); i++) {
        client_session_expect(
            client, NULL,
            formatted("(differences '(lambda (x y) (%s x y)) *operands* *operands*)", of_two[i]),
            "=> NIL");
        client_session_expect(
            client, NULL,
            formatted("(loop for x in (list 0 1 -3 most-positive-fixnum 1.5 nil) append "
                      "(differences `(lambda (y) (list (%s y ',x) (%s ',x y))) *operands*))",
                      of_two[i], of_two[i]),
            "=> NIL");
    }
    client_finish(client);
}

/* A name is called as what it is then: a call goes past ECL's dispatch only to a function of
 * exactly these arguments. */
static const struct {
    const char *code, *value;
} calls[] = {
    {"(defun callee (x) (list x)) (defun caller (x) (handler-case (callee x) (error (condition) "
     "(class-name (class-of condition))))) (defun caller-of (f x) (handler-case (funcall f x) "
     "(error (condition) (class-name (class-of condition))))) (compile 'callee) (compile 'caller) "
     "(compile 'caller-of) (list (caller 1) (caller-of #'callee 1) (caller-of 'callee 1))",
     "=> ((1) (1) (1))"},
    {"(defun callee (x &optional (y 2)) (list x y)) (list (caller 1) (caller-of #'callee 1))",
     "=> ((1 2) (1 2))"},
    {"(compile 'callee) (list (caller 1) (caller-of #'callee 1))", "=> ((1 2) (1 2))"},
    {"(defun callee (x y) (list x y)) (compile 'callee) (list (caller 1) (caller-of #'callee 1))",
     "=> (SI:SIMPLE-PROGRAM-ERROR SI:SIMPLE-PROGRAM-ERROR)"},
    {"(defun callee () 0) (compile 'callee) (caller 1)", "=> SI:SIMPLE-PROGRAM-ERROR"},
    {"(defmacro callee (x) `(list ,x)) (compile 'callee) (list (caller 1) (caller-of 'callee 1))",
     "=> (UNDEFINED-FUNCTION UNDEFINED-FUNCTION)"},
    {"(fmakunbound 'callee) (list (caller 1) (caller-of 'callee 1) (caller-of nil 1) (caller-of 5 "
     "1))",
     "=> (UNDEFINED-FUNCTION UNDEFINED-FUNCTION UNDEFINED-FUNCTION TYPE-ERROR)"},
    {"(defgeneric callee (x)) (defmethod callee ((x integer)) (- x)) (list (caller 1) (caller-of "
     "#'callee 1))",
     "=> (-1 -1)"},
    {"(let ((n 10)) (defun callee (x) (incf n x))) (list (caller 1) (caller 2))", "=> (11 13)"},
    {"(list (caller-of (lambda (x) (* 2 x)) 4) (caller-of (compile nil '(lambda (x) (* 2 x))) 4) "
     "(caller-of #'list 4) (caller-of #'car '(4)))",
     "=> (8 8 (4) 4)"},
    {"(defun a0 () 0) (defun a1 (a) a) (defun a2 (a b) (list a b)) (defun a3 (a b c) (list a b c)) "
     "(defun a4 (a b c d) (list a b c d)) (defun a5 (a b c d e) (list a b c d e)) (defun a9 (a b c "
     "d e f g h i) (list a b c d e f g h i)) (defun all () (list (a0) (a1 1) (a2 1 2) (a3 1 2 3) "
     "(a4 1 2 3 4) (a5 1 2 3 4 5) (a9 1 2 3 4 5 6 7 8 9))) (mapc 'compile '(a0 a1 a2 a3 a4 a5 a9 "
     "all)) (all)",
     "=> (0 1 (1 2) (1 2 3) (1 2 3 4) (1 2 3 4 5) (1 2 3 4 5 6 7 8 9))"},
    /* Recursion is by name, too, so that a function can be replaced by one that calls it. */
    {FIB "(compile 'fib) (let ((old #'fib) (seen (make-hash-table))) (setf (fdefinition 'fib) "
         "(lambda (n) (or (gethash n seen) (setf (gethash n seen) (funcall old n)))))) (fib 90)",
     "=> 2880067194370816120"},
    /* Arguments are evaluated once. */
    {"(defun callee (x) (list :old x)) (defun note (n) (print n)) (defun calls () (callee (progn "
     "(note 1) (setf (fdefinition 'callee) (lambda (x) (list :new x))) 2))) (compile 'calls) "
     "(with-output-to-string (*standard-output*) (calls))",
     "=> \"\n1 \""},
};

Test(native, a_name_is_called_as_what_it_is) {
    struct client *client = client_start_with(WITH_NATIVE);
    for (size_t i = 0; i < COUNT_OF(calls); i++)
        client_session_expect(client, NULL, calls[i].code, calls[i].value);
    client_finish(client);
}

/* --- methods --- */

/* A method's function is a closure of ECL around its body, which is what is compiled. */
Test(native, bodies_of_methods_are_compiled) {
    struct client *client = client_start_with(WITH_NATIVE);
    client_session_expect(
        client, NULL,
        "(defclass a () ()) (defclass b (a) ()) (defgeneric m (x &key k))"
        "(defmethod m ((x a) &key (k 1)) (list 'a k))"
        "(defmethod m :around ((x a) &key k) (cons 'around (call-next-method)))"
        "(defmethod m ((x b) &key k) (cons (and (next-method-p) k) (call-next-method)))"
        "(defun bodies () (mapcar (lambda (method) (null (nth-value 1 (si:bc-split "
        "(eclave::method-body method))))) (clos:generic-function-methods #'m)))"
        "(list (bodies) (m (make-instance 'b) :k 5) (multiple-value-list (compile 'm)) (bodies) "
        "(m (make-instance 'b) :k 5))",
        "=> ((NIL NIL NIL) (AROUND 5 A 5) (M NIL NIL) (T T T) (AROUND 5 A 5))");
    client_finish(client);
}

/* A function that was compiled in place has one frame, with its arguments. */
Test(native, backtraces_have_functions_compiled_in_place) {
    static const char *const makers[] = {
        "(defvar *f* (let ((n 0)) (lambda (x y) (incf n) (list (car x) y))))",
        "(defvar *f* (lambda (x y) (list (car x) y)))",
    };
    struct client *client = client_start_with("--native", "auto");
    for (size_t i = 0; i < COUNT_OF(makers); i++) {
        const char *session = client_session_open(client);
        client_session_expect(client, session, makers[i], "=> *F*");
        struct evaluation evaluation = client_session_evaluate(
            client, session, "(flet ((caller (z) (list (funcall *f* z 2)))) (caller 5))");
        expect_contains(evaluation.text, "[Backtrace]\n0: (CAR 5 ...)\n1: ((LAMBDA (X Y)) 5 2)\n"
                                         "2: (CALLER 5)");
        evaluation = client_session_evaluate(client, session, "(funcall *f* 5)");
        expect_contains(evaluation.text, "[Backtrace]\n0: ((LAMBDA (X Y)) 5)");
    }
    client_finish(client);
}

/* --- what is not --- */

static const struct {
    const char *code, *value;
} refused[] = {
    {"(multiple-value-bind (f w e) (compile nil '(lambda (x) (coerce x 'long-float))) "
     "(list w e (funcall f 1)))",
     "=> (T T 1.0l0)"},
    {"(nth-value 2 (compile nil '(lambda () (nil 1))))", "=> T"},
    {"(nth-value 2 (compile nil '(lambda () (ffi:c-inline () () :int \"this is no C\"))))", "=> T"},
    {"(nth-value 2 (compile nil '(lambda () (ffi:c-inline () () :int \"sizeof(char[-1])\" "
     ":one-liner "
     "t))))",
     "=> T"},
    /* Too long for one unit. */
    {"(nth-value 2 (compile nil `(lambda () (ffi:clines ,(make-string 1100000)) 1)))", "=> T"},
    {"(list (funcall (compile nil '(lambda () 42))) (multiple-value-list (compile 'car)))",
     "=> (42 (CAR NIL NIL))"},
};

Test(native, what_does_not_compile_stays_bytecode) {
    struct client *client = client_start_with(WITH_NATIVE);
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        client_session_expect(client, NULL, refused[i].code, refused[i].value);
    client_finish(client);
}

Test(native, it_is_off_by_default) {
    struct client *client = client_start_ready(NULL, NULL);
    client_session_expect(
        client, NULL, "(not (nth-value 1 (si:bc-split (compile nil '(lambda (x) x)))))", "=> NIL");
    client_session_expect(client, NULL, "(null (find-symbol \"COMPILER-PASS1\" \"C\"))", "=> T");
    client_finish(client);
}

Test(native, auto_compiles_what_a_call_defines) {
    struct client *client = client_start_with("--native", "auto");
    client_session_expect(client, NULL,
                          FIB "(defmethod area ((x integer)) (* x x)) (defmacro twice (x) `(* 2 "
                              ",x)) (list (not (nth-value 1 (si:bc-split #'fib))) (fib 10))",
                          "=> (NIL 55)");
    client_session_expect(client, NULL,
                          "(list (not (nth-value 1 (si:bc-split #'fib))) (fib 10) (area 3) (twice "
                          "4) (not (nth-value 1 (si:bc-split (eclave::method-body (first "
                          "(clos:generic-function-methods #'area)))))))",
                          "=> (T 55 9 8 T)");
    /* Functions that share a variable still do once they are compiled. */
    client_session_expect(
        client, NULL,
        "(let ((n 0)) (defun next () (incf n)) (defun now () n)"
        " (defmethod count-of ((x integer)) (+ x n)))"
        " (labels ((add (x) (if (> x 9) x (add (1+ x))))) (defun grow (x) (add x)))"
        " (block out (defun leave () (return-from out 1))) nil",
        "=> NIL");
    client_session_expect(client, NULL, "(list (next) (next) (now) (count-of 5) (grow 3))",
                          "=> (1 2 2 7 10)");
    client_session_expect(client, NULL,
                          OTHER_PACKAGE "(let ((*package* (find-package :other))) (eval '(progn "
                                        "(defun call () (own)) (defmethod ask ((x integer)) "
                                        "(own))))) nil",
                          "=> NIL");
    client_session_expect(client, NULL, "(list (nth-value 1 (si:bc-split #'call)) (call) (ask 1))",
                          "=> (NIL 1 1)");
    /* A call that fails has defined something, too. */
    struct evaluation evaluation =
        client_evaluate(client, "(defun later () 1) (error \"afterwards\")");
    cr_assert(evaluation.is_error);
    client_session_expect(client, NULL, "(not (nth-value 1 (si:bc-split #'later)))", "=> T");
    client_finish(client);
}

#define F_NATIVE_P "(not (nth-value 1 (si:bc-split #'f)))"

/* The answer goes out although compiling never ends; the next call finds the state of that answer,
 * and the function as it was. */
Test(native, auto_compiles_after_the_answer) {
    struct client *client = client_start_with("--native", "auto");
    const char *session = client_session_open(client);
    client_session_expect(client, session, LISP_TRAP("(loop)") "*armed*", "=> 1");
    client_session_expect(client, session, "(list *armed* (f) " F_NATIVE_P ")", "=> (1 1 NIL)");
    /* Nothing more is compiled in this session, since it could end in the same way. */
    client_session_expect(client, session, "(defun f () (list 2))", "=> F");
    client_session_expect(client, session, "(list (f) " F_NATIVE_P ")", "=> ((2) NIL)");
    client_session_rollback(client, session, 2);
    client_session_expect(client, session, "(list *armed* (f))", "=> (1 1)");
    const char *other = client_session_open(client);
    client_session_expect(client, other, "(defun f () 1)", "=> F");
    client_session_expect(client, other, "(list (f) " F_NATIVE_P ")", "=> (1 T)");
    client_finish(client);
}

/* Whatever a macro does when it is expanded between calls. */
Test(native, auto_compiles_in_silence_or_not_at_all) {
    static const struct {
        const char *code, *native;
    } rows[] = {
        {LISP_TRAP("(print 'loud) (print 'louder *error-output*) (format *query-io* \"x\")"), "T"},
        {LISP_TRAP("(read)"), "NIL"}, /* at the end of its input: an error */
        {LISP_TRAP("(error \"no\")"), "NIL"},
        {LISP_TRAP("(eval '(defun f () 1))"), "T"}, /* not without end */
        {LISP_TRAP("(labels ((deep () (+ 1 (deep)))) (deep))"), "NIL"},
        {LISP_TRAP("(throw 'nowhere 1)"), "NIL"},
        {LISP_TRAP("(si:quit 3)"), "NIL"},
        {LISP_TRAP("(ffi:c-inline () () :void \"abort()\")"), "NIL"},
    };
    struct client *client = client_start_with("--native", "auto");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *session = client_session_open(client);
        client_session_expect(client, session, formatted("%s*armed*", rows[i].code), "=> 1");
        client_session_expect(client, session, "(list *armed* (f) " F_NATIVE_P ")",
                              formatted("=> (1 1 %s)", rows[i].native));
        client_session_expect(client, session, "(incf *armed*)", "=> 2");
        client_session_close(client, session);
    }
    client_finish(client);
}

/* A state that a session returns to is compiled again, and so is a copy of it. */
Test(native, auto_compiles_again_what_a_session_returns_to) {
    enum { CALLS = 8 }; /* then the states are pages, and the next one too */
    struct client *client = client_start_with("--native", "auto");
    const char *session = client_session_open(client);
    for (int i = 0; i < CALLS; i++)
        client_session_expect(client, session, "(defvar *n* 0)", "=> *N*");
    client_session_expect(client, session, "(defun f () (incf *n*))", "=> F");
    for (int i = 0; i < 3; i++) {
        cr_assert(client_session_evaluate(client, session, "(f) (si:quit 1)").is_error);
        client_session_expect(client, session, "(list (f) " F_NATIVE_P ")", "=> (1 T)");
        client_session_rollback(client, session, 1);
        client_session_expect(client, session, "(list (f) " F_NATIVE_P ")", "=> (1 T)");
        client_session_expect(client, session, "(f)", "=> 2");
        const char *copy = client_session_copy(client, session, CALLS + 1);
        client_session_expect(client, copy, "(list (f) " F_NATIVE_P ")", "=> (1 T)");
        client_session_close(client, copy);
        client_session_rollback(client, session, 2);
    }
    client_finish(client);
}

/* Functions in use are compiled where they are, whoever has them. */
Test(native, auto_compiles_functions_that_are_in_use) {
    static const char *const places[][2] = {
        {"(defparameter *f* (lambda (x) (* x 2)))", "*f*"},
        {"(defparameter *f* (let ((n 0)) (lambda (x) (incf n x))))", "*f*"},
        {"(defparameter *f* (list 1 (vector (lambda (x) (* x 2)))))", "(aref (second *f*) 0)"},
        {"(defvar *table* (make-hash-table)) (defun keep (k f) (setf (gethash k *table*) f))",
         "(progn (keep 1 #'list) #'keep)"},
        {"(progn (keep 2 (lambda (x) (* x 2))) nil)", "(gethash 2 *table*)"},
        {"(defstruct box f) (defvar *box* (make-box :f (lambda (x) (* x 2))))", "(box-f *box*)"},
        {"(defclass thing () ((f :initarg :f :reader f))) (defvar *thing* (make-instance 'thing :f "
         "(let ((n 1)) (lambda (x) (* x (incf n))))))",
         "(f *thing*)"},
        {"(progn (setf (get 'here 'f) (lambda (x) (* x 2))) nil)", "(get 'here 'f)"},
        {"(lambda (x) (* x 3))", "*"},
        {"(defun named (x) (* x 2)) (defvar *g* #'named)", "*g*"},
        {"(labels ((even (n) (or (= n 0) (odd (1- n)))) (odd (n) (and (/= n 0) (even (1- n))))) "
         "(defvar *h* #'even))",
         "*h*"},
    };
    struct client *client = client_start_with("--native", "auto");
    client_session_expect(client, NULL, NATIVE_P, "=> NATIVE-P");
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        cr_assert_not(client_evaluate(client, places[i][0]).is_error);
        client_session_expect(client, NULL, formatted("(native-p %s)", places[i][1]), "=> T");
    }
    client_session_expect(
        client, NULL,
        "(list (funcall (aref (second *f*) 0) 1) (funcall (gethash 2 *table*) 4) (funcall (f "
        "*thing*) 5) (funcall (f *thing*) 5) (eq *g* #'named) (funcall *h* 10))",
        "=> (2 8 10 15 NIL T)");
    client_finish(client);
}

/* One that nobody has costs no unit. */
Test(native, auto_leaves_functions_that_were_dropped) {
    struct client *client = client_start_with("--native", "auto");
    client_session_expect(client, NULL,
                          "(defvar *made* 0) (setf *made* (hash-table-count "
                          "eclave::*native-sources*)) nil",
                          "=> NIL");
    client_session_expect(client, NULL,
                          "(defvar *sum* (reduce #'+ (mapcar (lambda (x) (* x x)) '(1 2 3))))",
                          "=> *SUM*");
    client_session_expect(client, NULL,
                          "(list *sum* (- (hash-table-count eclave::*native-sources*) *made*))",
                          "=> (14 0)");
    client_finish(client);
}

/* --- states --- */

Test(native, code_belongs_to_the_state_of_a_session) {
    struct client *client = client_start_with(WITH_NATIVE);
    const char *session = client_session_open(client);
    client_session_expect(client, session, FIB "(fib 10)", "=> 55");
    client_session_expect(client, session, "(compile 'fib) (fib 11)", "=> 89");
    client_session_settle(client, session);
    const char *copy = client_session_copy(client, session, -1);
    client_session_expect(client, session, "(defun fib (n) (list n)) (compile 'fib) (fib 1)",
                          "=> (1)");
    client_session_settle(client, session);
    client_session_expect(client, copy, "(list (fib 12) (si:bc-split #'fib))", "=> (144 NIL)");
    client_session_expect(client, copy, "(funcall (compile nil '(lambda () 7)))", "=> 7");
    client_session_rollback(client, session, 1);
    client_session_expect(client, session, "(list (fib 12) (nth-value 1 (si:bc-split #'fib)))",
                          "=> (144 NIL)");
    client_session_rollback(client, session, 2);
    client_session_expect(client, session, "(null (nth-value 1 (si:bc-split #'fib)))", "=> NIL");
    client_session_expect(client, session, "(compile 'fib) (fib 13)", "=> 233");
    client_finish(client);
}

/* A copy and a rollback have the variables and the code of their closures apart. */
Test(native, closures_belong_to_the_state_of_a_session) {
    struct client *client = client_start_with("--native", "auto");
    const char *session = client_session_open(client);
    client_session_expect(client, session,
                          NATIVE_P "(defvar *f* (let ((n 0)) (lambda () (incf n)))) nil", "=> NIL");
    client_session_expect(client, session, "(list (native-p *f*) (funcall *f*))", "=> (T 1)");
    client_session_settle(client, session);
    const char *copy = client_session_copy(client, session, -1);
    client_session_expect(client, session, "(list (funcall *f*) (funcall *f*))", "=> (2 3)");
    client_session_settle(client, session);
    client_session_expect(client, copy, "(list (native-p *f*) (funcall *f*))", "=> (T 2)");
    client_session_rollback(client, session, 1);
    client_session_expect(client, session, "(list (native-p *f*) (funcall *f*))", "=> (T 2)");
    client_finish(client);
}

Test(native, a_call_that_is_killed_leaves_no_code) {
    struct client *client = client_start_with(WITH_NATIVE);
    const char *session = client_session_open(client);
    client_session_expect(client, session, FIB "(fib 10)", "=> 55");
    client_session_evaluate_within(client, session, "(compile 'fib) (loop)", 0.5);
    client_session_expect(client, session, "(null (nth-value 1 (si:bc-split #'fib)))", "=> NIL");
    client_session_expect(client, session, "(compile 'fib) (fib 13)", "=> 233");
    client_finish(client);
}

/* --- the compiler's process --- */

static pid_t find_compiler(struct client *client) {
    pid_t pids[64];
    const size_t count = client_descendants(client, pids, 64);
    for (size_t i = 0; i < count; i++) {
        char name[32] = "";
        FILE *file = fopen(formatted("/proc/%d/comm", (int)pids[i]), "re");
        if (file && fgets(name, sizeof name, file) && strcmp(name, "eclave-compiler\n") == 0) {
            fclose(file);
            return pids[i];
        }
        if (file)
            fclose(file);
    }
    return 0;
}

Test(native, the_compiler_is_started_again_when_it_was_killed) {
    struct client *client = client_start_with(WITH_NATIVE);
    client_session_expect(client, NULL, FIB "(compile 'fib) (fib 10)", "=> 55");
    pid_t compiler = find_compiler(client);
    cr_assert_gt(compiler, 1);
    cr_assert_eq(kill(compiler, SIGKILL), 0);
    client_await_stderr(client, "the compiler has ended");
    client_session_expect(
        client, NULL, "(loop until (not (nth-value 2 (compile nil '(lambda () 1)))))", "=> NIL");
    client_session_expect(client, NULL, "(fib 11)", "=> 89");
    client_finish(client);
}

/* Source that tcc reads for ever, or that needs all memory, ends with its process. */
Test(native, source_that_does_not_end_is_given_up) {
    struct client *client = client_start_with(WITH_NATIVE);
    client_session_expect(
        client, NULL,
        "(nth-value 2 (compile nil '(lambda () (ffi:clines \"#define a b b b b b b "
        "b b\n#define b c c c c c c c c\n#define c d d d d d d d d\n#define d e e e "
        "e e e e e\n#define e f f f f f f f f\n#define f g g g g g g g g\n#define g "
        "h h h h h h h h\n#define h i i i i i i i i\n#define i j j j j j j j "
        "j\nint x[] = {a};\") 1)))",
        "=> T");
    client_session_expect(client, NULL, FIB "(compile 'fib) (fib 10)", "=> 55");
    client_finish(client);
}

/* --- attacks --- */

/* C that native code runs; the value of each is 1 if the attack failed. */
#define IN_C(text)                                                                                 \
    "(funcall (compile nil '(lambda () (ffi:c-inline () () :int \"" text "\" :one-liner t))))"
/* Any executable page, and the address of a page of data. */
#define PAGE "((long)&cl_boot & ~4095L)"

static const struct {
    const char *code;
    bool kills;
} attacks[] = {
    {IN_C("(long)mmap(0, 4096L, 7, 34, -1, 0L) == -1"), true},
    {IN_C("(long)mmap(0, 4096L, 5, 34, -1, 0L) == -1"), true},
    {IN_C("(long)mmap(0x700000000000, 4096L, 5, 18, 4, 0L) == -1"), false},
    {IN_C("(long)mmap(0x700000000000, 4096L, 5, 18, 3, 0L) == -1"), true},
    {IN_C("(long)mmap(0x700000000000, 4096L, 3, 1, 4, 0L) == -1"), true},
    {IN_C("mprotect(" PAGE ", 4096L, 7) == -1"), true},
    {IN_C("mprotect(" PAGE ", 4096L, 5) == -1"), true},
    {IN_C("syscall(319L, \\\"x\\\", 0L) == -1"), true},          /* memfd_create */
    {IN_C("syscall(59L, \\\"/bin/sh\\\", 0L, 0L) == -1"), true}, /* execve */
};

Test(native, instructions_of_choice_map_no_other_code) {
    struct client *client = client_start_with(WITH_NATIVE);
    for (size_t i = 0; i < COUNT_OF(attacks); i++) {
        struct evaluation evaluation = client_evaluate(client, attacks[i].code);
        if (attacks[i].kills) {
            cr_assert(evaluation.is_error, "%s: %s", attacks[i].code, evaluation.line);
            expect_contains(evaluation.text, "forbidden system call");
        } else {
            cr_assert_str_eq(evaluation.text, "=> 1", "%s: %s", attacks[i].code, evaluation.line);
        }
    }
    /* The control: the same way of calling C works. */
    client_session_expect(client, NULL, IN_C("getpid() > 0"), "=> 1");
    client_finish(client);
}
