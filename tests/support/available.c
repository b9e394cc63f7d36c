/* See available.h. */
#include "tests/support/available.h"
#include "common/cleanup.h"
#include "common/descriptor.h"
#include "common/track.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static struct policy_report probe(void) {
    const struct policy policy = {.layers = POLICY_LAYERS_ALL, .user = geteuid() == 0 ? NOBODY : 0};
    struct policy_report report = {0};
    struct error error = {0};
    if (!policy_probe(&policy, &report, &error)) {
        fprintf(stderr, "no worker can be confined here: %s\n", error.text);
        report = (struct policy_report){0};
    }
    return report;
}

/* In a child, whose change of user ends with it. */
static struct policy_report probe_as_nobody(void) {
    struct policy_report report = {0};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return report;
    cleanup_fd int from = ends[0];
    cleanup_fd int to = ends[1];
    pid_t child = fork();
    if (child == 0) {
        if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
            setresuid(NOBODY, NOBODY, NOBODY))
            _exit(1);
        report = probe();
        _exit(write_all(to, &report, sizeof report) ? 0 : 1);
    }
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) != child || status ||
        read(from, &report, sizeof report) != (ssize_t)sizeof report)
        report = (struct policy_report){0};
    return report;
}

struct policy_report available_report(bool nobody) {
    return nobody ? probe_as_nobody() : probe();
}

uint32_t available_layers(void) {
    const struct policy_report report = available_report(false);
    return policy_layers_in(&report, POLICY_ACTIVE);
}

static bool works_in_child(bool (*act)(void)) {
    pid_t child = fork();
    if (child == 0)
        _exit(act() ? 0 : 1);
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static bool make_namespaces(void) {
    return unshare(CLONE_NEWNS | CLONE_NEWPID | (geteuid() == 0 ? 0 : CLONE_NEWUSER)) == 0;
}

bool available_unshare(void) {
    return works_in_child(make_namespaces);
}

static bool own_mounts(void) {
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

bool available_mounts(void) {
    return works_in_child(own_mounts);
}

bool available_outer_filter(void) {
    return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_FILTER;
}

bool available_inspection(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    return syscall(SYS_capget, &header, sets) == 0 &&
           sets[CAP_TO_INDEX(CAP_SYS_PTRACE)].effective & CAP_TO_MASK(CAP_SYS_PTRACE);
}

bool available_tracking(void) {
    struct uffdio_api api = {.api = UFFD_API,
                             .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP | TRACK_WP_ASYNC |
                                         TRACK_WP_UNPOPULATED};
    cleanup_fd int userfault = (int)syscall(SYS_userfaultfd, TRACK_FLAGS);
    cleanup_fd int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    struct track_scan scan = {.size = sizeof scan};
    return userfault >= 0 && ioctl(userfault, UFFDIO_API, &api) == 0 && pagemap >= 0 &&
           ioctl(pagemap, TRACK_SCAN, &scan) == 0;
}
