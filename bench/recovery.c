/* From a failed call to the next correct answer, which must show that the session's state was
 * restored. */
#include "bench/bench.h"
#include "bench/image_client.h"
#include "bench/server.h"
#include <stdio.h>

enum { BOOTS = 3, FORKS = 50, FAILURES = 10, GAP_MS = 10, LIMIT_MS = 50 };

/* The ways to fail. */
enum { TIME_OUT, CRASH, EXIT, WAY_COUNT };

static const struct way {
    const char *name, *arguments, *expected;
} ways[WAY_COUNT] = {
    [TIME_OUT] = {"time-out", "{\"code\":\"(loop)\",\"timeout\":0.05}", "\"code\":-32004"},
    [CRASH] = {"crash (SIGABRT inside GMP)", CODE("(ash 1 (expt 2 40))"), "WORKER-CRASH"},
    [EXIT] = {"exit", CODE("(ext:quit 7)"), "PROCESS-EXIT"},
};

struct recoveries {
    struct server server;
    struct peer image;
    struct samples boot, fork;
    struct samples answered[WAY_COUNT];  /* from the failed call to its error */
    struct samples recovered[WAY_COUNT]; /* from the error to the next correct answer */
    struct samples whole[WAY_COUNT];     /* from the failed call to the next correct answer */
};

static void fail_once(struct recoveries *all, size_t way) {
    sleep_ms(GAP_MS);
    double answered = server_call(&all->server, ways[way].arguments, ways[way].expected);
    double recovered = server_call(&all->server, CODE("*kept*"), "=> 4242");
    if (answered < 0 || recovered < 0)
        return;
    samples_add(&all->answered[way], answered);
    samples_add(&all->recovered[way], recovered);
    samples_add(&all->whole[way], answered + recovered);
}

static void run_round(struct bench *bench, struct recoveries *all) {
    for (unsigned i = 0; i < BOOTS; i++)
        samples_add(&all->boot, bench_ecl_boot(bench));
    samples_end_round(&all->boot);
    for (unsigned i = 0; i < FORKS; i++)
        samples_add(&all->fork, image_fork(&all->image));
    samples_end_round(&all->fork);
    for (size_t way = 0; way < WAY_COUNT; way++) {
        for (unsigned i = 0; i < FAILURES; i++)
            fail_once(all, way);
        samples_end_round(&all->answered[way]);
        samples_end_round(&all->recovered[way]);
        samples_end_round(&all->whole[way]);
    }
}

static void report_recoveries(struct bench *bench, const struct recoveries *all) {
    const double boot = samples_median(&all->boot), forked = samples_median(&all->fork);
    char name[128];
    report_heading(&bench->report, "Recovery of the session's state");
    for (size_t way = 0; way < WAY_COUNT; way++) {
        snprintf(name, sizeof name, "%s: from its error to the next correct answer",
                 ways[way].name);
        report_figure(&bench->report,
                      &(struct figure){name, UNIT_MS, MEDIAN_OF(&all->recovered[way]),
                                       .baselines = {{ECL_BOOT_NAME, boot, 1.0 / 25},
                                                     {"a bare fork", forked, 3}}});
    }
    for (size_t way = CRASH; way < WAY_COUNT; way++) {
        snprintf(name, sizeof name, "%s: from the failed call to the next correct answer",
                 ways[way].name);
        report_figure(&bench->report,
                      &(struct figure){name, UNIT_MS, MEDIAN_OF(&all->whole[way]),
                                       .baselines = {{ECL_BOOT_NAME, boot, 1.0 / 20}}});
    }
    const struct samples *timed_out = &all->answered[TIME_OUT];
    report_figure(&bench->report, &(struct figure){"time-out: its error, beyond the limit of 50 ms",
                                                   UNIT_MS, samples_median(timed_out) - LIMIT_MS,
                                                   .low = timed_out->low - LIMIT_MS,
                                                   .high = timed_out->high - LIMIT_MS});
}

void section_recovery(struct bench *bench) {
    struct recoveries all = {0};
    server_ready_eclave(&all.server, bench, NULL);
    image_start(&all.image, bench, NULL);
    server_call(&all.server, CODE("(defparameter *kept* 4242)"), "=> *KEPT*");
    for (unsigned round = 0; round < bench->rounds; round++)
        run_round(bench, &all);
    report_recoveries(bench, &all);
    server_finish(&all.server);
    peer_finish(&all.image);
    samples_free(&all.boot);
    samples_free(&all.fork);
    for (size_t way = 0; way < WAY_COUNT; way++) {
        samples_free(&all.answered[way]);
        samples_free(&all.recovered[way]);
        samples_free(&all.whole[way]);
    }
}
