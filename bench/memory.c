/* The memory of an idle server, of each checkpoint and of each session. */
#include "bench/bench.h"
#include "bench/footprint.h"
#include "bench/server.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SETTLE_MS = 300,  /* until the spare worker and the checkpoint exist */
    CALL_GAP_MS = 20, /* until the checkpoint of a call exists */
    CHECKPOINTS = 6,  /* made between the two samples; the default history keeps them all */
    SESSIONS = 40,    /* opened between the two samples */
    MIB_PER_GIB = 1024
};

struct memory {
    struct samples supervisor, together, processes;
    struct samples plain_ecl, reference;
    struct samples checkpoint, checkpoint_listed, session;
};

/* A plain ECL that has evaluated the same and waits. */
static void measure_plain_ecl(struct bench *bench, struct memory *memory) {
    static const char *const arguments[] = {"ecl", "--norc", "--eval", "(print (+ 1 2))", NULL};
    struct peer ecl;
    peer_start(&ecl, "ecl", &bench->report, arguments);
    sleep_ms(SETTLE_MS);
    samples_add(&memory->plain_ecl, footprint_mib(ecl.pid));
    peer_finish(&ecl);
}

static void measure_reference(struct bench *bench, struct memory *memory) {
    struct server server;
    server_ready_reference(&server, bench);
    server_call(&server, "{\"message\":\"3\"}", "Echo: 3");
    sleep_ms(SETTLE_MS);
    samples_add(&memory->reference, footprint_resident_mib(server.peer.pid));
    server_finish(&server);
}

static void define_something(struct server *server, const char *session, unsigned number) {
    char code[128];
    snprintf(code, sizeof code, "(progn (defun f%u (x) (+ x %u)) (f%u 1))", number, number, number);
    server_evaluate_in(server, session, code, "=> ");
}

/* The memory of the first session in list-sessions, in MiB. */
static double listed_mib(struct server *server) {
    static const char label[] = "memory ";
    if (server_call_tool(server, "list-sessions", "{}", label) < 0)
        return -1;
    if (strstr(server->answer, "more than once"))
        return -1; /* not the proportional share, which cannot be read */
    return strtod(strstr(server->answer, label) + sizeof label - 1, NULL);
}

static void measure_checkpoints(struct server *server, struct memory *memory) {
    define_something(server, "main", 0);
    sleep_ms(SETTLE_MS);
    double before = footprint_mib(server->peer.pid), listed_before = listed_mib(server);
    for (unsigned i = 1; i <= CHECKPOINTS; i++) {
        define_something(server, "main", i);
        sleep_ms(CALL_GAP_MS);
    }
    sleep_ms(SETTLE_MS);
    double after = footprint_mib(server->peer.pid), listed_after = listed_mib(server);
    if (server->peer.failed)
        return;
    if (before >= 0 && after >= 0)
        samples_add(&memory->checkpoint, (after - before) / CHECKPOINTS);
    if (listed_before >= 0 && listed_after >= 0)
        samples_add(&memory->checkpoint_listed, (listed_after - listed_before) / CHECKPOINTS);
}

/* Each with one definition and its checkpoint. */
static void measure_sessions(struct server *server, struct memory *memory) {
    char name[SESSION_NAME_MAX];
    double before = footprint_mib(server->peer.pid);
    for (unsigned i = 0; i < SESSIONS; i++) {
        server_open_session(server, NULL, name);
        define_something(server, name, i);
        sleep_ms(CALL_GAP_MS);
    }
    sleep_ms(SETTLE_MS);
    double after = footprint_mib(server->peer.pid);
    if (!server->peer.failed && before >= 0 && after > before)
        samples_add(&memory->session, (after - before) / SESSIONS);
}

static void measure_eclave(struct bench *bench, struct memory *memory) {
    static const char *const options[] = {"--session-max", "64", NULL};
    struct server server;
    server_ready_eclave(&server, bench, options);
    server_call(&server, CODE("(+ 1 2)"), "=> 3");
    sleep_ms(SETTLE_MS);
    if (!server.peer.failed) {
        samples_add(&memory->supervisor, footprint_resident_mib(server.peer.pid));
        samples_add(&memory->together, footprint_mib(server.peer.pid));
        samples_add(&memory->processes, footprint_processes(server.peer.pid));
    }
    measure_checkpoints(&server, memory);
    measure_sessions(&server, memory);
    server_finish(&server);
}

static void run_round(struct bench *bench, struct memory *memory) {
    measure_plain_ecl(bench, memory);
    if (bench->reference)
        measure_reference(bench, memory);
    measure_eclave(bench, memory);
    samples_end_round(&memory->supervisor);
    samples_end_round(&memory->together);
    samples_end_round(&memory->checkpoint);
    samples_end_round(&memory->checkpoint_listed);
}

static void report_memory(struct bench *bench, const struct memory *memory) {
    struct report *report = &bench->report;
    const double ecl = samples_median(&memory->plain_ecl);
    const double reference = samples_median(&memory->reference);
    char name[128];
    report_heading(report, "Memory after one call, idle");
    report_figure(report, &(struct figure){"the supervisor, resident", UNIT_MIB,
                                           MEDIAN_OF(&memory->supervisor), .at_most = 4,
                                           .baselines = {{"the reference server", reference, 0}}});
    snprintf(name, sizeof name, "everything together, proportional share of %.0f processes",
             samples_median(&memory->processes));
    report_figure(report,
                  &(struct figure){name, UNIT_MIB, MEDIAN_OF(&memory->together), .at_most = 24,
                                   .baselines = {{"one plain ECL", ecl, 0},
                                                 {"the reference server", reference, 0}}});
    report_figure(report, &(struct figure){"each checkpoint, with one function defined", UNIT_MIB,
                                           MEDIAN_OF(&memory->checkpoint),
                                           .baselines = {{"one plain ECL", ecl, 0}}});
    report_figure(report, &(struct figure){"the same, as list-sessions counts it", UNIT_MIB,
                                           MEDIAN_OF(&memory->checkpoint_listed)});
    double each = samples_median(&memory->session);
    report_figure(report, &(struct figure){"sessions per gibibyte, each with its checkpoint",
                                           UNIT_COUNT, MIB_PER_GIB / each,
                                           .baselines = {{"plain ECLs", MIB_PER_GIB / ecl, 0}}});
}

void section_memory(struct bench *bench) {
    struct memory memory = {0};
    for (unsigned round = 0; round < bench->rounds; round++)
        run_round(bench, &memory);
    if (memory.together.count == 0 && memory.supervisor.count)
        report_note(&bench->report, "Proportional shares can be read by root only.");
    report_memory(bench, &memory);
    samples_free(&memory.supervisor);
    samples_free(&memory.together);
    samples_free(&memory.processes);
    samples_free(&memory.plain_ecl);
    samples_free(&memory.reference);
    samples_free(&memory.checkpoint);
    samples_free(&memory.checkpoint_listed);
    samples_free(&memory.session);
}
