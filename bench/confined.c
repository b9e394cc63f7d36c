/* bench-confined: boots ECL as a zygote does, inside the control group and the namespaces, and
 * writes "ready". For each number that it reads, it makes that fork of confined.def and writes the
 * milliseconds for the fork, its layers, its end and the wait, and those for the layers by the
 * fork's own clock; negative numbers for layers that are not available. */
#include "bench/confined.h"
#include "bench/layout.h"
#include "policy/policy_internal.h"

#include <ecl/ecl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The limits of a worker with the default settings, as far as they affect the cost. */
enum { NOBODY = 65534, SCRATCH_BYTES = 16 << 20 };
static const uint64_t address_space_bytes = UINT64_C(2560) << 20;

static const struct {
    uint32_t layers;
    bool list, scratch;
} forks[CONFINED_COUNT] = {
#define FORK(id, bits, as_list, with_scratch, text) [CONFINED_##id] = {bits, as_list, with_scratch},
#include "bench/confined.def"
#undef FORK
};

struct zygote {
    struct policy_prepared grounds[CONFINED_COUNT];
    double *entered; /* shared with the fork: the time of its layers */
};

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void boot(void) {
    static char name[] = "bench-confined";
    char *arguments[] = {name, NULL};
    setenv("GC_MARKERS", "1", 1);
    ecl_set_option(ECL_OPT_SIGNAL_HANDLING_THREAD, 0);
    cl_boot(1, arguments);
}

/* policy_prepare runs once; each fork applies its own part. */
static bool prepare(struct zygote *zygote, const struct policy_report *launched,
                    struct error *error) {
    const struct policy policy = {.layers = POLICY_LAYERS_ALL,
                                  .user = geteuid() == 0 ? NOBODY : 0,
                                  .address_space_bytes = address_space_bytes,
                                  .scratch_bytes = SCRATCH_BYTES};
    struct policy_report report = *launched;
    const struct policy_prepared *ground = policy_prepare(&policy, &report, error);
    struct policy_program *tree = policy_program_build(false, 0, error);
    layout_set_list(true);
    struct policy_program *list = policy_program_build(false, 0, error);
    for (size_t i = 0; ground && tree && list && i < CONFINED_COUNT; i++) {
        struct policy_prepared *own = &zygote->grounds[i];
        own->policy = ground->policy;
        own->policy.layers &= forks[i].layers;
        own->policy.scratch_bytes = forks[i].scratch ? SCRATCH_BYTES : 0;
        if (policy_has_layer(&own->policy, POLICY_LAYER_SECCOMP))
            own->program = forks[i].scratch ? ground->program : forks[i].list ? list : tree;
    }
    return ground && tree && list;
}

/* As a worker does, without passing the listener. */
static _Noreturn void live(const struct zygote *zygote, const struct policy_prepared *ground) {
    struct error error;
    int listener;
    double begin = now_ms();
    bool good = policy_enter(ground, &listener, &error);
    if (good && listener >= 0)
        close(listener);
    good = good && policy_seal(ground, &error);
    if (good)
        *zygote->entered = now_ms() - begin;
    _exit(0);
}

static double fork_once(const struct zygote *zygote, unsigned long number) {
    const struct policy_prepared *ground = &zygote->grounds[number];
    *zygote->entered = -1;
    if (forks[number].layers && !ground->policy.layers)
        return -1;
    double begin = now_ms();
    pid_t pid = fork();
    if (pid == 0)
        live(zygote, ground);
    bool good = pid > 0 && waitpid(pid, NULL, 0) == pid;
    double ms = now_ms() - begin;
    return good && *zygote->entered >= 0 ? ms : -1;
}

static void serve(void *context, const struct policy_report *report) {
    struct zygote *zygote = context;
    struct error error = {0};
    char line[16];
    boot();
    bool good = prepare(zygote, report, &error);
    puts(good ? "ready" : error.text);
    fflush(stdout);
    while (good && fgets(line, sizeof line, stdin)) {
        unsigned long number = strtoul(line, NULL, 10);
        double ms = number < CONFINED_COUNT ? fork_once(zygote, number) : -1;
        printf("%.6f %.6f\n", ms, *zygote->entered);
        fflush(stdout);
    }
    _exit(0);
}

int main(void) {
    const struct policy policy = {.layers = POLICY_LAYERS_ALL, .all_processes = 64};
    struct zygote zygote = {.entered = mmap(NULL, sizeof *zygote.entered, PROT_READ | PROT_WRITE,
                                            MAP_SHARED | MAP_ANONYMOUS, -1, 0)};
    struct policy_launched launched;
    struct policy_report report;
    struct error error = {0};
    if (zygote.entered == MAP_FAILED ||
        !policy_launch(&policy, serve, &zygote, &launched, &report, &error) ||
        !policy_launch_finish(&launched, &report, &error)) {
        puts(error.text);
        return EXIT_FAILURE;
    }
    waitpid(launched.process, NULL, 0);
    policy_launch_end(&launched);
    return EXIT_SUCCESS;
}
