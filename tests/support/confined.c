/* See confined.h. */
#include "tests/support/confined.h"
#include "common/cleanup.h"
#include "common/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static bool write_file(const char *path, const char *text) {
    cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write_all(fd, text, strlen(text));
}

/* An ordinary user needs a user namespace for a pid namespace, and keeps its id there. */
static bool unshare_pids(void) {
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) == 0)
        return true;
    char user_map[64], group_map[64];
    snprintf(user_map, sizeof user_map, "%u %u 1", geteuid(), geteuid());
    snprintf(group_map, sizeof group_map, "%u %u 1", getegid(), getegid());
    return unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS) == 0 &&
           write_file("/proc/self/setgroups", "deny") &&
           write_file("/proc/self/gid_map", group_map) &&
           write_file("/proc/self/uid_map", user_map);
}

/* The mount must not reach other namespaces. In a chroot "/" may not be a mount of its own. */
static bool isolate_mounts(void) {
    return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 ||
           (errno == EINVAL && mount("none", "/proc", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
}

/* /proc shows the namespace in which it was mounted. */
static bool mount_own_proc(void) {
    return isolate_mounts() &&
           mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0;
}

/* Lets pids begin after that of the process outside: Criterion names a socket in /tmp by its pid,
 * which two namespaces at a time must not share. Where the kernel cannot, they begin at 2. */
static void begin_pids_after(pid_t outside) {
    char number[24];
    snprintf(number, sizeof number, "%d", outside);
    write_file("/proc/sys/kernel/ns_last_pid", number);
}

static _Noreturn void skip(const char *what) {
    printf("skipped: a pid namespace of its own is needed: %s: %s\n", what, strerror(errno));
    fflush(stdout);
    _exit(CONFINED_SKIPPED);
}

static _Noreturn void exit_like(int status) {
    /* Not exit(): a leak check would fork, which the namespace no longer allows. */
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/* The first process of the namespace reaps all orphans in it. Returns in the second. */
static void lead_namespace(pid_t outside) {
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (!mount_own_proc())
        skip("mounting /proc");
    begin_pids_after(outside);
    pid_t second = fork();
    if (second < 0)
        skip("fork");
    if (second == 0)
        return;
    int status = 0;
    for (pid_t ended = 0; ended != second;)
        ended = wait(&status);
    exit_like(status);
}

void confined_in_own_pid_namespace(unsigned seconds) {
    const pid_t outside = getpid();
    /* tests/restricted/within has made one for this test alone, which cannot make another there. */
    const bool alone = getenv("TEST_ALONE") != NULL;
    if (!alone && !unshare_pids())
        skip("making it");
    pid_t first = fork();
    if (first < 0)
        skip("fork");
    if (first == 0) {
        if (!alone)
            lead_namespace(outside);
        return;
    }
    struct pollfd life = {.fd = (int)syscall(SYS_pidfd_open, first, 0), .events = POLLIN};
    if (poll(&life, 1, (int)seconds * 1000) <= 0)
        kill(first, SIGKILL);
    int status = 0;
    waitpid(first, &status, 0);
    exit_like(status);
}

void confined_become_nobody(void) {
    if (geteuid() == 0 && (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
                           setresuid(NOBODY, NOBODY, NOBODY))) {
        perror("nobody");
        exit(1);
    }
    /* The change of user cleared it; the controls need an ordinary process. */
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}
