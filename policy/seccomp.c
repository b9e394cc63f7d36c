/* Loads the filters: first the one made of the table, then, once the listener is handed over, the
 * seal. Never takes a kernel's word for it: reads back what holds. */
#include "policy/layers.h"
#include "policy/program.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The header of an older kernel lacks it. */
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

/* Every thread of the process, though there should be one: none is to stay outside. */
static const unsigned long every_thread = SECCOMP_FILTER_FLAG_TSYNC;

/* With a listener the kernel needs to be told how a failed TSYNC is to look. */
static const unsigned long with_listener =
    SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_TSYNC_ESRCH | SECCOMP_FILTER_FLAG_NEW_LISTENER;

/* Installs PROGRAM. The listener's descriptor with that flag, else 0; -1 with errno. */
static int install(const struct sock_fprog *program, unsigned long flags) {
    long outcome = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);
    if (outcome > 0 && !(flags & SECCOMP_FILTER_FLAG_NEW_LISTENER)) {
        errno = ESRCH; /* the id of a thread that could not be brought under the filter */
        return -1;
    }
    return (int)outcome;
}

/* A call that waits for the supervisor's answer is not to be begun anew after a signal, if the
 * kernel can do that (5.19); nothing depends on it. */
static int install_with_listener(const struct sock_fprog *program) {
    int listener = install(program, with_listener | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
    if (listener < 0 && errno == EINVAL)
        listener = install(program, with_listener);
    return listener;
}

/* Only this filter names its process, so that each needs a copy of its own. */
static bool load_degraded(const struct policy_program *program, struct error *error) {
    struct sock_fprog calls = policy_program_calls_for(program, getpid());
    if (!calls.filter)
        return error_set(error, ENOMEM, "the filter");
    int outcome = install(&calls, every_thread);
    int code = errno;
    free(calls.filter);
    return outcome >= 0 || error_set(error, code, "loading the filter");
}

static bool load_calls(const struct policy_entry *entry, struct error *error) {
    if (entry->program->degraded)
        return load_degraded(entry->program, error);
    *entry->listener = install_with_listener(&entry->program->calls);
    /* EBUSY: an outer filter has a listener already, and there can be one only. */
    return *entry->listener >= 0 ||
           error_set(error, errno, "loading the filter with notifications");
}

bool policy_enter_seccomp(const struct policy_entry *entry, struct error *error) {
    /* The kernel takes a filter from an ordinary user only after this. */
    return policy_no_new_privileges(error) && load_calls(entry, error) &&
           (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_FILTER ||
            error_set(error, 0, "the filter did not hold"));
}

bool policy_seal(const struct policy_ground *ground, struct error *error) {
    if (!ground->program)
        return true;
    if (install(&ground->program->seal, every_thread) < 0)
        return error_set(error, errno, "loading the seal");
    /* The seal itself forbids to ask. */
    return (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == -1 && errno == EPERM) ||
           error_set(error, 0, "the seal did not hold");
}
