/* supervisor/mcp/output: the check of each line and the queue. Only complete valid lines are
 * written; an invalid one is replaced, and too many of them end the output. */
#include "common/cleanup.h"
#include "supervisor/mcp/output.h"
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECEIVED_MAX = 8 << 20 };

/* The output under test. */
static struct {
    struct settings settings;
    struct loop loop;
    struct log log;
    struct output output;
    int reader;
    size_t changes;
    char *received; /* received so far, terminated */
    size_t length;
} bench = {.reader = -1};

static void on_change(void *context) {
    (void)context;
    bench.changes++;
}

/* Opens an output on a pipe, or on FD unless it is negative. */
static void open_output(int fd, int64_t response_max_bytes) {
    struct error error;
    int ends[2] = {-1, fd};
    if (fd < 0)
        cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
    bench.reader = ends[0];
    bench.received = calloc(1, RECEIVED_MAX);
    signal(SIGPIPE, SIG_IGN);
    settings_default(&bench.settings);
    bench.settings.response_max_bytes = response_max_bytes;
    if (fd < 0)
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
    cr_assert_geq(dup2(ends[1], STDOUT_FILENO), 0);
    close(ends[1]);
    cr_assert(loop_open(&bench.loop, &error));
    bench.log = (struct log){.out.fd = -1};
    cr_assert(output_open(&bench.output, &bench.loop, &bench.log, &bench.settings, on_change, NULL,
                          &error),
              "%s", error.text);
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(null, STDOUT_FILENO);
    close(null);
}

static void close_output(void) {
    output_close(&bench.output);
    loop_close(&bench.loop);
    if (bench.reader >= 0)
        close(bench.reader);
    free(bench.received);
    memset(&bench, 0, sizeof bench);
}

TestSuite(output, .fini = close_output);

static void write_line(const char *id, const char *text, size_t size) {
    struct buffer *out = output_line_begin(&bench.output);
    buffer_append(out, text, size);
    output_line_end(&bench.output, (struct span){(const unsigned char *)id, id ? strlen(id) : 0});
}

static const char *receive(void) {
    output_flush(&bench.output);
    for (;;) {
        ssize_t got =
            read(bench.reader, bench.received + bench.length, RECEIVED_MAX - 1 - bench.length);
        if (got <= 0)
            break;
        bench.length += (size_t)got;
        output_flush(&bench.output);
    }
    bench.received[bench.length] = '\0';
    return bench.received;
}

static const char good[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}";

Test(output, a_valid_line_is_written_unchanged) {
    open_output(-1, 10000);
    write_line("1", good, sizeof good - 1);
    write_line(NULL, "[{}]", 4);
    cr_assert_str_eq(receive(), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n[{}]\n");
    cr_assert_eq(output_backlog(&bench.output), 0);
    cr_assert_eq(bench.output.end, OUTPUT_OPEN);
}

static const char *const bad[] = {
    "",
    "{",
    "{}{}",
    "{\"a\":}",
    "{\"a\":NaN}",
    "5",
    "\"text\"",
    "null",
    "{\n}",
    "{\r}",
    "{}\n",
    "{\"a\":\"\xC3\x28\"}",
    "{\"a\":\"\xED\xA0\x80\"}",
    "{\"a\":\"tab\t\"}",
};

Test(output, an_invalid_line_is_replaced_by_an_error_with_its_id) {
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (i)
            close_output();
        open_output(-1, 10000);
        write_line("\"the id\"", bad[i], strlen(bad[i]));
        write_line("1", good, sizeof good - 1);
        const char *line = receive();
        static const char start[] =
            "{\"jsonrpc\":\"2.0\",\"id\":\"the id\",\"error\":{\"code\":-32603,\"message\":\"";
        cr_assert_eq(strncmp(line, start, sizeof start - 1), 0, "%s", line);
        cr_assert_str_eq(strchr(line, '\n') + 1, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
        cr_assert_eq(bench.output.incident_count, 1);
    }
}

Test(output, an_invalid_line_that_is_not_an_answer_is_dropped) {
    open_output(-1, 10000);
    write_line(NULL, "{", 1);
    cr_assert_str_eq(receive(), "");
}

/* Adds one line of SIZE bytes. */
static void write_padded(size_t size) {
    char *line = malloc(size + 1);
    cr_assert_not_null(line);
    memset(line, 'p', size);
    memcpy(line, "{\"a\":\"", 6);
    memcpy(line + size - 2, "\"}", 3);
    write_line("1", line, size);
    free(line);
}

Test(output, a_line_of_the_limit_is_written_and_a_longer_one_is_an_error_that_names_the_limit) {
    open_output(-1, 5000);
    write_padded(5000);
    cr_assert_eq(strlen(receive()), 5001);
    bench.length = 0;
    write_padded(5001);
    cr_assert_str_eq(receive(),
                     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603,\"message\":"
                     "\"Response exceeded the size limit.\",\"data\":{\"limit\":5000,\"name\":"
                     "\"response.max_bytes\"}}}\n");
    bench.length = 0;
    write_padded(1000000);
    cr_assert_lt(strlen(receive()), 200);
    cr_assert_eq(bench.output.incident_count, 0, "a limit that holds is no incident");
    write_line("1", good, sizeof good - 1);
    bench.length = 0;
    cr_assert_eq(strlen(receive()), sizeof good);
}

Test(output, an_id_that_does_not_fit_is_null_in_the_error) {
    open_output(-1, 2000);
    char id[3000];
    memset(id, '7', sizeof id);
    id[sizeof id - 1] = '\0';
    write_line(id, "{", 1);
    cr_assert_eq(strncmp(receive(), "{\"jsonrpc\":\"2.0\",\"id\":null,", 27), 0);
}

Test(output, an_element_of_a_batch_is_checked_like_a_line) {
    open_output(-1, 2000);
    const struct span id = {(const unsigned char *)"4", 1};
    cleanup_buffer struct buffer out = buffer_make(10000);
    output_check(&bench.output, &out, (struct span){(const unsigned char *)good, sizeof good - 1},
                 false, id);
    cr_assert_eq(out.length, sizeof good - 1);
    out.length = 0;
    output_check(&bench.output, &out, (struct span){(const unsigned char *)"{", 1}, false, id);
    cr_assert_eq(strncmp((const char *)out.data, "{\"jsonrpc\":\"2.0\",\"id\":4,\"error\"", 31), 0);
    cr_assert_eq(bench.output.incident_count, 1);
    out.length = 0;
    output_check(&bench.output, &out, (struct span){(const unsigned char *)good, sizeof good - 1},
                 true, id);
    buffer_append(&out, "", 1);
    cr_assert_not_null(strstr((const char *)out.data, "response.max_bytes"));
}

Test(output, too_many_incidents_within_the_window_end_the_output) {
    open_output(-1, 2000);
    write_line("1", "{", 1);
    write_line("2", "{", 1);
    cr_assert_eq(bench.output.end, OUTPUT_OPEN);
    write_line("3", "{", 1);
    cr_assert_eq(bench.output.end, OUTPUT_CORRUPT);
    cr_assert_eq(bench.changes, 1);
}

Test(output, incidents_older_than_the_window_are_forgotten) {
    open_output(-1, 2000);
    for (int i = 0; i < 20; i++) {
        write_line("1", "{", 1);
        cr_assert_eq(bench.output.end, OUTPUT_OPEN);
        for (int64_t j = 0; j < bench.settings.corruption_threshold; j++)
            bench.output.incidents_ns[j] -= INT64_C(31) * 1000000000;
    }
}

Test(output, unread_output_waits_and_arrives_whole_and_in_order) {
    enum { LINES = 3000 };
    open_output(-1, 10000);
    for (int i = 0; i < LINES; i++) {
        char line[64];
        int length = snprintf(line, sizeof line, "{\"number\":%d,\"pad\":\"0123456789\"}", i);
        write_line(NULL, line, (size_t)length);
        output_flush(&bench.output);
    }
    cr_assert_gt(output_backlog(&bench.output), 0);
    size_t changes = bench.changes;
    const char *rest = receive();
    cr_assert_gt(bench.changes, changes);
    cr_assert_eq(output_backlog(&bench.output), 0);
    for (int i = 0; i < LINES; i++) {
        char line[64];
        int length = snprintf(line, sizeof line, "{\"number\":%d,\"pad\":\"0123456789\"}\n", i);
        cr_assert_eq(strncmp(rest, line, (size_t)length), 0, "at line %d", i);
        rest += length;
    }
    cr_assert_str_eq(rest, "");
}

Test(output, the_memory_of_a_large_queue_is_released) {
    open_output(-1, 4 << 20);
    write_padded(4 << 20);
    for (int i = 0; i < 100; i++) /* it is checked in slices first */
        output_flush(&bench.output);
    receive();
    cr_assert_leq(bench.output.queue.capacity, 1 << 20);
}

Test(output, a_reader_that_left_ends_the_output) {
    open_output(-1, 2000);
    close(bench.reader);
    bench.reader = -1;
    write_line("1", good, sizeof good - 1);
    output_flush(&bench.output);
    cr_assert_eq(bench.output.end, OUTPUT_LOST);
    cr_assert_eq(bench.output.incident_count, 0);
    cr_assert_eq(bench.changes, 1);
    output_flush(&bench.output);
    cr_assert_eq(bench.changes, 1);
}

Test(output, a_full_disk_is_an_incident_and_is_retried) {
    open_output(open("/dev/full", O_WRONLY | O_CLOEXEC), 2000);
    write_line("1", good, sizeof good - 1);
    output_flush(&bench.output);
    cr_assert_eq(bench.output.incident_count, 1);
    cr_assert(bench.output.retry.active);
    output_flush(&bench.output); /* not too early */
    cr_assert_eq(bench.output.incident_count, 1);
    for (size_t i = 2; i <= 3; i++) {
        cr_assert_eq(bench.output.end, OUTPUT_OPEN);
        loop_timer_stop(&bench.loop, &bench.output.retry);
        output_flush(&bench.output);
        cr_assert_eq(bench.output.incident_count, i);
    }
    cr_assert_eq(bench.output.end, OUTPUT_LOST);
}

/* A long line is checked in slices, and what follows it waits. */
Test(output, a_long_line_is_held_until_it_is_checked) {
    enum { LONG = 3 << 20 };
    static char line[LONG + 64];
    for (int fault = 0; fault < 3; fault++) {
        open_output(-1, 4 << 20);
        int length = snprintf(line, sizeof line, "{\"id\":7,\"a\":\"");
        memset(line + length, 'a', LONG);
        snprintf(line + length + LONG, 3, "%s", fault ? "\"" : "\"}");
        write_line(fault == 2 ? NULL : "7", line, strlen(line));
        write_line(NULL, "{\"next\":1}", 10);
        output_flush(&bench.output);
        cr_assert_gt(output_backlog(&bench.output), (size_t)LONG);
        for (int i = 0; i < 100; i++)
            output_flush(&bench.output);
        const char *all = receive();
        cr_assert_eq(output_backlog(&bench.output), 0);
        if (fault == 0) {
            cr_assert_eq(strncmp(all, line, strlen(line)), 0);
            cr_assert_str_eq(all + strlen(line), "\n{\"next\":1}\n");
        } else if (fault == 1) {
            cr_assert(strstr(all, "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32603,") ==
                      all);
            cr_assert(strstr(all, "}}\n{\"next\":1}\n"));
        } else {
            cr_assert_str_eq(all, "{\"next\":1}\n");
        }
        if (fault < 2)
            close_output();
    }
}
