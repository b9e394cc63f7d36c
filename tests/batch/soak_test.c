/* A long input costs time only: memory, descriptors and processes do not grow, whatever the reader
 * and the writer do. */
#include "tests/support/batch.h"
#include "tests/support/lines.h"
#include "tests/support/process.h"
#include "tests/support/random.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LINES = 2000, LINES_THOROUGH = 100000, WARM_UP = 300, GROWTH_KB = 1024 };

struct flow {
    pid_t run;
    FILE *in, *out;
};

static struct flow flow_start(const char *const *arguments) {
    int in[2], out[2], null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    cr_assert(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
    struct flow flow = {batch_start(arguments, in[0], out[1], null), fdopen(in[1], "w"),
                        fdopen(out[0], "r")};
    close(in[0]);
    close(out[1]);
    close(null);
    return flow;
}

/* Cheap lines of each kind. */
static const char *const kinds[] = {
    "\"code\":\"(+ 1 2)\",\"expect\":\"3\"}",
    "\"code\":\"(princ (make-string 5000))\"}",
    "\"code\":\"(car 1)\"}",
    "\"code\":\"(ext:quit 1)\"}",
    "\"code\":5}",
    "\"code\":\"1\"}",
    "\"code\":\"1\"}",
    "\"code\":\"(loop (print 1))\"}",
};

static void put_line(const struct flow *flow, size_t number) {
    cr_assert_gt(fprintf(flow->in, "{\"id\":%zu,%s\n", number, kinds[number % COUNT_OF(kinds)]), 0);
    cr_assert_eq(fflush(flow->in), 0);
}

static void take_line(const struct flow *flow, size_t number) {
    static char *line;
    static size_t size;
    char start[40];
    snprintf(start, sizeof start, "{\"id\":%zu,", number);
    cr_assert_gt(getline(&line, &size, flow->out), 0);
    cr_assert_eq(strncmp(line, start, strlen(start)), 0, "%.100s", line);
}

/* Keeps AHEAD lines in flight. */
static void pass(const struct flow *flow, size_t from, size_t to, size_t ahead) {
    for (size_t i = from; i < to + ahead; i++) {
        if (i < to)
            put_line(flow, i);
        if (i >= from + ahead)
            take_line(flow, i - ahead);
    }
}

/* The maximum of several samples, since a process may just start or end. */
static size_t most_descriptors(pid_t run) {
    int most = 0;
    for (int sample = 0; sample < 20; sample++) {
        int now = process_descriptors(run);
        most = now > most ? now : most;
        usleep(5000);
    }
    return (size_t)most;
}

Test(batch_soak, memory_descriptors_and_processes_do_not_grow) {
    enum { AHEAD = 6 };
    size_t count = random_trials(LINES, LINES_THOROUGH);
    struct flow flow = flow_start((const char *const[]){"-j", "2", "--output-max-bytes", "20000",
                                                        "--call-timeout-s", "60", NULL});
    pass(&flow, 0, WARM_UP, AHEAD);
    long memory = process_status(flow.run, "VmRSS");
    size_t descriptors = most_descriptors(flow.run);
    pid_t pids[64];
    pass(&flow, WARM_UP, count, AHEAD);
    long grown = process_status(flow.run, "VmRSS") - memory;
    size_t now = most_descriptors(flow.run);
    cr_assert_lt(grown, GROWTH_KB + ECLAVE_TEST_MEMORY_SLACK_KB / 4, "%ld kB more", grown);
    cr_assert_leq(now, descriptors + 8, "%zu descriptors have become %zu", descriptors, now);
    cr_assert_leq(process_descendants(flow.run, pids, COUNT_OF(pids)), 1 + 2 + 2 + 2);
    fclose(flow.in);
    cr_assert_eq(fgetc(flow.out), EOF);
    fclose(flow.out);
    cr_assert_eq(batch_wait(flow.run), 0);
}

Test(batch_soak, a_reader_that_does_not_read_stops_the_input) {
    enum { PLENTY = 100000, QUIET_LOOKS = 40 };
    struct flow flow = flow_start((const char *const[]){"-j", "2", NULL});
    int in = fileno(flow.in);
    cr_assert_eq(fcntl(in, F_SETFL, O_NONBLOCK), 0);
    batch_add("1", "(princ (make-string 50000 :initial-element #\\x)) 1", "");
    const char *line = batch_input();
    size_t length = strlen(line), written = 0;
    for (int quiet = 0; quiet < QUIET_LOOKS && written < (size_t)PLENTY * length;) {
        ssize_t put = write(in, line, length); /* atomic: less than PIPE_BUF */
        quiet = put > 0 ? 0 : quiet + 1;
        written += put > 0 ? (size_t)put : 0;
        if (put <= 0)
            usleep(50000);
    }
    /* The pipe, one read of it, and the window; all lines would have been 9 MB. */
    cr_assert_lt(written, 1 << 20, "%zu bytes were taken", written);
    long memory = process_status(flow.run, "VmRSS");
    cr_assert_lt(memory, 64 * 1024 + ECLAVE_TEST_MEMORY_SLACK_KB, "%ld kB", memory);
    fclose(flow.in);
    size_t size = 0, lines = 0;
    char *got = NULL;
    while (getline(&got, &size, flow.out) > 0)
        lines++;
    cr_assert_eq(lines, written / length);
    fclose(flow.out);
    cr_assert_eq(batch_wait(flow.run), 0);
    free(got);
}

Test(batch_soak, a_slow_line_does_not_let_others_accumulate) {
    struct flow flow = flow_start((const char *const[]){"-j", "2", NULL});
    int in = fileno(flow.in);
    fputs("{\"id\":\"slow\",\"code\":\"(sleep 4)\"}\n", flow.in);
    fflush(flow.in);
    cr_assert_eq(fcntl(in, F_SETFL, O_NONBLOCK), 0);
    static const char line[] = "{\"id\":1,\"code\":\"(princ (make-string 90000)) 1\"}\n";
    size_t written = 0;
    for (int looks = 0; looks < 30; looks++) {
        ssize_t put;
        while ((put = write(in, line, sizeof line - 1)) > 0)
            written += (size_t)put;
        usleep(50000);
    }
    cr_assert_lt(written, 1 << 20, "%zu bytes were taken", written);
    cr_assert_lt(process_status(flow.run, "VmRSS"), 64 * 1024 + ECLAVE_TEST_MEMORY_SLACK_KB);
    kill(flow.run, SIGKILL);
    cr_assert_eq(batch_wait(flow.run), 128 + SIGKILL);
    fclose(flow.in);
    fclose(flow.out);
}
