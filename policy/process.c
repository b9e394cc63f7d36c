/* The layer process: detaches the process from its terminal and its working directory, ties its
 * life to its parent's, and forbids dumps, ptrace and new executable memory. */
#include "policy/policy_internal.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Older kernel headers lack these. */
#ifndef PR_SET_MDWE
#define PR_SET_MDWE              65
#define PR_GET_MDWE              66
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

bool policy_process_forbid_new_code(struct error *error) {
    /* From Linux 6.3; on an older kernel the filter alone forbids it. Forks inherit it. */
    if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0))
        return errno == EINVAL || error_set(error, errno, "cannot forbid executable memory");
    return prctl(PR_GET_MDWE, 0, 0, 0, 0) == PR_MDWE_REFUSE_EXEC_GAIN ||
           error_set(error, 0, "PR_SET_MDWE is not in force");
}

bool policy_enter_process(const struct policy_context *context, struct error *error) {
    (void)context;
    /* A session without a terminal cannot push input into one. setsid fails for the leader of a
     * session or a process group; the leader of its own session needs no new one. */
    if (setsid() < 0 && getsid(0) != getpid())
        return error_set(error, errno, "cannot leave the session");
    /* The name of another directory would describe the host. */
    char directory[2];
    if (chdir("/") || !getcwd(directory, sizeof directory))
        return error_set(error, errno, "cannot change to the root directory");
    /* If the parent dies before prctl, the signal is never sent, but getppid changes. If it died
     * before the first getppid, its end of the channel is closed and the first read ends. */
    pid_t parent = getppid();
    int signal = 0;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) || prctl(PR_GET_PDEATHSIG, &signal, 0, 0, 0))
        return error_set(error, errno, "cannot set the death signal");
    if (signal != SIGKILL)
        return error_set(error, 0, "the death signal is not set");
    if (getppid() != parent)
        return error_set(error, 0, "the parent process has ended");
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
        return error_set(error, errno, "cannot forbid dumps");
    return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 ||
           error_set(error, 0, "dumps are still allowed");
}
