/* Evaluated code with its session protected and without checkpoints. Code pays for a checkpoint by
 * copying each page that it is the first to write. */
#include "bench/bench.h"
#include "bench/server.h"
#include <stdio.h>

enum { CALLS = 5 };

/* Neither part needs escapes in JSON. */
static const struct program {
    const char *name, *prepare, *code, *expected;
} programs[] = {
    {"calls: fib 21", "(defun fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))", "(fib 21)",
     "=> 10946"},
    {"calls: tak 14 10 4",
     "(defun tak (x y z) (if (not (< y x)) z (tak (tak (1- x) y z) (tak (1- y) z x) (tak (1- z) x "
     "y))))",
     "(tak 14 10 4)", "=> 5"},
    {"conses: a list of 100,000, reversed",
     "(defun rev (n) (length (reverse (loop for i below n "
     "collect i))))",
     "(rev 100000)", "=> 100000"},
    {"a sort of 20,000 numbers",
     "(defun srt (n) (first (sort (loop for i below n collect (mod (* i 7919) 20011)) #'<)))",
     "(srt 20000)", "=> 0"},
    {"a sieve of 100,000",
     "(defun sieve (n) (let ((v (make-array n :initial-element 1))) (loop for i from 2 below n "
     "when (= 1 (aref v i)) do (loop for j from (* i i) below n by i do (setf (aref v j) 0))) "
     "(- (reduce #'+ v) 2)))",
     "(sieve 100000)", "=> 9592"},
    {"floats: a part of the Mandelbrot set",
     "(defun mandel (n) (loop for i below n sum (let ((c (complex (- (/ i n 0.5d0) 1.5d0) 0.1d0)) "
     "(z 0)) (loop for k below 30 while (< (abs z) 2) do (setf z (+ (* z z) c)) finally (return "
     "k)))))",
     "(plusp (mandel 400))", "=> T"},
    {"a hash table of 20,000",
     "(defun tbl (n) (let ((h (make-hash-table))) (dotimes (i n) (setf (gethash i h) (* i i))) "
     "(hash-table-count h)))",
     "(tbl 20000)", "=> 20000"},
    {"strings: 5,000 numbers printed",
     "(defun prt (n) (length (with-output-to-string (s) (dotimes (i n) (princ i s) (terpri s)))))",
     "(prt 5000)", "=> 23890"},
    {"objects: 20,000 generic calls",
     "(progn (defclass c () ((x :initform 0 :accessor x))) (defgeneric up (o)) (defmethod up ((o "
     "c)) (incf (x o))) (defun obj (n) (let ((o (make-instance 'c))) (dotimes (i n) (up o)) (x "
     "o))))",
     "(obj 20000)", "=> 20000"},
    {"bignums: the factorial of 1,000",
     "(defun fact (n) (let ((r 1)) (loop for i from 1 to n do (setf r (* r i))) (integer-length "
     "r)))",
     "(fact 1000)", "=> 8530"},
};

enum { PROGRAM_COUNT = sizeof programs / sizeof *programs };

enum { PROTECTED, DEGRADED, KIND_COUNT };

struct codes {
    struct server servers[KIND_COUNT];
    struct samples samples[PROGRAM_COUNT][KIND_COUNT];
};

static void run_round(struct codes *all) {
    char arguments[1024];
    for (size_t i = 0; i < PROGRAM_COUNT; i++) {
        snprintf(arguments, sizeof arguments, "{\"code\":\"%s\"}", programs[i].code);
        for (unsigned call = 0; call < CALLS; call++)
            for (size_t kind = 0; kind < KIND_COUNT; kind++)
                samples_add(&all->samples[i][kind],
                            server_call(&all->servers[kind], arguments, programs[i].expected));
        for (size_t kind = 0; kind < KIND_COUNT; kind++)
            samples_end_round(&all->samples[i][kind]);
    }
}

static void prepare(struct server *server) {
    char arguments[1024];
    for (size_t i = 0; i < PROGRAM_COUNT; i++) {
        snprintf(arguments, sizeof arguments, "{\"code\":\"%s\"}", programs[i].prepare);
        server_call(server, arguments, "=> ");
    }
}

void section_code(struct bench *bench) {
    static const char *const options[] = {"--degraded", NULL};
    struct codes all = {0};
    server_ready_eclave(&all.servers[PROTECTED], bench, NULL);
    server_ready_eclave(&all.servers[DEGRADED], bench, options);
    for (size_t kind = 0; kind < KIND_COUNT; kind++)
        prepare(&all.servers[kind]);
    for (unsigned round = 0; round < bench->rounds; round++)
        run_round(&all);
    report_heading(
        &bench->report,
        "Evaluated code: what it writes is noted by the kernel, and copied after the call");
    for (size_t i = 0; i < PROGRAM_COUNT; i++)
        report_figure(
            &bench->report,
            &(struct figure){programs[i].name, UNIT_MS, MEDIAN_OF(&all.samples[i][PROTECTED]),
                             .baselines = {{"without checkpoints",
                                            samples_median(&all.samples[i][DEGRADED]), 1.05}}});
    for (size_t kind = 0; kind < KIND_COUNT; kind++)
        server_finish(&all.servers[kind]);
    for (size_t i = 0; i < PROGRAM_COUNT; i++)
        for (size_t kind = 0; kind < KIND_COUNT; kind++)
            samples_free(&all.samples[i][kind]);
}
