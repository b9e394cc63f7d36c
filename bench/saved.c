/* What it costs to save a call before it is answered, and to bring a session back. */
#include "bench/bench.h"
#include "bench/server.h"
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PLAIN, ASYNC, SYNC, KEEP_COUNT };
enum { CALLS = 300, CALLS_BROUGHT_BACK = 100 };

static const char *const names[KEEP_COUNT] = {[ASYNC] =
                                                  "`(+ 1 2)`, back to back, with `--state`, p50",
                                              [SYNC] = "the same with `--durable sync`, p50"};

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk) {
    (void)status, (void)type, (void)walk;
    return remove(path);
}

static void start(struct server *server, struct bench *bench, size_t keep, const char *directory) {
    char path[100];
    snprintf(path, sizeof path, "%s/%zu", directory, keep);
    const char *const options[] = {"--state", path, "--durable", keep == SYNC ? "sync" : "async",
                                   NULL};
    server_ready_eclave(server, bench, keep == PLAIN ? NULL : options);
}

static void run(struct server *server, struct samples *samples) {
    for (unsigned i = 0; i < CALLS; i++)
        samples_add(samples, server_call(server, CODE("(+ 1 2)"), "=> 3"));
    samples_end_round(samples);
}

/* A server whose session has CALLS_BROUGHT_BACK calls ends; the next one's first answer. */
static void bring_back(struct bench *bench, const char *directory, struct samples *samples) {
    enum { OTHER = KEEP_COUNT };
    struct server server;
    for (unsigned round = 0; round < bench->rounds; round++) {
        start(&server, bench, OTHER + round, directory);
        for (unsigned i = 0; i < CALLS_BROUGHT_BACK; i++)
            server_call(&server, CODE("(+ 1 2)"), "=> 3");
        server_finish(&server);
        start(&server, bench, OTHER + round, directory);
        samples_add(samples, server_call(&server, CODE("(+ 1 2)"), "=> 3"));
        samples_end_round(samples);
        server_finish(&server);
    }
}

/* Sessions with vectors of 8 KB, and a call that takes long enough for an image. */
static const struct {
    const char *name, *code, *expected;
} images[] = {
    {"a session of 1 MB with an image: until its first answer in a new server",
     CODE("(progn (defvar *live* (loop repeat 128 collect (make-array 1000 :initial-element 7)))"
          " (sleep 1) (length *live*))"),
     "=> 128"},
    {"the same of 64 MB",
     CODE("(progn (defvar *live* (loop repeat 8192 collect (make-array 1000 :initial-element 7)))"
          " (sleep 1) (length *live*))"),
     "=> 8192"},
};
enum { IMAGE_COUNT = sizeof images / sizeof *images };

/* The image is made after the answer; the end of the server does not wait for it. */
static void bring_back_image(struct bench *bench, const char *directory, size_t which,
                             struct samples *samples) {
    enum { OTHER = 1000, IMAGE_US = 3000000 };
    const size_t keep = OTHER + which;
    struct server server;
    start(&server, bench, keep, directory);
    server_call(&server, images[which].code, images[which].expected);
    usleep(IMAGE_US);
    server_finish(&server);
    for (unsigned round = 0; round < bench->rounds; round++) {
        start(&server, bench, keep, directory);
        samples_add(samples, server_call(&server, CODE("(length *live*)"), images[which].expected));
        samples_end_round(samples);
        server_finish(&server);
    }
}

static void report(struct bench *bench, const struct samples samples[KEEP_COUNT],
                   const struct samples *back, const struct samples by_image[IMAGE_COUNT]) {
    report_heading(&bench->report, "Saved sessions");
    for (size_t keep = ASYNC; keep < KEEP_COUNT; keep++) {
        const struct figure figure = {names[keep],
                                      UNIT_MS,
                                      samples_percentile(&samples[keep], 50),
                                      .low = samples[keep].low,
                                      .high = samples[keep].high,
                                      .baselines = {{"a call that is not saved",
                                                     samples_percentile(&samples[PLAIN], 50), 0}}};
        report_figure(&bench->report, &figure);
    }
    const struct figure figure = {"a session of 100 calls: until its first answer in a new server",
                                  UNIT_MS, samples_percentile(back, 50), .low = back->low,
                                  .high = back->high};
    report_figure(&bench->report, &figure);
    for (size_t i = 0; i < IMAGE_COUNT; i++) {
        const struct figure image = {images[i].name, UNIT_MS, MEDIAN_OF(&by_image[i])};
        report_figure(&bench->report, &image);
    }
}

void section_saved(struct bench *bench) {
    char directory[] = "/var/tmp/eclave-bench-XXXXXX";
    struct server servers[KEEP_COUNT];
    struct samples samples[KEEP_COUNT] = {0}, back = {0}, by_image[IMAGE_COUNT] = {0};
    if (!mkdtemp(directory))
        return;
    for (size_t keep = 0; keep < KEEP_COUNT; keep++)
        start(&servers[keep], bench, keep, directory);
    for (unsigned round = 0; round < bench->rounds; round++)
        for (size_t keep = 0; keep < KEEP_COUNT; keep++)
            run(&servers[keep], &samples[keep]);
    for (size_t keep = 0; keep < KEEP_COUNT; keep++)
        server_finish(&servers[keep]);
    bring_back(bench, directory, &back);
    for (size_t i = 0; i < IMAGE_COUNT; i++)
        bring_back_image(bench, directory, i, &by_image[i]);
    report(bench, samples, &back, by_image);
    for (size_t keep = 0; keep < KEEP_COUNT; keep++)
        samples_free(&samples[keep]);
    samples_free(&back);
    for (size_t i = 0; i < IMAGE_COUNT; i++)
        samples_free(&by_image[i]);
    nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
