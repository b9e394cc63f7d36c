/* Snippets with `eclave batch`, one at a time and one for each processor, compared with one `ecl`
 * process for each snippet, with that process under bubblewrap, and with the minimum: a fork of the
 * booted image that does nothing. */
#include "bench/bench.h"
#include "bench/image_client.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUBBLEWRAP "/usr/bin/bwrap"

enum { FORKS = 100, PROCESSES = 3 };

/* CODE needs no escapes in JSON. */
static const struct kind {
    const char *name, *code;
    unsigned lines; /* of a run, so that its boot counts little */
    bool lasts;     /* so long that what `-j 1` does beside it matters little */
} kinds[] = {
    {"a trivial snippet", "(+ 1 2)", 1000, false},
    {"a typical snippet",
     "(defun fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))"
     " (list (fib 10) (sort (loop for i below 100 collect (mod (* i 37) 101)) #'<))",
     500, false},
    {"a submission of 25 lines and its tests",
     "(defun primes (n) (let ((sieve (make-array (1+ n) :initial-element t)) (found nil)) "
     "(loop for i from 2 to n when (aref sieve i) do (push i found) (loop for j from (* i i) to n "
     "by i do (setf (aref sieve j) nil))) "
     "(nreverse found))) "
     "(defun factors (n) (loop for p in (primes (isqrt n)) append (loop while (zerop (mod n p)) "
     "collect p do (setf n (floor n p))) into all "
     "finally (return (if (> n 1) (append all (list n)) all)))) "
     "(defun count-words (words) (let ((table (make-hash-table)) (counts nil)) (dolist (word "
     "words) (incf (gethash word table 0))) "
     "(maphash (lambda (word count) (push (cons word count) counts)) table) "
     "(sort counts (lambda (a b) (> (cdr a) (cdr b)))))) "
     "(defun permutations (list) (if (null list) (list nil) "
     "(loop for x in list append (mapcar (lambda (rest) (cons x rest)) (permutations (remove x "
     "list)))))) "
     "(defstruct account (balance 0)) "
     "(define-condition overdrawn (error) ((account :initarg :account))) "
     "(defgeneric withdraw (account amount)) "
     "(defmethod withdraw ((account account) amount) (if (> amount (account-balance account)) "
     "(error 'overdrawn :account account) "
     "(decf (account-balance account) amount))) "
     "(defmacro check (form) `(handler-case (if ,form :passed :failed) (error () :error))) "
     "(list (check (equal (primes 30) (list 2 3 5 7 11 13 17 19 23 29))) "
     "(check (= (length (primes 5000)) 669)) "
     "(check (equal (factors 1234567890) (list 2 3 3 5 3607 3803))) "
     "(check (equal (first (count-words (list 1 2 2 3 2 1))) (cons 2 3))) "
     "(check (= (length (permutations (list 1 2 3 4 5))) 120)) "
     "(check (= 30 (withdraw (make-account :balance 100) 70))) "
     "(check (eq :error (check (withdraw (make-account) 1)))))",
     200, true},
    {"an allocating snippet", "(length (loop repeat 100000 collect (make-list 4)))", 50, true},
};

enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

struct batches {
    char path[KIND_COUNT][64];
    char jobs[24];
    bool has_bubblewrap;
    struct peer image;
    struct samples fork;
    struct samples single[KIND_COUNT], parallel[KIND_COUNT], process[KIND_COUNT], boxed[KIND_COUNT];
    struct samples pinned[KIND_COUNT]; /* -j 1, and one processor for all of it */
};

static void write_lines(struct bench *bench, struct batches *all, size_t kind) {
    char *path = all->path[kind];
    snprintf(path, sizeof all->path[kind], "/tmp/eclave-bench-XXXXXX");
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file) {
        report_problem(&bench->report, "%s cannot be made", path);
        return;
    }
    for (unsigned i = 0; i < kinds[kind].lines; i++)
        fprintf(file, "{\"id\":%u,\"code\":\"%s\"}\n", i, kinds[kind].code);
    fclose(file);
}

/* Milliseconds for each line. */
static double run_batch(struct bench *bench, const struct batches *all, size_t kind,
                        const char *jobs) {
    const char *const arguments[] = {bench->binary, "batch", "-j", jobs, all->path[kind], NULL};
    double ms = run_to_end_ms(&bench->report, arguments);
    return ms < 0 ? ms : ms / kinds[kind].lines;
}

static double run_pinned(struct bench *bench, const struct batches *all, size_t kind) {
    const char *const arguments[] = {"taskset",       "-c", "0", bench->binary, "batch", "-j", "1",
                                     all->path[kind], NULL};
    double ms = run_to_end_ms(&bench->report, arguments);
    return ms < 0 ? ms : ms / kinds[kind].lines;
}

static double run_process(struct bench *bench, size_t kind) {
    const char *const arguments[] = {"ecl",    "--norc", "--eval", kinds[kind].code,
                                     "--eval", "(quit)", NULL};
    return run_to_end_ms(&bench->report, arguments);
}

static double run_boxed(struct bench *bench, size_t kind) {
    const char *const arguments[] = {BUBBLEWRAP,
                                     "--unshare-all",
                                     "--die-with-parent",
                                     "--ro-bind",
                                     "/usr",
                                     "/usr",
                                     "--symlink",
                                     "usr/lib",
                                     "/lib",
                                     "--symlink",
                                     "usr/lib64",
                                     "/lib64",
                                     "--symlink",
                                     "usr/bin",
                                     "/bin",
                                     "--proc",
                                     "/proc",
                                     "--dev",
                                     "/dev",
                                     "ecl",
                                     "--norc",
                                     "--eval",
                                     kinds[kind].code,
                                     "--eval",
                                     "(quit)",
                                     NULL};
    return run_to_end_ms(&bench->report, arguments);
}

static void run_round(struct bench *bench, struct batches *all) {
    for (unsigned i = 0; i < FORKS; i++)
        samples_add(&all->fork, image_fork(&all->image));
    samples_end_round(&all->fork);
    for (size_t kind = 0; kind < KIND_COUNT; kind++) {
        samples_add(&all->single[kind], run_batch(bench, all, kind, "1"));
        samples_add(&all->pinned[kind], run_pinned(bench, all, kind));
        samples_add(&all->parallel[kind], run_batch(bench, all, kind, all->jobs));
        for (unsigned i = 0; i < PROCESSES; i++) {
            samples_add(&all->process[kind], run_process(bench, kind));
            if (all->has_bubblewrap)
                samples_add(&all->boxed[kind], run_boxed(bench, kind));
        }
        samples_end_round(&all->single[kind]);
        samples_end_round(&all->pinned[kind]);
        samples_end_round(&all->parallel[kind]);
        samples_end_round(&all->process[kind]);
        samples_end_round(&all->boxed[kind]);
    }
}

static void report_kind(struct bench *bench, const struct batches *all, size_t kind) {
    const double process = samples_median(&all->process[kind]);
    const double pinned = samples_median(&all->pinned[kind]);
    const bool trivial = kind == 0;
    char name[128];
    snprintf(name, sizeof name, "%s, `-j 1`", kinds[kind].name);
    report_figure(
        &bench->report,
        &(struct figure){
            name, UNIT_MS, MEDIAN_OF(&all->single[kind]),
            .baselines = {{"one `ecl` process", process, trivial ? 1.0 / 60 : 0},
                          {"a bare fork", samples_median(&all->fork), trivial ? 2.5 : 0}}});
    snprintf(name, sizeof name, "%s, `-j %s`", kinds[kind].name, all->jobs);
    struct figure figure = {
        name, UNIT_MS, MEDIAN_OF(&all->parallel[kind]),
        .baselines = {{"`-j 1`", samples_median(&all->single[kind]), kinds[kind].lasts ? 0.588 : 0},
                      {"`-j 1` on one processor", pinned, 1.25 / strtod(all->jobs, NULL)}}};
    if (all->has_bubblewrap)
        figure.baselines[2] =
            (struct baseline){"`ecl` under bubblewrap", samples_median(&all->boxed[kind]), 0};
    report_figure(&bench->report, &figure);
}

static void free_all(struct batches *all) {
    samples_free(&all->fork);
    for (size_t kind = 0; kind < KIND_COUNT; kind++) {
        samples_free(&all->single[kind]);
        samples_free(&all->pinned[kind]);
        samples_free(&all->parallel[kind]);
        samples_free(&all->process[kind]);
        samples_free(&all->boxed[kind]);
        unlink(all->path[kind]);
    }
}

void section_batch(struct bench *bench) {
    struct batches all = {.has_bubblewrap = access(BUBBLEWRAP, X_OK) == 0};
    snprintf(all.jobs, sizeof all.jobs, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    if (!all.has_bubblewrap)
        report_note(&bench->report,
                    "bubblewrap is not installed: `ecl` under it was not measured.");
    for (size_t kind = 0; kind < KIND_COUNT; kind++)
        write_lines(bench, &all, kind);
    image_start(&all.image, bench, NULL);
    for (unsigned round = 0; round < bench->rounds; round++)
        run_round(bench, &all);
    report_heading(&bench->report, "Batch: milliseconds for each snippet, with the boot");
    for (size_t kind = 0; kind < KIND_COUNT; kind++)
        report_kind(bench, &all, kind);
    peer_finish(&all.image);
    free_all(&all);
}
