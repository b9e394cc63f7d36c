/* From the start of the server to its first answer, from an image and by a boot. Every start is a
 * new process. */
#include "bench/bench.h"
#include "bench/server.h"

enum { STARTS = 5, REFERENCE_STARTS = 2 };

/* The systems of Debian's packages that the tests install. */
static const char ten_systems[] =
    "alexandria,split-sequence,cl-ppcre,cl-base64,iterate,rt,trivial-backtrace,"
    "net.didierverna.asdf-flv,fiveam,kmrcl";

static const char *const boots[] = {"--image", "off", NULL};
static const char *const systems[] = {"--systems", ten_systems, NULL};
static const char *const systems_boot[] = {"--systems", ten_systems, "--image", "off", NULL};

struct starts {
    struct samples boot, initialize, first_value, booted_value, evaluation;
    struct samples systems_value, systems_booted_value;
    struct samples reference_initialize, reference_first_value;
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

/* With OPTIONS, until the first value. */
static void measure_value(struct bench *bench, const char *const *options,
                          struct samples *samples) {
    struct server server;
    double begin = now_ms();
    server_start_eclave(&server, bench, options);
    server_initialize(&server);
    if (server_call(&server, CODE("(+ 1 2)"), "=> 3") >= 0)
        samples_add(samples, now_ms() - begin);
    server_finish(&server);
}

static void measure_evaluation(struct bench *bench, struct starts *starts) {
    const char *const arguments[] = {bench->binary, "eval", "-e", "(+ 1 2)", NULL};
    samples_add(&starts->evaluation, run_to_end_ms(&bench->report, arguments));
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
        measure_value(bench, NULL, &starts->first_value);
        measure_value(bench, boots, &starts->booted_value);
        measure_evaluation(bench, starts);
        measure_value(bench, systems, &starts->systems_value);
        if (bench->reference && i < REFERENCE_STARTS)
            measure_reference(bench, starts);
    }
    measure_value(bench, systems_boot, &starts->systems_booted_value);
    samples_end_round(&starts->boot);
    samples_end_round(&starts->initialize);
    samples_end_round(&starts->first_value);
    samples_end_round(&starts->booted_value);
    samples_end_round(&starts->evaluation);
    samples_end_round(&starts->systems_value);
    samples_end_round(&starts->systems_booted_value);
}

static void report_starts(struct bench *bench, const struct starts *starts) {
    report_heading(&bench->report, "Start");
    report_figure(
        &bench->report,
        &(struct figure){"spawn to the answer to `initialize`", UNIT_MS,
                         MEDIAN_OF(&starts->initialize), .at_most = 3,
                         .baselines = {{"the reference server's",
                                        samples_median(&starts->reference_initialize), 0}}});
    report_figure(
        &bench->report,
        &(struct figure){"spawn to the first value", UNIT_MS, MEDIAN_OF(&starts->first_value),
                         .baselines = {{ECL_BOOT_NAME, samples_median(&starts->boot), 1.0 / 8},
                                       {"the reference server's first answer",
                                        samples_median(&starts->reference_first_value), 0}}});
    report_figure(
        &bench->report,
        &(struct figure){"the same with `--image off`", UNIT_MS, MEDIAN_OF(&starts->booted_value),
                         .baselines = {{ECL_BOOT_NAME, samples_median(&starts->boot), 1.2}}});
    report_figure(&bench->report,
                  &(struct figure){
                      "`eclave eval`, the whole process", UNIT_MS, MEDIAN_OF(&starts->evaluation),
                      .baselines = {{"one `ecl`", samples_median(&starts->boot), 1.0 / 6}}});
    report_figure(&bench->report,
                  &(struct figure){"spawn to the first value, with ten systems of ASDF", UNIT_MS,
                                   MEDIAN_OF(&starts->systems_value),
                                   .baselines = {{"the same with `--image off`",
                                                  samples_median(&starts->systems_booted_value), 0},
                                                 {"a start without systems",
                                                  samples_median(&starts->first_value), 0}}});
}

void section_start(struct bench *bench) {
    struct starts starts = {0}, first = {0};
    measure_value(bench, NULL, &first.first_value); /* writes the images where there are none */
    measure_value(bench, systems, &first.first_value);
    samples_free(&first.first_value);
    for (unsigned i = 0; i < bench->rounds; i++)
        run_round(bench, &starts);
    report_starts(bench, &starts);
    samples_free(&starts.boot);
    samples_free(&starts.initialize);
    samples_free(&starts.first_value);
    samples_free(&starts.booted_value);
    samples_free(&starts.evaluation);
    samples_free(&starts.systems_value);
    samples_free(&starts.systems_booted_value);
    samples_free(&starts.reference_initialize);
    samples_free(&starts.reference_first_value);
}
