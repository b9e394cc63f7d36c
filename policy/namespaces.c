/* The layer namespaces: a worker sees no files but the granted ones, no processes but the workers,
 * no network, no System V objects and no host name. The namespaces are made once, around the
 * process that forks the workers; only the scratch directory is made for each worker. */
#include "common/cleanup.h"
#include "common/descriptor.h"
#include "policy/policy_internal.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* An ordinary user needs a user namespace as well. */
static const int kinds =
    CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

/* Where the new root is assembled. */
static const char stage[] = "/tmp";

static bool write_file(const char *path, const char *text, struct error *error) {
    cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);
    return (fd >= 0 && write_all(fd, text, strlen(text))) ||
           error_set(error, errno, "cannot write %s", path);
}

/* Maps the user and the group to themselves. */
static bool map_identity(uid_t user, gid_t group, struct error *error) {
    char user_map[64], group_map[64];
    snprintf(user_map, sizeof user_map, "%u %u 1", user, user);
    snprintf(group_map, sizeof group_map, "%u %u 1", group, group);
    return write_file("/proc/self/setgroups", "deny", error) &&
           write_file("/proc/self/gid_map", group_map, error) &&
           write_file("/proc/self/uid_map", user_map, error);
}

/* Preserves over exec the capabilities to mount and to empty the bounding set. Each worker drops
 * them. */
static bool keep_capabilities(struct error *error) {
    static const unsigned long kept[] = {CAP_SYS_ADMIN, CAP_SETPCAP};
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    bool good = syscall(SYS_capget, &header, sets) == 0;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        sets[CAP_TO_INDEX(kept[i])].inheritable |= CAP_TO_MASK(kept[i]);
    good = good && syscall(SYS_capset, &header, sets) == 0;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        good = good && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, kept[i], 0, 0) == 0;
    return good || error_set(error, errno, "cannot keep CAP_SYS_ADMIN");
}

/* Sets the clocks that count from boot to zero for the processes started from here on; the C
 * library reads them without a system call. Without the kernel's time namespaces or CAP_SYS_TIME
 * the time since boot stays visible. */
static void hide_uptime(void) {
    char offsets[120];
    struct timespec monotonic, boot;
    cleanup_fd int file = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
    if (file < 0 || clock_gettime(CLOCK_MONOTONIC, &monotonic) ||
        clock_gettime(CLOCK_BOOTTIME, &boot) || unshare(CLONE_NEWTIME))
        return;
    int length = snprintf(offsets, sizeof offsets, "monotonic -%lld 0\nboottime -%lld 0\n",
                          (long long)monotonic.tv_sec, (long long)boot.tv_sec);
    (void)write_all(file, offsets, (size_t)length);
}

static bool unshare_as_user(bool *made, struct error *error) {
    uid_t user = geteuid();
    gid_t group = getegid();
    *made = unshare(kinds | CLONE_NEWUSER) == 0;
    if (!*made)
        return error_set(error, errno, "cannot create namespaces as an ordinary user");
    /* A process that is not dumpable does not own its /proc/self. This one exits soon. */
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))
        return error_set(error, errno, "cannot access /proc/self");
    bool mapped = map_identity(user, group, error);
    hide_uptime();
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    return mapped && keep_capabilities(error);
}

/* The filters of some containers refuse it in any namespace. The name that stays is that of the
 * container, and the filter of workers refuses the calls that read it. */
static bool hide_host_name(struct error *error) {
    static const char name[] = "eclave";
    return sethostname(name, sizeof name - 1) == 0 || errno == EPERM ||
           error_set(error, errno, "cannot set the host name");
}

bool policy_namespaces_make(bool *made, struct error *error) {
    if (geteuid() != 0)
        return unshare_as_user(made, error) && hide_host_name(error);
    *made = unshare(kinds) == 0;
    if (!*made)
        return error_set(error, errno, "cannot create namespaces");
    hide_uptime();
    return hide_host_name(error);
}

/* --- the root directory --- */

/* Creates PATH, with its parents, below the stage. */
static bool make_path(const char *path, struct error *error) {
    char place[PATH_MAX];
    int length = snprintf(place, sizeof place, "%s%s", stage, path);
    if (length < 0 || (size_t)length >= sizeof place)
        return error_set(error, ENAMETOOLONG, "cannot use %.100s", path);
    for (char *slash = place + sizeof stage; *slash; slash++)
        if (*slash == '/') {
            *slash = 0;
            if (mkdir(place, 0755) && errno != EEXIST)
                return error_set(error, errno, "cannot create %.100s in the new root", place);
            *slash = '/';
        }
    return mkdir(place, 0755) == 0 || errno == EEXIST ||
           error_set(error, errno, "cannot create %.100s in the new root", path);
}

/* Mounts TREE read-only at PATH in the new root. */
static bool attach(int tree, const char *path, struct error *error) {
    char place[PATH_MAX];
    if (!make_path(path, error))
        return false;
    snprintf(place, sizeof place, "%s%s", stage, path);
    struct mount_attr attributes = {.attr_set =
                                        MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};
    return (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes) ==
                0 &&
            move_mount(tree, "", AT_FDCWD, place, MOVE_MOUNT_F_EMPTY_PATH) == 0) ||
           error_set(error, errno, "cannot mount %.100s in the new root", path);
}

/* Opens the granted directories before the stage can cover one of them, mounts the stage, and
 * mounts the directories in it. */
static bool fill_stage(const struct policy *policy, struct error *error) {
    enum { TREES_MAX = 64 };
    int trees[TREES_MAX];
    size_t count = 0;
    bool good = policy->readable_count <= TREES_MAX ||
                error_set(error, 0, "cannot grant more than %d directories", TREES_MAX);
    for (; good && count < policy->readable_count; count++) {
        trees[count] = open_tree(AT_FDCWD, policy->readable[count],
                                 OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
        if (trees[count] < 0) {
            good = error_set(error, errno, "cannot open %.100s", policy->readable[count]);
            break;
        }
    }
    if (good && mount("eclave", stage, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
                      "mode=0755,size=256k,nr_inodes=1024"))
        good = error_set(error, errno, "cannot mount a new root");
    for (size_t i = 0; good && i < count; i++)
        good = attach(trees[i], policy->readable[i], error);
    for (size_t i = 0; i < count; i++)
        close(trees[i]);
    return good && (!policy->scratch_bytes || make_path(POLICY_SCRATCH, error));
}

static bool change_root(struct error *error) {
    if (chdir(stage) || syscall(SYS_pivot_root, ".", ".") || umount2(".", MNT_DETACH) || chdir("/"))
        return error_set(error, errno, "cannot change the root directory");
    struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY};
    return mount_setattr(AT_FDCWD, "/", 0, &attributes, sizeof attributes) == 0 ||
           error_set(error, errno, "cannot make the new root read-only");
}

/* Is the root now a read-only tmpfs without the old /proc? */
static bool root_is_changed(struct error *error) {
    struct statfs kind;
    struct statvfs flags;
    if (statfs("/", &kind) || statvfs("/", &flags))
        return error_set(error, errno, "cannot inspect the new root");
    return (kind.f_type == TMPFS_MAGIC && flags.f_flag & ST_RDONLY &&
            access("/proc/self", F_OK) != 0) ||
           error_set(error, 0, "the root directory is still the old one");
}

bool policy_namespaces_enclose(const struct policy *policy, struct error *error) {
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
        return error_set(error, errno, "cannot make the mounts private");
    return fill_stage(policy, error) && change_root(error) && root_is_changed(error);
}

/* --- for each worker --- */

bool policy_enter_scratch(const struct policy_context *context, struct error *error) {
    enum { BYTES_PER_FILE = 4096, FILES_LEAST = 256 };
    const struct policy *policy = context->policy;
    uint64_t size = policy->scratch_bytes;
    if (!size)
        return true;
    char options[160];
    snprintf(options, sizeof options, "mode=0700,size=%llu,nr_inodes=%llu,uid=%u,gid=%u",
             (unsigned long long)size, (unsigned long long)size / BYTES_PER_FILE + FILES_LEAST,
             context->user ? context->user : geteuid(), context->user ? context->user : getegid());
    if (unshare(CLONE_NEWNS))
        return error_set(error, errno, "cannot make a mount namespace for the scratch directory");
    return mount("eclave", POLICY_SCRATCH, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) ==
               0 ||
           error_set(error, errno, "cannot mount the scratch directory");
}

/* --- for the supervisor --- */

pid_t policy_pid_within(pid_t pid) {
    static const char label[] = "NSpid:";
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *file = fopen(path, "re");
    pid_t within = pid;
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, label, sizeof label - 1) == 0) {
            const char *last = strrchr(line, '\t'); /* innermost namespace */
            within = last ? (pid_t)strtol(last, NULL, 10) : pid;
            break;
        }
    if (file)
        fclose(file);
    return within > 0 ? within : pid;
}
