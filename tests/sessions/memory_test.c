/* A session that dropped a lot of memory gives it back, and so do the states that are kept of it.
 */
#include "tests/support/available.h"
#include "tests/support/client_sessions.h"
#include "tests/support/family.h"
#include "tests/support/lines.h"
#include "tests/support/process.h"
#include "tests/support/random.h"

enum { LIGHT_MIB = 40, HEAVY_MIB = 200, CALLS_MAX = 12 };

static const char *const small_heap[] = {"--session-memory-mb", "64", NULL};
static const struct client_options small = {.arguments = small_heap, .watchdog_s = 120};
static const char *const short_history[] = {"--session-history", "2", NULL};
static const struct client_options options = {.arguments = short_history, .watchdog_s = 120};

/* Memory of the whole session, and of its head. */
struct weight {
    double session_mib, head_mib;
    bool proportional;
};

static struct weight weigh(struct client *client) {
    struct session_row row;
    pid_t head = family_head(client, NULL);
    client_session_settle(client, NULL);
    cr_assert(client_session_row(client, NULL, &row));
    cr_expect(row.proportional || !available_inspection(), "shared pages are counted in full");
    return (struct weight){row.memory_mib, (double)process_status(head, "VmRSS") / 1024,
                           row.proportional};
}

/* A server that cannot inspect its workers counts shared pages in each. */
static bool is_light(struct weight weight) {
    return weight.head_mib < LIGHT_MIB && (!weight.proportional || weight.session_mib < LIGHT_MIB);
}

/* Calls until the session is light again. */
static void expect_light(struct client *client) {
    struct weight weight = weigh(client);
    for (int calls = 0; calls < CALLS_MAX && !is_light(weight); calls++)
        weight = weigh(client);
    cr_assert(is_light(weight), "it still uses %.1f MiB, its head %.1f MiB", weight.session_mib,
              weight.head_mib);
}

Test(memory, dropped_memory_is_given_back) {
    static const char *const values[] = {
        "(make-array 268435456 :element-type '(unsigned-byte 8) :initial-element 1)",
        "(make-list 16000000)",
        "(map-into (make-array 800000) (lambda () (make-array 40)))",
    };
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        struct client *client = client_start_ready(&options, NULL);
        struct evaluation used = client_evaluate_with(
            client, formatted("{\"timeout\":120,\"code\":\"(defvar *big* %s)\"}", values[i]));
        cr_assert_not(used.is_error || used.error_code, "%s", used.line);
        cr_assert_gt(weigh(client).session_mib, HEAVY_MIB, "it did not use that much");
        cr_assert_not(client_evaluate(client, "(setf *big* nil)").is_error);
        expect_light(client);
        client_finish(client);
    }
}

Test(memory, memory_that_a_call_used_only_itself_is_given_back) {
    struct client *client = client_start_ready(&options, NULL);
    for (int i = 0; i < 3; i++)
        cr_assert_not(client_evaluate_with(client,
                                           "{\"timeout\":120,\"code\":\"(length (make-array "
                                           "268435456 :element-type '(unsigned-byte 8) "
                                           ":initial-element 1))\"}")
                          .is_error);
    expect_light(client);
    client_finish(client);
}

Test(memory, memory_of_a_call_that_was_rolled_back_is_given_back) {
    struct client *client = client_start_ready(&options, NULL);
    client_evaluate(client, "(defvar *x* 1)");
    struct evaluation evaluation = client_evaluate_with(
        client, "{\"timeout\":120,\"code\":\"(defvar *big* (make-array 268435456 :element-type "
                "'(unsigned-byte 8) :initial-element 1)) (ext:quit 1)\"}");
    cr_assert_eq(evaluation.exit_code, 1, "%s", evaluation.line);
    struct weight weight = weigh(client);
    cr_assert(is_light(weight), "it uses %.1f MiB, its head %.1f MiB", weight.session_mib,
              weight.head_mib);
    client_finish(client);
}

Test(memory, checkpoints_share_unchanged_memory) {
    struct client *client = client_start_ready(&options, NULL);
    client_evaluate_with(client, "{\"timeout\":120,\"code\":\"(defvar *big* (make-array 134217728 "
                                 ":element-type '(unsigned-byte 8) :initial-element 1))\"}");
    for (int i = 0; i < 4; i++)
        client_evaluate(client, "(length *big*)");
    struct weight weight = weigh(client);
    client_finish(client);
    if (!weight.proportional)
        cr_skip_test("the server cannot inspect its workers here");
    cr_assert_lt(weight.session_mib, 200, "four processes hold the 128 MiB: %.1f MiB",
                 weight.session_mib);
}

/* What the worker keeps in its own memory must not look like a reference. */
Test(memory, no_dropped_object_stays) {
    static const char *const code[] = {
        "(defvar *weak* (make-array 60000))",
        "(dotimes (i 60000)"
        "  (setf (aref *weak* i)"
        "        (ext:make-weak-pointer"
        "         (ecase (mod i 4)"
        "           (0 (make-array (mod i 300)))"
        "           (1 (make-array (mod i 1000) :element-type '(unsigned-byte 8)))"
        "           (2 (lambda () i))"
        "           (3 (make-symbol \"X\"))))))",
        "(progn (si:gc t) (count-if #'ext:weak-pointer-value *weak*))",
    };
    struct client *client = client_start_ready(&options, NULL);
    for (size_t i = 0; i + 1 < COUNT_OF(code); i++)
        cr_assert_not(client_evaluate(client, code[i]).is_error);
    client_evaluate(client, "(+ 1 1)"); /* whose stack is not that of the call before */
    const struct evaluation last = client_evaluate(client, code[COUNT_OF(code) - 1]);
    cr_assert_str_eq(last.text, "=> 0", "%s", last.line);
    client_finish(client);
}

/* The condition comes first, the kill second. */
Test(memory, an_exhausted_heap_is_a_condition_each_time) {
    enum { OFTEN_SEEN = 4 };
    static const char *const endless[] = {
        "(loop collect (list 1 2 3) while t)",
        "(let ((l nil)) (loop (push (make-instance 'standard-object) l)))",
        "(let ((l nil)) (loop (push (let ((x l)) (lambda () x)) l)))",
        "(let ((l nil)) (loop (push (make-array 1000) l)))",
        "(loop collect nil)",
        "(let ((l nil)) (loop (setf l (list l l))))",
        "(let ((l nil)) (loop (push (make-string 100000) l)))",
        "(let ((h (make-hash-table))) (loop for i from 0 do (setf (gethash i h) (list i))))",
        "(let ((h (make-hash-table :test 'equal))) (loop for i from 0 do (setf (gethash (list i) "
        "h) i)))",
        "(let ((s (make-string-output-stream))) (loop (write-line \"a line\" s)))",
        "(let ((v (make-array 1 :adjustable t :fill-pointer 0))) (loop (vector-push-extend 1 v)))",
        "(let ((n 1)) (loop (setf n (ash n 1000000))))",
        "(make-array 100000000)",
        "(loop for i from 0 do (let ((s (gensym))) (setf (get s 'x) s) (push s (get 'y 'z))))",
    };
    size_t count = random_trials(OFTEN_SEEN, COUNT_OF(endless));
    for (size_t i = 0; i < count && i < COUNT_OF(endless); i++) {
        struct client *client = client_start_ready(&small, NULL);
        for (int call = 0; call < 2; call++) {
            struct evaluation evaluation = client_session_evaluate_within(
                client, NULL,
                formatted("(loop repeat 2 collect (handler-case %s "
                          "(storage-condition () (remprop 'y 'z) :caught)))",
                          endless[i]),
                100);
            cr_expect(!evaluation.is_error && !evaluation.error_code &&
                          strstr(evaluation.text, "=> (:CAUGHT :CAUGHT)"),
                      "%s: %s", endless[i], evaluation.line);
        }
        client_finish(client);
    }
}

/* ECL takes a lock to intern, and is interrupted by the condition. */
Test(memory, names_can_be_made_after_the_heap_was_exhausted_by_names) {
    static const char *const endless[] = {
        "(loop for i from 0 do (intern (format nil \"NAME~d\" i) :p))",
        "(loop for i from 0 do (export (intern (format nil \"NAME~d\" i) :p) :p))",
        "(loop for i from 0 do (import (make-symbol (format nil \"NAME~d\" i)) :p))",
    };
    size_t count = random_trials(1, COUNT_OF(endless));
    for (size_t i = 0; i < count && i < COUNT_OF(endless); i++) {
        struct client *client = client_start_ready(&small, NULL);
        client_evaluate(client, "(make-package :p :use nil)");
        struct evaluation evaluation = client_session_evaluate_within(
            client, NULL,
            formatted("(handler-case %s (storage-condition () (delete-package :p) :caught))",
                      endless[i]),
            100);
        cr_expect(strstr(evaluation.text, "=> :CAUGHT"), "%s: %s", endless[i], evaluation.line);
        evaluation = client_evaluate(client, "(intern \"NEW\")");
        cr_expect(strstr(evaluation.text, "=> NEW"), "%s: %s", endless[i], evaluation.line);
        client_finish(client);
    }
}
