/* Submissions with tests: what each further test of one costs against a bare fork, many submissions
 * against one `ecl` process for each test and one under bubblewrap for each submission, and the
 * supervisor's memory with very many. */
#include "bench/bench.h"
#include "bench/footprint.h"
#include "bench/image_client.h"
#include "bench/peer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUBBLEWRAP "/usr/bin/bwrap"
#define SETUP      "(defun square (x) (* x x))"
#define TEST       "(square 3)"

enum {
    FORKS = 100,
    TESTS_OF_ONE = 100,
    SUBMISSIONS = 200, /* in each round */
    TESTS_OF_MANY = 10,
    PROCESSES = 5, /* the slow baselines are scaled from so many in each round */
    FEW = 1000,
    VERY_MANY = 100000,
    PORTION = 1000, /* for the memory */
    LINE_BYTES = 8192
};

struct grades {
    char one[64], hundred[64], many[64]; /* paths */
    bool has_bubblewrap;
    struct peer image;
    struct samples fork, test, parallel_test, submission, process, boxed;
};

/* A submission with COUNT tests, as a line. */
static void make_line(char line[LINE_BYTES], unsigned id, unsigned count) {
    int used = snprintf(line, LINE_BYTES, "{\"id\":%u,\"setup\":\"" SETUP "\",\"tests\":[", id);
    for (unsigned i = 0; i < count; i++)
        used +=
            snprintf(line + used, (size_t)(LINE_BYTES - used),
                     "{\"code\":\"" TEST "\",\"expect\":\"9\"}%s", i + 1 < count ? "," : "]}\n");
}

static void write_file(struct bench *bench, char path[64], unsigned lines, unsigned tests) {
    char line[LINE_BYTES];
    snprintf(path, 64, "/tmp/eclave-bench-XXXXXX");
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file) {
        report_problem(&bench->report, "%s cannot be made", path);
        return;
    }
    for (unsigned i = 0; i < lines; i++) {
        make_line(line, i, tests);
        fputs(line, file);
    }
    fclose(file);
}

static double run_batch(struct bench *bench, const char *jobs, const char *path) {
    const char *const arguments[] = {bench->binary, "batch", "-j", jobs, path, NULL};
    return run_to_end_ms(&bench->report, arguments);
}

/* The milliseconds that each further test of one submission takes. */
static void add_test(struct bench *bench, struct grades *all, const char *jobs,
                     struct samples *samples) {
    double one = run_batch(bench, jobs, all->one), hundred = run_batch(bench, jobs, all->hundred);
    samples_add(samples, one < 0 || hundred < one ? -1 : (hundred - one) / (TESTS_OF_ONE - 1));
}

static double run_process(struct bench *bench) {
    static const char test[] = "(unless (equal " TEST " 9) (quit 1))";
    const char *const arguments[] = {"ecl", "--norc", "--eval", SETUP, "--eval",
                                     test,  "--eval", "(quit)", NULL};
    return run_to_end_ms(&bench->report, arguments);
}

static double run_boxed(struct bench *bench) {
    static const char tests[] = "(loop repeat 10 unless (equal " TEST " 9) do (quit 1))";
    const char *const arguments[] = {BUBBLEWRAP,  "--unshare-all", "--die-with-parent",
                                     "--ro-bind", "/usr",          "/usr",
                                     "--symlink", "usr/lib",       "/lib",
                                     "--symlink", "usr/lib64",     "/lib64",
                                     "--symlink", "usr/bin",       "/bin",
                                     "--proc",    "/proc",         "--dev",
                                     "/dev",      "ecl",           "--norc",
                                     "--eval",    SETUP,           "--eval",
                                     tests,       "--eval",        "(quit)",
                                     NULL};
    return run_to_end_ms(&bench->report, arguments);
}

static void run_round(struct bench *bench, struct grades *all) {
    for (unsigned i = 0; i < FORKS; i++)
        samples_add(&all->fork, image_fork(&all->image));
    add_test(bench, all, "1", &all->test);
    add_test(bench, all, "2", &all->parallel_test);
    double ms = run_batch(bench, "2", all->many);
    samples_add(&all->submission, ms < 0 ? ms : ms / SUBMISSIONS);
    for (unsigned i = 0; i < PROCESSES; i++) {
        samples_add(&all->process, run_process(bench));
        if (all->has_bubblewrap)
            samples_add(&all->boxed, run_boxed(bench));
    }
    samples_end_round(&all->fork);
    samples_end_round(&all->test);
    samples_end_round(&all->parallel_test);
    samples_end_round(&all->submission);
    samples_end_round(&all->process);
    samples_end_round(&all->boxed);
}

/* --- the report --- */

static void report_all(struct bench *bench, const struct grades *all) {
    const double fork = samples_median(&all->fork);
    report_figure(&bench->report,
                  &(struct figure){"each further test of a submission with 100, `-j 1`", UNIT_MS,
                                   MEDIAN_OF(&all->test), .baselines = {{"a bare fork", fork, 0}}});
    report_figure(&bench->report,
                  &(struct figure){"each further test of a submission with 100, `-j 2`", UNIT_MS,
                                   MEDIAN_OF(&all->parallel_test),
                                   .baselines = {{"a bare fork", fork, 1.5}}});
    struct figure figure = {"a submission with 10 tests, of 200 with `-j 2`", UNIT_MS,
                            MEDIAN_OF(&all->submission),
                            .baselines = {{"`ecl` once for each test, two at a time",
                                           samples_median(&all->process) * TESTS_OF_MANY / 2, 0}}};
    if (all->has_bubblewrap)
        figure.baselines[1] = (struct baseline){"`ecl` under bubblewrap once, two at a time",
                                                samples_median(&all->boxed) / 2, 0};
    report_figure(&bench->report, &figure);
}

void section_grade(struct bench *bench) {
    struct grades all = {.has_bubblewrap = access(BUBBLEWRAP, X_OK) == 0};
    write_file(bench, all.one, 1, 1);
    write_file(bench, all.hundred, 1, TESTS_OF_ONE);
    write_file(bench, all.many, SUBMISSIONS, TESTS_OF_MANY);
    image_start(&all.image, bench, NULL);
    for (unsigned round = 0; round < bench->rounds; round++)
        run_round(bench, &all);
    report_heading(&bench->report, "Grading: submissions with tests, with the boot");
    report_all(bench, &all);
    report_note(
        &bench->report,
        "Grading: each round has 200 submissions of 10 tests, 1,000 in 5 rounds. The baselines of "
        "one process for each test or submission are scaled from %d processes in each round, and "
        "halved, as if two at a time took no longer than one.",
        PROCESSES);
    peer_finish(&all.image);
    unlink(all.one);
    unlink(all.hundred);
    unlink(all.many);
    samples_free(&all.fork);
    samples_free(&all.test);
    samples_free(&all.parallel_test);
    samples_free(&all.submission);
    samples_free(&all.process);
    samples_free(&all.boxed);
}

/* --- the supervisor's memory --- */

/* Grades COUNT submissions with a test each, a portion at a time. */
static void grade_more(struct peer *peer, unsigned from, unsigned count) {
    char line[LINE_BYTES];
    for (unsigned done = 0; done < count && !peer->failed; done += PORTION) {
        for (unsigned i = 0; i < PORTION; i++) {
            make_line(line, from + done + i, 1);
            peer_send(peer, line, strlen(line));
        }
        for (unsigned i = 0; i < PORTION && peer_line(peer, NULL); i++)
            continue;
    }
}

void section_grade_memory(struct bench *bench) {
    const char *const arguments[] = {bench->binary, "batch", "-j", "2", NULL};
    struct peer peer;
    if (peer_start(&peer, "eclave batch", &bench->report, arguments)) {
        grade_more(&peer, 0, FEW);
        double few = footprint_resident_peak_mib(peer.pid);
        grade_more(&peer, FEW, VERY_MANY - FEW);
        report_figure(&bench->report,
                      &(struct figure){"the supervisor's peak memory with 100,000 submissions",
                                       UNIT_MIB, footprint_resident_peak_mib(peer.pid),
                                       .baselines = {{"that with 1,000", few, 1.1}}});
    }
    peer_finish(&peer);
}
