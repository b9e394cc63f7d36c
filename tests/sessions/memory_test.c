/* A session that dropped a lot of memory gives it back, and so do the states that are kept of it.
 */
#include "tests/support/available.h"
#include "tests/support/client_sessions.h"
#include "tests/support/family.h"
#include "tests/support/lines.h"
#include "tests/support/process.h"

enum { LIGHT_MIB = 40, HEAVY_MIB = 200, CALLS_MAX = 12 };

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
