/* Namespaces: a worker's machine has no files but those that the policy grants, no processes but
 * the workers, no network, no shared objects and no name. Made once, around the process that forks
 * the workers; only a scratch directory is made for each. */
#include "common/cleanup.h"
#include "common/descriptor.h"
#include "policy/layers.h"

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
#include <unistd.h>

/* All but the user namespace, which an ordinary user needs beside them. */
static const int kinds =
    CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

/* Where the new root is put together; what it covers is not needed any more. */
static const char stage[] = "/tmp";

static bool write_file(const char *path, const char *text, struct error *error) {
    cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);
    return (fd >= 0 && write_all(fd, text, strlen(text))) ||
           error_set(error, errno, "writing %s", path);
}

/* The same identity inside as outside. */
static bool map_identity(uid_t user, gid_t group, struct error *error) {
    char user_map[64], group_map[64];
    snprintf(user_map, sizeof user_map, "%u %u 1", user, user);
    snprintf(group_map, sizeof group_map, "%u %u 1", group, group);
    return write_file("/proc/self/setgroups", "deny", error) &&
           write_file("/proc/self/gid_map", group_map, error) &&
           write_file("/proc/self/uid_map", user_map, error);
}

/* What mounting takes, and dropping capabilities for good, survives the start of another program;
 * each worker drops it. */
static bool keep_over_exec(struct error *error) {
    static const unsigned long kept[] = {CAP_SYS_ADMIN, CAP_SETPCAP};
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    bool good = syscall(SYS_capget, &header, sets) == 0;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        sets[CAP_TO_INDEX(kept[i])].inheritable |= CAP_TO_MASK(kept[i]);
    good = good && syscall(SYS_capset, &header, sets) == 0;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        good = good && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, kept[i], 0, 0) == 0;
    return good || error_set(error, errno, "keeping what mounting takes");
}

static bool unshare_as_user(struct error *error) {
    uid_t user = geteuid();
    gid_t group = getegid();
    if (unshare(kinds | CLONE_NEWUSER))
        return error_set(error, errno, "making a user namespace and others in it");
    /* Who may not be dumped does not own its /proc/self. This process lives for a moment only. */
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))
        return error_set(error, errno, "opening its own /proc");
    bool mapped = map_identity(user, group, error);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    return mapped && keep_over_exec(error);
}

bool policy_namespaces_make(struct error *error) {
    static const char name[] = "eclave";
    if (geteuid() != 0) {
        if (!unshare_as_user(error))
            return false;
    } else if (unshare(kinds)) {
        return error_set(error, errno, "making namespaces");
    }
    return sethostname(name, sizeof name - 1) == 0 ||
           error_set(error, errno, "naming the new machine");
}

/* --- the root directory --- */

/* Makes PATH below the stage and every directory above it. */
static bool make_path(const char *path, struct error *error) {
    char place[PATH_MAX];
    int length = snprintf(place, sizeof place, "%s%s", stage, path);
    if (length < 0 || (size_t)length >= sizeof place)
        return error_set(error, ENAMETOOLONG, "%.100s", path);
    for (char *slash = place + sizeof stage; *slash; slash++)
        if (*slash == '/') {
            *slash = 0;
            if (mkdir(place, 0755) && errno != EEXIST)
                return error_set(error, errno, "making %.100s in the new root", place);
            *slash = '/';
        }
    return mkdir(place, 0755) == 0 || errno == EEXIST ||
           error_set(error, errno, "making %.100s in the new root", path);
}

/* Puts the mount that TREE holds to PATH in the new root, for reading only. */
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
           error_set(error, errno, "showing %.100s in the new root", path);
}

/* Opens each granted directory before the stage can cover it, makes the stage, and puts them there.
 */
static bool fill_stage(const struct policy *policy, struct error *error) {
    enum { TREES_MAX = 64 };
    int trees[TREES_MAX];
    size_t count = 0;
    bool good = policy->readable_count <= TREES_MAX ||
                error_set(error, 0, "more than %d directories are granted", TREES_MAX);
    for (; good && count < policy->readable_count; count++) {
        trees[count] = open_tree(AT_FDCWD, policy->readable[count],
                                 OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
        if (trees[count] < 0) {
            good = error_set(error, errno, "opening %.100s", policy->readable[count]);
            break;
        }
    }
    if (good && mount("eclave", stage, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
                      "mode=0755,size=256k,nr_inodes=1024"))
        good = error_set(error, errno, "making a new root");
    for (size_t i = 0; good && i < count; i++)
        good = attach(trees[i], policy->readable[i], error);
    for (size_t i = 0; i < count; i++)
        close(trees[i]);
    return good && (!policy->scratch_bytes || make_path(POLICY_SCRATCH, error));
}

static bool go_into_stage(struct error *error) {
    if (chdir(stage) || syscall(SYS_pivot_root, ".", ".") || umount2(".", MNT_DETACH) || chdir("/"))
        return error_set(error, errno, "changing the root");
    struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY};
    return mount_setattr(AT_FDCWD, "/", 0, &attributes, sizeof attributes) == 0 ||
           error_set(error, errno, "closing the new root");
}

/* The root is a file system in memory that cannot be written, with nothing of the old one. */
static bool root_holds(struct error *error) {
    struct statfs kind;
    struct statvfs flags;
    if (statfs("/", &kind) || statvfs("/", &flags))
        return error_set(error, errno, "looking at the new root");
    return (kind.f_type == TMPFS_MAGIC && flags.f_flag & ST_RDONLY &&
            access("/proc/self", F_OK) != 0) ||
           error_set(error, 0, "changing the root did not hold");
}

bool policy_namespaces_enclose(const struct policy *policy, struct error *error) {
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
        return error_set(error, errno, "separating the mounts");
    return fill_stage(policy, error) && go_into_stage(error) && root_holds(error);
}

/* --- for each worker --- */

bool policy_enter_scratch(const struct policy_entry *entry, struct error *error) {
    enum { BYTES_PER_FILE = 4096, FILES_LEAST = 256 };
    uint64_t size = entry->policy->scratch_bytes;
    if (!size)
        return true;
    bool root = geteuid() == 0 && entry->policy->user;
    char options[160];
    snprintf(options, sizeof options, "mode=0700,size=%llu,nr_inodes=%llu,uid=%u,gid=%u",
             (unsigned long long)size, (unsigned long long)size / BYTES_PER_FILE + FILES_LEAST,
             root ? entry->policy->user : geteuid(), root ? entry->policy->user : getegid());
    if (unshare(CLONE_NEWNS))
        return error_set(error, errno, "separating the mounts of a worker");
    return mount("eclave", POLICY_SCRATCH, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) ==
               0 ||
           error_set(error, errno, "making a scratch directory");
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
            const char *last = strrchr(line, '\t'); /* one number a namespace, outermost first */
            within = last ? (pid_t)strtol(last, NULL, 10) : pid;
            break;
        }
    if (file)
        fclose(file);
    return within > 0 ? within : pid;
}
