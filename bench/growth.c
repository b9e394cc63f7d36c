/* How each cost grows with the work: with live data, sessions, kept states, calls in flight and
 * workers. Each heading says by what. */
#include "bench/bench.h"
#include "bench/footprint.h"
#include "bench/image_client.h"
#include "bench/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SETTLE_MS = 500, CALLS = 100, WARM_UP_CALLS = 12 };

static const char *const without_checkpoints[] = {"--degraded", NULL};

/* Adds the times of COUNT calls back to back, after a few that are not measured. */
static void call_often(struct server *server, const char *session, unsigned count,
                       struct samples *samples) {
    for (unsigned i = 0; i < WARM_UP_CALLS + count; i++) {
        double ms = session ? server_evaluate_in(server, session, "(+ 1 2)", "=> 3")
                            : server_call(server, CODE("(+ 1 2)"), "=> 3");
        if (i >= WARM_UP_CALLS)
            samples_add(samples, ms);
    }
    samples_end_round(samples);
}

/* --- live data --- */

/* Half of each mebibyte is conses, half a vector of bytes. */
#define LIVE_DATA                                                                                  \
    "(defparameter *live* (loop repeat %u collect (cons (make-array 524288 "                       \
    ":element-type '(unsigned-byte 8) :initial-element 1) (make-list 32768))))"

static void grow_live_data(struct bench *bench) {
    static const unsigned sizes_mib[] = {0, 16, 64, 256};
    enum { SIZES = sizeof sizes_mib / sizeof *sizes_mib, FORKS = 10 };
    struct server server, bare;
    struct peer images[SIZES];
    struct samples forks[SIZES] = {0}, calls[SIZES] = {0}, without[SIZES] = {0};
    char names[SIZES][SESSION_NAME_MAX], bare_names[SIZES][SESSION_NAME_MAX], form[256];
    server_ready_eclave(&server, bench, NULL);
    server_ready_eclave(&bare, bench, without_checkpoints);
    for (size_t i = 0; i < SIZES; i++) {
        snprintf(form, sizeof form, LIVE_DATA, sizes_mib[i]);
        image_start(&images[i], bench, form);
        server_open_session(&server, NULL, names[i]);
        server_open_session(&bare, NULL, bare_names[i]);
        server_evaluate_in(&server, names[i], form, "=> *LIVE*");
        server_evaluate_in(&bare, bare_names[i], form, "=> *LIVE*");
        sleep_ms(SETTLE_MS);
    }
    for (unsigned round = 0; round < bench->rounds; round++)
        for (size_t i = 0; i < SIZES; i++) {
            for (unsigned fork = 0; fork < FORKS; fork++)
                samples_add(&forks[i], image_fork(&images[i]));
            call_often(&server, names[i], CALLS, &calls[i]);
            call_often(&bare, bare_names[i], CALLS, &without[i]);
        }
    report_heading(&bench->report, "As live data grows: the kernel looks through the page tables "
                                   "of all of it for what was written");
    for (size_t i = 0; i < SIZES; i++) {
        char name[128];
        snprintf(name, sizeof name, "%u MiB live: `(+ 1 2)`, back to back, p50", sizes_mib[i]);
        struct figure figure = {
            name, UNIT_MS, MEDIAN_OF(&calls[i]),
            .baselines = {{"a bare fork of the same data", samples_median(&forks[i]), 0},
                          {"without checkpoints", samples_median(&without[i]), 0}}};
        if (i)
            figure.baselines[2] = (struct baseline){"nothing live", samples_median(&calls[0]),
                                                    i == SIZES - 1 ? 2 : 0};
        report_figure(&bench->report, &figure);
    }
    server_finish(&server);
    server_finish(&bare);
    for (size_t i = 0; i < SIZES; i++) {
        peer_finish(&images[i]);
        samples_free(&forks[i]);
        samples_free(&calls[i]);
        samples_free(&without[i]);
    }
}

/* --- sessions --- */

static void grow_sessions(struct bench *bench) {
    static const unsigned counts[] = {1, 16, 64, 256};
    enum { COUNTS = sizeof counts / sizeof *counts, MOST = 256, IN_TURN = 256 };
    static char names[MOST][SESSION_NAME_MAX];
    struct samples calls[COUNTS] = {0}, memory[COUNTS] = {0}, processes[COUNTS] = {0};
    struct server server;
    server_ready_eclave(&server, bench, NULL);
    for (unsigned i = 0, open = 0; i < COUNTS; i++) {
        for (; open < counts[i]; open++) {
            server_open_session(&server, NULL, names[open]);
            server_evaluate_in(&server, names[open], "(defun f (x) (+ x 1))", "=> F");
        }
        sleep_ms(SETTLE_MS);
        samples_add(&memory[i], footprint_mib(server.peer.pid));
        samples_add(&processes[i], footprint_processes(server.peer.pid));
    }
    for (unsigned round = 0; round < bench->rounds; round++)
        for (size_t i = 0; i < COUNTS; i++) {
            for (unsigned call = 0; call < IN_TURN; call++)
                samples_add(&calls[i], server_evaluate_in(&server, names[call % counts[i]],
                                                          "(+ 1 2)", "=> 3"));
            samples_end_round(&calls[i]);
        }
    report_heading(&bench->report, "As sessions grow: each has its own processes, and pays in "
                                   "memory and not in time");
    for (size_t i = 0; i < COUNTS; i++) {
        char name[128];
        struct figure figure = {name, UNIT_MS, MEDIAN_OF(&calls[i])};
        snprintf(name, sizeof name, "%u session%s in turn: `(+ 1 2)`, back to back, p50", counts[i],
                 i ? "s" : "");
        if (i)
            figure.baselines[0] = (struct baseline){"one session", samples_median(&calls[0]), 0};
        report_figure(&bench->report, &figure);
    }
    for (size_t i = 0; i < COUNTS; i++) {
        char name[128];
        const bool most = i == COUNTS - 1;
        snprintf(name, sizeof name, "memory of %u session%s of one call, %.0f processes", counts[i],
                 i ? "s" : "", samples_median(&processes[i]));
        report_figure(&bench->report, &(struct figure){name, UNIT_MIB, MEDIAN_OF(&memory[i]),
                                                       .at_most = most ? 100 : 0});
        samples_free(&calls[i]);
        samples_free(&memory[i]);
        samples_free(&processes[i]);
    }
    server_finish(&server);
}

/* --- kept states --- */

static void grow_history(struct bench *bench) {
    static const char *const lengths[] = {"0", "1", "2", "4", "8"};
    enum { LENGTHS = sizeof lengths / sizeof *lengths };
    struct server servers[LENGTHS];
    struct samples calls[LENGTHS] = {0}, memory[LENGTHS] = {0};
    for (size_t i = 0; i < LENGTHS; i++)
        server_ready_eclave(&servers[i], bench,
                            (const char *const[]){"--session-history", lengths[i], NULL});
    for (unsigned round = 0; round < bench->rounds; round++)
        for (size_t i = 0; i < LENGTHS; i++)
            call_often(&servers[i], NULL, CALLS, &calls[i]);
    sleep_ms(SETTLE_MS);
    report_heading(&bench->report, "As more states are kept: the pages that a call has written for "
                                   "each, and one parked process");
    for (size_t i = 0; i < LENGTHS; i++) {
        char name[128];
        samples_add(&memory[i], footprint_mib(servers[i].peer.pid));
        snprintf(name, sizeof name, "history of %s: `(+ 1 2)`, back to back, p50; %.1f MiB",
                 lengths[i], samples_median(&memory[i]));
        struct figure figure = {name, UNIT_MS, MEDIAN_OF(&calls[i])};
        if (i)
            figure.baselines[0] = (struct baseline){"a history of 0", samples_median(&calls[0]), 0};
        report_figure(&bench->report, &figure);
        server_finish(&servers[i]);
    }
    for (size_t i = 0; i < LENGTHS; i++) {
        samples_free(&calls[i]);
        samples_free(&memory[i]);
    }
}

/* --- calls in flight --- */

/* COUNT calls of CODE, on SESSIONS in turn, or on the tool's own session if it is 0, in one write.
 * Returns the milliseconds until the last answer, or -1. */
static double call_at_once(struct server *server, unsigned count, unsigned sessions,
                           const char *code) {
    struct buffer lines = buffer_make(1 << 20);
    char session[40] = "";
    for (unsigned i = 0; i < count; i++) {
        if (sessions)
            snprintf(session, sizeof session, ",\"session\":\"s%u\"", i % sessions);
        buffer_append_format(&lines,
                             "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":"
                             "{\"name\":\"evaluate-lisp\",\"arguments\":{\"code\":\"%s\"%s}}}\n",
                             ++server->last_id, code, session);
    }
    double begin = now_ms();
    bool good = peer_send(&server->peer, lines.data, lines.length) &&
                peer_await_lines(&server->peer, count);
    double ms = now_ms() - begin;
    for (unsigned i = 0; good && i < count; i++) {
        const char *line = peer_line(&server->peer, NULL);
        good = line && (strstr(line, "=> ") || peer_fail(&server->peer, "got %.300s", line));
    }
    buffer_free(&lines);
    return good ? ms : -1;
}

static void grow_pipelines(struct bench *bench) {
    static const unsigned counts[] = {1, 16, 256, 2000};
    enum { COUNTS = sizeof counts / sizeof *counts };
    struct samples calls[COUNTS] = {0}, without[COUNTS] = {0};
    struct server server, bare;
    server_ready_eclave(&server, bench, NULL);
    server_ready_eclave(&bare, bench, without_checkpoints);
    call_at_once(&server, WARM_UP_CALLS, 0, "(+ 1 2)");
    call_at_once(&bare, WARM_UP_CALLS, 0, "(+ 1 2)");
    for (unsigned round = 0; round < bench->rounds; round++)
        for (size_t i = 0; i < COUNTS; i++) {
            samples_add(&calls[i], call_at_once(&server, counts[i], 0, "(+ 1 2)"));
            samples_add(&without[i], call_at_once(&bare, counts[i], 0, "(+ 1 2)"));
            samples_end_round(&calls[i]);
            samples_end_round(&without[i]);
        }
    report_heading(&bench->report, "As calls in flight on one session grow: all are answered, in "
                                   "order, each after its checkpoint");
    for (size_t i = 0; i < COUNTS; i++) {
        char name[128];
        snprintf(name, sizeof name, "%u call%s in one write: until the last answer", counts[i],
                 i ? "s" : "");
        report_figure(&bench->report,
                      &(struct figure){
                          name, UNIT_MS, MEDIAN_OF(&calls[i]),
                          .baselines = {{"without checkpoints", samples_median(&without[i]), 0}}});
        samples_free(&calls[i]);
        samples_free(&without[i]);
    }
    server_finish(&server);
    server_finish(&bare);
}

#define FIB "(labels ((f (n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2)))))) (f 17))"

/* Sixteen sessions, each with calls in flight: on all processors, and on one. */
static void grow_parallel(struct bench *bench) {
    enum { SESSIONS = 16, TOTAL = 160 };
    struct samples all = {0}, one = {0};
    struct server server, pinned = {.tool = "evaluate-lisp"};
    const char *const arguments[] = {"taskset", "-c", "0", bench->binary, NULL};
    server_ready_eclave(&server, bench, NULL);
    peer_start(&pinned.peer, "eclave on one processor", &bench->report, arguments);
    server_initialize(&pinned);
    call_at_once(&server, TOTAL, SESSIONS, FIB);
    call_at_once(&pinned, TOTAL, SESSIONS, FIB);
    for (unsigned round = 0; round < bench->rounds; round++) {
        samples_add(&all, call_at_once(&server, TOTAL, SESSIONS, FIB));
        samples_add(&one, call_at_once(&pinned, TOTAL, SESSIONS, FIB));
        samples_end_round(&all);
        samples_end_round(&one);
    }
    report_heading(&bench->report, "As sessions run at a time: they share nothing but the "
                                   "supervisor, and use all processors");
    report_figure(&bench->report,
                  &(struct figure){"16 sessions, 160 calls in one write: until the last answer",
                                   UNIT_MS, MEDIAN_OF(&all),
                                   .baselines = {{"the same on one processor", samples_median(&one),
                                                  1.25 / (double)sysconf(_SC_NPROCESSORS_ONLN)}}});
    samples_free(&all);
    samples_free(&one);
    server_finish(&server);
    server_finish(&pinned);
}

/* --- workers of a batch --- */

static bool write_snippets(struct bench *bench, char path[64], unsigned count, const char *code) {
    snprintf(path, 64, "/tmp/eclave-bench-XXXXXX");
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file) {
        report_problem(&bench->report, "%s cannot be made", path);
        return false;
    }
    for (unsigned i = 0; i < count; i++)
        fprintf(file, "{\"id\":%u,\"code\":\"%s\"}\n", i, code);
    fclose(file);
    return true;
}

static void grow_batch(struct bench *bench) {
    static const char *const jobs[] = {"1", "2", "4", "8"};
    enum { JOBS = sizeof jobs / sizeof *jobs, SNIPPETS = 300 };
    struct samples each[JOBS] = {0}, pinned = {0};
    char path[64];
    if (!write_snippets(bench, path, SNIPPETS, FIB))
        return;
    for (unsigned round = 0; round < bench->rounds; round++) {
        const char *const on_one[] = {"taskset", "-c", "0",  bench->binary, "batch",
                                      "-j",      "1",  path, NULL};
        double one_ms = run_to_end_ms(&bench->report, on_one);
        samples_add(&pinned, one_ms < 0 ? one_ms : one_ms / SNIPPETS);
        samples_end_round(&pinned);
        for (size_t i = 0; i < JOBS; i++) {
            const char *const arguments[] = {bench->binary, "batch", "-j", jobs[i], path, NULL};
            double ms = run_to_end_ms(&bench->report, arguments);
            samples_add(&each[i], ms < 0 ? ms : ms / SNIPPETS);
            samples_end_round(&each[i]);
        }
    }
    report_heading(&bench->report, "As workers of a batch grow: as fast as there are "
                                   "processors, of which `-j 1` uses more than one as well");
    for (size_t i = 0; i < JOBS; i++) {
        char name[128];
        snprintf(name, sizeof name, "a snippet of some milliseconds, `-j %s`", jobs[i]);
        struct figure figure = {name, UNIT_MS, MEDIAN_OF(&each[i])};
        figure.baselines[0] =
            (struct baseline){"`-j 1` on one processor", samples_median(&pinned), 0};
        if (i)
            figure.baselines[1] = (struct baseline){"`-j 1`", samples_median(&each[0]), 0};
        report_figure(&bench->report, &figure);
    }
    for (size_t i = 0; i < JOBS; i++)
        samples_free(&each[i]);
    samples_free(&pinned);
    unlink(path);
}

/* Sixteen workers that sleep in place of working, so that two processors are enough: what the
 * supervisor does for each is all that one thread has to do. */
static void grow_fake_workers(struct bench *bench) {
    static const char *const jobs[] = {"1", "4", "16"};
    enum { JOBS = sizeof jobs / sizeof *jobs, SNIPPETS = 300, WORK_MS = 20 };
    struct samples own[JOBS] = {0}, all[JOBS] = {0};
    char path[64];
    if (!write_snippets(bench, path, SNIPPETS, "(sleep 0.02)"))
        return;
    for (unsigned round = 0; round < bench->rounds; round++)
        for (size_t i = 0; i < JOBS; i++) {
            const char *const arguments[] = {bench->binary, "batch", "-j", jobs[i], path, NULL};
            double own_ms, ms = run_to_end_own_ms(&bench->report, arguments, &own_ms);
            samples_add(&own[i], own_ms < 0 ? own_ms : own_ms / SNIPPETS);
            samples_add(&all[i], ms < 0 ? ms : ms / SNIPPETS);
            samples_end_round(&own[i]);
            samples_end_round(&all[i]);
        }
    report_heading(&bench->report, "As workers of a batch grow, each a simulated processor that "
                                   "is busy for 20 ms: the supervisor's part stays the same");
    for (size_t i = 0; i < JOBS; i++) {
        char name[128];
        snprintf(name, sizeof name, "the supervisor's own time for a snippet, `-j %s`", jobs[i]);
        report_figure(&bench->report,
                      &(struct figure){name, UNIT_MS, MEDIAN_OF(&own[i]),
                                       .baselines = {{"the work of 20 ms", WORK_MS, 1.0 / 20},
                                                     {"the time between two results",
                                                      samples_median(&all[i]), 0}}});
        samples_free(&own[i]);
        samples_free(&all[i]);
    }
    unlink(path);
}

void section_growth(struct bench *bench) {
    grow_live_data(bench);
    grow_sessions(bench);
    grow_history(bench);
    grow_pipelines(bench);
    grow_parallel(bench);
    grow_batch(bench);
    grow_fake_workers(bench);
}
