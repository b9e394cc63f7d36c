/* The escape suite in C: a process confined by policy/ tries the probes of native.def, and so does
 * an unconfined one, so that no probe fails for another reason. Runs in its own pid namespace;
 * `native nobody` gives up root first. Exit status 0: no escape; 77: no such namespace. */
#include "tests/escape/native.h"
#include "policy/policy.h"
#include "tests/support/available.h"
#include "tests/support/confined.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534, WATCHDOG_S = 100 };

struct variant {
    const char *name;
    struct policy policy;
};

/* The layers that every machine has. */
#define BARE (POLICY_LAYERS_ALL & ~policy_optional_layers())

static int body(void *context) {
    const struct probe *probe = context;
    errno = 0;
    return probe->attempt() < 0 ? errno : 0;
}

/* Describes the end of a process in the words of native.def. */
static void describe(const struct policy_trial_end *end, char *text, size_t size) {
    if (!end->ran)
        snprintf(text, size, "could not be confined: %.200s", end->error.text);
    else if (end->timed_out)
        snprintf(text, size, "hung");
    else if (end->killed)
        snprintf(text, size, "killed for %s", end->killer.name);
    else if (WIFSIGNALED(end->status))
        snprintf(text, size, "died by signal %d", WTERMSIG(end->status));
    else if (WEXITSTATUS(end->status))
        snprintf(text, size, "failed with errno %d", WEXITSTATUS(end->status));
    else
        snprintf(text, size, "ran");
}

/* The expected description. Without a listener, a call that kills has no name. */
static void describe_wanted(const struct expectation *wanted, bool degraded, char *text,
                            size_t size) {
    switch (wanted->kind) {
    case END_KILLED:
        if (degraded)
            snprintf(text, size, "died by signal %d", SIGSYS);
        else
            snprintf(text, size, "killed for %s", wanted->call);
        break;
    case END_SIGNAL:
        snprintf(text, size, "died by signal %d", wanted->number);
        break;
    case END_ERROR:
        snprintf(text, size, "failed with errno %d", wanted->number);
        break;
    case END_SUCCESS:
        snprintf(text, size, "ran");
        break;
    }
}

/* True when the call failed in an outer filter, before ours could do what native.def says. */
static bool was_refused_outside(const struct policy_trial_end *end) {
    return end->ran && !end->killed && WIFEXITED(end->status) &&
           (WEXITSTATUS(end->status) == EPERM || WEXITSTATUS(end->status) == ENOSYS) &&
           available_outer_filter();
}

static bool check_confined(const struct probe *probe, const struct variant *variant) {
    char wanted[160], got[320];
    const struct policy_trial trial = {
        .policy = &variant->policy, .body = body, .context = (void *)probe};
    struct policy_trial_end end = policy_try(&trial);
    describe_wanted(&probe->confined, variant->policy.degraded, wanted, sizeof wanted);
    describe(&end, got, sizeof got);
    if (strcmp(wanted, got) == 0 || was_refused_outside(&end))
        return true;
    printf("ESCAPE %s, %s: %s, not: %s\n", probe->name, variant->name, got, wanted);
    return false;
}

static bool check_control(const struct probe *probe) {
    if (probe->control == CONTROL_UNTRIED)
        return true;
    char confined[160], got[320];
    const struct policy_trial trial = {.body = body, .context = (void *)probe};
    struct policy_trial_end end = policy_try(&trial);
    describe_wanted(&probe->confined, false, confined, sizeof confined);
    describe(&end, got, sizeof got);
    bool good = probe->control == CONTROL_SUCCEEDS ? strcmp(got, "ran") == 0
                : probe->control == CONTROL_SAME   ? strcmp(got, confined) == 0
                                                   : strcmp(got, confined) != 0;
    good = good || was_refused_outside(&end);
    if (!good)
        printf("CONTROL %s: unconfined it %s, so the probe proves nothing\n", probe->name, got);
    return good;
}

int main(int count, char **arguments) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    confined_in_own_pid_namespace(WATCHDOG_S);
    if (count > 1 && strcmp(arguments[1], "nobody") == 0)
        confined_become_nobody();
    /* No call is kept from a process by the control group. */
    const uint32_t whole = available_layers() & ~POLICY_LAYER_BIT(POLICY_LAYER_CGROUP);
    const struct variant variants[] = {
        {"with the listener", {.layers = BARE}},
        {"degraded", {.layers = BARE, .degraded = true}},
        {"with the listener, in every layer", {.layers = whole}},
        {"degraded, in every layer", {.layers = whole, .degraded = true}},
        {"with the listener, as another user", {.layers = BARE, .user = NOBODY}},
        {"degraded, as another user", {.layers = BARE, .degraded = true, .user = NOBODY}},
        {"with the listener, in every layer as another user", {.layers = whole, .user = NOBODY}},
    };
    /* An ordinary user has only the variants that keep the user. */
    size_t used = geteuid() == 0 ? sizeof variants / sizeof *variants : 4;
    size_t probes, runs = 0, failures = 0;
    const struct probe *table = native_probes(&probes);
    for (size_t i = 0; i < probes; i++) {
        failures += !check_control(&table[i]);
        for (size_t j = 0; j < used; j++, runs++)
            failures += !check_confined(&table[i], &variants[j]);
    }
    printf("%zu probes, %zu confined runs as uid %u, %zu failures\n", probes, runs, geteuid(),
           failures);
    return failures ? 1 : 0;
}
