/* supervisor/base/turn: a turn above the bound ends the process, and a long sleep does not. */
#include "supervisor/base/loop.h"
#include "supervisor/base/turn.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BOUND_MS = 50, NS_PER_MS = 1000000, REPORT_BYTES = 4096 };

static struct loop loop;
static struct loop_timer timer;

static int64_t processor_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / NS_PER_MS;
}

static void burn(int64_t for_ms) {
    for (int64_t since_ms = processor_ms(); processor_ms() - since_ms < for_ms;)
        continue;
}

static void on_burn(void *context) {
    (void)context;
    burn(BOUND_MS * TURN_ONCE_FACTOR + 10);
    loop_stop(&loop);
}

/* A little too long. */
static void on_burn_once(void *context) {
    (void)context;
    burn(BOUND_MS + 10);
    loop_stop(&loop);
}

static void on_burn_twice(void *context) {
    static int times;
    on_burn_once(context);
    loop.stopped = ++times == 2;
    if (times < 2)
        loop_timer_start(&loop, &timer, 0, on_burn_twice, NULL);
}

static void on_sleep(void *context) {
    (void)context;
    nanosleep(&(struct timespec){.tv_nsec = (long)(BOUND_MS + 50) * NS_PER_MS}, NULL);
    loop_stop(&loop);
}

/* As much work as on_burn, in turns. */
static void on_slice(void *context) {
    static int slices;
    (void)context;
    burn(BOUND_MS / 5);
    if (++slices < 10)
        loop_timer_start(&loop, &timer, 0, on_slice, NULL);
    else
        loop_stop(&loop);
}

/* The same in one turn of two callbacks. */
static void on_half(void *context) {
    (void)context;
    burn(BOUND_MS * TURN_ONCE_FACTOR * 2 / 3);
}

static void on_other_half(void *context) {
    on_half(context);
    loop_stop(&loop);
}

static void run_loop(const char *bound, loop_timer_callback callback) {
    struct loop_timer other = {0};
    setenv("TURN_BOUND_MS", bound, 1);
    cr_assert(loop_open(&loop, NULL));
    loop_timer_start(&loop, &timer, 0, callback, NULL);
    if (callback == on_half)
        loop_timer_start(&loop, &other, 0, on_other_half, NULL);
    cr_assert(loop_run(&loop, NULL));
    loop_close(&loop);
}

/* Runs a loop in another process. Returns whether it ended well; REPORT is what it wrote. */
static bool ends_well(const char *bound, loop_timer_callback callback, char report[REPORT_BYTES]) {
    int ends[2], status;
    size_t length = 0;
    cr_assert_eq(pipe(ends), 0);
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        run_loop(bound, callback);
        _exit(0);
    }
    close(ends[1]);
    for (ssize_t got; (got = read(ends[0], report + length, REPORT_BYTES - 1 - length)) > 0;)
        length += (size_t)got;
    report[length] = 0;
    close(ends[0]);
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

Test(turn, a_turn_above_the_bound_ends_the_process_and_is_named) {
    char report[REPORT_BYTES];
    cr_assert_not(ends_well("50", on_burn, report));
    cr_expect(strstr(report, "eclave: critical: turn: too long: "), "%s", report);
    cr_expect(strstr(report, ", callback "), "%s", report); /* as it is called in this file */
}

Test(turn, all_callbacks_of_a_round_are_one_turn) {
    char report[REPORT_BYTES];
    cr_assert_not(ends_well("50", on_half, report));
    cr_expect(strstr(report, ", on_other_half "), "%s", report);
}

Test(turn, one_turn_may_be_a_little_too_long_and_a_second_may_not) {
    char report[REPORT_BYTES];
    cr_expect(ends_well("50", on_burn_once, report), "%s", report);
    cr_assert_not(ends_well("50", on_burn_twice, report));
    cr_expect(strstr(report, ", callback "), "%s", report);
}

Test(turn, the_bound_can_be_changed) {
    char report[REPORT_BYTES];
    cr_expect(ends_well("10000", on_burn, report), "%s", report);
    cr_expect(ends_well("0", on_burn, report), "%s", report);
}

Test(turn, work_in_slices_is_many_turns) {
    char report[REPORT_BYTES];
    cr_expect(ends_well("50", on_slice, report), "%s", report);
}

Test(turn, only_processor_time_counts) {
    char report[REPORT_BYTES];
    cr_expect(ends_well("50", on_sleep, report), "%s", report);
}
