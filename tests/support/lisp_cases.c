/* See lisp_cases.h. No failure here depends on earlier evaluations. */
#include "tests/support/lisp_cases.h"
#include "common/buffer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the code, @n becomes a number, @s part of an undefined symbol, @t a string. */
static const struct {
    const char *types;
    const char *code;
} failures[] = {
    {"DIVISION-BY-ZERO", "(/ @n 0)"},
    {"DIVISION-BY-ZERO", "(mod @n 0)"},
    {"DIVISION-BY-ZERO", "(floor @n 0)"},
    {"DIVISION-BY-ZERO", "(/ @n.0 0)"},
    {"DIVISION-BY-ZERO", "(expt 0 -@n)"},
    {"DIVISION-BY-ZERO", "(error 'division-by-zero :operation '/ :operands '(@n 0))"},
    {"DIVISION-BY-ZERO", "(handler-case (error \"a\") (error () (/ @n 0)))"},
    {"FLOATING-POINT-OVERFLOW", "(exp 10000.0)"},
    {"FLOATING-POINT-OVERFLOW", "(error 'floating-point-overflow)"},
    {"ARITHMETIC-ERROR", "(error 'arithmetic-error :operation '+ :operands '(1 @n))"},
    {"TYPE-ERROR", "(+ 1 \"@s\")"},
    {"TYPE-ERROR", "(- 'a @n)"},
    {"TYPE-ERROR", "(* @n nil)"},
    {"TYPE-ERROR", "(< @n :b)"},
    {"TYPE-ERROR", "(car @n)"},
    {"TYPE-ERROR", "(cdr \"@s\")"},
    {"TYPE-ERROR", "(first :@s)"},
    {"TYPE-ERROR", "(nth -1 '(1 2))"},
    {"TYPE-ERROR", "(aref (vector 1 2) @n@n)"},
    {"TYPE-ERROR", "(aref \"abc\" -1)"},
    {"TYPE-ERROR", "(svref '(1 2) 0)"},
    {"TYPE-ERROR", "(length @n)"},
    {"TYPE-ERROR", "(reverse 'a@s)"},
    {"TYPE-ERROR", "(symbol-name @n)"},
    {"TYPE-ERROR", "(funcall @n)"},
    {"TYPE-ERROR", "(error 'type-error :datum @n :expected-type 'string)"},
    {"TYPE-ERROR", "(let ((x@s @n)) (check-type x@s string) x@s)"},
    {"TYPE-ERROR", "(ecase @n (:a 1) (:b 2))"},
    {"TYPE-ERROR", "(etypecase \"@s\" (integer 1))"},
    {"TYPE-ERROR", "(make-array -@n)"},
    {"TYPE-ERROR", "(setf (car nil) @n)"},
    {"TYPE-ERROR", "(subseq \"abc\" @n@n)"},
    {"TYPE-ERROR", "(char-upcase @n)"},
    {"TYPE-ERROR", "(logand 1.5 @n)"},
    {"TYPE-ERROR", "(loop for x in @n collect x)"},
    {"TYPE-ERROR", "(mapcar #'1+ '(a@s))"},
    {"TYPE-ERROR", "(sort (list 1 'a@s) #'<)"},
    {"UNBOUND-VARIABLE", "no-such-variable-@s"},
    {"UNBOUND-VARIABLE", "(+ unknown-@s 1)"},
    {"UNBOUND-VARIABLE", "(symbol-value 'no-such-@s)"},
    {"UNBOUND-VARIABLE", "(list 1 (list no-such-@s))"},
    {"UNBOUND-VARIABLE", "(error 'unbound-variable :name 'x@s)"},
    {"UNDEFINED-FUNCTION", "(no-such-function-@s @n)"},
    {"UNDEFINED-FUNCTION", "(funcall 'no-such-@s)"},
    {"UNDEFINED-FUNCTION", "(apply 'no-such-@s '(1))"},
    {"UNDEFINED-FUNCTION", "(symbol-function 'no-such-@s)"},
    {"UNDEFINED-FUNCTION", "(eval '(undefined-@s))"},
    {"UNDEFINED-FUNCTION", "(error 'undefined-function :name 'f@s)"},
    {"UNBOUND-SLOT", "(progn (defclass c@s () ((x :accessor cx@s))) (cx@s (make-instance 'c@s)))"},
    {"CELL-ERROR", "(error 'cell-error :name 'x@s)"},
    {"SIMPLE-ERROR", "(error \"broken @t\")"},
    {"SIMPLE-ERROR", "(error \"value ~a and ~s\" @n \"@t\")"},
    {"SIMPLE-ERROR", "(error \"several~%lines of @t~%\")"},
    {"SIMPLE-ERROR", "(cerror \"go on\" \"continuable @t\")"},
    {"SIMPLE-ERROR", "(assert nil () \"assertion @t\")"},
    {"SIMPLE-ERROR", "(unwind-protect (error \"first @t\") (list @n))"},
    {"SIMPLE-ERROR", "(macrolet ((m () (error \"in a macro @t\"))) (m))"},
    {"SIMPLE-ERROR|TYPE-ERROR", "(assert (= @n 0))"},
    {"SIMPLE-ERROR|ERROR", "(slot-value @n 'x@s)"},
    {"SIMPLE-ERROR|ERROR", "(make-instance 'no-class-@s)"},
    {"SIMPLE-ERROR|ERROR", "(progn (defmethod m@s ((x string)) x) (m@s @n))"},
    {"SIMPLE-ERROR|ERROR", "(destructuring-bind (a b) '(@n) (list a b))"},
    {"SIMPLE-ERROR|ERROR", "(format nil \"~d ~d\" @n)"},
    {"ERROR", "(error 'error)"},
    {"SERIOUS-CONDITION", "(error 'serious-condition)"},
    {"PROGRAM-ERROR", "((lambda (x) x))"},
    {"PROGRAM-ERROR", "((lambda (x) x) 1 @n)"},
    {"PROGRAM-ERROR", "(funcall (lambda (&key a) a) :b@s @n)"},
    {"PROGRAM-ERROR", "(funcall (lambda (&key a) a) :a)"},
    {"PROGRAM-ERROR", "(multiple-value-call #'car 1 @n)"},
    {"PROGRAM-ERROR", "(if)"},
    {"PROGRAM-ERROR", "(setq t @n)"},
    {"PROGRAM-ERROR", "(go nowhere-@s)"},
    {"PROGRAM-ERROR", "(return-from nowhere-@s @n)"},
    {"PROGRAM-ERROR", "(error 'program-error)"},
    {"CONTROL-ERROR", "(throw 'no-tag-@s @n)"},
    {"CONTROL-ERROR", "(invoke-restart 'no-such-restart-@s)"},
    {"CONTROL-ERROR", "(error 'control-error)"},
    {"PARSE-ERROR", "(parse-integer \"x@s\")"},
    {"PARSE-ERROR", "(parse-integer \"\")"},
    {"PARSE-ERROR", "(error 'parse-error)"},
    {"STREAM-ERROR", "(error 'stream-error :stream *standard-input*)"},
    {"PRINT-NOT-READABLE", "(error 'print-not-readable :object @n)"},
    {"FILE-ERROR", "(error 'file-error :pathname \"/x@s\")"},
    {"FILE-ERROR", "(open \"/no/such/file-@s\")"},
    {"PACKAGE-ERROR", "(in-package :no-such-package-@s)"},
    {"PACKAGE-ERROR", "(error 'package-error :package \"P@s\")"},
    {"PACKAGE-ERROR", "(intern \"X\" \"NO-PACKAGE-@s\")"},
    {"END-OF-FILE", "(read-line *standard-input*)"},
    {"END-OF-FILE", "(read-char)"},
    {"END-OF-FILE", "(read-from-string \"(1 @n\")"},
    {"STORAGE-CONDITION|STACK-OVERFLOW", "(progn (defun r@s (n) (+ 1 (r@s n))) (r@s @n))"},
    {"STORAGE-CONDITION", "(error 'storage-condition)"},
    {"MY-@s", "(progn (define-condition my-@s (error) ()) (error 'my-@s))"},
    {"MY-@s", "(progn (define-condition my-@s (error) ((a :initarg :a)) (:report (lambda (c s) "
              "(format s \"my report ~a\" (slot-value c 'a))))) (error 'my-@s :a @n))"},
    {"P@s::ODD|P@s:ODD",
     "(progn (defpackage :p@s) (eval (list 'define-condition (intern \"ODD\" :p@s) '(error) ())) "
     "(error (intern \"ODD\" :p@s)))"},
    /* Errors of the reader, which cannot be wrapped; the rest of the table can. */
    {"END-OF-FILE", "(+ 1 @n"},
    {"END-OF-FILE", "(list \"abc @t"},
    {"END-OF-FILE", "(foo (bar"},
    {"END-OF-FILE", "#(1 @n"},
    {"END-OF-FILE", "\"unterminated @t"},
    {"END-OF-FILE", "|sym"},
    {"READER-ERROR", "(list 1 @n))"},
    {"READER-ERROR", ")"},
    {"READER-ERROR", "#\\nosuchchar@s"},
    {"READER-ERROR", "#<unreadable @s>"},
    {"READER-ERROR", "cl:no-such-external-@s"},
    {"READER-ERROR", "'(1 . 2 @n)"},
    {"READER-ERROR", "(1 . )"},
    {"READER-ERROR", ",x"},
    {"READER-ERROR", "#b12"},
    {"PACKAGE-ERROR", "no-such-package-@s:symbol"},
    {"PACKAGE-ERROR", "no-such-package-@s::symbol"},
};
enum { FAILURES = sizeof failures / sizeof failures[0], STANDING_ALONE = 17 };

static const char *const texts[] = {"hello",
                                    "with 'quotes'",
                                    "50 percent",
                                    "\xc3\xa9t\xc3\xa9",
                                    "\xe2\x82\xac uro",
                                    "\xf0\x9f\x90\x8d snake",
                                    "a b c",
                                    "."};

/* In a wrapping, @c is the failing form. */
static const char *const wrappings[] = {
    "@c",
    "@c",
    "@c",
    "(progn @c)",
    "(progn (list 1 2) @c (list 3))",
    "(let ((x 1)) (list x @c))",
    "(funcall (lambda () @c))",
    "(mapcar (lambda (y) (list y @c)) '(1 2))",
    "(unwind-protect @c (list 1))",
    "(multiple-value-list @c)",
    "(flet ((f () (list @c))) (f))",
    "(when t @c)",
    "(defparameter *before-@s* @n) @c",
    "(+ 1 1) @c (+ 2 2)",
    "(format t \"@t~%\") @c",
    "(progn (princ \"@t\" *error-output*) @c)",
    "(handler-bind ((error (lambda (c) (declare (ignore c)) nil))) @c)",
    "(dolist (i '(1 2 3)) (list i @c))",
    "(progn (defun f@s (x) (list x @c)) (f@s @n))",
};

/* The parameters of one piece of code. */
struct filling {
    char number[8], symbol[16];
    const char *text, *code;
};

static struct filling make_filling(struct random *random) {
    struct filling filling = {.text = random_pick(random, texts)};
    snprintf(filling.number, sizeof filling.number, "%ld", random_between(random, 1, 999));
    for (size_t i = 0; i < sizeof filling.symbol - 1; i++)
        filling.symbol[i] = (char)('a' + random_below(random, 26));
    return filling;
}

static char *fill(const char *pattern, const struct filling *filling, bool upper) {
    struct buffer out = buffer_make(1 << 16);
    for (; *pattern; pattern++) {
        char key = pattern[0] == '@' ? pattern[1] : '\0';
        const char *piece = key == 'n'   ? filling->number
                            : key == 's' ? filling->symbol
                            : key == 't' ? filling->text
                            : key == 'c' ? filling->code
                                         : NULL;
        size_t start = out.length;
        if (piece)
            buffer_append_text(&out, piece);
        else
            buffer_append(&out, pattern, 1);
        for (size_t i = start; upper && i < out.length; i++)
            if (out.data[i] >= 'a' && out.data[i] <= 'z')
                out.data[i] = (unsigned char)(out.data[i] - 'a' + 'A');
        pattern += piece != NULL;
    }
    buffer_append(&out, "", 1);
    return (char *)out.data;
}

/* The types of a failure may name the symbol; valid until the next failure is made. */
static struct lisp_failure make(size_t index, const struct filling *filling) {
    static char types[64];
    char *named = fill(failures[index].types, filling, true);
    snprintf(types, sizeof types, "%s", named);
    free(named);
    return (struct lisp_failure){fill(failures[index].code, filling, false), types};
}

size_t lisp_failure_count(void) {
    return FAILURES;
}

struct lisp_failure lisp_failure_at(struct random *random, size_t index) {
    struct filling filling = make_filling(random);
    return make(index, &filling);
}

struct lisp_failure lisp_failure_make(struct random *random) {
    size_t index = random_below(random, FAILURES);
    struct filling filling = make_filling(random);
    struct lisp_failure failure = make(index, &filling);
    if (index < FAILURES - STANDING_ALONE) {
        char *bare = failure.code;
        filling.code = bare;
        failure.code = fill(random_pick(random, wrappings), &filling, false);
        free(bare);
    }
    return failure;
}

bool lisp_type_matches(const char *types, const char *type) {
    size_t length = strlen(type);
    for (const char *at = types; at; at = strchr(at, '|')) {
        at += *at == '|';
        if (strncmp(at, type, length) == 0 && (at[length] == '\0' || at[length] == '|'))
            return true;
    }
    return false;
}

char *lisp_success_make(struct random *random, char **value) {
    long first = random_between(random, -999, 999), second = random_between(random, -999, 999);
    char *code;
    int used;
    switch (random_below(random, 6)) {
    case 0:
        used = asprintf(&code, "(+ %ld %ld)", first, second);
        used += asprintf(value, "%ld", first + second);
        break;
    case 1:
        used = asprintf(&code, "(* %ld %ld)", first, second);
        used += asprintf(value, "%ld", first * second);
        break;
    case 2:
        used = asprintf(&code, "(list :k%ld \"s\" %ld)", labs(first), second);
        used += asprintf(value, "(:K%ld \"s\" %ld)", labs(first), second);
        break;
    case 3:
        used = asprintf(&code, "(if (< %ld %ld) 'yes 'no)", first, second);
        used += asprintf(value, first < second ? "YES" : "NO");
        break;
    case 4:
        used = asprintf(&code, "(handler-case (error \"x\") (error () %ld))", second);
        used += asprintf(value, "%ld", second);
        break;
    default:
        used = asprintf(&code, "(concatenate 'string \"a%ld\" \"\xc3\xa9\")", labs(first));
        used += asprintf(value, "\"a%ld\xc3\xa9\"", labs(first));
        break;
    }
    if (used < 0)
        abort();
    return code;
}
