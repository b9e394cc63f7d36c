/* inspect-lisp: each operation, broken objects, wrong arguments, and that nothing stays. */
#include "tests/support/client_sessions.h"
#include "tests/support/eras.h"
#include "tests/support/lines.h"
#include "tests/support/lisp_file.h"
#include <stdio.h>
#include <string.h>

#define INSPECT "inspect-lisp"

/* A session with a little of everything. */
static const char *const codes[] = {
    "(defvar *count* 3 \"How many.\")",
    "(defun square (x &optional (times 1))\n  \"X times X.\"\n  (* x x times)) ; kept\n",
    "(defun area (side) (setf *count* (square side)))",
    "(defmacro twice (form) `(progn ,form ,form))",
    "(defclass shape () ((name :initarg :name :reader shape-name) (size :initform 1)))",
    "(defclass circle (shape) ((radius :initarg :radius :type number)))",
    "(defgeneric grow (shape by) (:documentation \"Makes it larger.\"))",
    "(defmethod grow ((shape circle) (by number)) (area by))",
    "(defmethod grow :before (shape by) (list shape by))",
    "(defpackage fruit (:use cl) (:export apple))",
    "(defstruct point x y)",
};

static struct client *start(void) {
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(codes); i++)
        cr_assert_not(client_evaluate(client, codes[i]).is_error, "%s", codes[i]);
    return client;
}

static struct evaluation inspect(struct client *client, const char *arguments) {
    return client_tool(client, INSPECT, arguments);
}

/* The text of the answer, which must be no error. */
static const char *answer(struct client *client, const char *arguments) {
    struct evaluation evaluation = inspect(client, arguments);
    cr_assert_not(evaluation.is_error, "%s: %s", arguments, evaluation.line);
    cr_assert_eq(evaluation.exit_code, 0, "%s: %s", arguments, evaluation.line);
    return evaluation.text;
}

static void expect_refused(struct client *client, const char *arguments, const char *type,
                           const char *part) {
    struct evaluation evaluation = inspect(client, arguments);
    char marker[80];
    snprintf(marker, sizeof marker, "[ERROR] %s\n", type);
    cr_assert(evaluation.is_error, "%s: %s", arguments, evaluation.line);
    cr_assert(strncmp(evaluation.text, marker, strlen(marker)) == 0, "%s: %s", arguments,
              evaluation.text);
    cr_assert(strstr(evaluation.text, part), "%s: %s", arguments, evaluation.text);
}

/* --- the operations --- */

static const struct {
    const char *arguments, *text;
} rows[] = {
    {"{\"operation\":\"describe\",\"name\":\"square\"}",
     "SQUARE: function\n[package]\nCOMMON-LISP-USER, internal\n"
     "[arguments]\n(X &OPTIONAL (TIMES 1))\n[documentation of the function]\nX times X."},
    {"{\"operation\":\"describe\",\"name\":\"*count*\"}",
     "*COUNT*: variable\n[package]\nCOMMON-LISP-USER, internal\n[value]\n3\n"
     "[documentation of the variable]\nHow many."},
    {"{\"operation\":\"describe\",\"name\":\"circle\"}",
     "CIRCLE: class\n[package]\nCOMMON-LISP-USER, internal\n[superclasses]\nSHAPE\n"
     "[slots]\nNAME :initarg :NAME\nSIZE :initform 1\nRADIUS :type NUMBER :initarg :RADIUS"},
    {"{\"operation\":\"apropos\",\"name\":\"SQUAR\"}",
     "1 symbol matches \"SQUAR\"\n[symbols]\nSQUARE: function"},
    {"{\"operation\":\"apropos\",\"name\":\"value-b\",\"kind\":\"macro\"}",
     "1 symbol matches \"value-b\"\n[symbols]\nMULTIPLE-VALUE-BIND: macro"},
    {"{\"operation\":\"apropos\",\"name\":\"apple\",\"package\":\"fruit\",\"kind\":\"\"}",
     "0 symbols match \"apple\""},
    {"{\"operation\":\"documentation\",\"name\":\"grow\"}",
     "GROW: generic function\n[documentation of the function]\nMakes it larger."},
    {"{\"operation\":\"documentation\",\"name\":\"area\"}",
     "AREA: function\n[documentation]\n(none)"},
    {"{\"operation\":\"arguments\",\"name\":\"square\"}",
     "SQUARE: function\n[arguments]\n(X &OPTIONAL (TIMES 1))"},
    {"{\"operation\":\"arguments\",\"name\":\"cl:mapcar\"}",
     "MAPCAR: function\n[arguments]\n(FUNCTION LIST &REST MORE-LISTS)"},
    {"{\"operation\":\"arguments\",\"name\":\"twice\"}", "TWICE: macro\n[arguments]\n(FORM)"},
    {"{\"operation\":\"source\",\"name\":\"square\"}",
     "SQUARE: function\n[function]\n"
     "(defun square (x &optional (times 1))\n  \"X times X.\"\n  (* x x times))"},
    {"{\"operation\":\"source\",\"name\":\"grow\"}",
     "GROW: generic function\n[generic function]\n"
     "(defgeneric grow (shape by) (:documentation \"Makes it larger.\"))\n"
     "[methods]\n(defmethod grow ((shape circle) (by number)) (area by))\n"
     "(defmethod grow :before (shape by) (list shape by))"},
    {"{\"operation\":\"source\",\"name\":\"fruit\"}",
     "FRUIT: package\n[package]\n(defpackage fruit (:use cl) (:export apple))"},
    {"{\"operation\":\"callers\",\"name\":\"square\"}", "SQUARE: function\n[called by]\nAREA"},
    {"{\"operation\":\"callers\",\"name\":\"area\"}",
     "AREA: function\n[called by]\nGROW (CIRCLE NUMBER)"},
    {"{\"operation\":\"callers\",\"name\":\"*count*\"}",
     "*COUNT*: variable\n[called by]\n(none of the 6 functions and methods of the session)\n"
     "[set by]\nAREA"},
    {"{\"operation\":\"callers\",\"name\":\"car\"}",
     "CAR: function\n[called by]\n(none of the 6 functions and methods of the session)"},
    {"{\"operation\":\"callees\",\"name\":\"area\"}",
     "AREA: function\n[calls]\nSETF: macro of COMMON-LISP\nSQUARE: function\n"
     "[sets variables]\n*COUNT*"},
    {"{\"operation\":\"class\",\"name\":\"circle\"}",
     "CIRCLE: standard-class\n[superclasses]\nSHAPE\n[subclasses]\n(none)\n"
     "[precedence]\nCIRCLE SHAPE STANDARD-OBJECT T\n[slots]\nRADIUS :type NUMBER :initarg :RADIUS\n"
     "[inherited slots]\nNAME :initarg :NAME\nSIZE :initform 1\n"
     "[methods]\nGROW (CIRCLE NUMBER)"},
    {"{\"operation\":\"class\",\"name\":\"shape\"}",
     "SHAPE: standard-class\n[superclasses]\nSTANDARD-OBJECT\n[subclasses]\nCIRCLE\n"
     "[precedence]\nSHAPE STANDARD-OBJECT T\n"
     "[slots]\nNAME :initarg :NAME :reader SHAPE-NAME\nSIZE :initform 1\n"
     "[methods]\nSHAPE-NAME (SHAPE)"},
    {"{\"operation\":\"generic-function\",\"name\":\"grow\"}",
     "GROW: generic function\n[arguments]\n(SHAPE BY)\n"
     "[methods]\nGROW (CIRCLE NUMBER)\nGROW :BEFORE (T T)\n[documentation]\nMakes it larger."},
    {"{\"operation\":\"package\",\"name\":\"fruit\"}",
     "FRUIT: package\n[uses]\nCOMMON-LISP\n[used by]\n(none)\n"
     "[symbols]\n1 external, 0 internal\n[exports]\nAPPLE"},
    {"{\"operation\":\"symbols\",\"kind\":\"generic function\"}",
     "COMMON-LISP-USER: 2 symbols with a definition\n[internal]\n"
     "GROW: generic function\nSHAPE-NAME: generic function"},
    {"{\"operation\":\"apropos\",\"name\":\"def\",\"package\":\"cl\",\"kind\":\"macro\",\"limit\":"
     "2}",
     "18 symbols match \"def\"\n[symbols]\n"
     "DEFCLASS: macro\nDEFCONSTANT: macro\n... 16 more (limit 2)"},
    {"{\"operation\":\"object\",\"form\":\"(list 1 (vector 2 'a) \\\"s\\\")\"}",
     "(1 #(2 A) \"s\"): a list of 3\n[parts]\n0: 1\n1: #(2 A)\n2: \"s\""},
    {"{\"operation\":\"object\",\"form\":\"(list 1 (vector 2 'a) \\\"s\\\")\",\"path\":\"1/0\"}",
     "2: an integer"},
    {"{\"operation\":\"object\",\"form\":\"(make-instance 'circle :name 5)\",\"path\":\"name\"}",
     "5: an integer"},
    {"{\"operation\":\"object\",\"form\":\"(make-point :x 1)\"}",
     "#S(POINT :X 1 :Y NIL): POINT\n[parts]\n0: X = 1\n1: Y = NIL"},
    {"{\"operation\":\"object\",\"form\":\"(let ((h (make-hash-table :test 'equal))) "
     "(setf (gethash 'a h) 1) h)\"}",
     "#<hash-table>: a hash table of 1, test EQUAL\n[parts]\n0: A = 1"},
    {"{\"operation\":\"last-error\"}", "No call of this session has ended with an error yet."},
    {"{\"operation\":\"macroexpand-1\",\"form\":\"(twice (print 1))\"}",
     "(TWICE (PRINT 1))\n[expansion]\n(progn (print 1) (print 1))"},
    {"{\"operation\":\"macroexpand-1\",\"form\":\"(car x)\"}",
     "(CAR X)\n[expansion]\n(not a macro form)"},
    {"{\"operation\":\"macroexpand-all\",\"form\":\"(let ((x 1)) (twice (twice x)))\"}",
     "(LET ((X 1)) (TWICE (TWICE X)))\n[expansion]\n"
     "(let ((x 1))\n  (progn (progn x x) (progn x x)))"},
    {"{\"operation\":\"definitions\"}",
     "The session has 17 definitions\n"
     "[functions]\nAREA (SIDE)\nCOPY-POINT (...)\nMAKE-POINT (&KEY X Y)\nPOINT-P (...)\nPOINT-X "
     "(...)\n"
     "POINT-Y (...)\nSQUARE (X &OPTIONAL (TIMES 1))\n[macros]\nTWICE (FORM)\n"
     "[generic functions]\nGROW (SHAPE BY)\nSHAPE-NAME (CLOS::SELF)\n"
     "[methods]\nGROW (CIRCLE NUMBER)\nGROW :BEFORE (T T)\n"
     "[classes]\nCIRCLE: class\nPOINT: structure\nSHAPE: class\n[variables]\n*COUNT* = 3\n"
     "[packages]\nFRUIT"},
};

Test(inspect, each_operation_answers_with_a_headline_and_sections) {
    struct client *client = start();
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        cr_expect_str_eq(answer(client, rows[i].arguments), rows[i].text, "%s:\n%s",
                         rows[i].arguments, client_tool(client, INSPECT, rows[i].arguments).text);
    client_finish(client);
}

static void expect_parts(const char *text, const char *const *parts) {
    for (; *parts; parts++)
        cr_expect(strstr(text, *parts), "without %s:\n%s", *parts, text);
}

Test(inspect, what_measures_answers_with_values_and_figures) {
    struct client *client = start();
    const char *text = answer(client, "{\"operation\":\"time\",\"form\":\"(progn (princ 7) "
                                      "(make-list 100000) (values 1 2))\"}");
    expect_parts(text, STRINGS("[stdout]\n7\n(PROGN (PRINC 7) (MAKE-LIST 100000) (VALUES 1 2))\n"
                               "[values]\n=> 1\n=> 2\n[time]\nreal: ",
                               " ms\nprocessor: ", " ms\n[allocation]\n1", " bytes"));
    text = answer(client,
                  "{\"operation\":\"profile\",\"form\":\"(dotimes (i 100) (area i) (square i))\"}");
    expect_parts(text, STRINGS("[values]\n=> NIL\n[time]\nreal: ", "\nAREA: 100, ",
                               "\nSQUARE: 200, ", "\n(everything else): "));
    text = answer(client, "{\"operation\":\"disassemble\",\"name\":\"square\"}");
    expect_parts(text, STRINGS("SQUARE\n[bytecode]\n", "CALLG\t3,*"));
    text = answer(client, "{\"operation\":\"disassemble\",\"form\":\"(lambda (x) (car x))\"}");
    expect_parts(text, STRINGS("(LAMBDA (X) (CAR X))\n[bytecode]\n", "CAR\tREG0"));
    client_finish(client);
}

Test(inspect, the_last_error_has_its_restarts_and_its_frames_with_their_variables) {
    struct client *client = start();
    static const char last[] = "{\"operation\":\"last-error\"}";
    static const char text[] =
        "TYPE-ERROR: the last error of this session\n"
        "[message]\nThe value \"x\" is not of type NUMBER.\nIt is an argument of *.\n"
        "[restarts]\nUSE-NINE: Use nine.\nABORT: End this call.\n"
        "[backtrace]\n0: (* \"x\" \"x\" 1)\n1: (SQUARE \"x\")\n   TIMES = 1\n   X = \"x\"\n"
        "2: (AREA \"x\")\n   SIDE = \"x\"";
    cr_assert(client_evaluate(client, "(restart-case (area \"x\") (use-nine () :report \"Use "
                                      "nine.\" 9))")
                  .is_error);
    cr_assert_str_eq(answer(client, last), text);
    cr_assert(inspect(client, "{\"operation\":\"time\",\"form\":\"(error \\\"no\\\")\"}").is_error);
    client_evaluate(client, "(+ 1 2)");
    cr_assert_str_eq(answer(client, last), text, "neither a success nor an inspection replaces it");
    client_session_rollback(client, NULL, 2);
    expect_contains(answer(client, last), "No call of this session");
    client_finish(client);
}

/* A printing method that does not return must not hide the error of which it would print a
 * variable.
 */
Test(inspect, the_last_error_runs_no_printing_method) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate(client, "(defclass endless () ((a :initform (list 1 2)) b))"
                            "(defmethod print-object ((x endless) s) (loop))"
                            "(defun f (n) (let ((object (make-instance 'endless))"
                            " (array (vector (make-instance 'endless)))"
                            " (grid (make-array '(2 2) :initial-element (make-instance 'endless))))"
                            " (list object array grid) (error \"no ~a\" n)))");
    cr_assert(client_evaluate(client, "(f 5)").is_error);
    expect_contains(answer(client, "{\"operation\":\"last-error\"}"),
                    "0: (F 5)\n   OBJECT = #<ENDLESS A = (1 2) B = (unbound)>\n"
                    "   ARRAY = #(#<ENDLESS A = (1 2) B = (unbound)>)\n"
                    "   GRID = #<an array of 2 x 2>\n   N = 5");
    client_finish(client);
}

/* --- earlier states --- */

Test(inspect, changes_compares_the_present_with_an_earlier_state) {
    struct client *client = start();
    client_evaluate(client, "(defvar *table* (list 1 (list 2 3)))");
    client_evaluate(client, "(setf (second (second *table*)) 9)");
    client_evaluate(client, "(defun square (x) x) (fmakunbound 'area) (defvar *new* 1)");
    cr_assert_str_eq(answer(client, "{\"operation\":\"changes\",\"state\":14}"),
                     "Since state 14: 0 added, 0 changed, 0 removed");
    cr_assert_str_eq(answer(client, "{\"operation\":\"changes\",\"state\":13}"),
                     "Since state 13: 1 added, 1 changed, 1 removed\n"
                     "[added]\nvariable *NEW* 1\n"
                     "[changed]\nfunction SQUARE: (X &OPTIONAL (TIMES 1)) -> (X)\n"
                     "[removed]\nfunction AREA (SIDE)");
    expect_contains(answer(client, "{\"operation\":\"changes\",\"state\":12}"),
                    "\nvariable *TABLE*: (1 (2 3)) -> (1 (2 9))\n");
    expect_contains(answer(client, "{\"operation\":\"changes\",\"state\":0}"),
                    "Since state 0: 18 added, 0 changed, 0 removed\n");
    expect_refused(client, "{\"operation\":\"changes\",\"state\":1}", "SESSION-ERROR",
                   "state number 1 is not kept");
    expect_refused(client, "{\"operation\":\"changes\",\"state\":15}", "SESSION-ERROR",
                   "state number 15 is not kept");
    client_finish(client);
}

Test(inspect, an_operation_can_look_at_an_earlier_state) {
    struct client *client = client_start_ready(NULL, NULL);
    struct session_row row;
    client_evaluate(client, "(defvar *x* 1)");
    client_evaluate(client, "(setf *x* 2)");
    for (int i = 0; i < 3; i++) {
        cr_assert_str_eq(
            answer(client, "{\"operation\":\"object\",\"form\":\"(incf *x*)\",\"state\":1}"),
            "2: an integer");
        cr_assert_str_eq(answer(client, "{\"operation\":\"object\",\"form\":\"(incf *x*)\"}"),
                         "3: an integer");
        expect_contains(answer(client, "{\"operation\":\"definitions\",\"state\":0}"),
                        "no definitions");
        client_session_expect(client, NULL, "*x*", "=> 2");
        client_session_rollback(client, NULL, 1);
    }
    cr_assert(client_session_row(client, "main", &row));
    cr_assert_eq(row.number, 2);
    cr_assert_eq(row.history, 2);
    client_finish(client);
}

/* --- nothing stays --- */

static const char *const destroyers[] = {
    "(progn (setf *count* 5) (defun square () 1) (defvar *other* 1) (intern \\\"NEW\\\")"
    " (in-package fruit))",
    "(progn (fmakunbound 'square) (delete-package \\\"FRUIT\\\") (setf *readtable* 5))",
    "(progn (setf *count* 5) (ext:quit 3))",
    "(progn (setf *count* 5) (error \\\"no\\\"))",
    "(progn (setf *count* 5) (si:call-cfun (si:find-foreign-symbol \\\"abort\\\" :default"
    " :pointer-void 0) :void '() '()))",
    "(progn (setf *count* 5) (loop))",
    "(progn (setf *count* 5) (loop (write-line \\\"a flood\\\")))",
};

static const char check[] =
    "(list *count* (square 2) (boundp '*other*) (find-symbol \"NEW\") (package-name *package*) "
    "(and (find-package \"FRUIT\") t) (readtablep *readtable*) *)";

Test(inspect, nothing_stays_whatever_the_form_does) {
    static const char *const operations[] = {"time", "profile", "object"};
    struct client *client =
        client_start_with("--call-timeout-s", "1", "--output-max-bytes", "100000");
    struct session_row before, after;
    for (size_t i = 0; i < COUNT_OF(codes); i++)
        client_evaluate(client, codes[i]);
    client_session_expect(client, NULL, "7", "=> 7");
    for (size_t i = 0; i < COUNT_OF(operations) * COUNT_OF(destroyers); i++) {
        client_session_settle(client, NULL);
        cr_assert(client_session_row(client, "main", &before));
        inspect(client, formatted("{\"operation\":\"%s\",\"form\":\"%s\"}",
                                  operations[i % COUNT_OF(operations)],
                                  destroyers[i / COUNT_OF(operations)]));
        cr_assert(client_session_row(client, "main", &after));
        cr_assert_eq(after.number, before.number, "%s", destroyers[i / COUNT_OF(operations)]);
        cr_assert_eq(after.history, before.history);
        client_session_expect(client, NULL, check, "=> (3 4 NIL NIL \"COMMON-LISP-USER\" T T 7)");
        client_session_rollback(client, NULL, 1);
    }
    client_finish(client);
}

Test(inspect, a_call_ends_in_all_the_ways_of_an_evaluation) {
    static const struct {
        const char *form;
        int error_code;   /* of the protocol; 0: a result */
        const char *part; /* of the text */
        int exit_code;
    } ends[] = {
        {"(hang)", -32004, "timed out", 124},
        {"(quitter)", 0, "[ERROR] PROCESS-EXIT\n", 3},
        {"(crasher)", 0, "[ERROR] WORKER-CRASH\n", 134},
        {"(boom)", 0, "[ERROR] SIMPLE-ERROR\nboom\n\n[Backtrace]\n0: (BOOM ", 1},
        {"(flood)", -32603, "bytes to stdout", -1},
        {"(hungry)", 0, "[ERROR] STORAGE-EXHAUSTED\n", 1},
        {"(", 0, "[ERROR] END-OF-FILE\n", 1},
        {"nowhere::x", 0, "[ERROR] PACKAGE-ERROR\n", 1},
    };
    struct client *client =
        client_start_with("--call-timeout-s", "2", "--output-max-bytes", "100000");
    client_evaluate(client, "(defmacro hang () (loop)) (defmacro quitter () (ext:quit 3))"
                            "(defmacro crasher () (si:call-cfun (si:find-foreign-symbol \"abort\" "
                            ":default :pointer-void 0) :void '() '()))"
                            "(defmacro boom () (error \"boom\"))"
                            "(defmacro flood () (loop (write-line \"a flood\")))"
                            "(defmacro hungry () (make-array (expt 10 9)))");
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        struct evaluation evaluation = inspect(
            client, formatted("{\"operation\":\"macroexpand-1\",\"form\":\"%s\"}", ends[i].form));
        cr_expect_eq(evaluation.error_code, ends[i].error_code, "%s", evaluation.line);
        cr_expect(strstr(evaluation.text, ends[i].part), "%s", evaluation.line);
        if (ends[i].error_code == 0)
            cr_expect_eq(evaluation.exit_code, ends[i].exit_code, "%s", evaluation.line);
    }
    client_session_expect(client, NULL, "(and (macro-function 'hang) t)", "=> T");
    client_finish(client);
}

Test(inspect, a_running_call_can_be_cancelled) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate(client, "(defvar *x* 1)");
    client_tool_send(client, "\"slow\"", INSPECT,
                     "{\"operation\":\"time\",\"form\":\"(progn (setf *x* 2) (loop))\"}");
    client_busy_worker(client);
    client_send_line(client, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                             "\"params\":{\"requestId\":\"slow\"}}");
    cr_assert_eq(client_evaluate_await(client, "\"slow\"").error_code, -32001);
    client_session_expect(client, NULL, "*x*", "=> 1");
    client_finish(client);
}

/* --- numbered objects --- */

Test(inspect, an_object_is_named_by_its_number_in_the_last_answer) {
    struct client *client = client_start_ready(NULL, NULL);
    static const char second[] = "{\"operation\":\"object\",\"object\":\"@2\"}";
    static const char two[] =
        "#<A @2>: A\n[parts]\n0: X = (1 2)\n1: Y = #<A @1>\n2: Z = #<hash-table>";
    client_evaluate(client, "(defclass a () ((x :initform (list 1 2)) (y :initarg :y)"
                            " (z :initform (make-hash-table))))"
                            "(defvar *list* (let ((a (make-instance 'a :y 3)))"
                            " (list a (make-instance 'a :y a))))");
    client_session_expect(client, NULL, "*list*", "=> (#<A @1> #<A @2>)");
    for (int i = 0; i < 3; i++)
        cr_assert_str_eq(answer(client, second), two, "an inspection keeps the numbers");
    cr_assert_str_eq(answer(client, "{\"operation\":\"object\",\"object\":\"2\",\"path\":\"y/y\"}"),
                     "3: an integer");
    expect_refused(client, "{\"operation\":\"object\",\"object\":\"@3\"}", "UNKNOWN-NAME",
                   "There is no object @3: the last answer of the session shows @1 to @2.");
    expect_refused(client, "{\"operation\":\"object\",\"object\":\"@0\"}", "UNKNOWN-NAME",
                   "There is no object @0");
    expect_refused(client, "{\"operation\":\"object\",\"object\":\"@99999999\"}", "UNKNOWN-NAME",
                   "There is no object @99999999");
    expect_contains(answer(client, "{\"operation\":\"definitions\"}"),
                    "\n*LIST* = (#<A @1> #<A @2>)");
    client_session_expect(client, NULL, "(second *list*)", "=> #<A @1>");
    expect_refused(client, second, "UNKNOWN-NAME",
                   "There is no object @2: the last answer of the session shows @1 only.");
    client_finish(client);
}

/* --- broken objects --- */

Test(inspect, broken_objects_are_shown_as_far_as_they_go) {
    static const struct {
        const char *form, *text;
    } objects[] = {
        {"(make-instance 'signals :a 1)",
         "#<unprintable SIGNALS>: SIGNALS\n[parts]\n0: A = 1\n1: B = (unbound)"},
        {"(list 1 (make-instance 'throws) 2)",
         "(1 #<unprintable THROWS> 2): a list of 3\n[parts]\n0: 1\n1: #<unprintable THROWS>\n2: 2"},
        {"(make-instance 'aborts)", "#<unprintable ABORTS>: ABORTS"},
        {"(make-instance 'debugs)", "#<unprintable DEBUGS>: DEBUGS"},
        {"(make-instance 'recurs)", "#<unprintable RECURS>: RECURS"},
        {"(let ((x (list 1 2))) (setf (cddr x) x))",
         "(1 2 1 2 1 2 1 2 ...): a circular list\n[parts]\n0: 1\n1: 2\n"
         "2: the rest, a circle = (1 2 1 2 1 2 1 2 ...)"},
        {"(let ((x (list 1 2))) (setf (car x) x))",
         "((((# 2) 2) 2) 2): a list of 2\n[parts]\n0: ((((# 2) 2) 2) 2)\n1: 2"},
        {"'(1 . 2)", "(1 . 2): a dotted list\n[parts]\n0: 1\n1: the end = 2"},
        {"(let ((s (intern \\\"FREE\\\"))) (unintern s) s)",
         "#:FREE: SYMBOL\n[parts]\n0: name = \"FREE\"\n1: package = NIL\n2: value = (unbound)\n"
         "3: function = (unbound)\n4: properties = NIL"},
        {"(let ((p (make-package \\\"GONE\\\"))) (delete-package p) p)",
         "#<NIL package>: PACKAGE\n[parts]\n0: name = NIL\n1: uses = NIL"},
        {"(expt 3 1000000)", "#<an integer of 1584963 bits>: an integer of 1584963 bits"},
        {"(find-class 'orphan)", "#<The STANDARD-CLASS COMMON-LISP-USER::ORPHAN>: STANDARD-CLASS"},
        {"(let (x) (dotimes (i 1000000) (setf x (list x))) x)",
         "((((#)))): a list of 1\n[parts]\n0: ((((#))))"},
    };
    struct client *client = client_start_ready(NULL, NULL);
    struct evaluation evaluation = client_evaluate(
        client,
        "(defmacro broken (name &body body) `(progn (defclass ,name () ((a :initarg :a) b))"
        " (defmethod print-object ((x ,name) s) ,@body)))"
        "(broken signals (error \"p\")) (broken throws (throw 'out 1)) (broken aborts (abort))"
        "(broken debugs (invoke-debugger (make-condition 'error)))"
        "(broken recurs (print-object x s)) (broken endless (loop (write-char #\\\\ s)))"
        "(defclass orphan (nowhere) ((q))) (defvar *signals* (make-instance 'signals))");
    cr_assert_not(evaluation.is_error, "%s", evaluation.text);
    for (size_t i = 0; i < COUNT_OF(objects); i++) {
        const char *text = answer(
            client, formatted("{\"operation\":\"object\",\"form\":\"%s\"}", objects[i].form));
        cr_expect(strncmp(text, objects[i].text, strlen(objects[i].text)) == 0, "%s:\n%s",
                  objects[i].form, text);
    }
    expect_contains(answer(client, "{\"operation\":\"definitions\"}"),
                    "\n*SIGNALS* = #<unprintable SIGNALS>");
    expect_contains(answer(client, "{\"operation\":\"class\",\"name\":\"orphan\"}"),
                    "\n(not finalized: a superclass is not defined)\n[slots]\nQ");
    expect_contains(
        answer(client, "{\"operation\":\"object\",\"form\":\"(make-array 1000000)\",\"limit\":1}"),
        ": a vector of 1000000\n[parts]\n0: NIL\n... ");
    client_finish(client);
}

Test(inspect, a_name_is_what_it_is_now) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate(client, "(defun f () 1) (setf (symbol-function 'f) (lambda (y) y))"
                            "(defun g () 1) (defmacro g () 2) (defun h () 1) (fmakunbound 'h)"
                            "(defun |weird name| () 1) (defun (setf f) (v) v)");
    cr_assert_str_eq(answer(client, "{\"operation\":\"source\",\"name\":\"f\"}"),
                     "F: function, setf function\n[function]\n(lambda (y) y)");
    client_evaluate(client, "(mapc #'eval '((defun made (x) \"Made.\" (list x))))");
    cr_assert_str_eq(answer(client, "{\"operation\":\"source\",\"name\":\"made\"}"),
                     "MADE: function\n[function]\n(defun made (x) \"Made.\" (list x))");
    cr_assert_str_eq(answer(client, "{\"operation\":\"source\",\"name\":\"g\"}"),
                     "G: macro\n[macro]\n(defmacro g () 2)");
    expect_refused(client, "{\"operation\":\"source\",\"name\":\"h\"}", "UNKNOWN-NAME",
                   "The session has no source of H, which is: not defined.");
    cr_assert_str_eq(answer(client, "{\"operation\":\"arguments\",\"name\":\"|weird name|\"}"),
                     "|weird name|: function\n[arguments]\n()");
    cr_assert_str_eq(answer(client, "{\"operation\":\"source\",\"name\":\"(setf f)\"}"),
                     "(SETF F): function\n[function]\n(defun (setf f) (v) v)");
    client_finish(client);
}

/* --- wrong arguments --- */

Test(inspect, wrong_arguments_are_named) {
    static const struct {
        const char *arguments, *type, *part;
    } wrong[] = {
        {"{\"operation\":\"\"}", "TYPE-ERROR", "must be one of describe, apropos,"},
        {"{\"operation\":\"Describe\"}", "TYPE-ERROR", "must be one of"},
        {"{\"operation\":\"describe\"}", "TYPE-ERROR", "describe needs the argument name."},
        {"{\"operation\":\"describe\",\"name\":null}", "TYPE-ERROR", "needs the argument name."},
        {"{\"operation\":\"describe\",\"name\":\"\"}", "TYPE-ERROR", "needs the argument name."},
        {"{\"operation\":\"describe\",\"name\":5}", "TYPE-ERROR", "name must be a string."},
        {"{\"operation\":\"describe\",\"name\":[\"car\"]}", "TYPE-ERROR", "name must be"},
        {"{\"operation\":\"time\"}", "TYPE-ERROR", "time needs the argument form."},
        {"{\"operation\":\"time\",\"form\":\"1 2\"}", "TYPE-ERROR", "must be one form"},
        {"{\"operation\":\"object\"}", "TYPE-ERROR", "needs the argument object or form."},
        {"{\"operation\":\"disassemble\"}", "TYPE-ERROR", "needs the argument name or form."},
        {"{\"operation\":\"changes\"}", "TYPE-ERROR", "changes needs the argument state."},
        {"{\"operation\":\"changes\",\"state\":-1}", "TYPE-ERROR", "state must be an integer"},
        {"{\"operation\":\"changes\",\"state\":\"1\"}", "TYPE-ERROR", "state must be an integer"},
        {"{\"operation\":\"symbols\",\"limit\":0}", "TYPE-ERROR", "an integer, at least 1"},
        {"{\"operation\":\"symbols\",\"limit\":1.5}", "TYPE-ERROR", "limit must be an integer"},
        {"{\"operation\":\"symbols\",\"limit\":1e400}", "TYPE-ERROR", "limit must be an integer"},
        {"{\"operation\":\"symbols\",\"timeout\":0}", "TYPE-ERROR", "timeout must be a number"},
        {"{\"operation\":\"symbols\",\"kind\":\"x\"}", "TYPE-ERROR", "kind must be one of"},
        {"{\"operation\":\"symbols\",\"before\":{}}", "TYPE-ERROR", "no argument before"},
        {"{\"operation\":\"symbols\",\"session\":\"none\"}", "UNKNOWN-SESSION", "session"},
        {"{\"operation\":\"symbols\",\"session\":7}", "TYPE-ERROR", "session must be a string"},
        {"{\"operation\":\"symbols\",\"package\":\"none\"}", "PACKAGE-ERROR", "\"none\""},
        {"{\"operation\":\"describe\",\"name\":\"none:x\"}", "PACKAGE-ERROR", "\"none\""},
        {"{\"operation\":\"package\",\"name\":\"none\"}", "PACKAGE-ERROR", "\"none\""},
        {"{\"operation\":\"describe\",\"name\":\"(\"}", "UNKNOWN-NAME", "no symbol ("},
        {"{\"operation\":\"describe\",\"name\":\":\"}", "UNKNOWN-NAME", "no symbol :"},
        {"{\"operation\":\"describe\",\"name\":\"~s~%\"}", "UNKNOWN-NAME", "no symbol ~s~%"},
        {"{\"operation\":\"describe\",\"name\":\"\\u0000\\ud800\"}", "UNKNOWN-NAME", "no symbol"},
        {"{\"operation\":\"class\",\"name\":\"car\"}", "UNKNOWN-NAME",
         "is not the name of a class"},
        {"{\"operation\":\"generic-function\",\"name\":\"car\"}", "UNKNOWN-NAME",
         "it is: function."},
        {"{\"operation\":\"source\",\"name\":\"car\"}", "UNKNOWN-NAME", "no source of CAR"},
        {"{\"operation\":\"callees\",\"name\":\"car\"}", "UNKNOWN-NAME", "no code"},
        {"{\"operation\":\"disassemble\",\"name\":\"car\"}", "UNKNOWN-NAME", "machine code"},
        {"{\"operation\":\"arguments\",\"name\":\"*print-base*\"}", "UNKNOWN-NAME", "names no"},
        {"{\"operation\":\"object\",\"object\":\"x\"}", "TYPE-ERROR", "must be @N or N"},
        {"{\"operation\":\"object\",\"object\":\"@1\"}", "UNKNOWN-NAME",
         "There is no object @1: the last answer of the session shows none."},
        {"{\"operation\":\"object\",\"form\":\"'(1)\",\"path\":\"3\"}", "UNKNOWN-NAME",
         "There is no part 3 of (1), which has 1."},
        {"{\"operation\":\"object\",\"form\":\"'(1)\",\"path\":\"99999999999999999999\"}",
         "UNKNOWN-NAME", "There is no part"},
    };
    static const char *const invalid[] = {"{}", "{\"operation\":null}", "{\"operation\":7}",
                                          "{\"operation\":[\"describe\"]}"};
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        expect_refused(client, wrong[i].arguments, wrong[i].type, wrong[i].part);
    for (size_t i = 0; i < COUNT_OF(invalid); i++)
        cr_assert_eq(inspect(client, invalid[i]).error_code, -32602, "%s", invalid[i]);
    client_finish(client);
}

/* Each operation of the schema exists in the worker, and says what it needs. */
Test(inspect, the_schema_and_the_worker_have_the_same_operations) {
    struct client *client = client_start(NULL);
    const char *line = client_expect_result(client, MODERN("1", "tools/list"), "1");
    struct text tools, tool, name, choices = {0}, choice;
    cr_assert(json_at(text_of(line), &tools, "result", "tools", NULL));
    for (size_t i = 0; json_element(tools, i, &tool); i++)
        if (json_member(tool, "name", &name) && text_is(name, "\"" INSPECT "\""))
            cr_assert(
                json_at(tool, &choices, "inputSchema", "properties", "operation", "enum", NULL));
    size_t count = json_count(choices);
    cr_assert_eq(count, 20);
    client_initialize(client, NULL);
    for (size_t i = 0; i < count; i++) {
        cr_assert(json_element(choices, i, &choice));
        struct evaluation evaluation =
            inspect(client, formatted("{\"operation\":%.*s}", (int)choice.length, choice.bytes));
        cr_assert(!evaluation.is_error || strstr(evaluation.text, " needs the argument "), "%s",
                  evaluation.line);
    }
    client_finish(client);
}

/* Calls of one session run in order, and each inspection leaves what the next call needs. */
Test(inspect, calls_that_are_sent_together_are_answered_in_order) {
    enum { CALLS = 40 };
    static const char *const histories[] = {"0", "8"};
    for (size_t h = 0; h < COUNT_OF(histories); h++) {
        struct client *client = client_start_with("--session-history", histories[h]);
        client_evaluate(client, "(defvar *x* 0)");
        for (int i = 1; i <= CALLS; i++)
            if (i % 2)
                client_evaluate_send(client, formatted("%d", i), "(incf *x*)");
            else
                client_tool_send(client, formatted("%d", i), INSPECT,
                                 "{\"operation\":\"object\",\"form\":\"(incf *x* 100)\"}");
        for (int i = 1; i <= CALLS; i++) {
            struct evaluation evaluation = client_evaluate_await(client, formatted("%d", i));
            const char *wanted =
                i % 2 ? formatted("=> %d", (i + 1) / 2) : formatted("%d: an integer", i / 2 + 100);
            cr_assert_str_eq(evaluation.text, wanted, "call %d of %s", i, evaluation.line);
        }
        client_finish(client);
    }
}

/* Each is cancelled as soon as it is sent: queued, while an earlier state is forked for it, or
 * while it runs. */
Test(inspect, a_call_on_an_earlier_state_can_be_cancelled_at_any_time) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate(client, "(defvar *x* 1)");
    client_evaluate(client, "(setf *x* 2)");
    for (int i = 0; i < 40; i++) {
        const char *id = formatted("\"slow%d\"", i);
        client_tool_send(client, id, INSPECT,
                         formatted("{\"operation\":\"%s\",\"form\":\"(loop)\",\"state\":%d}",
                                   i % 3 ? "time" : "changes", i % 2));
        if (i % 4 == 0)
            client_barrier(client);
        client_send_line(client,
                         formatted("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                                   "\"params\":{\"requestId\":%s}}",
                                   id));
        struct evaluation evaluation = client_evaluate_await(client, id);
        cr_assert(evaluation.error_code == -32001 || (i % 3 == 0 && !evaluation.is_error), "%s",
                  evaluation.line);
        client_session_expect(client, NULL, "*x*", "=> 2");
        client_session_rollback(client, NULL, 1);
    }
    client_finish(client);
}

/* In one write: the fork for the call has been asked for and has not begun when nobody waits for it
 * any more. The process that forks must still be there for the next one. */
Test(inspect, a_call_on_an_earlier_state_can_be_cancelled_before_its_fork_begins) {
    enum { TIMES = 60 };
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate(client, "(defvar *x* 1)");
    for (int i = 2; i < 8; i++) /* states that are processes, and such that are pages */
        client_evaluate(client, formatted("(setf *x* %d)", i));
    for (int i = 0; i < TIMES; i++) {
        const char *id = formatted("\"early%d\"", i);
        client_send_format(
            client,
            "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":{\"name\":"
            "\"" INSPECT
            "\",\"arguments\":{\"operation\":\"time\",\"form\":\"(loop)\",\"state\":%d}}}\n"
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":"
            "%s}}",
            id, 1 + i % 6, id);
        struct evaluation evaluation = client_evaluate_await(client, id);
        cr_assert_eq(evaluation.error_code, -32001, "%d: %s", i, evaluation.line);
    }
    client_session_expect(client, NULL, "*x*", "=> 7");
    client_session_rollback(client, NULL, 6);
    client_session_expect(client, NULL, "*x*", "=> 2");
    client_finish(client);
}

/* --- eras, and machines without checkpoints --- */

Test(inspect, works_in_both_eras) {
    EACH_KIND_STARTED(era, NULL) {
        struct evaluation evaluation = era_evaluate(client, era, NULL, "(defun f (a) a)");
        const char *session = era->modern ? era_handle(client, &evaluation) : "main";
        evaluation = era_call(
            client, era, INSPECT,
            formatted("{\"operation\":\"arguments\",\"name\":\"f\",\"session\":\"%s\"}", session));
        cr_assert_str_eq(evaluation.text, "F: function\n[arguments]\n(A)");
        cr_assert_eq(evaluation.exit_code, 0);
        evaluation = era_call(client, era, INSPECT, "{\"operation\":\"package\"}");
        cr_assert_eq(evaluation.is_error, era->modern);
        expect_contains(evaluation.text, era->modern ? "The argument session is required"
                                                     : "COMMON-LISP-USER: package");
    }
}

Test(inspect, without_checkpoints_a_call_stays_and_says_so) {
    struct client *client = client_start_with("--degraded");
    client_session_expect(client, NULL, "(defvar *x* 1)", "=> *X*");
    const char *text = answer(client, "{\"operation\":\"object\",\"form\":\"(incf *x*)\"}");
    expect_contains(text, "2: an integer\n\nWithout checkpoints this call could not be undone");
    client_session_expect(client, NULL, "*x*", "=> 2");
    expect_refused(client, "{\"operation\":\"changes\",\"state\":1}", "SESSION-ERROR", "not kept");
    client_finish(client);
}
