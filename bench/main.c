/* Measures eclave against its baselines and prints the report. Exits with 1 only when something
 * could not be measured, whatever the figures. */
#include "bench/bench.h"
#include "bench/peer.h"
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Memory comes first: pages of ECL that another process maps as well would count less. */
static const struct section {
    const char *name;
    void (*run)(struct bench *bench);
} sections[] = {
    {"memory", section_memory},         {"start", section_start},
    {"round-trip", section_round_trip}, {"code", section_code},
    {"growth", section_growth},         {"saved", section_saved},
    {"recovery", section_recovery},     {"bulk", section_bulk},
    {"sessions", section_sessions},     {"filter", section_filter},
    {"layers", section_layers},         {"batch", section_batch},
    {"grade", section_grade},           {"grade-memory", section_grade_memory},
    {"project", section_project},       {"hostile", section_hostile},
};

enum { ROUNDS = 5, SECTION_COUNT = sizeof sections / sizeof *sections };

static const char usage[] =
    "Usage: eclave-bench --binary ECLAVE --image BENCH-IMAGE --confined BENCH-CONFINED\n"
    "                    --relay BENCH-RELAY [--reference SCRIPT] [--rounds N] [SECTION...]\n";

double bench_ecl_boot(struct bench *bench) {
    static const char *const arguments[] = {"ecl", "--norc", "--eval", "(quit)", NULL};
    return run_to_end_ms(&bench->report, arguments);
}

/* The load average of the last minute, as in `0.52`. */
static double load(void) {
    double loads[1] = {0};
    getloadavg(loads, 1);
    return loads[0];
}

static void version(struct bench *bench, char text[64]) {
    const char *const arguments[] = {bench->binary, "--version", NULL};
    struct peer peer;
    peer_start(&peer, "eclave --version", &bench->report, arguments);
    const char *line = peer_line(&peer, NULL);
    snprintf(text, 64, "%s", line ? line : "eclave");
    peer_finish(&peer);
}

static bool is_chosen(const char *name, char *const *chosen) {
    if (!*chosen)
        return true;
    while (*chosen && strcmp(*chosen, name) != 0)
        chosen++;
    return *chosen != NULL;
}

static void run_sections(struct bench *bench, char *const *chosen) {
    for (size_t i = 0; i < SECTION_COUNT; i++) {
        if (!is_chosen(sections[i].name, chosen))
            continue;
        fprintf(stderr, "bench: %s\n", sections[i].name);
        double begin = now_ms();
        sections[i].run(bench);
        fprintf(stderr, "bench: %s took %.1f s\n", sections[i].name, (now_ms() - begin) / 1e3);
    }
}

static void print_report(struct bench *bench, double load_before) {
    char name[64], text[1024];
    struct utsname kernel;
    version(bench, name);
    uname(&kernel);
    snprintf(
        text, sizeof text,
        "%s on %ld processors, %s %s, load %.2f before and %.2f after%s. Medians; in brackets "
        "the lowest and highest median of %u rounds. Each round measures every figure and "
        "its baselines in turn. Times vary between machines and between hours; ratios vary less.",
        name, sysconf(_SC_NPROCESSORS_ONLN), kernel.sysname, kernel.release, load_before, load(),
        sched_getscheduler(0) == SCHED_OTHER ? "" : ", scheduled ahead of that load",
        bench->rounds);
    report_print(&bench->report, text);
}

static bool parse(int count, char **arguments, struct bench *bench) {
    static const struct option options[] = {{"binary", required_argument, NULL, 'b'},
                                            {"image", required_argument, NULL, 'i'},
                                            {"confined", required_argument, NULL, 'c'},
                                            {"reference", required_argument, NULL, 'r'},
                                            {"rounds", required_argument, NULL, 'n'},
                                            {"relay", required_argument, NULL, 'l'},
                                            {NULL, 0, NULL, 0}};
    for (int option; (option = getopt_long(count, arguments, "", options, NULL)) != -1;) {
        if (option == 'b')
            bench->binary = optarg;
        else if (option == 'i')
            bench->image = optarg;
        else if (option == 'c')
            bench->confined = optarg;
        else if (option == 'l')
            bench->relay = optarg;
        else if (option == 'r')
            bench->reference = optarg;
        else if (option == 'n')
            bench->rounds = (unsigned)strtoul(optarg, NULL, 10);
        else
            return false;
    }
    return bench->binary && bench->image && bench->confined && bench->relay && bench->rounds;
}

int main(int count, char **arguments) {
    struct bench bench = {.rounds = ROUNDS, .report = report_make()};
    if (!parse(count, arguments, &bench)) {
        fputs(usage, stderr);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    double load_before = load();
    if (!bench.reference)
        report_note(&bench.report,
                    "The reference server was left out: it needs node, npm and its package.");
    run_sections(&bench, arguments + optind);
    print_report(&bench, load_before);
    bool incomplete = bench.report.incomplete;
    report_free(&bench.report);
    return incomplete ? EXIT_FAILURE : EXIT_SUCCESS;
}
