/* The confinement of the process that launches: it reads untrusted input, and the launcher has the
 * rights that starting and killing take. */
#include "policy/policy_internal.h"

#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#define BIT(name) POLICY_LAYER_BIT(POLICY_LAYER_##name)

uint32_t policy_supervisor_layers(void) {
#ifdef __SANITIZE_ADDRESS__
    /* Its leak check starts and traces a process at exit. */
    return BIT(PRIVILEGES);
#else
    return BIT(PRIVILEGES) | BIT(PROCESS) | BIT(LANDLOCK) | BIT(SECCOMP);
#endif
}

/* CAP_KILL is for workers that are another user: to signal them, if Landlock confines that to this
 * process's descendants; and for their death signals, which the kernel sends with the rights of the
 * dying parent. The other one is for a project of another user, and reads only what Landlock
 * permits. */
static bool enter_privileges(const struct policy_supervisor *supervisor, struct error *error) {
    uint64_t kept = UINT64_C(1) << CAP_KILL;
    if (supervisor->readable_count)
        kept |= UINT64_C(1) << CAP_DAC_READ_SEARCH;
    return policy_privileges_forbid_new(error) && policy_privileges_retain(kept, error) &&
           policy_no_new_privileges(error);
}

static bool enter_process(const struct policy_supervisor *supervisor, struct error *error) {
    (void)supervisor;
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
        return error_set(error, errno, "cannot forbid dumps");
    return (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 ||
            error_set(error, 0, "dumps are still allowed")) &&
           policy_process_forbid_new_code(error);
}

static bool enter_landlock(const struct policy_supervisor *supervisor, struct error *error) {
    return policy_landlock_available(NULL, error) && policy_landlock_supervisor(supervisor, error);
}

/* Last: the filter allows nothing of the above. */
static const struct {
    enum policy_layer layer;
    bool (*enter)(const struct policy_supervisor *supervisor, struct error *error);
} order[] = {{POLICY_LAYER_PRIVILEGES, enter_privileges},
             {POLICY_LAYER_PROCESS, enter_process},
             {POLICY_LAYER_LANDLOCK, enter_landlock}};

bool policy_supervisor_scope(const struct policy_supervisor *supervisor) {
    return supervisor->layers & policy_supervisor_layers() & BIT(LANDLOCK) &&
           policy_landlock_scope_signals(NULL);
}

bool policy_supervise(const struct policy_supervisor *supervisor, struct policy_report *report,
                      struct error *error) {
    const struct policy policy = {.layers = supervisor->layers & policy_supervisor_layers(),
                                  .required = supervisor->required};
    struct policy_report own = {0};
    struct error cause = {0};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (policy_has_layer(&policy, order[i].layer) &&
            !policy_report_note(&own, &policy, order[i].layer, order[i].enter(supervisor, &cause),
                                &cause)) {
            *error = cause;
            return false;
        }
    uint32_t grants = 0;
    if (own.layers[POLICY_LAYER_LANDLOCK].state == POLICY_ACTIVE)
        grants = POLICY_GRANT_FILES | (supervisor->scoped ? POLICY_GRANT_SIGNALS : 0);
    if (supervisor->native)
        grants |= POLICY_GRANT_NATIVE;
    if (policy_has_layer(&policy, POLICY_LAYER_SECCOMP) &&
        !policy_report_note(&own, &policy, POLICY_LAYER_SECCOMP,
                            policy_no_new_privileges(&cause) &&
                                policy_seccomp_supervisor(grants, &cause),
                            &cause)) {
        *error = cause;
        return false;
    }
    if (report)
        *report = own;
    return true;
}

bool policy_confine_keeper(const char *directory, struct error *error) {
    if (!policy_privileges_forbid_new(error) || !policy_privileges_retain(0, error) ||
        !policy_no_new_privileges(error))
        return false;
    if (!(policy_supervisor_layers() & BIT(LANDLOCK)))
        return true;
    return policy_process_forbid_new_code(error) &&
           (!policy_landlock_available(NULL, NULL) || policy_landlock_keeper(directory, error));
}

bool policy_supervisor_settle(const struct policy_supervisor *supervisor,
                              const struct policy_report *launched, struct error *error) {
    if (supervisor->scoped || launched->layers[POLICY_LAYER_NAMESPACES].state != POLICY_ACTIVE)
        return true;
    return policy_privileges_retain(UINT64_C(1) << CAP_DAC_READ_SEARCH, error);
}

bool policy_retain_tracing(struct error *error) {
    return policy_privileges_forbid_new(error) &&
           policy_privileges_retain(UINT64_C(1) << CAP_SYS_PTRACE, error) &&
           policy_no_new_privileges(error);
}

bool policy_confine_imager(struct error *error) {
    return policy_retain_tracing(error) && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 &&
           (!(policy_supervisor_layers() & BIT(SECCOMP)) ||
            (policy_process_forbid_new_code(error) && policy_seccomp_imager(error)));
}
