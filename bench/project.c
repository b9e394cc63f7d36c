/* A project of tools: calls, the first scan, the scans after a change, and the list. No answer may
 * be delayed by more than 5 ms, however many tools there are. */
#include "bench/bench.h"
#include "bench/project_calls.h"
#include "bench/project_tree.h"
#include "bench/server.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STARTS = 3,
    CHANGES = 2,
    WALKS = 2,
    SETTLE_MS = 100, /* the delay of the registry after a change */
    REST_MS = 250,
    REST_FACTOR = 6, /* a scan may be followed by another one after four times as long */
    BLOCKED_AT_MOST_MS = 5
};

enum { SINGLE, SOME, MANY, SIZE_COUNT };

static const struct size {
    const char *name;
    unsigned tools;
} sizes[SIZE_COUNT] = {
    [SINGLE] = {"1 tool", 1},
    [SOME] = {"100 tools", 100},
    [MANY] = {"5,000 tools", 5000},
};

struct projects {
    struct project_tree trees[SIZE_COUNT];
    struct server reference;
    struct samples start_without, starts[SIZE_COUNT];
    struct samples changed_one[SIZE_COUNT], changed_all[SIZE_COUNT];
    struct samples page, walk, large_page, reference_list, behind_page, behind_large_page;
    struct samples ping_at_rest, ping_in_refresh;
};

static const char changed_method[] = "notifications/tools/list_changed";
static const char last_tool[] = "\"tool-04999\""; /* of many tools */

/* --- scans and refreshes --- */

static void start(struct bench *bench, struct server *server, const char *const *options,
                  struct samples *samples) {
    double begin = now_ms();
    server_start_eclave(server, bench, options);
    if (server_initialize(server) >= 0)
        samples_add(samples, now_ms() - begin);
}

/* Waits until the work after a scan of BUSY_MS is done. */
static void rest(double busy_ms) {
    sleep_ms(REST_MS + REST_FACTOR * busy_ms);
}

static void measure_change(struct server *server, struct project_tree *tree,
                           bool (*change)(struct project_tree *), struct samples *samples) {
    double begin = now_ms();
    if (!change(tree) || !server_await_notification(server, changed_method))
        return;
    double took = now_ms() - begin - SETTLE_MS;
    samples_add(samples, took);
    rest(took);
}

static void ping_for(struct server *server, double ms, struct samples *samples) {
    for (double begin = now_ms(); now_ms() - begin < ms && !server->peer.failed;)
        samples_add(samples, server_ping(server));
}

/* Back to back, while all tools are read again and the old ones freed, and for as long again
 * afterwards. */
static void measure_pings(struct server *server, struct projects *all) {
    double begin = now_ms();
    server->awaited = changed_method;
    server->noticed = false;
    if (!project_tree_change_all(&all->trees[MANY]))
        return;
    while (!server->noticed && !server->peer.failed)
        samples_add(&all->ping_in_refresh, server_ping(server));
    server->awaited = NULL;
    ping_for(server, SETTLE_MS, &all->ping_in_refresh);
    double took = now_ms() - begin;
    rest(took);
    ping_for(server, took, &all->ping_at_rest);
}

/* All pages, each requested twice: alone, and followed by a ping. */
static void walk(struct server *server, struct samples *page, struct samples *behind,
                 struct samples *whole) {
    char *cursor = NULL;
    double sum = 0;
    do {
        double ms = server_list_tools(server, cursor);
        char *next = ms < 0 ? NULL : server_next_cursor(server);
        if (ms >= 0 && !next && !strstr(server->answer, last_tool))
            peer_fail(&server->peer, "its list ends before %s", last_tool);
        samples_add(page, ms);
        sum = ms < 0 ? NAN : sum + ms;
        samples_add(behind, server_ping_behind_list(server, cursor));
        free(cursor);
        cursor = next;
    } while (cursor);
    if (whole)
        samples_add(whole, sum);
}

static void measure_many(struct bench *bench, struct server *server, struct projects *all) {
    const char *const options[] = {"--project", all->trees[MANY].path, "--registry-max-entries",
                                   "5000",      "--list-page-size",    "1000",
                                   NULL};
    struct server large;
    measure_pings(server, all);
    server_ready_eclave(&large, bench, options);
    /* A list starts a worker, which is not measured. */
    server_call(server, CODE("(+ 1 2)"), "=> 3");
    server_call(&large, CODE("(+ 1 2)"), "=> 3");
    for (unsigned i = 0; i < WALKS; i++) {
        walk(server, &all->page, &all->behind_page, &all->walk);
        walk(&large, &all->large_page, &all->behind_large_page, NULL);
    }
    for (unsigned i = 0; i < CHANGES && bench->reference; i++)
        samples_add(&all->reference_list, server_list_tools(&all->reference, NULL));
    server_finish(&large);
    samples_end_round(&all->page);
    samples_end_round(&all->large_page);
    samples_end_round(&all->walk);
}

static void measure_size(struct bench *bench, struct projects *all, size_t size) {
    struct project_tree *tree = &all->trees[size];
    const char *const options[] = {"--project", tree->path, "--registry-max-entries", "5000", NULL};
    struct server server;
    for (unsigned i = 0; i < STARTS; i++) {
        start(bench, &server, NULL, &all->start_without);
        server_finish(&server);
        start(bench, &server, options, &all->starts[size]);
        if (i + 1 < STARTS)
            server_finish(&server);
    }
    rest(0);
    for (unsigned i = 0; i < CHANGES; i++) {
        measure_change(&server, tree, project_tree_change_one, &all->changed_one[size]);
        measure_change(&server, tree, project_tree_change_all, &all->changed_all[size]);
    }
    if (size == MANY)
        measure_many(bench, &server, all);
    server_finish(&server);
    samples_end_round(&all->starts[size]);
    samples_end_round(&all->changed_one[size]);
    samples_end_round(&all->changed_all[size]);
}

/* --- the report --- */

static struct baseline longest_at_rest(const struct projects *all) {
    return (struct baseline){"the longest when idle", samples_percentile(&all->ping_at_rest, 100),
                             0};
}

static void report_longest(struct bench *bench, const char *name, const struct samples *samples,
                           const struct baseline *baseline) {
    report_figure(&bench->report,
                  &(struct figure){name, UNIT_MS, samples_percentile(samples, 100),
                                   .at_most = BLOCKED_AT_MOST_MS, .baselines = {*baseline}});
}

static void report_size(struct bench *bench, const struct projects *all, size_t size) {
    const double without = samples_median(&all->start_without);
    const double whole = samples_median(&all->changed_all[size]);
    char name[128];
    snprintf(name, sizeof name, "%s: spawn to the answer to `initialize`, with all files read",
             sizes[size].name);
    report_figure(&bench->report,
                  &(struct figure){name, UNIT_MS, MEDIAN_OF(&all->starts[size]),
                                   .baselines = {{"a start without a project", without, 0}}});
    snprintf(name, sizeof name, "%s: refresh after %s changed, beyond the delay of %d ms",
             sizes[size].name, size == SINGLE ? "its folder" : "all files", SETTLE_MS);
    report_figure(&bench->report,
                  &(struct figure){name, UNIT_MS, MEDIAN_OF(&all->changed_all[size])});
    snprintf(name, sizeof name, "%s: the same when one file changed", sizes[size].name);
    report_figure(&bench->report,
                  &(struct figure){name, UNIT_MS, MEDIAN_OF(&all->changed_one[size]),
                                   .baselines = {{"the refresh of all", whole, 0}}});
}

static void report_list(struct bench *bench, const struct projects *all) {
    const struct baseline longest = longest_at_rest(all);
    const struct baseline other = {"the reference server's one page",
                                   samples_median(&all->reference_list), 0};
    struct report *report = &bench->report;
    report_figure(report, &(struct figure){"5,000 tools: a page of 50, p50", UNIT_MS,
                                           MEDIAN_OF(&all->page), .baselines = {other}});
    report_figure(report, &(struct figure){"5,000 tools: a page of 50, p99", UNIT_MS,
                                           .value = samples_percentile(&all->page, 99)});
    report_figure(report, &(struct figure){"5,000 tools: a page of 1,000, p50", UNIT_MS,
                                           MEDIAN_OF(&all->large_page), .baselines = {other}});
    report_figure(report, &(struct figure){"5,000 tools: all pages of 50, one after the other",
                                           UNIT_MS, MEDIAN_OF(&all->walk)});
    report_longest(bench, "5,000 tools: the longest answer to a ping right after a page of 50",
                   &all->behind_page, &longest);
    report_longest(bench, "5,000 tools: the longest answer to a ping right after a page of 1,000",
                   &all->behind_large_page, &longest);
}

static void report_projects(struct bench *bench, const struct projects *all) {
    const struct baseline longest = longest_at_rest(all);
    for (size_t size = 0; size < SIZE_COUNT; size++)
        report_size(bench, all, size);
    report_list(bench, all);
    report_longest(bench, "5,000 tools: the longest answer to a ping while all are read again",
                   &all->ping_in_refresh, &longest);
}

/* --- the section --- */

static bool make_trees(struct bench *bench, struct projects *all) {
    for (size_t size = 0; size < SIZE_COUNT; size++)
        if (!project_tree_make(&all->trees[size], &bench->report, sizes[size].tools))
            return false;
    return true;
}

static void measure_projects(struct bench *bench, struct projects *all) {
    if (bench->reference)
        server_ready_reference(&all->reference, bench);
    for (unsigned round = 0; round < bench->rounds; round++)
        for (size_t size = 0; size < SIZE_COUNT; size++)
            measure_size(bench, all, size);
    if (bench->reference)
        server_finish(&all->reference);
}

static void free_samples(struct projects *all) {
    struct samples *const lists[] = {&all->start_without,  &all->page,
                                     &all->walk,           &all->large_page,
                                     &all->behind_page,    &all->behind_large_page,

                                     &all->ping_at_rest,   &all->ping_in_refresh,
                                     &all->reference_list, NULL};
    for (size_t i = 0; lists[i]; i++)
        samples_free(lists[i]);
    for (size_t size = 0; size < SIZE_COUNT; size++) {
        samples_free(&all->starts[size]);
        samples_free(&all->changed_one[size]);
        samples_free(&all->changed_all[size]);
    }
}

void section_project(struct bench *bench) {
    struct projects all = {0};
    report_heading(&bench->report, "A project of tools");
    if (make_trees(bench, &all)) {
        project_calls(bench, all.trees[SINGLE].path);
        measure_projects(bench, &all);
        report_projects(bench, &all);
    }
    for (size_t size = 0; size < SIZE_COUNT; size++)
        project_tree_remove(&all.trees[size]);
    free_samples(&all);
}
