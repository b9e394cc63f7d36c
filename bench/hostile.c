/* The longest wait for `ping` while two sessions do their worst, against the longest while they are
 * idle, on the same server. */
#include "bench/bench.h"
#include "bench/server.h"
#include <stdio.h>
#include <string.h>

enum { LOOK_MS = 400, PAUSE_MS = 2, HOSTILE = 2, CODE_MAX = 2048 };

#define FOREIGN(name, returns, types, values)                                                      \
    "(si:call-cfun (si:find-foreign-symbol \\\"" name "\\\" :default :pointer-void 0) " returns    \
    " '" types " " values ")"

/* Splits a mapping into 64,000 ones. */
#define MAPPINGS                                                                                   \
    "(let ((a " FOREIGN(                                                                           \
        "mmap", ":unsigned-long", "(:long :long :int :int :int :long)",                            \
        "(list 0 (* 4096 64000) 3 16418 -1 0)") "))"                                               \
                                                "(loop for i below 64000 by 2 do " FOREIGN(        \
                                                    "mprotect", ":int",                            \
                                                    "(:unsigned-long :long :int)",                 \
                                                    "(list (+ a (* i 4096)) 4096 1)") "))"
#define KILL_INIT FOREIGN("kill", ":int", "(:int :int)", "(list 1 9)")
#define ABORT     "(ash 1 (expt 2 40))"

static const struct attack {
    const char *name;
    const char *prepare; /* evaluated once in each session; NULL: nothing */
    const char *code;    /* evaluated again and again */
    const char *more;    /* further arguments of the call */
    const char *tool; /* a tool called in place of evaluate-lisp, without arguments; NULL: none */
} attacks[] = {
    {.name = "an endless loop, timing out", .code = "(loop)", .more = ",\"timeout\":0.05"},
    {.name = "garbage without end",
     .code = "(loop (make-array 100000))",
     .more = ",\"timeout\":0.2"},
    {.name = "heap exhaustion", .code = "(let (l) (loop (push (make-array 1000000) l)))"},
    {.name = "stack exhaustion", .code = "(labels ((f (n) (1+ (f n)))) (f 1))"},
    {.name = "a flood of output", .code = "(loop (write-string (make-string 100000)))"},
    {.name = "a flood of error output",
     .code = "(loop (write-string (make-string 100000) *error-output*))"},
    {.name = "output in single bytes",
     .code = "(dotimes (i 20000) (write-char #\\\\a) (finish-output))"},
    {.name = "9 MB of output", .code = "(dotimes (i 90) (write-string (make-string 100000)))"},
    {.name = "refused system calls", .code = "(dotimes (i 5000) (probe-file \\\"/x\\\"))"},
    {.name = "more refused calls than allowed",
     .code = "(loop (ignore-errors (probe-file \\\"/x\\\")))"},
    {.name = "crashes", .code = ABORT},
    {.name = "exits", .code = "(ext:quit 1)"},
    {.name = "violations", .code = KILL_INIT},
    {.name = "a long value", .code = "(make-string 10000000)"},
    {.name = "many values",
     .code = "(values-list (loop for i below 60 collect (make-string 50000)))"},
    {.name = "many warnings", .code = "(dotimes (i 10000) (warn (make-string 1000)))"},
    {.name = "a long error", .code = "(error (make-string 10000000))"},
    {.name = "checkpoints of 200 MB",
     .prepare = "(defparameter *l* (make-array 25000000 :initial-element 0))",
     .code = "(fill *l* 1)"},
    {.name = "crashes with 64,000 mappings", .prepare = MAPPINGS, .code = ABORT},
    {.name = "list-sessions with 64,000 mappings",
     .prepare = MAPPINGS,
     .code = "1",
     .tool = "list-sessions"},
};

enum { ATTACKS = sizeof attacks / sizeof *attacks };

struct trial {
    struct server server;
    const struct attack *attack;
    char sessions[HOSTILE][SESSION_NAME_MAX];
    bool busy[HOSTILE];
};

static void send_attack(struct trial *trial, size_t at) {
    const struct attack *attack = trial->attack;
    char line[CODE_MAX];
    int length = snprintf(
        line, sizeof line,
        "{\"jsonrpc\":\"2.0\",\"id\":\"h%zu\",\"method\":\"tools/call\",\"params\":"
        "{\"name\":\"evaluate-lisp\",\"arguments\":{\"session\":\"%s\",\"code\":\"%s\"%s}}}\n",
        at, trial->sessions[at], attack->code, attack->more ? attack->more : "");
    if (attack->tool)
        length = snprintf(line, sizeof line,
                          "{\"jsonrpc\":\"2.0\",\"id\":\"h%zu\",\"method\":\"tools/call\","
                          "\"params\":{\"name\":\"%s\",\"arguments\":{}}}\n",
                          at, attack->tool);
    trial->busy[at] = peer_send(&trial->server.peer, line, (size_t)length);
}

/* Takes the answers until that to a ping, which was sent, and renews the attack that was answered.
 */
static bool await_ping(struct trial *trial, bool attacking) {
    const char *line;
    while ((line = peer_line(&trial->server.peer, NULL)) != NULL) {
        if (strstr(line, "\"id\":\"ping\""))
            return true;
        for (size_t i = 0; i < HOSTILE; i++) {
            char id[16];
            snprintf(id, sizeof id, "\"id\":\"h%zu\"", i);
            if (!strstr(line, id))
                continue;
            trial->busy[i] = false;
            if (attacking)
                send_attack(trial, i);
        }
    }
    return false;
}

static double longest_ping(struct trial *trial, bool attacking) {
    static const char ping[] = "{\"jsonrpc\":\"2.0\",\"id\":\"ping\",\"method\":\"ping\"}\n";
    double longest = 0, end = now_ms() + LOOK_MS;
    for (size_t i = 0; attacking && i < HOSTILE; i++)
        send_attack(trial, i);
    while (now_ms() < end) {
        double begin = now_ms();
        if (!peer_send(&trial->server.peer, ping, sizeof ping - 1) || !await_ping(trial, attacking))
            return -1;
        double ms = now_ms() - begin;
        longest = ms > longest ? ms : longest;
        sleep_ms(PAUSE_MS);
    }
    return longest;
}

static void measure(struct bench *bench, const struct attack *attack, struct samples *rest,
                    struct samples *hostile) {
    static const char *const options[] = {"--session-history", "2", NULL};
    struct trial trial = {.attack = attack};
    server_ready_eclave(&trial.server, bench, options);
    for (size_t i = 0; i < HOSTILE; i++) {
        server_open_session(&trial.server, NULL, trial.sessions[i]);
        server_evaluate_in(&trial.server, trial.sessions[i],
                           attack->prepare ? attack->prepare : "1", "\"isError\":false");
    }
    samples_add(rest, longest_ping(&trial, false));
    samples_add(hostile, longest_ping(&trial, true));
    server_finish(&trial.server);
}

void section_hostile(struct bench *bench) {
    struct samples rest = {0}, hostile[ATTACKS] = {{0}};
    for (unsigned round = 0; round < bench->rounds; round++) {
        for (size_t i = 0; i < ATTACKS; i++) {
            measure(bench, &attacks[i], &rest, &hostile[i]);
            samples_end_round(&hostile[i]);
        }
        samples_end_round(&rest);
    }
    report_heading(&bench->report, "The longest `ping` while two sessions do their worst");
    for (size_t i = 0; i < ATTACKS; i++) {
        report_figure(&bench->report,
                      &(struct figure){attacks[i].name, UNIT_MS, MEDIAN_OF(&hostile[i]),
                                       .baselines = {{"the longest with two idle sessions",
                                                      samples_percentile(&rest, 100), 3}}});
        samples_free(&hostile[i]);
    }
    samples_free(&rest);
}
