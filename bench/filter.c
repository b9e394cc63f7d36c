/* The cost of the filter for system calls: one allowed by its number, one with checked arguments,
 * and one refused by a supervisor. */
#include "bench/bench.h"
#include "bench/layout.h"
#include "bench/server.h"
#include "policy/policy.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRIALS = 20, SERVER_CALLS = 10, FORM_CALLS = 1000, PAGE_BYTES = 4096 };

enum { BY_NUMBER, BY_ARGUMENTS, REFUSED, KIND_COUNT };
enum { BARE, TREE, LIST, FILTER_COUNT };

static long call_by_number(void *page) {
    (void)page;
    return syscall(SYS_getppid);
}

static long call_by_arguments(void *page) {
    return syscall(SYS_mprotect, page, (long)PAGE_BYTES, (long)(PROT_READ | PROT_WRITE));
}

/* A file that does not exist, so the call fails with and without a filter. */
static long call_refused(void *page) {
    (void)page;
    struct stat status;
    return syscall(SYS_newfstatat, AT_FDCWD, "/x", &status, 0);
}

static const struct kind {
    long (*call)(void *page);
    unsigned calls; /* in a trial */
} kinds[KIND_COUNT] = {
    [BY_NUMBER] = {call_by_number, 20000},
    [BY_ARGUMENTS] = {call_by_arguments, 20000},
    [REFUSED] = {call_refused, 500},
};

/* Shared with the process that makes the calls. */
struct tally {
    double ms[KIND_COUNT]; /* of each call */
};

struct filters {
    struct tally *tally;
    void *page; /* private; the call changes nothing */
    struct server server;
    struct samples samples[FILTER_COUNT][KIND_COUNT];
    struct samples served; /* a call that the real supervisor refuses */
};

static int make_calls(void *context) {
    const struct filters *all = context;
    for (size_t kind = 0; kind < KIND_COUNT; kind++) {
        double begin = now_ms();
        for (unsigned i = 0; i < kinds[kind].calls; i++)
            kinds[kind].call(all->page);
        all->tally->ms[kind] = (now_ms() - begin) / kinds[kind].calls;
    }
    return 0;
}

static void try_filter(struct bench *bench, struct filters *all, size_t filter) {
    static const struct policy policy = {.layers = POLICY_LAYER_BIT(POLICY_LAYER_SECCOMP)};
    const struct policy_trial trial = {
        .policy = filter == BARE ? NULL : &policy, .body = make_calls, .context = all};
    layout_set_list(filter == LIST);
    struct policy_trial_end end = policy_try(&trial);
    layout_set_list(false);
    if (!end.ran || !WIFEXITED(end.status) || WEXITSTATUS(end.status) != 0) {
        report_problem(&bench->report, "calls under a filter: %s, wait status %d", end.error.text,
                       end.status);
        return;
    }
    for (size_t kind = 0; kind < KIND_COUNT; kind++)
        samples_add(&all->samples[filter][kind], all->tally->ms[kind]);
}

/* A form with FORM_CALLS refused calls, minus the same loop without them. */
static void ask_server(struct filters *all) {
    double with = server_call(&all->server,
                              CODE("(dotimes (i 1000) (si:file-kind \\\"/x\\\" nil))"), "=> NIL");
    double without =
        server_call(&all->server, CODE("(dotimes (i 1000) (identity \\\"/x\\\"))"), "=> NIL");
    if (with >= 0 && without >= 0)
        samples_add(&all->served, (with - without) / FORM_CALLS);
}

static void run_round(struct bench *bench, struct filters *all) {
    for (unsigned i = 0; i < TRIALS; i++)
        for (size_t filter = 0; filter < FILTER_COUNT; filter++)
            try_filter(bench, all, filter);
    for (unsigned i = 0; i < SERVER_CALLS; i++)
        ask_server(all);
    for (size_t filter = 0; filter < FILTER_COUNT; filter++)
        for (size_t kind = 0; kind < KIND_COUNT; kind++)
            samples_end_round(&all->samples[filter][kind]);
    samples_end_round(&all->served);
}

static void report_call(struct bench *bench, const struct filters *all, const char *name,
                        const struct samples *samples, size_t kind) {
    const enum unit unit = kind == REFUSED ? UNIT_US : UNIT_NS;
    const double scale = kind == REFUSED ? 1e3 : 1e6;
    report_figure(
        &bench->report,
        &(struct figure){name, unit, samples_median(samples) * scale, samples->low * scale,
                         samples->high * scale,
                         .baselines = {{"the call without a filter",
                                        samples_median(&all->samples[BARE][kind]) * scale, 0}}});
}

static void report_filters(struct bench *bench, const struct filters *all) {
    report_heading(&bench->report, "The filter, for each system call");
    report_call(bench, all, "allowed by its number (`getppid`), filter as a tree",
                &all->samples[TREE][BY_NUMBER], BY_NUMBER);
    report_call(bench, all, "the same, filter as a list", &all->samples[LIST][BY_NUMBER],
                BY_NUMBER);
    report_call(bench, all, "allowed by its arguments (`mprotect`), filter as a tree",
                &all->samples[TREE][BY_ARGUMENTS], BY_ARGUMENTS);
    report_call(bench, all, "the same, filter as a list", &all->samples[LIST][BY_ARGUMENTS],
                BY_ARGUMENTS);
    report_call(bench, all, "refused (`newfstatat`), by a parent that does nothing else",
                &all->samples[TREE][REFUSED], REFUSED);
    report_call(bench, all, "refused, by the server, from Lisp", &all->served, REFUSED);
}

static void *map(int kind) {
    void *page =
        mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return page == MAP_FAILED ? NULL : page;
}

void section_filter(struct bench *bench) {
    struct filters all = {.tally = map(MAP_SHARED), .page = map(MAP_PRIVATE)};
    if (!all.tally || !all.page) {
        report_problem(&bench->report, "no memory to share with the processes under a filter");
        return;
    }
    server_ready_eclave(&all.server, bench, NULL);
    for (unsigned round = 0; round < bench->rounds; round++)
        run_round(bench, &all);
    report_filters(bench, &all);
    server_finish(&all.server);
    for (size_t filter = 0; filter < FILTER_COUNT; filter++)
        for (size_t kind = 0; kind < KIND_COUNT; kind++)
            samples_free(&all.samples[filter][kind]);
    samples_free(&all.served);
    munmap(all.tally, PAGE_BYTES);
    munmap(all.page, PAGE_BYTES);
}
