/* Random functions compute the same as bytecode and as native code (random-functions.lisp). */
#include "tests/support/client_sessions.h"
#include "tests/support/lines.h"
#include "tests/support/random.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IN_ONE_CALL = 20, CALLS = 5, SOURCE_MAX = 1 << 16 };

static const char *read_source(void) {
    static char source[SOURCE_MAX];
    FILE *file = fopen(ECLAVE_SOURCE_DIR "/tests/sessions/random-functions.lisp", "re");
    cr_assert_not_null(file);
    const size_t length = fread(source, 1, sizeof source - 1, file);
    fclose(file);
    cr_assert(length > 0 && length < sizeof source - 1);
    return source;
}

Test(native_random, functions_compute_the_same_as_bytecode) {
    struct random random = random_for("native_random");
    const size_t sessions = random_trials(1, 100);
    const char *source = read_source();
    struct client *client = client_start_with("--native", "on", "--call-timeout-s", "600");
    for (size_t i = 0; i < sessions; i++) {
        const char *session = client_session_open(client);
        struct evaluation loaded = client_session_evaluate(client, session, source);
        cr_assert_not(loaded.is_error, "%s", loaded.line);
        for (int call = 0; call < CALLS; call++) {
            const unsigned long seed = random_below(&random, 1000000000);
            client_session_expect(client, session,
                                  formatted("(run-trials %lu %d)", seed, IN_ONE_CALL), "=> NIL");
        }
        client_session_expect(client, session,
                              formatted("(> *compiled* %d)", CALLS * IN_ONE_CALL / 2), "=> T");
        client_session_close(client, session);
    }
    client_finish(client);
}

/* Closures that share variables, of which more and more are native. */
Test(native_random, closures_compute_the_same_as_bytecode) {
    struct random random = random_for("native_random_closures");
    const size_t sessions = random_trials(1, 100);
    const char *source = read_source();
    struct client *client = client_start_with("--native", "on", "--call-timeout-s", "600");
    for (size_t i = 0; i < sessions; i++) {
        const char *session = client_session_open(client);
        cr_assert_not(client_session_evaluate(client, session, source).is_error);
        for (int call = 0; call < CALLS; call++) {
            const unsigned long seed = random_below(&random, 1000000000);
            client_session_expect(client, session,
                                  formatted("(run-families %lu %d)", seed, IN_ONE_CALL), "=> NIL");
        }
        client_session_expect(client, session, formatted("(> *compiled* %d)", CALLS * IN_ONE_CALL),
                              "=> T");
        client_session_close(client, session);
    }
    client_finish(client);
}

/* The same calls of the same closures, one after another, of a session that compiles them at the
 * end of the first and of one that never does. */
Test(native_random, closures_in_use_compute_the_same_in_later_calls) {
    struct random random = random_for("native_random_in_use");
    const size_t families = random_trials(20, 500);
    const char *source = read_source();
    struct client *clients[] = {client_start_with("--native", "auto"),
                                client_start_ready(NULL, NULL)};
    long native = 0;
    for (size_t i = 0; i < COUNT_OF(clients); i++)
        cr_assert_not(client_evaluate(clients[i], source).is_error);
    for (size_t i = 0; i < families; i++) {
        const unsigned long seed = random_below(&random, 1000000000);
        for (int call = 0; call < CALLS; call++) {
            char first[1 << 14];
            const char *code =
                call == 0
                    ? formatted("(progn (setf *state* %lu *family* (make-family (random-family))) "
                                "(length *family*))",
                                seed)
                    : formatted("(family-calls *family* %d %d)", 6 * call, 6 * call + 6);
            snprintf(first, sizeof first, "%s", client_evaluate(clients[0], code).text);
            cr_assert_str_eq(client_evaluate(clients[1], code).text, first, "seed %lu, call %d",
                             seed, call);
        }
        native += client_session_integer(clients[0], NULL, "(native-count *family*)");
    }
    cr_assert_gt(native, (long)families / 2);
    for (size_t i = 0; i < COUNT_OF(clients); i++)
        client_finish(clients[i]);
}

/* The trial finds a function that differs, and reduces it: here because the compiler is given other
 * code than the interpreter. */
Test(native_random, a_difference_is_found_and_reduced) {
    const char *source = read_source();
    struct client *client = client_start_with("--native", "on");
    const char *session = client_session_open(client);
    struct evaluation loaded = client_session_evaluate(client, session, source);
    cr_assert_not(loaded.is_error, "%s", loaded.line);
    client_session_expect(
        client, session,
        "(defun differs-p (form) (search \"FLOOR\" (prin1-to-string form)))"
        "(let ((found (run-trials 1 200))) (list (and (differs-p found) t) (< (size found) 60)))",
        "=> (T T)");
    client_finish(client);
}
