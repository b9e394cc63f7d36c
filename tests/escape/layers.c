/* Each layer of policy/ alone: with all others off, the attacks that it stops still fail, and
 * unconfined they succeed. Then all layers together, with and without the optional ones. Runs in
 * its own pid namespace; `layers nobody` gives up root first. Exit status 0: no attack succeeded;
 * 77: no such namespace. */
#include "policy/attacks.h"
#include "tests/support/available.h"
#include "tests/support/confined.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534, WATCHDOG_S = 100, WORD_BYTES = 120 };

static size_t runs, failures;

static void fail(const struct policy_attack *attack, const char *where, const char *what) {
    printf("FAILED %s, %s: %s\n", attack->name, where, what);
    failures++;
}

/* True when a machine that lacks layers refuses the attack to everybody. */
static bool is_refused_to_all(const struct policy_trial_end *end, uint32_t available) {
    return end->ran && WIFEXITED(end->status) &&
           (WEXITSTATUS(end->status) == EPERM || WEXITSTATUS(end->status) == ENOSYS) &&
           (!(available & POLICY_LAYER_BIT(POLICY_LAYER_NAMESPACES)) || available_outer_filter());
}

static void check_control(const struct policy_attack *attack, uint32_t available,
                          const struct policy_victim *victim) {
    char word[WORD_BYTES];
    struct policy_trial_end end = policy_attack_try(attack, NULL, victim);
    policy_attack_describe(&end, word, sizeof word);
    runs++;
    if (policy_attack_succeeded(&end))
        return;
    if (is_refused_to_all(&end, available))
        printf("fails unconfined here: %s: %s\n", attack->name, word);
    else
        fail(attack, "unconfined, so it proves nothing", word);
}

static void check_stopped(const struct policy_attack *attack, const struct policy *policy,
                          const struct policy_victim *victim, const char *where) {
    char word[WORD_BYTES];
    struct policy_trial_end end = policy_attack_try(attack, policy, victim);
    policy_attack_describe(&end, word, sizeof word);
    runs++;
    if (!end.ran || end.timed_out || policy_attack_succeeded(&end))
        fail(attack, where, word);
}

/* The layers that are available to this user; the control group may not be. */
static uint32_t find_layers(void) {
    const struct policy_report report = available_report(false);
    const uint32_t active = policy_layers_in(&report, POLICY_ACTIVE);
    if (!active)
        failures++;
    for (unsigned layer = 0; layer < POLICY_LAYER_COUNT; layer++)
        if (!(active & POLICY_LAYER_BIT(layer)))
            printf("not here: %s: %s\n", policy_layer_name(layer), report.layers[layer].why);
    return active;
}

static void check(const struct policy_attack *attack, uint32_t available,
                  const struct policy_victim *victim) {
    uint32_t stopped_by = policy_attack_stopped_by(attack) & available;
    check_control(attack, available, victim);
    for (unsigned layer = 0; layer < POLICY_LAYER_COUNT; layer++)
        if (stopped_by & POLICY_LAYER_BIT(layer)) {
            const struct policy alone = policy_attack_layer(layer);
            check_stopped(attack, &alone, victim, policy_layer_name(layer));
        }
    const struct policy all = {.layers = available, .user = geteuid() == 0 ? NOBODY : 0};
    const struct policy least = {.layers = available & ~policy_optional_layers(), .user = all.user};
    const struct policy limited = policy_attack_limits(&all);
    const struct policy limited_least = policy_attack_limits(&least);
    if (stopped_by)
        check_stopped(attack, &limited, victim, "all layers");
    if (stopped_by & least.layers)
        check_stopped(attack, &limited_least, victim, "without the layers that may be missing");
}

/* What was sealed for a process runs there behind all layers: the attacks of native code fail for
 * what they are, and not because no code is ever mapped. */
static void check_sealed_code_runs(uint32_t available, const struct policy_victim *victim) {
    char word[WORD_BYTES];
    const struct policy_attack *control = policy_native_control();
    const struct policy all = {.layers = available, .user = geteuid() == 0 ? NOBODY : 0};
    const struct policy limited = policy_attack_limits(&all);
    for (int confined = 0; confined < 2; confined++) {
        struct policy_trial_end end =
            policy_attack_try(control, confined ? &limited : NULL, victim);
        policy_attack_describe(&end, word, sizeof word);
        runs++;
        if (!policy_attack_succeeded(&end))
            fail(control, confined ? "all layers" : "unconfined", word);
    }
}

static void check_all(const struct policy_attack *table, size_t count, uint32_t available,
                      const struct policy_victim *victim) {
    for (size_t i = 0; i < count; i++)
        if (!table[i].root_only || geteuid() == 0)
            check(&table[i], available, victim);
}

int main(int count, char **arguments) {
    struct policy_victim victim;
    struct error error = {0};
    setvbuf(stdout, NULL, _IOLBF, 0);
    confined_in_own_pid_namespace(WATCHDOG_S);
    setsid(); /* a session id that exists in this namespace */
    if (count > 1 && strcmp(arguments[1], "nobody") == 0)
        confined_become_nobody();
    if (!policy_victim_open(&victim, &error)) {
        printf("FAILED: %s\n", error.text);
        return 1;
    }
    uint32_t available = find_layers();
    size_t attacks, native;
    const struct policy_attack *table = policy_attacks(&attacks);
    check_all(table, attacks, available, &victim);
    table = policy_native_attacks(&native);
    check_all(table, native, available, &victim);
    check_sealed_code_runs(available, &victim);
    policy_victim_close(&victim);
    printf("%zu attacks, %zu runs as uid %u, %zu failures\n", attacks + native, runs, geteuid(),
           failures);
    return failures ? 1 : 0;
}
