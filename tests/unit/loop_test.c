/* supervisor/base/loop: the order of callbacks when those of one round take long. */
#include "supervisor/base/clock.h"
#include "supervisor/base/loop.h"
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int64_t whole_pause_ns = INT64_C(1000) * CLOCK_NS_PER_MS;

enum { OTHERS = 8, LOG_BYTES = 64, ROUND_NS = 2000000 };

struct bench {
    struct loop loop;
    struct loop_watch first, others[OTHERS];
    struct loop_timer timer;
    int first_ends[2], other_ends[2];
    char seen[LOG_BYTES]; /* "o": another, "f": the first, "-": a flush */
    size_t called;
    int64_t spin_ns;
    bool remove_others;
};

static void note(struct bench *bench, char what) {
    size_t length = strlen(bench->seen);
    cr_assert_lt(length, LOG_BYTES - 1);
    bench->seen[length] = what;
}

static void on_flush(void *context) {
    note(context, '-');
}

/* The second of the others makes the first one ready. */
static void on_other(void *context, uint32_t events) {
    (void)events;
    struct bench *bench = context;
    note(bench, 'o');
    bench->called++;
    for (int64_t start_ns = clock_now_ns(); clock_now_ns() - start_ns < bench->spin_ns;)
        continue;
    if (bench->called == 2)
        cr_assert_eq(write(bench->first_ends[1], "x", 1), 1);
    if (bench->called == OTHERS)
        loop_stop(&bench->loop);
}

static void remove_others(struct bench *bench) {
    for (size_t i = 0; i < OTHERS; i++)
        loop_watch_remove(&bench->loop, &bench->others[i]);
}

static void on_first(void *context, uint32_t events) {
    struct bench *bench = context;
    char byte;
    cr_expect(events & EPOLLIN);
    note(bench, 'f');
    cr_expect_eq(read(bench->first_ends[0], &byte, 1), 1);
    if (!bench->remove_others)
        return;
    remove_others(bench);
    loop_stop(&bench->loop);
}

static void open_bench(struct bench *bench) {
    struct error error;
    cr_assert(loop_open(&bench->loop, &error));
    cr_assert_eq(pipe(bench->first_ends), 0);
    cr_assert_eq(pipe(bench->other_ends), 0);
    cr_assert_eq(write(bench->other_ends[1], "x", 1), 1);
    for (size_t i = 0; i < OTHERS; i++)
        cr_assert(loop_watch_add(&bench->loop, &bench->others[i], dup(bench->other_ends[0]),
                                 EPOLLIN, on_other, bench, &error));
    cr_assert(loop_watch_add(&bench->loop, &bench->first, bench->first_ends[0], EPOLLIN, on_first,
                             bench, &error));
    loop_put_first(&bench->loop, &bench->first);
    bench->loop.before_wait = on_flush;
    bench->loop.before_wait_context = bench;
}

/* Runs the loop to its end. */
static void expect_seen(struct bench *bench, const char *expected) {
    cr_assert(loop_run(&bench->loop, NULL));
    cr_expect_str_eq(bench->seen, expected);
    loop_timer_stop(&bench->loop, &bench->timer);
    loop_watch_remove(&bench->loop, &bench->first);
    cr_expect_null(bench->loop.first);
    remove_others(bench);
    for (size_t i = 0; i < OTHERS; i++)
        close(bench->others[i].fd);
    for (size_t i = 0; i < 2; i++) {
        close(bench->first_ends[i]);
        close(bench->other_ends[i]);
    }
    loop_close(&bench->loop);
}

Test(loop, the_first_watch_waits_for_one_long_callback_only) {
    struct bench bench = {.spin_ns = ROUND_NS};
    open_bench(&bench);
    expect_seen(&bench, "-o-o-fo-o-o-o-o-o");
}

Test(loop, the_first_watch_may_remove_waiting_ones) {
    struct bench bench = {.spin_ns = ROUND_NS, .remove_others = true};
    open_bench(&bench);
    expect_seen(&bench, "-o-o-f");
}

static void on_timer(void *context) {
    struct bench *bench = context;
    note(bench, 't');
    on_other(bench, 0);
    if (bench->called < OTHERS)
        loop_timer_start(&bench->loop, &bench->timer, 0, on_timer, bench);
}

/* A timer that its callback starts again is due in the next round. */
Test(loop, a_timer_without_delay_does_not_starve_the_others) {
    struct bench bench = {.remove_others = true};
    open_bench(&bench);
    remove_others(&bench);
    loop_timer_start(&bench.loop, &bench.timer, 0, on_timer, &bench);
    expect_seen(&bench, "-to-to-f");
}

/* Stops this process, makes the first watch ready, and continues it when the timer is overdue. */
static pid_t start_pauser(const struct bench *bench, int64_t pause_ns) {
    const pid_t paused = getpid(), pauser = fork();
    if (pauser != 0)
        return pauser;
    kill(paused, SIGSTOP);
    (void)!write(bench->first_ends[1], "x", 1);
    const struct timespec pause = {.tv_sec = pause_ns / 1000000000,
                                   .tv_nsec = pause_ns % 1000000000};
    nanosleep(&pause, NULL);
    kill(paused, SIGCONT);
    _exit(0);
}

static void on_deadline(void *context) {
    struct bench *bench = context;
    note(bench, 't');
    loop_stop(&bench->loop);
}

static void on_first_only(void *context, uint32_t events) {
    struct bench *bench = context;
    char byte;
    (void)events;
    note(bench, 'f');
    cr_expect_eq(read(bench->first_ends[0], &byte, 1), 1);
}

/* In all of these the timer is overdue when the process continues. */
Test(loop, what_happened_during_a_pause_comes_before_a_timer) {
    static const struct {
        int64_t delay_ms, pause_ms;
    } rows[] = {{100, 150}, {100, 310},  {100, 500}, {200, 250}, {50, 300},
                {50, 100},  {150, 1000}, {300, 310}, {300, 600}, {80, 800}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bench bench = {0};
        open_bench(&bench);
        remove_others(&bench);
        bench.loop.before_wait = NULL;
        bench.first.callback = on_first_only;
        loop_timer_start(&bench.loop, &bench.timer, rows[i].delay_ms, on_deadline, &bench);
        pid_t pauser = start_pauser(&bench, rows[i].pause_ms * CLOCK_NS_PER_MS);
        expect_seen(&bench, "ft");
        cr_assert_eq(waitpid(pauser, NULL, 0), pauser);
    }
}

/* The code did not run during a pause of the whole machine, so that it has the rest of its time. */
Test(loop, a_pause_is_no_part_of_the_time_of_the_loop) {
    struct bench bench = {0};
    open_bench(&bench);
    remove_others(&bench);
    bench.loop.before_wait = NULL;
    bench.first.callback = on_first_only;
    const int64_t start_ns = clock_now_ns(), loop_start_ns = loop_now_ns(&bench.loop);
    loop_timer_start(&bench.loop, &bench.timer, 100, on_deadline, &bench);
    pid_t pauser = start_pauser(&bench, whole_pause_ns);
    expect_seen(&bench, "ft");
    cr_assert_eq(waitpid(pauser, NULL, 0), pauser);
    cr_assert_gt(clock_now_ns() - start_ns, whole_pause_ns);
    cr_assert_gt(clock_now_ns() - start_ns - (loop_now_ns(&bench.loop) - loop_start_ns),
                 whole_pause_ns / 2);
}
