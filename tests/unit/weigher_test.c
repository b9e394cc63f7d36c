/* supervisor/process/weigher: weighs one process at a time, in a process of its own. */
#include "supervisor/process/weigher.h"
#include "tests/support/process.h"
#include "tests/support/skip.h"
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20, BIG = 32 * MIB, PATIENCE_MS = 60000, CHILDREN_MAX = 8 };

struct fixture {
    struct loop loop;
    struct weigher weigher;
    struct loop_timer timer;
    struct weight weight; /* the last */
    size_t count;         /* of weights */
};

static void on_weighed(void *context, const struct weight *weight) {
    struct fixture *fixture = context;
    fixture->weight = *weight;
    fixture->count++;
    loop_stop(&fixture->loop);
}

static void on_timer(void *context) {
    struct fixture *fixture = context;
    loop_stop(&fixture->loop);
}

static void begin(struct fixture *fixture) {
    *fixture = (struct fixture){.count = 0};
    cr_assert(loop_open(&fixture->loop, NULL));
    weigher_open(&fixture->weigher, &fixture->loop, on_weighed, NULL, fixture);
}

static void end(struct fixture *fixture) {
    weigher_close(&fixture->weigher);
    loop_timer_stop(&fixture->loop, &fixture->timer);
    loop_close(&fixture->loop);
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

/* Runs the loop until a weight arrives or for DELAY_MS. */
static void run(struct fixture *fixture, int64_t delay_ms) {
    loop_timer_start(&fixture->loop, &fixture->timer, delay_ms, on_timer, fixture);
    fixture->loop.stopped = false;
    cr_assert(loop_run(&fixture->loop, NULL));
}

static size_t weigh(struct fixture *fixture, pid_t pid) {
    size_t before = fixture->count;
    cr_assert_not(weigher_is_busy(&fixture->weigher));
    cr_assert(weigher_ask(&fixture->weigher, pid));
    run(fixture, PATIENCE_MS);
    cr_assert_eq(fixture->count, before + 1);
    cr_assert_eq(fixture->weight.pid, pid);
    return fixture->weight.bytes;
}

static void *map(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(memory, MAP_FAILED);
    return memory;
}

static void end_child(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static pid_t child_that_sleeps(void) {
    pid_t pid = fork();
    if (pid == 0)
        for (;;)
            pause();
    cr_assert_gt(pid, 1);
    return pid;
}

/* Root's weigher keeps one capability, and can look into a process that has others only with it. */
static void skip_without_weights(void) {
    if (geteuid() == 0)
        skip_without_inspection();
}

Test(weigher, counts_a_shared_page_once) {
    skip_without_weights();
    struct fixture fixture;
    begin(&fixture);
    char *memory = map(BIG);
    memset(memory, 1, BIG);
    pid_t one = child_that_sleeps(), other = child_that_sleeps();
    size_t shared = weigh(&fixture, one) + weigh(&fixture, other);
    cr_assert(fixture.weight.known);
    cr_assert_gt(shared, BIG / 4);
    cr_assert_lt(shared, BIG, "the parent and the weigher hold a part too");
    end_child(one);
    end_child(other);
    munmap(memory, BIG);
    end(&fixture);
}

Test(weigher, does_not_know_a_process_that_is_gone) {
    struct fixture fixture;
    begin(&fixture);
    pid_t pid = child_that_sleeps();
    end_child(pid);
    cr_assert_eq(weigh(&fixture, pid), 0);
    cr_assert_not(fixture.weight.known);
    end(&fixture);
}

static pid_t find_weigher(void) {
    pid_t pids[CHILDREN_MAX];
    size_t count = process_descendants(getpid(), pids, CHILDREN_MAX);
    for (size_t i = 0; i < count; i++)
        if (process_is_named(pids[i], "eclave-weigher"))
            return pids[i];
    return 0;
}

/* Returns when the weigher has stopped: until then it may still answer. */
static void stop(pid_t weigher) {
    int status = 0;
    cr_assert_eq(kill(weigher, SIGSTOP), 0);
    cr_assert_eq(waitpid(weigher, &status, WUNTRACED), weigher);
    cr_assert(WIFSTOPPED(status));
}

/* However long the kernel takes for one process, the loop continues meanwhile. */
Test(weigher, does_not_hold_the_loop) {
    struct fixture fixture;
    begin(&fixture);
    weigh(&fixture, getpid());
    pid_t weigher = find_weigher();
    cr_assert_gt(weigher, 1);
    stop(weigher);
    cr_assert(weigher_ask(&fixture.weigher, getpid()));
    run(&fixture, 20);
    cr_assert_eq(fixture.count, 1);
    cr_assert(weigher_is_busy(&fixture.weigher));
    cr_assert_eq(kill(weigher, SIGCONT), 0);
    run(&fixture, PATIENCE_MS);
    cr_assert_eq(fixture.count, 2);
    end(&fixture);
}

static int64_t own_time_us(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return (int64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
           usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

static _Noreturn void map_in_pieces(int ready) {
    enum { PIECES = 60000, PAGE = 4096 };
    for (int i = 0; i < PIECES; i++) {
        char *page = mmap(NULL, PAGE, i % 2 ? PROT_READ : PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page != MAP_FAILED && i % 2 == 0)
            *page = 1;
    }
    if (write(ready, "", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

/* The control is the processor time of the same work in this thread. Of each the least of several
 * counts, since interrupts and page faults only add to them. */
Test(weigher, costs_the_caller_nothing_whatever_a_process_has_mapped) {
    enum { SHARE = 4, ROUNDS = 5 };
    struct fixture fixture;
    int64_t asked_us = INT64_MAX, weighed_us = INT64_MAX;
    int ready[2];
    char byte;
    begin(&fixture);
    cr_assert_eq(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0)
        map_in_pieces(ready[1]);
    cr_assert_eq(read(ready[0], &byte, 1), 1);
    weigh(&fixture, pid); /* starts the process */
    for (int i = 0; i < ROUNDS; i++) {
        int64_t begun_us = own_time_us();
        weigh(&fixture, pid);
        int64_t between_us = own_time_us();
        struct weight weight = weigh_process(pid);
        int64_t ended_us = own_time_us();
        cr_assert(weight.known);
        asked_us = between_us - begun_us < asked_us ? between_us - begun_us : asked_us;
        weighed_us = ended_us - between_us < weighed_us ? ended_us - between_us : weighed_us;
    }
    cr_assert_gt(weighed_us, SHARE * asked_us, "%ld us to ask, %ld us to weigh", (long)asked_us,
                 (long)weighed_us);
    end_child(pid);
    close(ready[0]);
    close(ready[1]);
    end(&fixture);
}

Test(weigher, that_is_killed_is_started_again) {
    skip_without_weights();
    enum { DEATHS = 5 };
    struct fixture fixture;
    begin(&fixture);
    for (int i = 0; i < DEATHS; i++) {
        cr_assert_gt(weigh(&fixture, getpid()), 0);
        cr_assert(fixture.weight.known);
        pid_t weigher = find_weigher();
        cr_assert_gt(weigher, 1);
        stop(weigher);
        cr_assert(weigher_ask(&fixture.weigher, getpid()));
        cr_assert_eq(kill(weigher, SIGKILL), 0);
        cr_assert_eq(waitpid(weigher, NULL, 0), weigher); /* find_weigher would find it again */
        run(&fixture, PATIENCE_MS);
        cr_assert_not(fixture.weight.known);
        cr_assert_eq(fixture.weight.pid, getpid());
    }
    end(&fixture);
}
