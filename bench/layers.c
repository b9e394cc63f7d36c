/* The cost of the layers of confinement: once for each zygote, whose forks inherit them, and at the
 * start of each worker. */
#include "bench/bench.h"
#include "bench/confined.h"
#include "bench/image_client.h"
#include "bench/layout.h"
#include "common/descriptor.h"
#include "policy/policy_internal.h"
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BOOTS = 3, LAUNCHES = 10, FORKS = 200 };

/* A time, of which the difference from the same without layers matters. */
struct cost {
    struct samples samples;
    double low, high; /* of the differences of its rounds; both 0: no round yet */
};

/* The forks alternate with those of an unconfined image. */
enum { TURN_BARE = CONFINED_COUNT, TURNS };

/* Starts a zygote's process with the layers of policy_launch. */
enum { LAUNCH_BARE, LAUNCH_CGROUP, LAUNCH_NAMESPACES, LAUNCH_COUNT };

static const uint32_t launch_layers[LAUNCH_COUNT] = {
    [LAUNCH_CGROUP] = POLICY_LAYER_BIT(POLICY_LAYER_CGROUP),
    [LAUNCH_NAMESPACES] = POLICY_LAYER_BIT(POLICY_LAYER_NAMESPACES),
};

/* The layers that a zygote applies to itself, by its own clock; shared with it. */
struct inside {
    double enclose_ms, new_code_ms;
};

struct layers {
    int go[2]; /* pipe: a byte makes the launched process end */
    struct peer image, confined;
    struct samples boot, bare; /* a start of ECL, and a fork of an unconfined one (µs) */
    struct cost launch[LAUNCH_COUNT];
    struct samples enclose, new_code, tree, list;
    struct inside *inside;
    struct cost forks[CONFINED_COUNT]; /* µs */
    struct samples own_clock;          /* all layers at a worker's start, by its own clock (µs) */
};

static void end_cost_round(struct cost *cost, double baseline) {
    bool first = cost->samples.round_begin == 0;
    double more = samples_end_round(&cost->samples) - baseline;
    if (isnan(more))
        return;
    if (first || more < cost->low)
        cost->low = more;
    if (first || more > cost->high)
        cost->high = more;
}

static double beyond(const struct cost *cost, const struct cost *baseline) {
    return samples_median(&cost->samples) - samples_median(&baseline->samples);
}

/* --- once for each zygote --- */

static void become_zygote(void *context, const struct policy_report *report) {
    static const struct policy policy = {.layers = POLICY_LAYERS_ALL};
    const struct layers *all = context;
    struct error error;
    if (report->layers[POLICY_LAYER_NAMESPACES].state == POLICY_ACTIVE) {
        double begin = now_ms();
        if (policy_namespaces_enclose(&policy, &error))
            all->inside->enclose_ms = now_ms() - begin;
        begin = now_ms();
        if (policy_process_forbid_new_code(&error))
            all->inside->new_code_ms = now_ms() - begin;
    }
    char go; /* an ended process cannot enter a control group */
    _exit(read(all->go[0], &go, 1) == 1 ? 0 : 1);
}

static void launch_once(struct bench *bench, struct layers *all, size_t launch) {
    const struct policy policy = {
        .layers = launch_layers[launch], .required = launch_layers[launch], .all_processes = 64};
    struct policy_launched launched;
    struct policy_report report;
    struct error error = {0};
    *all->inside = (struct inside){-1, -1};
    double begin = now_ms();
    if (!policy_launch(&policy, become_zygote, all, &launched, &report, &error)) {
        report_note(&bench->report, "Starting a zygote: %s", error.text);
        return;
    }
    if (policy_launch_finish(&launched, &report, &error))
        samples_add(&all->launch[launch].samples, now_ms() - begin);
    else
        report_note(&bench->report, "Starting a zygote: %s", error.text);
    if (!write_all(all->go[1], "", 1))
        kill(launched.process, SIGKILL);
    waitpid(launched.process, NULL, 0);
    policy_launch_end(&launched);
    samples_add(&all->enclose, all->inside->enclose_ms);
    samples_add(&all->new_code, all->inside->new_code_ms);
}

static void build_once(struct layers *all, bool list) {
    layout_set_list(list);
    double begin = now_ms();
    struct policy_program *program = policy_program_build(false, 0, NULL);
    double ms = now_ms() - begin;
    layout_set_list(false);
    samples_add(list ? &all->list : &all->tree, program ? ms : -1);
    policy_program_free(program);
}

static void run_zygotes(struct bench *bench, struct layers *all) {
    for (unsigned i = 0; i < BOOTS; i++)
        samples_add(&all->boot, bench_ecl_boot(bench));
    for (unsigned i = 0; i < LAUNCHES; i++) {
        for (size_t launch = 0; launch < LAUNCH_COUNT; launch++)
            launch_once(bench, all, launch);
        build_once(all, false);
        build_once(all, true);
    }
    double bare = samples_end_round(&all->launch[LAUNCH_BARE].samples);
    for (size_t launch = LAUNCH_BARE + 1; launch < LAUNCH_COUNT; launch++)
        end_cost_round(&all->launch[launch], bare);
    samples_end_round(&all->boot);
    samples_end_round(&all->enclose);
    samples_end_round(&all->new_code);
    samples_end_round(&all->tree);
    samples_end_round(&all->list);
}

/* --- at each worker's start --- */

static void fork_once(struct layers *all, size_t number) {
    char text[16];
    int length = snprintf(text, sizeof text, "%zu\n", number);
    peer_send(&all->confined, text, (size_t)length);
    const char *line = peer_line(&all->confined, NULL);
    if (!line)
        return;
    char *rest;
    samples_add(&all->forks[number].samples, strtod(line, &rest) * 1e3);
    if (number == CONFINED_ALL)
        samples_add(&all->own_clock, strtod(rest, NULL) * 1e3);
}

/* In varying order, since the kernel cleans up after one fork during the next. */
static void shuffle(size_t order[TURNS]) {
    for (size_t i = TURNS; i > 1; i--) {
        size_t other = (size_t)random() % i, kept = order[other];
        order[other] = order[i - 1];
        order[i - 1] = kept;
    }
}

static void run_workers(struct layers *all) {
    size_t order[TURNS];
    for (size_t i = 0; i < TURNS; i++)
        order[i] = i;
    for (unsigned i = 0; i < FORKS; i++) {
        shuffle(order);
        for (size_t turn = 0; turn < TURNS; turn++)
            if (order[turn] == TURN_BARE)
                samples_add(&all->bare, image_fork(&all->image) * 1e3);
            else
                fork_once(all, order[turn]);
    }
    double nothing = samples_end_round(&all->forks[CONFINED_NOTHING].samples);
    for (size_t number = CONFINED_NOTHING + 1; number < CONFINED_COUNT; number++)
        end_cost_round(&all->forks[number], nothing);
    samples_end_round(&all->bare);
    samples_end_round(&all->own_clock);
}

/* --- the report --- */

static void report_once(struct bench *bench, const struct layers *all, const char *name,
                        double value, double low, double high) {
    const struct figure figure = {
        name, UNIT_MS, value,
        low,  high,    .baselines = {{ECL_BOOT_NAME, samples_median(&all->boot), 0}}};
    report_figure(&bench->report, &figure);
}

static void report_launch(struct bench *bench, const struct layers *all, const char *name,
                          size_t launch) {
    const struct cost *cost = &all->launch[launch];
    report_once(bench, all, name, beyond(cost, &all->launch[LAUNCH_BARE]), cost->low, cost->high);
}

static void report_inside(struct bench *bench, const struct layers *all, const char *name,
                          const struct samples *samples) {
    report_once(bench, all, name, samples_median(samples), samples->low, samples->high);
}

static void report_zygotes(struct bench *bench, const struct layers *all) {
    report_heading(&bench->report, "The layers, once for each zygote; its forks inherit them");
    report_launch(bench, all, "entering a control group", LAUNCH_CGROUP);
    report_launch(bench, all, "making the namespaces and their init", LAUNCH_NAMESPACES);
    report_inside(bench, all, "entering an empty root directory", &all->enclose);
    report_inside(bench, all, "forbidding new executable memory", &all->new_code);
    report_inside(bench, all, "building the filters as trees", &all->tree);
    report_inside(bench, all, "building the filters as lists", &all->list);
}

static void report_worker(struct bench *bench, const struct layers *all, size_t number,
                          const char *name, double at_most) {
    const struct cost *nothing = &all->forks[CONFINED_NOTHING];
    const struct cost *cost = &all->forks[number];
    const struct figure figure = {
        name,
        UNIT_US,
        beyond(cost, nothing),
        cost->low,
        cost->high,
        .baselines = {{"that fork", samples_median(&nothing->samples), at_most}}};
    report_figure(&bench->report, &figure);
}

static void report_workers(struct bench *bench, const struct layers *all) {
    static const char *const names[CONFINED_COUNT] = {
#define FORK(id, layers, list, scratch, text) [CONFINED_##id] = (text),
#include "bench/confined.def"
#undef FORK
    };
    const struct samples *nothing = &all->forks[CONFINED_NOTHING].samples;
    report_heading(&bench->report,
                   "The layers, at the start of each worker, in addition to its fork and end");
    report_figure(
        &bench->report,
        &(struct figure){"the fork of a booted ECL as a zygote, its end and the wait", UNIT_US,
                         samples_median(nothing), nothing->low, nothing->high,
                         .baselines = {{"an unconfined fork", samples_median(&all->bare), 0}}});
    for (size_t number = CONFINED_NOTHING + 1; number < CONFINED_COUNT; number++)
        report_worker(bench, all, number, names[number], number == CONFINED_ALL ? 0.25 : 0);
    report_figure(&bench->report,
                  &(struct figure){"the same, by the worker's own clock", UNIT_US,
                                   samples_median(&all->own_clock), all->own_clock.low,
                                   all->own_clock.high,
                                   .baselines = {{"that fork", samples_median(nothing), 0}}});
}

/* --- all of it --- */

static bool set_up(struct bench *bench, struct layers *all) {
    const char *const arguments[] = {bench->confined, NULL};
    all->inside =
        mmap(NULL, sizeof *all->inside, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all->inside == MAP_FAILED || pipe2(all->go, O_CLOEXEC)) {
        report_problem(&bench->report, "nothing to share with a zygote");
        return false;
    }
    image_start(&all->image, bench, NULL);
    peer_start(&all->confined, "bench-confined", &bench->report, arguments);
    const char *line = peer_line(&all->confined, NULL);
    if (line && strcmp(line, "ready") != 0)
        peer_fail(&all->confined, "it says: %s", line);
    return true;
}

static void tear_down(struct layers *all) {
    peer_finish(&all->image);
    peer_finish(&all->confined);
    for (size_t i = 0; i < LAUNCH_COUNT; i++)
        samples_free(&all->launch[i].samples);
    for (size_t i = 0; i < CONFINED_COUNT; i++)
        samples_free(&all->forks[i].samples);
    struct samples *const others[] = {&all->boot, &all->bare, &all->enclose,  &all->new_code,
                                      &all->tree, &all->list, &all->own_clock};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        samples_free(others[i]);
    munmap(all->inside, sizeof *all->inside);
    close(all->go[0]);
    close(all->go[1]);
}

void section_layers(struct bench *bench) {
    struct layers all = {0};
    if (!set_up(bench, &all))
        return;
    for (unsigned round = 0; round < bench->rounds; round++) {
        run_zygotes(bench, &all);
        run_workers(&all);
    }
    report_zygotes(bench, &all);
    report_workers(bench, &all);
    tear_down(&all);
}
