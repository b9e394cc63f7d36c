/* Finds out whether workers can be confined here by confining a child and letting it try a call
 * that must fail. Never confines the caller, and leaves nothing behind. */
#include "policy/policy.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Anyone may open the root directory, except a confined worker. Returns 0, or the errno. */
static int open_root(void *context) {
    (void)context;
    long outcome = syscall(SYS_openat, AT_FDCWD, "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return outcome >= 0 ? 0 : errno;
}

bool policy_probe(const struct policy *policy, struct policy_report *report, struct error *error) {
    const struct policy_trial trial = {.policy = policy, .body = open_root};
    struct policy_trial_end end = policy_try(&trial);
    if (report)
        *report = end.report;
    if (!end.ran) {
        if (error)
            *error = end.error;
        return false;
    }
    if (WIFEXITED(end.status) && WEXITSTATUS(end.status) == EACCES)
        return true;
    return error_set(error, 0,
                     WIFEXITED(end.status) && WEXITSTATUS(end.status) == 0
                         ? "a confined process could open a directory"
                         : "a refused call did not fail as it should");
}
