/* From the start of the server to its first answer. Every start is a new process. */
#include "bench/bench.h"
#include "bench/server.h"

enum { STARTS = 5, REFERENCE_STARTS = 2 };

struct starts {
    struct samples boot, initialize, first_value, reference_initialize, reference_first_value;
};

static void measure_boot(struct bench *bench, struct starts *starts) {
    samples_add(&starts->boot, bench_ecl_boot(bench));
}

static void measure_initialize(struct bench *bench, struct starts *starts) {
    struct server server;
    double begin = now_ms();
    server_start_eclave(&server, bench, NULL);
    if (server_initialize(&server) >= 0)
        samples_add(&starts->initialize, now_ms() - begin);
    server_finish(&server);
}

static void measure_first_value(struct bench *bench, struct starts *starts) {
    struct server server;
    double begin = now_ms();
    server_start_eclave(&server, bench, NULL);
    server_initialize(&server);
    if (server_call(&server, CODE("(+ 1 2)"), "=> 3") >= 0)
        samples_add(&starts->first_value, now_ms() - begin);
    server_finish(&server);
}

static void measure_reference(struct bench *bench, struct starts *starts) {
    struct server server;
    double begin = now_ms();
    server_start_reference(&server, bench);
    if (server_initialize(&server) >= 0)
        samples_add(&starts->reference_initialize, now_ms() - begin);
    if (server_call(&server, "{\"message\":\"3\"}", "Echo: 3") >= 0)
        samples_add(&starts->reference_first_value, now_ms() - begin);
    server_finish(&server);
}

static void run_round(struct bench *bench, struct starts *starts) {
    for (unsigned i = 0; i < STARTS; i++) {
        measure_boot(bench, starts);
        measure_initialize(bench, starts);
        measure_first_value(bench, starts);
        if (bench->reference && i < REFERENCE_STARTS)
            measure_reference(bench, starts);
    }
    samples_end_round(&starts->boot);
    samples_end_round(&starts->initialize);
    samples_end_round(&starts->first_value);
}

static void report_starts(struct bench *bench, const struct starts *starts) {
    report_heading(&bench->report, "Start");
    report_figure(
        &bench->report,
        &(struct figure){"spawn to the answer to `initialize`", UNIT_MS,
                         MEDIAN_OF(&starts->initialize), .at_most = 5,
                         .baselines = {{"the reference server's",
                                        samples_median(&starts->reference_initialize), 0}}});
    report_figure(
        &bench->report,
        &(struct figure){"spawn to the first value", UNIT_MS, MEDIAN_OF(&starts->first_value),
                         .baselines = {{ECL_BOOT_NAME, samples_median(&starts->boot), 1.2},
                                       {"the reference server's first answer",
                                        samples_median(&starts->reference_first_value), 0}}});
}

void section_start(struct bench *bench) {
    struct starts starts = {0};
    for (unsigned i = 0; i < bench->rounds; i++)
        run_round(bench, &starts);
    report_starts(bench, &starts);
    samples_free(&starts.boot);
    samples_free(&starts.initialize);
    samples_free(&starts.first_value);
    samples_free(&starts.reference_initialize);
    samples_free(&starts.reference_first_value);
}
