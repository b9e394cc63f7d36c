/* Attacks by code that has taken over the supervisor: each layer that it puts on itself alone, and
 * all together with and without the optional one. Unconfined the attacks succeed. Runs in its own
 * pid namespace; `supervisor nobody` gives up root first. Exit status 0: no attack succeeded; 77:
 * no such namespace, or a sanitized build, in which the supervisor keeps its rights. */
#include "policy/attacks.h"
#include "tests/support/available.h"
#include "tests/support/confined.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WATCHDOG_S = 100, WORD_BYTES = 120 };

static size_t runs, failures;
static bool has_namespaces;

static void fail(const struct policy_attack *attack, const char *where, const char *what) {
    printf("FAILED %s, %s: %s\n", attack->name, where, what);
    failures++;
}

/* True when a machine that lacks layers refuses the attack to everybody. */
static bool is_refused_to_all(const struct policy_trial_end *end) {
    return end->ran && WIFEXITED(end->status) &&
           (WEXITSTATUS(end->status) == EPERM || WEXITSTATUS(end->status) == ENOSYS) &&
           (!has_namespaces || available_outer_filter());
}

static void check_control(const struct policy_attack *attack, const struct policy_victim *victim) {
    char word[WORD_BYTES];
    struct policy_trial_end end = policy_supervisor_attack_try(attack, NULL, victim);
    policy_attack_describe(&end, word, sizeof word);
    runs++;
    if (policy_attack_succeeded(&end))
        return;
    if (is_refused_to_all(&end))
        printf("fails unconfined here: %s: %s\n", attack->name, word);
    else
        fail(attack, "unconfined, so it proves nothing", word);
}

static void check_stopped(const struct policy_attack *attack, uint32_t layers,
                          const struct policy_victim *victim, const char *where) {
    char word[WORD_BYTES];
    static const char *const readable[] = {"/var/empty", "/nonexistent"};
    const struct policy_supervisor supervisor = {
        .layers = layers, .required = layers, .readable = readable, .readable_count = 2};
    struct policy_trial_end end = policy_supervisor_attack_try(attack, &supervisor, victim);
    policy_attack_describe(&end, word, sizeof word);
    runs++;
    if (!end.ran || end.timed_out || policy_attack_succeeded(&end))
        fail(attack, where, word);
}

static void check(const struct policy_attack *attack, uint32_t available,
                  const struct policy_victim *victim) {
    const uint32_t stopped_by = policy_attack_stopped_by(attack) & available;
    const uint32_t least = available & ~policy_optional_layers();
    check_control(attack, victim);
    for (unsigned layer = 0; layer < POLICY_LAYER_COUNT; layer++)
        if (stopped_by & POLICY_LAYER_BIT(layer))
            check_stopped(attack, POLICY_LAYER_BIT(layer), victim, policy_layer_name(layer));
    if (stopped_by)
        check_stopped(attack, available, victim, "all layers");
    if (stopped_by & least)
        check_stopped(attack, least, victim, "without the layer that may be missing");
}

int main(int count, char **arguments) {
    struct policy_victim victim;
    struct error error = {0};
    size_t attack_count;
    const struct policy_attack *attacks = policy_supervisor_attacks(&attack_count);
    setvbuf(stdout, NULL, _IOLBF, 0);
#ifdef __SANITIZE_ADDRESS__
    puts("a sanitized supervisor is not confined");
    return CONFINED_SKIPPED;
#endif
    confined_in_own_pid_namespace(WATCHDOG_S);
    setsid();
    if (count > 1 && strcmp(arguments[1], "nobody") == 0)
        confined_become_nobody();
    const uint32_t layers = available_layers();
    const uint32_t available = layers & policy_supervisor_layers();
    has_namespaces = layers & POLICY_LAYER_BIT(POLICY_LAYER_NAMESPACES);
    if (!policy_victim_open(&victim, &error)) {
        puts(error.text);
        failures++;
    }
    for (size_t i = 0; !error.text[0] && i < attack_count; i++)
        if (geteuid() == 0 || !attacks[i].root_only)
            check(&attacks[i], available, &victim);
    policy_victim_close(&victim);
    printf("%zu attacks, %zu failures\n", runs, failures);
    return failures || !available ? 1 : 0;
}
