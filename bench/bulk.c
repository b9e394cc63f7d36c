/* Bulk: ten thousand lines that are not requests, and one answer of ten megabytes. */
#include "bench/bench.h"
#include "bench/footprint.h"
#include "bench/server.h"

#include <stdlib.h>
#include <string.h>

enum { LINES = 10000, ANSWER_BYTES = 10000000 };

/* Not a request for any server; each has one answer. */
static const char *const invalid_lines[] = {
    "this is not JSON\n",
    "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"\n",
    "{\"jsonrpc\":\"1.0\",\"id\":7,\"method\":\"ping\"}\n",
    "{\"jsonrpc\":\"2.0\",\"id\":7}\n",
    "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":42}\n",
    "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}\n",
    "[]\n",
    "\"ping\"\n",
};

struct bulk {
    struct buffer invalid;
    char *echo_arguments; /* of the reference server's answer of ANSWER_BYTES */
    struct samples lines_ms, answer_ms, peak_mib;
    struct samples reference_lines_ms, reference_answer_ms, reference_peak_mib;
};

static struct buffer make_invalid(void) {
    struct buffer all = buffer_make(1 << 20);
    for (size_t i = 0; i < LINES; i++)
        buffer_append_text(&all, invalid_lines[i % (sizeof invalid_lines / sizeof *invalid_lines)]);
    return all;
}

static char *make_echo_arguments(void) {
    static const char head[] = "{\"message\":\"", tail[] = "\"}";
    char *text = malloc(sizeof head + ANSWER_BYTES + sizeof tail);
    if (!text)
        abort();
    memcpy(text, head, sizeof head - 1);
    memset(text + sizeof head - 1, 'x', ANSWER_BYTES);
    memcpy(text + sizeof head - 1 + ANSWER_BYTES, tail, sizeof tail);
    return text;
}

/* From the first byte of the lines to the last of their answers. */
static double exchange_invalid(struct server *server, const struct buffer *invalid) {
    double begin = now_ms();
    if (!peer_send(&server->peer, invalid->data, invalid->length) ||
        !peer_await_lines(&server->peer, LINES))
        return -1;
    double ms = now_ms() - begin;
    for (size_t i = 0; i < LINES; i++) {
        const char *line = peer_line(&server->peer, NULL);
        if (!line || !strstr(line, "\"error\":{"))
            return peer_fail(&server->peer, "no error, but %.200s", line ? line : "nothing"), -1;
    }
    return server_ping(server) < 0 ? -1 : ms; /* it still answers */
}

static void measure_lines(struct bench *bench, struct bulk *bulk) {
    struct server server;
    server_ready_eclave(&server, bench, NULL);
    samples_add(&bulk->lines_ms, exchange_invalid(&server, &bulk->invalid));
    server_finish(&server);
}

/* The reference server answers none of them, so its time is that of a ping after them. */
static void measure_reference_lines(struct bench *bench, struct bulk *bulk) {
    struct server server;
    server_ready_reference(&server, bench);
    double begin = now_ms();
    peer_send(&server.peer, bulk->invalid.data, bulk->invalid.length);
    if (server_ping(&server) >= 0)
        samples_add(&bulk->reference_lines_ms, now_ms() - begin);
    server_finish(&server);
}

static void add_answer(struct server *server, double ms, struct samples *times,
                       struct samples *peaks) {
    if (ms >= 0 && server->answer_length < ANSWER_BYTES)
        peer_fail(&server->peer, "its answer has only %zu bytes", server->answer_length);
    if (server->peer.failed)
        return;
    samples_add(times, ms);
    samples_add(peaks, footprint_resident_peak_mib(server->peer.pid));
}

static void measure_answer(struct bench *bench, struct bulk *bulk) {
    static const char *const options[] = {"--text-max-chars", "10000000", NULL};
    static const char arguments[] =
        CODE("(let ((line (make-string 999 :initial-element (code-char 120)))) "
             "(dotimes (i 10000) (write-line line)))");
    struct server server;
    server_ready_eclave(&server, bench, options);
    server_call(&server, CODE("(+ 1 2)"), "=> 3"); /* the image is booted */
    double ms = server_call(&server, arguments, "\"isError\":false");
    add_answer(&server, ms, &bulk->answer_ms, &bulk->peak_mib);
    server_finish(&server);
}

static void measure_reference_answer(struct bench *bench, struct bulk *bulk) {
    struct server server;
    server_ready_reference(&server, bench);
    double ms = server_call(&server, bulk->echo_arguments, "Echo: x");
    add_answer(&server, ms, &bulk->reference_answer_ms, &bulk->reference_peak_mib);
    server_finish(&server);
}

static void run_round(struct bench *bench, struct bulk *bulk) {
    measure_lines(bench, bulk);
    measure_answer(bench, bulk);
    if (bench->reference) {
        measure_reference_lines(bench, bulk);
        measure_reference_answer(bench, bulk);
    }
    samples_end_round(&bulk->lines_ms);
    samples_end_round(&bulk->answer_ms);
    samples_end_round(&bulk->peak_mib);
}

static void report_bulk(struct bench *bench, const struct bulk *bulk) {
    report_heading(&bench->report, "Bulk");
    report_figure(&bench->report,
                  &(struct figure){"10,000 invalid lines at once, until the last answer", UNIT_MS,
                                   MEDIAN_OF(&bulk->lines_ms), .at_most = 150,
                                   .baselines = {{"the reference server, which answers none",
                                                  samples_median(&bulk->reference_lines_ms), 0}}});
    report_figure(&bench->report,
                  &(struct figure){"an answer of 10 MB", UNIT_MS, MEDIAN_OF(&bulk->answer_ms),
                                   .at_most = 300,
                                   .baselines = {{"the reference server's echo of it",
                                                  samples_median(&bulk->reference_answer_ms), 0}}});
    report_figure(&bench->report,
                  &(struct figure){"the supervisor's peak memory with it", UNIT_MIB,
                                   MEDIAN_OF(&bulk->peak_mib),
                                   .baselines = {{"the reference server's",
                                                  samples_median(&bulk->reference_peak_mib), 0}}});
}

void section_bulk(struct bench *bench) {
    struct bulk bulk = {.invalid = make_invalid(), .echo_arguments = make_echo_arguments()};
    for (unsigned round = 0; round < bench->rounds; round++)
        run_round(bench, &bulk);
    report_bulk(bench, &bulk);
    buffer_free(&bulk.invalid);
    free(bulk.echo_arguments);
    samples_free(&bulk.lines_ms);
    samples_free(&bulk.answer_ms);
    samples_free(&bulk.peak_mib);
    samples_free(&bulk.reference_lines_ms);
    samples_free(&bulk.reference_answer_ms);
    samples_free(&bulk.reference_peak_mib);
}
