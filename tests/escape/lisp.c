/* The escape suite in Lisp: a client sends the attacks of lisp.def to the server, one to a session,
 * and none may affect anything but that session; an unconfined ECL tries the same. Runs in its own
 * pid namespace; `lisp nobody` gives up root first. Exit status 77: no such namespace. */
#include "tests/escape/lisp.h"
#include "tests/support/available.h"
#include "tests/support/client_sessions.h"
#include "tests/support/confined.h"
#include "tests/support/lines.h"
#include "tests/support/lisp_file.h"
#include "tests/support/siege.h"
#include "tests/support/unconfined.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WATCHDOG_S = 170 };

#define ENDS(type, status, what)                                                                   \
    {                                                                                              \
        .marker = "[ERROR] " type, .part = (what), .exit_code = (status),                          \
        .sequel = SEQUEL_ROLLED_BACK                                                               \
    }

#define VALUE(text)                                                                                \
    { .marker = "=> " text }
#define PRINTS(line, text)                                                                         \
    { .marker = (line), .part = (text) }
#define SIGNALS(type)                                                                              \
    { .marker = "[ERROR] " type, .exit_code = 1 }
#define KILLED(call)     ENDS("SANDBOX-VIOLATION", 159, "forbidden system call " call ".")
#define KILLED_UNSEEN    ENDS("SANDBOX-VIOLATION", 159, "a forbidden system call.")
#define CRASHES(name, s) ENDS("WORKER-CRASH", 128 + (s), name)
#define EXITS(status)    ENDS("PROCESS-EXIT", status, "status " #status)
#define MALFORMED        ENDS("MALFORMED-OUTPUT", 70, "worker")
#define OUT_OF_MEMORY    ENDS("MEMORY-LIMIT", 137, "session.memory_mb")
#define FORGED(text)                                                                               \
    { .marker = "=> " text, .exit_code = 0, .sequel = SEQUEL_LIES }
#define OUT_OF_TIME                                                                                \
    { .code = -32004, .exit_code = -1, .sequel = SEQUEL_ROLLED_BACK, .timeout_s = 0.3 }
#define FLOODS(stream)                                                                             \
    { .part = (stream), .code = -32603, .exit_code = -1, .sequel = SEQUEL_ROLLED_BACK }

#define GIVES(outcome)                                                                             \
    { CONTROL_GIVES, outcome }
#define SUCCEEDS GIVES("=> T")
#define DIFFERS                                                                                    \
    { CONTROL_DIFFERS, NULL }
#define SAME                                                                                       \
    { CONTROL_SAME, NULL }
#define UNTRIED(why)                                                                               \
    { CONTROL_UNTRIED, why }

#define ATTACK(class, name, confined, control, code) {#class, #name, confined, control, code},
static const struct attack attacks[] = {
#include "tests/escape/lisp.def"
};

/* The variable as SETUP sets it, and as each attack sets it first. */
#define SETUP "(setf cl-user::*kept* 1) (in-package :hostile)"
#define FIRST "(setf cl-user::*kept* 2) "
#define KEPT  "cl-user::*kept*"

/* The secret of another session, which is in no source in one piece. */
#define MAKE_WITNESS_SECRET "(defvar *secret* (concatenate 'base-string \"sword\" \"fish-0815\"))"
#define WITNESS_SECRET      "swordfish-0815"

static const char unchanged[] = "The session is as it was before the call.";

/* A value is compared with the whole text, anything else with the first line. */
static bool is_marked(const char *text, const char *marker) {
    size_t length = strlen(marker);
    return strncmp(text, marker, length) == 0 && text[length] == (*marker == '[' ? '\n' : '\0');
}

static bool fits(const struct ending *wanted, const struct evaluation *got) {
    bool told = strstr(got->text, unchanged) || got->error_code == -32603;
    return (!wanted->marker || is_marked(got->text, wanted->marker)) &&
           got->error_code == wanted->code && got->exit_code == wanted->exit_code &&
           (!wanted->part || strstr(got->line, wanted->part)) &&
           told == (wanted->sequel == SEQUEL_ROLLED_BACK);
}

/* True when each call of the attack failed with an errno, as outer filters have it: before ours
 * could do what lisp.def says. The session goes on then. */
static bool was_refused_outside(const struct evaluation *got) {
    static const char *const values[] = {"=> :EPERM", "=> :ENOSYS", "=> (:EPERM :EACCES)"};
    for (size_t i = 0; i < COUNT_OF(values); i++)
        if (strcmp(got->text, values[i]) == 0)
            return available_outer_filter();
    return false;
}

static void expect_kept(struct siege *siege, const struct attack *attack, const char *session,
                        bool goes_on) {
    const char *value = "=> 1";
    if (attack->confined.sequel == SEQUEL_LIES)
        siege_rollback(siege, session, 1);
    else if (attack->confined.sequel == SEQUEL_KEPT || goes_on)
        value = "=> 2";
    struct evaluation kept = siege_evaluate(siege, session, KEPT, 0);
    cr_expect_str_eq(kept.text, value, "ESCAPE %s: its session now: %.500s", attack->name,
                     kept.line);
}

static void try_it(struct siege *siege, const struct attack *attack) {
    char code[4096];
    snprintf(code, sizeof code, "%s%s", FIRST, attack->code);
    const char *session = siege_copy(siege, siege->victim);
    struct evaluation got = siege_evaluate(siege, session, code, attack->confined.timeout_s);
    const bool refused = was_refused_outside(&got);
    cr_expect(refused || fits(&attack->confined, &got), "ESCAPE %s: %.1000s", attack->name,
              got.line);
    cr_expect(!strstr(got.line, WITNESS_SECRET) && !strstr(got.line, ATTACK_SECRET_VALUE),
              "ESCAPE %s: a secret: %.1000s", attack->name, got.line);
    expect_kept(siege, attack, session, refused);
    siege_expect_unharmed(siege);
    siege_close(siege, session);
}

static struct siege begin(void) {
    static const char *const arguments[] = {"--session-memory-mb", "128", NULL};
    setenv(ATTACK_SECRET_NAME, ATTACK_SECRET_VALUE, 1);
    struct siege siege = siege_begin(arguments);
    siege_evaluate(&siege, siege.witness, MAKE_WITNESS_SECRET, 0);
    cleanup_buffer struct buffer code = buffer_make(LISP_FILE_MAX);
    lisp_file_append(&code, "escape/attack.lisp");
    lisp_file_evaluate(siege.client, siege.victim, &code);
    siege.calls++;
    siege_evaluate(&siege, siege.victim, SETUP, 0);
    return siege;
}

static void attack_confined(const char *class) {
    size_t count = 0;
    struct siege siege = begin();
    for (size_t i = 0; i < COUNT_OF(attacks); i++)
        if (strcmp(attacks[i].class, class) == 0) {
            try_it(&siege, &attacks[i]);
            count++;
        }
    cr_assert_gt(count, 0);
    siege_end(&siege, NULL, 0);
}

static void check_control(const struct attack *attack) {
    const struct control *control = &attack->control;
    const char *confined = attack->confined.marker ? attack->confined.marker : "no answer";
    char *got = attack_unconfined(attack->code);
    bool same = strcmp(got, confined) == 0;
    bool good = control->kind == CONTROL_GIVES ? strcmp(got, control->text) == 0
                                               : same == (control->kind == CONTROL_SAME);
    cr_expect(good, "CONTROL %s: unconfined it gives %s, so the attack proves nothing",
              attack->name, got);
    free(got);
}

static void check_controls(const char *class) {
    unconfined_or_skip();
    for (size_t i = 0; i < COUNT_OF(attacks); i++)
        if (strcmp(attacks[i].class, class) == 0 && attacks[i].control.kind != CONTROL_UNTRIED)
            check_control(&attacks[i]);
}

#define CLASS(class)                                                                               \
    Test(confined, class) {                                                                        \
        attack_confined(#class);                                                                   \
    }                                                                                              \
    Test(control, class) {                                                                         \
        check_controls(#class);                                                                    \
    }
CLASS(files)
CLASS(descriptors)
CLASS(network)
CLASS(processes)
CLASS(signals)
CLASS(rights)
CLASS(memory)
CLASS(kernel)
CLASS(frames)
CLASS(floods)
CLASS(secrets)
CLASS(language)

int main(int count, char **arguments) {
    confined_in_own_pid_namespace(WATCHDOG_S);
    bool nobody = count > 1 && strcmp(arguments[1], "nobody") == 0;
    if (nobody)
        confined_become_nobody();
    struct criterion_test_set *tests = criterion_initialize();
    int failed = criterion_handle_args(count, arguments, true) && !criterion_run_all_tests(tests);
    criterion_finalize(tests);
    return failed;
}
