/* One small call and its answer, at two rates: back to back, where each checkpoint delays the next
 * call, and with the pauses of a model. */
#include "bench/bench.h"
#include "bench/pair.h"
#include "bench/server.h"
#include "tests/support/process.h"
#include <stdio.h>

enum { BACK_TO_BACK, IDLE, PACE_COUNT };

enum { LOWEST_PERCENT = 10 };

static const struct pace {
    const char *name;
    unsigned calls; /* in a round */
    double gap_ms;
} paces[PACE_COUNT] = {
    [BACK_TO_BACK] = {"back to back", 1500, 0},
    [IDLE] = {"5 ms between calls", 200, 5},
};

/* Who answers. */
enum { ECLAVE, ECLAVE_BARE, RELAY, RELAY_FORK, REFERENCE, PAIR, PARTY_COUNT };

struct round_trips {
    struct server eclave, bare, reference;
    struct peer relay, relay_fork;
    struct pair pair;
    struct samples samples[PARTY_COUNT][PACE_COUNT];
    struct samples faults;
};

static double call_eclave(struct round_trips *all) {
    return server_call(&all->eclave, CODE("(+ 1 2)"), "=> 3");
}

static double call_bare(struct round_trips *all) {
    return server_call(&all->bare, CODE("(+ 1 2)"), "=> 3");
}

static double call_relay_of(struct peer *relay) {
    static const char line[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
        "\"evaluate-lisp\",\"arguments\":{\"code\":\"(+ 1 2)\"}}}\n";
    double begin = now_ms();
    bool good = peer_send(relay, line, sizeof line - 1) && peer_line(relay, NULL);
    return good ? now_ms() - begin : -1;
}

static double call_relay(struct round_trips *all) {
    return call_relay_of(&all->relay);
}

static double call_relay_fork(struct round_trips *all) {
    return call_relay_of(&all->relay_fork);
}

static double call_reference(struct round_trips *all) {
    return server_call(&all->reference, "{\"message\":\"3\"}", "Echo: 3");
}

static double call_pair(struct round_trips *all) {
    return pair_round_trip(&all->pair);
}

static double (*const calls[PARTY_COUNT])(struct round_trips *) = {
    [ECLAVE] = call_eclave,         [ECLAVE_BARE] = call_bare,    [RELAY] = call_relay,
    [RELAY_FORK] = call_relay_fork, [REFERENCE] = call_reference, [PAIR] = call_pair,
};

static void run_pace(struct round_trips *all, size_t party, size_t pace) {
    for (unsigned i = 0; i < paces[pace].calls; i++) {
        if (paces[pace].gap_ms > 0)
            sleep_ms(paces[pace].gap_ms);
        samples_add(&all->samples[party][pace], calls[party](all));
    }
    samples_end_round(&all->samples[party][pace]);
}

static double percentile_of(const struct round_trips *all, size_t party, size_t pace,
                            double percent) {
    return samples_percentile(&all->samples[party][pace], percent);
}

/* The expectations are of medians. */
static void report_percentile(struct bench *bench, struct round_trips *all, size_t pace,
                              double percent) {
    static const char *const names[] = {
        [ECLAVE] = "`(+ 1 2)`", [ECLAVE_BARE] = "without checkpoints"};
    for (size_t party = ECLAVE; party <= ECLAVE_BARE; party++) {
        const struct samples *own = &all->samples[party][pace];
        const bool median = percent <= 50, idle = pace == IDLE;
        const size_t least = party == ECLAVE ? RELAY_FORK : RELAY;
        char name[128];
        snprintf(name, sizeof name, "%s, %s, p%.0f", names[party], paces[pace].name, percent);
        struct figure figure = {
            name,
            UNIT_MS,
            samples_percentile(own, percent),
            .low = median ? own->low : 0,
            .high = median ? own->high : 0,
            .baselines = {
                {least == RELAY ? "the relay" : "the relay that forks",
                 percentile_of(all, least, pace, percent), median && least == RELAY_FORK ? 1 : 0},
                {"the reference server's echo", percentile_of(all, REFERENCE, pace, percent), 0},
                {"a bare socket pair", percentile_of(all, PAIR, pace, percent), 0}}};
        if (party == ECLAVE)
            figure.baselines[3] = (struct baseline){"the same without checkpoints",
                                                    percentile_of(all, ECLAVE_BARE, pace, percent),
                                                    !median ? 0
                                                    : idle  ? 1.3
                                                            : 2};
        report_figure(&bench->report, &figure);
    }
}

/* The worker that holds the session: what it does in one call is more than any other process. */
static pid_t find_head(struct round_trips *all) {
    enum { MOST = 64, CALLS = 20 };
    pid_t pids[MOST], head = 0;
    long before[MOST], most = 0;
    size_t count = process_descendants(all->eclave.peer.pid, pids, MOST);
    for (size_t i = 0; i < count; i++)
        before[i] = process_faults(pids[i]);
    for (size_t i = 0; i < CALLS; i++)
        call_eclave(all);
    for (size_t i = 0; i < count; i++) {
        const long more = process_faults(pids[i]) - before[i];
        if (before[i] >= 0 && more > most) {
            most = more;
            head = pids[i];
        }
    }
    return head;
}

/* From a pause to the answer. The worker is told to fork after it, and has more faults then, some
 * of which are counted: the lowest counts are right. */
static void count_faults(struct round_trips *all) {
    enum { CALLS = 50, PAUSE_MS = 5 };
    const pid_t head = find_head(all);
    for (size_t i = 0; i < CALLS; i++) {
        sleep_ms(PAUSE_MS);
        const long before = process_faults(head);
        call_eclave(all);
        samples_add(&all->faults, (double)(process_faults(head) - before));
    }
}

static void report_round_trips(struct bench *bench, struct round_trips *all) {
    report_heading(&bench->report, "Round trip");
    for (size_t pace = 0; pace < PACE_COUNT; pace++) {
        report_percentile(bench, all, pace, 50);
        report_percentile(bench, all, pace, 99);
    }
    report_figure(&bench->report,
                  &(struct figure){"page faults of the worker in a call, lowest tenth", UNIT_COUNT,
                                   samples_percentile(&all->faults, LOWEST_PERCENT),
                                   .at_most = 12});
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
    const char *const relay[] = {bench->relay, NULL};
    const char *const relay_fork[] = {bench->relay, "9", "8", NULL};
    size_t parties = 1U << ECLAVE | 1U << ECLAVE_BARE | 1U << RELAY | 1U << RELAY_FORK | 1U << PAIR;
    server_ready_eclave(&all.eclave, bench, NULL);
    server_ready_eclave(&all.bare, bench, without_checkpoints);
    pair_start(&all.pair, &bench->report);
    peer_start(&all.relay, "bench-relay", &bench->report, relay);
    peer_start(&all.relay_fork, "bench-relay 9 8", &bench->report, relay_fork);
    if (bench->reference) {
        parties |= 1U << REFERENCE;
        server_ready_reference(&all.reference, bench);
    }
    warm_up(&all, parties);
    for (unsigned round = 0; round < bench->rounds; round++) {
        for (size_t pace = 0; pace < PACE_COUNT; pace++)
            for (size_t party = 0; party < PARTY_COUNT; party++)
                if (parties & (1U << party))
                    run_pace(&all, party, pace);
        count_faults(&all);
    }
    report_round_trips(bench, &all);
    for (size_t party = 0; party < PARTY_COUNT; party++)
        for (size_t pace = 0; pace < PACE_COUNT; pace++)
            samples_free(&all.samples[party][pace]);
    server_finish(&all.eclave);
    server_finish(&all.bare);
    if (bench->reference)
        server_finish(&all.reference);
    pair_finish(&all.pair);
    peer_finish(&all.relay);
    peer_finish(&all.relay_fork);
    samples_free(&all.faults);
}
