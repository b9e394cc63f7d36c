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

static void report(struct bench *bench, const struct samples samples[KEEP_COUNT],
                   const struct samples *back) {
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
}

void section_saved(struct bench *bench) {
    char directory[] = "/var/tmp/eclave-bench-XXXXXX";
    struct server servers[KEEP_COUNT];
    struct samples samples[KEEP_COUNT] = {0}, back = {0};
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
    report(bench, samples, &back);
    for (size_t keep = 0; keep < KEEP_COUNT; keep++)
        samples_free(&samples[keep]);
    samples_free(&back);
    nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
