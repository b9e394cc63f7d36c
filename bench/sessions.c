/* A copy of a session with much data, compared with a fork of an image with the same data. */
#include "bench/bench.h"
#include "bench/image_client.h"
#include "bench/server.h"
#include <stdio.h>

enum { COPIES = 5, FORKS = 10, SETTLE_MS = 500, GAP_MS = 50 };

/* Half of each mebibyte is conses, half a vector of bytes. Neither needs escapes in JSON. */
#define LIVE_DATA                                                                                  \
    "(defparameter *live* (loop repeat %u collect (cons (make-array 524288 "                       \
    ":element-type '(unsigned-byte 8) :initial-element 1) (make-list 32768))))"

static const unsigned sizes_mib[] = {10, 64, 256};
enum { SIZE_COUNT = sizeof sizes_mib / sizeof *sizes_mib };

struct copies {
    struct server server;
    char sessions[SIZE_COUNT][SESSION_NAME_MAX];
    struct peer images[SIZE_COUNT];
    struct samples fork[SIZE_COUNT];   /* only the fork */
    struct samples opened[SIZE_COUNT]; /* until open-session answers */
    struct samples used[SIZE_COUNT];   /* until the copy has answered a call */
};

static void set_up(struct bench *bench, struct copies *all) {
    char form[256];
    server_ready_eclave(&all->server, bench, NULL);
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        snprintf(form, sizeof form, LIVE_DATA, sizes_mib[i]);
        image_start(&all->images[i], bench, form);
        server_open_session(&all->server, NULL, all->sessions[i]);
        server_evaluate_in(&all->server, all->sessions[i], form, "=> *LIVE*");
        sleep_ms(SETTLE_MS);
    }
}

static void copy_once(struct copies *all, size_t size) {
    char copy[SESSION_NAME_MAX], expected[32], arguments[SESSION_NAME_MAX + 32];
    sleep_ms(GAP_MS);
    double opened = server_open_session(&all->server, all->sessions[size], copy);
    snprintf(expected, sizeof expected, "=> %u\"", sizes_mib[size]);
    double used = server_evaluate_in(&all->server, copy, "(length *live*)", expected);
    if (opened >= 0 && used >= 0) {
        samples_add(&all->opened[size], opened);
        samples_add(&all->used[size], opened + used);
    }
    sleep_ms(GAP_MS);
    snprintf(arguments, sizeof arguments, "{\"session\":\"%s\"}", copy);
    server_call_tool(&all->server, "close-session", arguments, "\"isError\":false");
}

static void run_round(struct copies *all) {
    for (size_t size = 0; size < SIZE_COUNT; size++) {
        for (unsigned i = 0; i < FORKS; i++)
            samples_add(&all->fork[size], image_fork(&all->images[size]));
        for (unsigned i = 0; i < COPIES; i++)
            copy_once(all, size);
        samples_end_round(&all->opened[size]);
        samples_end_round(&all->used[size]);
    }
}

static void report_copies(struct bench *bench, const struct copies *all) {
    char name[128];
    report_heading(&bench->report, "An independent copy of a session");
    for (size_t size = 0; size < SIZE_COUNT; size++) {
        const double forked = samples_median(&all->fork[size]);
        snprintf(name, sizeof name, "%u MiB live: until `open-session` answers", sizes_mib[size]);
        report_figure(&bench->report,
                      &(struct figure){name, UNIT_MS, MEDIAN_OF(&all->opened[size]),
                                       .baselines = {{"a bare fork of the same data", forked, 0}}});
        snprintf(name, sizeof name, "%u MiB live: until the copy has answered a call",
                 sizes_mib[size]);
        report_figure(&bench->report,
                      &(struct figure){name, UNIT_MS, MEDIAN_OF(&all->used[size]),
                                       .baselines = {{"a bare fork of the same data", forked, 0}}});
        snprintf(name, sizeof name, "%u MiB live: the slowest of %zu", sizes_mib[size],
                 all->used[size].count);
        report_figure(&bench->report,
                      &(struct figure){.name = name,
                                       .unit = UNIT_MS,
                                       .value = samples_percentile(&all->used[size], 100)});
    }
}

void section_sessions(struct bench *bench) {
    struct copies all = {0};
    set_up(bench, &all);
    for (unsigned round = 0; round < bench->rounds; round++)
        run_round(&all);
    report_copies(bench, &all);
    server_finish(&all.server);
    for (size_t size = 0; size < SIZE_COUNT; size++) {
        peer_finish(&all.images[size]);
        samples_free(&all.fork[size]);
        samples_free(&all.opened[size]);
        samples_free(&all.used[size]);
    }
}
