/* From a failed call to the next correct answer, which must show that the session's state was
 * restored. */
#include "bench/bench.h"
#include "bench/image_client.h"
#include "bench/server.h"
#include <stdio.h>

enum {
    BOOTS = 3,
    FORKS = 50,
    FAILURES = 10,
    CALLS = 6, /* before each, so that the session returns to pages */
    GAP_MS = 3,
    LIMIT_MS = 50
};

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
    struct server server, forking; /* the latter keeps all states as processes */
    struct peer image;
    struct samples boot, fork;
    struct samples by_process[WAY_COUNT]; /* `recovered` of the other server */
    struct samples answered[WAY_COUNT];   /* from the failed call to its error */
    struct samples recovered[WAY_COUNT];  /* from the error to the next correct answer */
    struct samples whole[WAY_COUNT];      /* from the failed call to the next correct answer */
    struct samples whole_by_process[WAY_COUNT];
};

/* In ms; negative if an answer is wrong. */
struct failure {
    double answered, recovered;
};

static struct failure fail_once(struct server *server, size_t way) {
    struct failure failure;
    for (unsigned i = 0; i < CALLS; i++) {
        sleep_ms(GAP_MS);
        server_call(server, CODE("*kept*"), "=> 4242");
    }
    sleep_ms(GAP_MS);
    failure.answered = server_call(server, ways[way].arguments, ways[way].expected);
    failure.recovered = server_call(server, CODE("*kept*"), "=> 4242");
    return failure;
}

static void fail(struct recoveries *all, size_t way) {
    const struct failure failure = fail_once(&all->server, way);
    const struct failure other = fail_once(&all->forking, way);
    if (failure.answered < 0 || failure.recovered < 0 || other.recovered < 0)
        return;
    samples_add(&all->answered[way], failure.answered);
    samples_add(&all->recovered[way], failure.recovered);
    samples_add(&all->whole[way], failure.answered + failure.recovered);
    samples_add(&all->by_process[way], other.recovered);
    samples_add(&all->whole_by_process[way], other.answered + other.recovered);
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
            fail(all, way);
        samples_end_round(&all->by_process[way]);
        samples_end_round(&all->answered[way]);
        samples_end_round(&all->recovered[way]);
        samples_end_round(&all->whole[way]);
        samples_end_round(&all->whole_by_process[way]);
    }
}

static void report_recoveries(struct bench *bench, const struct recoveries *all) {
    const double boot = samples_median(&all->boot), forked = samples_median(&all->fork);
    char name[128];
    report_heading(&bench->report, "Recovery of the session's state");
    for (size_t way = 0; way < WAY_COUNT; way++) {
        snprintf(name, sizeof name, "%s: from its error to the next correct answer",
                 ways[way].name);
        report_figure(
            &bench->report,
            &(struct figure){name, UNIT_MS, MEDIAN_OF(&all->recovered[way]),
                             .baselines = {{ECL_BOOT_NAME, boot, 1.0 / 25},
                                           {"a bare fork", forked, 3},
                                           {"states that are processes",
                                            samples_median(&all->by_process[way]), 1.1}}});
    }
    for (size_t way = CRASH; way < WAY_COUNT; way++) {
        snprintf(name, sizeof name, "%s: from the failed call to the next correct answer",
                 ways[way].name);
        report_figure(
            &bench->report,
            &(struct figure){name, UNIT_MS, MEDIAN_OF(&all->whole[way]),
                             .baselines = {{ECL_BOOT_NAME, boot, 1.0 / 20},
                                           {"states that are processes",
                                            samples_median(&all->whole_by_process[way]), 1.1}}});
    }
    const struct samples *timed_out = &all->answered[TIME_OUT];
    report_figure(&bench->report, &(struct figure){"time-out: its error, beyond the limit of 50 ms",
                                                   UNIT_MS, samples_median(timed_out) - LIMIT_MS,
                                                   .low = timed_out->low - LIMIT_MS,
                                                   .high = timed_out->high - LIMIT_MS});
}

void section_recovery(struct bench *bench) {
    struct recoveries all = {0};
    static const char *const forking[] = {"--session-record", "off", NULL};
    server_ready_eclave(&all.server, bench, NULL);
    server_ready_eclave(&all.forking, bench, forking);
    image_start(&all.image, bench, NULL);
    server_call(&all.server, CODE("(defparameter *kept* 4242)"), "=> *KEPT*");
    server_call(&all.forking, CODE("(defparameter *kept* 4242)"), "=> *KEPT*");
    for (unsigned round = 0; round < bench->rounds; round++)
        run_round(bench, &all);
    report_recoveries(bench, &all);
    server_finish(&all.server);
    server_finish(&all.forking);
    peer_finish(&all.image);
    samples_free(&all.boot);
    samples_free(&all.fork);
    for (size_t way = 0; way < WAY_COUNT; way++) {
        samples_free(&all.by_process[way]);
        samples_free(&all.answered[way]);
        samples_free(&all.recovered[way]);
        samples_free(&all.whole[way]);
        samples_free(&all.whole_by_process[way]);
    }
}
