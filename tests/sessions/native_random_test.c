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
