/* Error response stability: the server answers each malformed or invalid request with a well-formed
 * JSON-RPC error of the right code and goes on serving. The codes are in tests/protocol/. */
#include "tests/support/eras.h"
#include "tests/support/generate.h"
#include "tests/support/play.h"
#include "tests/support/process.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define VALID_REQUEST "{\"jsonrpc\":\"2.0\",\"id\":\"valid\",\"method\":\"tools/list\"}"

/* Each time on a fresh server: an error, then a served request. */
Test(error_response_stability, any_invalid_request_is_refused_and_the_next_request_served) {
    struct generator generator = generate_for("any_invalid_request");
    size_t trials = random_trials(100, 500);
    for (size_t trial = 0; trial < trials; trial++) {
        struct script script = {0};
        generate_handshake(NULL, &script);
        generate_invalid_lines(&generator, 1, &script);
        script_add_line(&script, VALID_REQUEST);
        struct played played = play_expect(&(struct play){.in_turn = true}, &script);
        cr_assert_eq(played.errors, 1);
        cr_assert_eq(played.results, 2); /* initialize and the valid request */
        script_free(&script);
    }
}

/* The resources of the server at one moment. */
struct holding {
    long memory_kb;
    int descriptors;
    size_t children;
};

struct soak {
    struct holding early, late;
    size_t pauses;
};

static struct holding measure(struct client *client) {
    pid_t pids[256];
    pid_t server = client_pid(client);
    return (struct holding){.memory_kb = process_status(server, "RssAnon"),
                            .descriptors = process_descriptors(server),
                            .children = client_descendants(client, pids, 256)};
}

enum { WARM_UP_PAUSES = 3 };

static void measure_at_pause(struct client *client, size_t sent, void *context) {
    (void)sent;
    struct soak *soak = context;
    soak->late = measure(client);
    if (++soak->pauses == WARM_UP_PAUSES)
        soak->early = soak->late;
}

/* The slack covers buffers, which keep the size they once grew to, and the sanitizer's own memory.
 * A leak on each of thousands of lines is far above it. */
#ifdef __SANITIZE_ADDRESS__
enum { SANITIZER_KB = 2048 };
#else
enum { SANITIZER_KB = 0 };
#endif

static void expect_flat(const struct soak *soak, long slack_kb) {
    cr_assert_gt(soak->pauses, WARM_UP_PAUSES);
    cr_assert_leq(soak->late.memory_kb, soak->early.memory_kb + slack_kb + SANITIZER_KB,
                  "memory grew from %ld kB to %ld kB", soak->early.memory_kb, soak->late.memory_kb);
    /* The workers start during the conversation, perhaps after the first measurement. */
    enum { LATE_DESCRIPTORS = 8, LATE_CHILDREN = 2 };
    cr_assert_leq(soak->late.descriptors, soak->early.descriptors + LATE_DESCRIPTORS,
                  "descriptors grew from %d to %d", soak->early.descriptors,
                  soak->late.descriptors);
    cr_assert_leq(soak->late.children, soak->early.children + LATE_CHILDREN,
                  "processes grew from %zu to %zu", soak->early.children, soak->late.children);
}

/* 10,000 invalid requests in sequence, a valid one among every hundred and one at the end. */
static void run_soak(size_t invalid, bool in_turn, const char *name) {
    struct generator generator = generate_for(name);
    struct script script = {0};
    struct soak soak = {.pauses = 0};
    generate_handshake(NULL, &script);
    size_t valid = 0;
    for (size_t sent = 0; sent < invalid; sent += 100, valid++) {
        generate_invalid_lines(&generator, 100, &script);
        script_add_line(&script, VALID_REQUEST);
    }
    struct play play = {.in_turn = in_turn,
                        .pause_every = invalid / 10,
                        .at_pause = measure_at_pause,
                        .context = &soak};
    struct played played = play_expect(&play, &script);
    cr_assert_eq(played.errors, invalid);
    cr_assert_eq(played.results, 1 + valid);
    cr_assert_eq(played.open, 0);
    expect_flat(&soak, in_turn ? 512 : 1024);
    script_free(&script);
}

Test(error_response_stability, ten_thousand_invalid_requests_in_a_stream) {
    run_soak(10000, false, "ten_thousand_in_a_stream");
}

Test(error_response_stability, ten_thousand_invalid_requests_one_after_another) {
    run_soak(10000, true, "ten_thousand_one_after_another");
}

/* Sends COUNT invalid lines, each of which is answered with one error. */
static void send_invalid(struct client *client, size_t count) {
    struct generator generator = generate_for("lisp_state");
    struct script script = {0};
    generate_invalid_lines(&generator, count, &script);
    for (size_t i = 0; i < script.count; i++) {
        client_send(client, script.lines[i].bytes, script.lines[i].length);
        client_send(client, "\n", 1);
        expect_contains(client_read_line(client, NULL), "\"error\"");
    }
    script_free(&script);
}

/* Variables of different kinds, functions, classes, packages, and the last of many calls. */
Test(error_response_stability, lisp_state_outlives_ten_thousand_invalid_requests) {
    static const struct {
        const char *definition, *use, *text;
    } state[] = {
        {"(defvar *n* 123456789012345678901234567890)", "(* 2 *n*)",
         "=> 246913578024691357802469135780"},
        {"(defparameter *s* (format nil \"~a\" (code-char 955)))", "*s*", "=> \"λ\""},
        {"(defconstant +r+ 1/3)", "(+ +r+ +r+)", "=> 2/3"},
        {"(defvar *h* (make-hash-table :test #'equal))",
         "(progn (setf (gethash \"a\" *h*) 1) (hash-table-count *h*))", "=> 1"},
        {"(let ((n 0)) (defun tick () (incf n)))", "(list (tick) (tick))", "=> (1 2)"},
        {"(defstruct point x y)", "(point-y (make-point :x 1 :y 2))", "=> 2"},
        {"(defclass box () ((v :initarg :v :accessor v)))", "(v (make-instance 'box :v 7))",
         "=> 7"},
        {"(defgeneric area (x)) (defmethod area ((x integer)) (* x x))", "(area 9)", "=> 81"},
        {"(defmacro twice (x) `(list ,x ,x))", "(twice 5)", "=> (5 5)"},
        {"(defpackage :own (:use :cl) (:export #:f)) (defun own::f () :own)", "(own:f)", "=> :OWN"},
        {"(defvar *l* (list 1 2 3))", "(progn (push 0 *l*) *l*)", "=> (0 1 2 3)"},
        {"(defvar *v* (make-array 3 :initial-element 1.5d0))", "(reduce #'+ *v*)", "=> 4.5d0"},
    };
    EACH_KIND(era) {
        struct client *client = era_start(era, NULL);
        const char *session = NULL;
        for (size_t i = 0; i < COUNT_OF(state); i++) {
            struct evaluation evaluation = era_evaluate(client, era, session, state[i].definition);
            cr_assert_eq(evaluation.exit_code, 0, "%s", evaluation.line);
            if (era->modern && !session)
                session = era_handle(client, &evaluation);
        }
        send_invalid(client, 10000);
        for (size_t i = 0; i < COUNT_OF(state); i++) {
            struct evaluation evaluation = era_evaluate(client, era, session, state[i].use);
            expect_contains(evaluation.text, state[i].text);
        }
        client_finish(client);
    }
}
