/* docker_profile COMMAND [ARGUMENT…]: runs COMMAND as Docker runs the root user of a container by
 * default: with 14 capabilities, and under a filter that refuses the calls below. Docker lists the
 * calls that it allows; this is the complement, for the calls that a program here might try. */
#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STATUS_FAILED = 125 };

static const unsigned capabilities[] = {
    CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_FOWNER,  CAP_FSETID,           CAP_KILL,
    CAP_SETGID, CAP_SETUID,       CAP_SETPCAP, CAP_NET_BIND_SERVICE, CAP_NET_RAW,
    CAP_MKNOD,  CAP_AUDIT_WRITE,  CAP_SETFCAP, CAP_SYS_CHROOT};

/* Docker allows each of these only with a capability that is not among the 14, or never. */
static const char *const refused[] = {
    /* CAP_SYS_ADMIN: mounts, namespaces, names of the machine, observers of the kernel */
    "bpf", "fanotify_init", "fsconfig", "fsmount", "fsopen", "fspick", "lookup_dcookie",
    "lsm_get_self_attr", "lsm_list_modules", "lsm_set_self_attr", "mount", "mount_setattr",
    "move_mount", "open_tree", "perf_event_open", "pivot_root", "quotactl", "quotactl_fd",
    "setdomainname", "sethostname", "setns", "swapoff", "swapon", "syslog", "umount", "umount2",
    "unshare",
    /* CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH: other processes, files past their directories */
    "kcmp", "open_by_handle_at", "pidfd_getfd", "process_madvise",
    /* capabilities for the hardware, the clock and memory of several nodes */
    "acct", "clock_settime", "delete_module", "finit_module", "get_mempolicy", "init_module",
    "ioperm", "iopl", "kexec_file_load", "kexec_load", "mbind", "migrate_pages", "move_pages",
    "reboot", "set_mempolicy", "set_mempolicy_home_node", "settimeofday", "vhangup",
    /* never */
    "_sysctl", "add_key", "create_module", "get_kernel_syms", "io_uring_enter", "io_uring_register",
    "io_uring_setup", "keyctl", "nfsservctl", "query_module", "request_key", "sysfs", "uselib",
    "userfaultfd", "ustat"};

/* What a clone must not ask for. */
static const unsigned long namespaces[] = {CLONE_NEWNS,    CLONE_NEWUTS, CLONE_NEWIPC,
                                           CLONE_NEWUSER,  CLONE_NEWPID, CLONE_NEWNET,
                                           CLONE_NEWCGROUP};

static const unsigned long families[] = {AF_ALG, AF_VSOCK};

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

static uint64_t kept_capabilities(void) {
    uint64_t kept = 0;
    for (size_t i = 0; i < COUNT_OF(capabilities); i++)
        kept |= UINT64_C(1) << capabilities[i];
    return kept;
}

/* Leaves the 14 in the bounding, permitted and effective sets and none in the inheritable one. */
static int limit_capabilities(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    const uint64_t kept = kept_capabilities();
    for (unsigned capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
        if (!(kept >> capability & 1) && prctl(PR_CAPBSET_DROP, capability, 0, 0, 0))
            return -1;
    if (syscall(SYS_capget, &header, sets))
        return -1;
    for (size_t i = 0; i < COUNT_OF(sets); i++) {
        sets[i].permitted &= (uint32_t)(kept >> (32 * i));
        sets[i].effective = sets[i].permitted;
        sets[i].inheritable = 0;
    }
    return (int)syscall(SYS_capset, &header, sets);
}

/* Zero or a negative errno. A call that the library or this architecture does not know is left out:
 * where there is no such call, there is nothing to refuse. */
static int add_rules(scmp_filter_ctx filter) {
    int outcome = 0;
    for (size_t i = 0; outcome == 0 && i < COUNT_OF(refused); i++) {
        int number = seccomp_syscall_resolve_name(refused[i]);
        if (number >= 0)
            outcome = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0);
    }
    for (size_t i = 0; outcome == 0 && i < COUNT_OF(namespaces); i++)
        outcome = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                                   SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces[i], namespaces[i]));
    for (size_t i = 0; outcome == 0 && i < COUNT_OF(families); i++)
        outcome = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1,
                                   SCMP_A0(SCMP_CMP_EQ, families[i]));
    /* Its flags are in memory, where a filter cannot read them; the C library then tries clone. */
    return outcome == 0 ? seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0)
                        : outcome;
}

/* As Docker does, without no_new_privs. That takes CAP_SYS_ADMIN, so it is done first. */
static int load_filter(void) {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int outcome = filter ? seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0) : -ENOMEM;
#ifdef __x86_64__
    const uint32_t others[] = {SCMP_ARCH_X86, SCMP_ARCH_X32};
    for (size_t i = 0; outcome == 0 && i < COUNT_OF(others); i++)
        outcome = seccomp_arch_add(filter, others[i]);
#endif
    if (outcome == 0)
        outcome = add_rules(filter);
    if (outcome == 0)
        outcome = seccomp_load(filter);
    seccomp_release(filter);
    return outcome;
}

int main(int count, char **arguments) {
    if (count < 2) {
        fputs("usage: docker_profile COMMAND [ARGUMENT…]\n", stderr);
        return STATUS_FAILED;
    }
    int outcome = load_filter();
    if (outcome) {
        errno = -outcome;
        perror("docker_profile: the filter");
        return STATUS_FAILED;
    }
    if (limit_capabilities()) {
        perror("docker_profile: the capabilities");
        return STATUS_FAILED;
    }
    execvp(arguments[1], arguments + 1);
    perror(arguments[1]);
    return STATUS_FAILED;
}
