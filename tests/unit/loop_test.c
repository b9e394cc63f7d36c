/* supervisor/base/loop: the order of callbacks when those of one round take long. */
#include "supervisor/base/clock.h"
#include "supervisor/base/loop.h"
#include <criterion/criterion.h>
#include <signal.h>
#include <stdnoreturn.h>
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

static void close_bench(struct bench *bench) {
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

/* Runs the loop to its end. */
static void expect_seen(struct bench *bench, const char *expected) {
    cr_assert(loop_run(&bench->loop, NULL));
    cr_expect_str_eq(bench->seen, expected);
    close_bench(bench);
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

/* A pause of this process in the first wait of its loop, with a timer that is overdue after it. */
struct pause {
    struct bench bench;
    int64_t delay_ms, pause_ns;
    pid_t pauser;
};

/* Stops this process, makes the first watch ready, and continues it after the pause. On a busy
 * machine it may come too late for that, and then does nothing but say so. */
static noreturn void pause_process(const struct pause *pause, pid_t process, int64_t start_ns) {
    if (clock_now_ns() - start_ns > pause->delay_ms * CLOCK_NS_PER_MS / 2)
        _exit(1);
    kill(process, SIGSTOP);
    (void)!write(pause->bench.first_ends[1], "x", 1);
    const struct timespec length = {.tv_sec = pause->pause_ns / 1000000000,
                                    .tv_nsec = pause->pause_ns % 1000000000};
    nanosleep(&length, NULL);
    kill(process, SIGCONT);
    _exit(0);
}

static void start_pauser(void *context) {
    struct pause *pause = context;
    const int64_t start_ns = clock_now_ns();
    const pid_t process = getpid();
    pause->bench.loop.before_wait = NULL;
    pause->pauser = fork();
    if (pause->pauser == 0)
        pause_process(pause, process, start_ns);
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

/* Runs the loop over the pause until it comes in time. Returns how much of the time that passed was
 * no time of the loop. */
static int64_t run_over_pause(int64_t delay_ms, int64_t pause_ns) {
    for (int status = -1; status != 0;) {
        struct pause pause = {.delay_ms = delay_ms, .pause_ns = pause_ns};
        struct bench *bench = &pause.bench;
        open_bench(bench);
        remove_others(bench);
        bench->loop.before_wait = start_pauser;
        bench->loop.before_wait_context = &pause;
        bench->first.callback = on_first_only;
        const int64_t start_ns = clock_now_ns() - loop_now_ns(&bench->loop);
        loop_timer_start(&bench->loop, &bench->timer, delay_ms, on_deadline, bench);
        cr_assert(loop_run(&bench->loop, NULL));
        cr_assert_eq(waitpid(pause.pauser, &status, 0), pause.pauser);
        if (status == 0)
            cr_expect_str_eq(bench->seen, "ft");
        const int64_t end_ns = clock_now_ns() - loop_now_ns(&bench->loop);
        close_bench(bench);
        if (status == 0)
            return end_ns - start_ns;
    }
    return 0;
}

Test(loop, what_happened_during_a_pause_comes_before_a_timer) {
    static const struct {
        int64_t delay_ms, pause_ms;
    } rows[] = {{100, 150}, {100, 310},  {100, 500}, {200, 250}, {50, 300},
                {50, 100},  {150, 1000}, {300, 310}, {300, 600}, {80, 800}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        run_over_pause(rows[i].delay_ms, rows[i].pause_ms * CLOCK_NS_PER_MS);
}

/* The code did not run during a pause of the whole machine, so that it has the rest of its time. */
Test(loop, a_pause_is_no_part_of_the_time_of_the_loop) {
    cr_expect_gt(run_over_pause(100, whole_pause_ns), whole_pause_ns / 2);
}
