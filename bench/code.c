/* Evaluated code with its session protected and without checkpoints. Code pays for a checkpoint by
 * what the first write to each page costs. */
#include "bench/bench.h"
#include "bench/server.h"
#include <stdio.h>

enum { CALLS = 5, PROGRAMS_MAX = 10 };

/* No part needs escapes in JSON. */
struct program {
    const char *name, *prepare, *code, *expected;
};

/* The programs of --native, defined by BENCH_NATIVE_LISP, with the arguments of that file. */
static const struct program long_programs[] = {
    {"`(fib 27)`", NULL, "(fib 27)", "=> 196418"},
    {"the same with declarations", NULL, "(fixnum-fib 27)", "=> 196418"},
    {"`(tak 18 12 6)`", NULL, "(tak 18 12 6)", "=> 7"},
    {"the queens of a board of 8", NULL, "(queens 8)", "=> 92"},
    {"100 × 100 points of the Mandelbrot set", NULL, "(mandelbrot 100 100)", "=> "},
    {"strings: a stream of 300,000 characters, searched", NULL, "(strings 100000)", "=> "},
    {"a hash table of 100,000 numbers", NULL, "(hashing 100000)", "=> 333328333350000"},
    {"a sort of 100,000 numbers", NULL, "(sorting 100000)", "=> "},
    {"200,000 generic calls", NULL, "(methods 100000)", "=> 3100000"},
    {"200,000 non-local exits", NULL, "(exits 100000)", "=> "},
};

static const struct program short_programs[] = {
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

enum { PROTECTED, DEGRADED, KIND_COUNT };

struct codes {
    const struct program *programs;
    size_t count;
    struct server servers[KIND_COUNT];
    struct samples samples[PROGRAMS_MAX][KIND_COUNT];
    /* Of calls one after the other, since the machine's speed varies. */
    struct samples ratios[PROGRAMS_MAX];
};

static void call_in_turn(struct codes *all, size_t program) {
    char arguments[1024];
    double took[KIND_COUNT];
    snprintf(arguments, sizeof arguments, CODE("%s"), all->programs[program].code);
    for (size_t kind = 0; kind < KIND_COUNT; kind++) {
        took[kind] = server_call(&all->servers[kind], arguments, all->programs[program].expected);
        samples_add(&all->samples[program][kind], took[kind]);
    }
    if (took[PROTECTED] > 0 && took[DEGRADED] > 0)
        samples_add(&all->ratios[program], took[PROTECTED] / took[DEGRADED]);
}

static void run_round(struct codes *all) {
    for (size_t i = 0; i < all->count; i++) {
        for (unsigned call = 0; call < CALLS; call++)
            call_in_turn(all, i);
        for (size_t kind = 0; kind < KIND_COUNT; kind++)
            samples_end_round(&all->samples[i][kind]);
    }
}

static void prepare(const struct codes *all, struct server *server) {
    char arguments[1024];
    for (size_t i = 0; i < all->count && all->programs[i].prepare; i++) {
        snprintf(arguments, sizeof arguments, CODE("%s"), all->programs[i].prepare);
        server_call(server, arguments, "=> ");
    }
}

static void report(struct bench *bench, struct codes *all, const char *heading, double most) {
    report_heading(&bench->report, heading);
    for (size_t i = 0; i < all->count; i++)
        report_figure(
            &bench->report,
            &(struct figure){all->programs[i].name, UNIT_MS, MEDIAN_OF(&all->samples[i][PROTECTED]),
                             .baselines = {{"without checkpoints",
                                            samples_median(&all->samples[i][DEGRADED]), most}},
                             .ratio = samples_median(&all->ratios[i])});
}

/* MOST: of the time without checkpoints; 0: nothing is expected. */
static void measure(struct bench *bench, struct codes *all, const char *heading, double most) {
    static const char *const options[KIND_COUNT][4] = {
        {"--preload", BENCH_NATIVE_LISP}, {"--preload", BENCH_NATIVE_LISP, "--degraded"}};
    for (size_t kind = 0; kind < KIND_COUNT; kind++) {
        server_ready_eclave(&all->servers[kind], bench, options[kind]);
        prepare(all, &all->servers[kind]);
    }
    for (unsigned round = 0; round < bench->rounds; round++)
        run_round(all);
    report(bench, all, heading, most);
    for (size_t kind = 0; kind < KIND_COUNT; kind++)
        server_finish(&all->servers[kind]);
    for (size_t i = 0; i < all->count; i++) {
        samples_free(&all->ratios[i]);
        for (size_t kind = 0; kind < KIND_COUNT; kind++)
            samples_free(&all->samples[i][kind]);
    }
}

void section_code(struct bench *bench) {
    struct codes longs = {.programs = long_programs,
                          .count = sizeof long_programs / sizeof *long_programs};
    struct codes shorts = {.programs = short_programs,
                           .count = sizeof short_programs / sizeof *short_programs};
    measure(bench, &longs, "Evaluated code: the programs of `--native`, as bytecode", 1.05);
    measure(bench, &shorts, "Shorter programs, where what comes between two calls weighs more", 0);
}
