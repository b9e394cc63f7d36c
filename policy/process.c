/* Cuts the process off from its terminal and its directory, ties its life to its parent's and keeps
 * others from looking into it. Never looks at what the process holds. */
#include "policy/layers.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

/* The header of an older kernel lacks them. */
#ifndef PR_SET_MDWE
#define PR_SET_MDWE              65
#define PR_GET_MDWE              66
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

bool policy_process_forbid_new_code(struct error *error) {
    /* Linux 6.3; the filter says the same without it. Forks inherit it. */
    if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0))
        return errno == EINVAL || error_set(error, errno, "forbidding new code");
    return prctl(PR_GET_MDWE, 0, 0, 0, 0) == PR_MDWE_REFUSE_EXEC_GAIN ||
           error_set(error, 0, "forbidding new code did not hold");
}

bool policy_enter_process(const struct policy_entry *entry, struct error *error) {
    (void)entry;
    /* A session of its own has no terminal, so no input can be pushed into one. It fails for the
     * leader of a session or a group; a leader of its own session is just what is wanted. */
    if (setsid() < 0 && getsid(0) != getpid())
        return error_set(error, errno, "leaving the session");
    /* Its directory's name would tell about the host. */
    char directory[2];
    if (chdir("/") || !getcwd(directory, sizeof directory))
        return error_set(error, errno, "going to the root directory");
    /* A parent that dies between the two looks leaves another in its place. One that died before
     * the first has closed the channel, and the first read tells. */
    pid_t parent = getppid();
    int signal = 0;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) || prctl(PR_GET_PDEATHSIG, &signal, 0, 0, 0))
        return error_set(error, errno, "setting the death signal");
    if (signal != SIGKILL)
        return error_set(error, 0, "the death signal did not hold");
    if (getppid() != parent)
        return error_set(error, 0, "the parent is gone");
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
        return error_set(error, errno, "forbidding dumps");
    return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 ||
           error_set(error, 0, "forbidding dumps did not hold");
}
