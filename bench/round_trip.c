/* One small call and its answer, at two rates: back to back, where each checkpoint delays the next
 * call, and with the pauses of a model. */
#include "bench/bench.h"
#include "bench/pair.h"
#include "bench/server.h"
#include <stdio.h>

enum { BACK_TO_BACK, IDLE, PACE_COUNT };

static const struct pace {
    const char *name;
    unsigned calls; /* in a round */
    double gap_ms;
} paces[PACE_COUNT] = {
    [BACK_TO_BACK] = {"back to back", 1500, 0},
    [IDLE] = {"5 ms between calls", 200, 5},
};

/* Who answers. */
enum { ECLAVE, ECLAVE_BARE, REFERENCE, PAIR, PARTY_COUNT };

struct round_trips {
    struct server eclave, bare, reference;
    struct pair pair;
    struct samples samples[PARTY_COUNT][PACE_COUNT];
};

static double call_eclave(struct round_trips *all) {
    return server_call(&all->eclave, CODE("(+ 1 2)"), "=> 3");
}

static double call_bare(struct round_trips *all) {
    return server_call(&all->bare, CODE("(+ 1 2)"), "=> 3");
}

static double call_reference(struct round_trips *all) {
    return server_call(&all->reference, "{\"message\":\"3\"}", "Echo: 3");
}

static double call_pair(struct round_trips *all) {
    return pair_round_trip(&all->pair);
}

static double (*const calls[PARTY_COUNT])(struct round_trips *) = {
    [ECLAVE] = call_eclave,
    [ECLAVE_BARE] = call_bare,
    [REFERENCE] = call_reference,
    [PAIR] = call_pair,
};

static void run_pace(struct round_trips *all, size_t party, size_t pace) {
    for (unsigned i = 0; i < paces[pace].calls; i++) {
        if (paces[pace].gap_ms > 0)
            sleep_ms(paces[pace].gap_ms);
        samples_add(&all->samples[party][pace], calls[party](all));
    }
    samples_end_round(&all->samples[party][pace]);
}

static void report_percentile(struct bench *bench, struct round_trips *all, size_t pace,
                              double percent) {
    /* The expected median; there are no other expectations. */
    static const double at_most_ms[PARTY_COUNT][PACE_COUNT] = {
        [ECLAVE] = {[BACK_TO_BACK] = 1, [IDLE] = 0.3},
        [ECLAVE_BARE] = {[BACK_TO_BACK] = 0.15},
    };
    static const char *const names[] = {
        [ECLAVE] = "`(+ 1 2)`", [ECLAVE_BARE] = "without checkpoints"};
    for (size_t party = ECLAVE; party <= ECLAVE_BARE; party++) {
        const struct samples *own = &all->samples[party][pace];
        const bool median = percent <= 50;
        char name[128];
        snprintf(name, sizeof name, "%s, %s, p%.0f", names[party], paces[pace].name, percent);
        struct figure figure = {
            name,
            UNIT_MS,
            samples_percentile(own, percent),
            .low = median ? own->low : 0,
            .high = median ? own->high : 0,
            .at_most = median ? at_most_ms[party][pace] : 0,
            .baselines = {
                {"the reference server's echo",
                 samples_percentile(&all->samples[REFERENCE][pace], percent), 0},
                {"a bare socket pair", samples_percentile(&all->samples[PAIR][pace], percent), 0}}};
        report_figure(&bench->report, &figure);
    }
}

static void report_round_trips(struct bench *bench, struct round_trips *all) {
    report_heading(&bench->report, "Round trip");
    for (size_t pace = 0; pace < PACE_COUNT; pace++) {
        report_percentile(bench, all, pace, 50);
        report_percentile(bench, all, pace, 99);
    }
}

static void warm_up(struct round_trips *all, size_t parties) {
    enum { WARM_UP_CALLS = 100 };
    for (size_t party = 0; party < PARTY_COUNT; party++)
        for (unsigned i = 0; i < WARM_UP_CALLS && parties & (1U << party); i++)
            calls[party](all);
}

void section_round_trip(struct bench *bench) {
    static const char *const without_checkpoints[] = {"--degraded", NULL};
    struct round_trips all = {0};
    size_t parties = 1U << ECLAVE | 1U << ECLAVE_BARE | 1U << PAIR;
    server_ready_eclave(&all.eclave, bench, NULL);
    server_ready_eclave(&all.bare, bench, without_checkpoints);
    pair_start(&all.pair, &bench->report);
    if (bench->reference) {
        parties |= 1U << REFERENCE;
        server_ready_reference(&all.reference, bench);
    }
    warm_up(&all, parties);
    for (unsigned round = 0; round < bench->rounds; round++)
        for (size_t pace = 0; pace < PACE_COUNT; pace++)
            for (size_t party = 0; party < PARTY_COUNT; party++)
                if (parties & (1U << party))
                    run_pace(&all, party, pace);
    report_round_trips(bench, &all);
    for (size_t party = 0; party < PARTY_COUNT; party++)
        for (size_t pace = 0; pace < PACE_COUNT; pace++)
            samples_free(&all.samples[party][pace]);
    server_finish(&all.eclave);
    server_finish(&all.bare);
    if (bench->reference)
        server_finish(&all.reference);
    pair_finish(&all.pair);
}
