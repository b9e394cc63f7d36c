/* See project_calls.h. */
#include "bench/project_calls.h"
#include "bench/image_client.h"
#include "bench/project_tree.h"
#include "bench/server.h"
#include <stdio.h>

enum { CALLS = 300, FORKS = 50, WARM_UP_CALLS = 50, CALL_GAP_MS = 5 };

/* The callee: a tool of the project, a built-in tool, the reference server's tool. */
enum { TOOL, EVALUATION, REFERENCE, PARTY_COUNT };
enum { BACK_TO_BACK, IDLE, PACE_COUNT };

struct calls {
    struct server caller, reference;
    struct peer image;
    struct samples fork, samples[PARTY_COUNT][PACE_COUNT];
};

static double call(struct calls *all, size_t party) {
    static const char message[] = "{\"message\":\"3\"}", echo[] = "Echo: 3";
    if (party == EVALUATION)
        return server_call(&all->caller, CODE("(+ 1 2)"), "=> 3");
    if (party == REFERENCE)
        return server_call(&all->reference, message, echo);
    return server_call_tool(&all->caller, project_tree_tool, message, echo);
}

static void measure_calls(struct bench *bench, struct calls *all, size_t pace) {
    for (size_t party = 0; party < PARTY_COUNT; party++) {
        if (party == REFERENCE && !bench->reference)
            continue;
        for (unsigned i = 0; i < CALLS; i++) {
            if (pace == IDLE)
                sleep_ms(CALL_GAP_MS);
            samples_add(&all->samples[party][pace], call(all, party));
        }
        samples_end_round(&all->samples[party][pace]);
    }
}

static void report_calls(struct bench *bench, const struct calls *all, size_t pace) {
    static const char *const paces[PACE_COUNT] = {
        [BACK_TO_BACK] = "back to back", [IDLE] = "5 ms between calls"};
    const double evaluation = samples_median(&all->samples[EVALUATION][pace]);
    const double tool = samples_median(&all->samples[TOOL][pace]);
    const double reference = samples_median(&all->samples[REFERENCE][pace]);
    char name[128];
    snprintf(name, sizeof name, "a call to a tool of a project, %s, p50", paces[pace]);
    report_figure(&bench->report,
                  &(struct figure){name, UNIT_MS, MEDIAN_OF(&all->samples[TOOL][pace]),
                                   .baselines = {{"`(+ 1 2)` evaluated", evaluation, 0},
                                                 {"the reference server's echo", reference, 0}}});
    snprintf(name, sizeof name, "the difference from an evaluation, %s", paces[pace]);
    report_figure(&bench->report,
                  &(struct figure){name, UNIT_MS, tool - evaluation,
                                   .baselines = {{"a bare fork", samples_median(&all->fork), 2}}});
}

static void begin(struct bench *bench, const char *project, struct calls *all) {
    const char *const options[] = {"--project", project, NULL};
    server_ready_eclave(&all->caller, bench, options);
    image_start(&all->image, bench, NULL);
    if (bench->reference)
        server_ready_reference(&all->reference, bench);
    for (size_t party = 0; party < PARTY_COUNT; party++)
        for (unsigned i = 0; i < WARM_UP_CALLS && (party != REFERENCE || bench->reference); i++)
            call(all, party);
}

static void run_round(struct bench *bench, struct calls *all) {
    for (unsigned i = 0; i < FORKS; i++)
        samples_add(&all->fork, image_fork(&all->image));
    for (size_t pace = 0; pace < PACE_COUNT; pace++)
        measure_calls(bench, all, pace);
}

static void end(struct bench *bench, struct calls *all) {
    server_finish(&all->caller);
    peer_finish(&all->image);
    if (bench->reference)
        server_finish(&all->reference);
    samples_free(&all->fork);
    for (size_t party = 0; party < PARTY_COUNT; party++)
        for (size_t pace = 0; pace < PACE_COUNT; pace++)
            samples_free(&all->samples[party][pace]);
}

void project_calls(struct bench *bench, const char *project) {
    struct calls all = {0};
    begin(bench, project, &all);
    for (unsigned round = 0; round < bench->rounds; round++)
        run_round(bench, &all);
    for (size_t pace = 0; pace < PACE_COUNT; pace++)
        report_calls(bench, &all, pace);
    end(bench, &all);
}
