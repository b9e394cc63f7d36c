/* A control group for all the processes that one program launches: how many there may be and how
 * much memory they may have together. Made below the group that this program is in, where it is
 * allowed to: by root, or where the group is delegated. Never touches a group that it did not make,
 * but for moving itself aside where version 2 wants that. */
#include "common/cleanup.h"
#include "common/descriptor.h"
#include "policy/layers.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* One control that may stand in a hierarchy of its own (version 1) or share one (version 2). */
struct control {
    const char *controller;
    const char *file_1; /* the limit's file in version 1 */
    const char *file_2; /* and in version 2 */
};

static const struct control memory_control = {"memory", "memory.limit_in_bytes", "memory.max"};
static const struct control process_control = {"pids", "pids.max", "pids.max"};

static const char prefix[] = "eclave-";

/* The directory that holds LEAF beside PARENT; false when too long. */
static bool join_path(char path[PATH_MAX], const char *parent, const char *leaf,
                      struct error *error) {
    int length = snprintf(path, PATH_MAX, "%s/%s", parent, leaf);
    return (length > 0 && length < PATH_MAX) ||
           error_set(error, ENAMETOOLONG, "the path of a control group");
}

static bool write_text(const char *directory, const char *name, const char *text,
                       struct error *error) {
    char path[PATH_MAX];
    if (!join_path(path, directory, name, error))
        return false;
    cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);
    return (fd >= 0 && write_all(fd, text, strlen(text))) ||
           error_set(error, errno, "writing %s of a control group", name);
}

/* Does the comma-separated LIST have WORD? */
static bool lists(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length)
        if ((at == list || at[-1] == ',') && (at[length] == 0 || at[length] == ','))
            return true;
    return false;
}

/* Where the hierarchy with CONTROLLER (version 1) or the unified one (NULL) is mounted. */
static bool find_mount(const char *controller, char mount[PATH_MAX]) {
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    bool found = false;
    char text[PATH_MAX];
    struct mntent entry;
    while (mounts && !found && getmntent_r(mounts, &entry, text, sizeof text)) {
        found = controller
                    ? strcmp(entry.mnt_type, "cgroup") == 0 && lists(entry.mnt_opts, controller)
                    : strcmp(entry.mnt_type, "cgroup2") == 0;
        if (found)
            snprintf(mount, PATH_MAX, "%s", entry.mnt_dir);
    }
    if (mounts)
        endmntent(mounts);
    return found;
}

/* The group that this process is in, as its hierarchy names it: "id:controllers:path". */
static bool find_own(const char *controller, char own[PATH_MAX]) {
    FILE *file = fopen("/proc/self/cgroup", "re");
    char line[PATH_MAX + 64];
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        char *list = strchr(line, ':');
        char *path = list ? strchr(list + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = 0;
        list++;
        found = controller ? lists(list, controller) : *list == 0;
        if (found)
            snprintf(own, PATH_MAX, "%s", strcmp(path, "/") == 0 ? "" : path);
    }
    if (file)
        fclose(file);
    return found;
}

/* The directory of the group that this process is in. */
static bool find_directory(const char *controller, char directory[PATH_MAX], struct error *error) {
    char mount[PATH_MAX], own[PATH_MAX];
    if (!find_mount(controller, mount) || !find_own(controller, own))
        return error_set(error, 0, "there is no control group for %s here",
                         controller ? controller : "anything");
    int length = snprintf(directory, PATH_MAX, "%s%s", mount, own);
    return (length > 0 && length < PATH_MAX) ||
           error_set(error, ENAMETOOLONG, "the path of a control group");
}

/* --- groups of earlier programs --- */

static unsigned long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (unsigned long long)now.tv_sec * 1000000000 + (unsigned long long)now.tv_nsec;
}

/* Is NAME that of a group whose program is gone? Its pid may be one of another namespace, where it
 * is not gone; but a group that is no more than a minute old may just be waiting to be joined. */
static bool is_stale(const char *name) {
    const unsigned long long minute_ns = 60000000000ULL;
    char *end;
    if (strncmp(name, prefix, sizeof prefix - 1) != 0)
        return false;
    long pid = strtol(name + sizeof prefix - 1, &end, 10);
    if (pid <= 1 || *end != '-' || kill((pid_t)pid, 0) == 0 || errno != ESRCH)
        return false;
    return strtoull(end + 1, NULL, 16) + minute_ns < now_ns();
}

/* Removes empty groups of programs that are gone: one that was killed could not do it itself. */
static void sweep(const char *parent) {
    DIR *entries = opendir(parent);
    if (!entries)
        return;
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        char path[PATH_MAX];
        if (is_stale(entry->d_name) && join_path(path, parent, entry->d_name, NULL))
            rmdir(path);
    }
    closedir(entries);
}

/* --- this program's --- */

/* The name of this program's group: its pid, by which a later one knows that it is gone, and when
 * it was first needed, since other pid namespaces have the same pids. Empty until then. */
static char own_name[48];

void policy_cgroup_name(void) {
    if (!own_name[0])
        snprintf(own_name, sizeof own_name, "%s%d-%llx", prefix, getpid(), now_ns());
}

static bool make_group(const char *parent, char group[PATH_MAX], struct error *error) {
    sweep(parent);
    return join_path(group, parent, own_name, error) &&
           (mkdir(group, 0755) == 0 || errno == EEXIST ||
            error_set(error, errno, "making a control group"));
}

/* Limits GROUP and opens the file by which a process joins it. -1 with *error. */
static int open_group(const char *group, const char *file, uint64_t most, struct error *error) {
    char number[24], path[PATH_MAX];
    snprintf(number, sizeof number, "%llu", (unsigned long long)most);
    if ((most && !write_text(group, file, number, error)) ||
        !join_path(path, group, "cgroup.procs", error))
        return -1;
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        error_set(error, errno, "opening a control group");
    return fd;
}

static int open_version_1(const struct control *control, uint64_t most, struct error *error) {
    char parent[PATH_MAX], group[PATH_MAX];
    return find_directory(control->controller, parent, error) && make_group(parent, group, error)
               ? open_group(group, control->file_1, most, error)
               : -1;
}

/* Is the group PARENT this program's alone: this process and the one that launches? */
static bool is_alone(const char *parent) {
    char path[PATH_MAX];
    if (!join_path(path, parent, "cgroup.procs", NULL))
        return false;
    FILE *file = fopen(path, "re");
    char line[32];
    bool alone = file != NULL;
    while (file && fgets(line, sizeof line, file)) {
        long pid = strtol(line, NULL, 10);
        alone = alone && (pid == getpid() || pid == getppid());
    }
    if (file)
        fclose(file);
    return alone;
}

/* Version 2 gives controls only to groups below one that has no processes itself. */
static bool move_aside(const char *parent, struct error *error) {
    char group[PATH_MAX], number[24];
    if (!is_alone(parent))
        return error_set(error, 0,
                         "other programs share its control group (systemd-run --user --scope "
                         "-p Delegate=yes gives it one of its own)");
    snprintf(number, sizeof number, "%d", getppid());
    return join_path(group, parent, "supervisor", error) &&
           (mkdir(group, 0755) == 0 || errno == EEXIST ||
            error_set(error, errno, "making a control group")) &&
           write_text(group, "cgroup.procs", number, error) &&
           write_text(group, "cgroup.procs", "0", error);
}

static int open_version_2(const struct policy *policy, struct error *error) {
    char parent[PATH_MAX], group[PATH_MAX], number[24];
    static const char controls[] = "+memory +pids";
    if (!find_directory(NULL, parent, error))
        return -1;
    /* Aside already, by an earlier launch. */
    char *last = strrchr(parent, '/');
    if (last && strcmp(last, "/supervisor") == 0)
        *last = 0;
    snprintf(number, sizeof number, "%llu", (unsigned long long)policy->all_memory_bytes);
    if (!write_text(parent, "cgroup.subtree_control", controls, error) &&
        (error->code != EBUSY || !move_aside(parent, error) ||
         !write_text(parent, "cgroup.subtree_control", controls, error)))
        return -1;
    if (!make_group(parent, group, error) ||
        (policy->all_memory_bytes && !write_text(group, memory_control.file_2, number, error)))
        return -1;
    return open_group(group, process_control.file_2, policy->all_processes, error);
}

bool policy_cgroup_open(const struct policy *policy, struct policy_cgroup *cgroup,
                        struct error *error) {
    char mount[PATH_MAX];
    *cgroup = (struct policy_cgroup){{-1, -1}};
    if (!find_mount(memory_control.controller, mount) &&
        !find_mount(process_control.controller, mount)) {
        cgroup->procs[0] = open_version_2(policy, error);
        return cgroup->procs[0] >= 0;
    }
    cgroup->procs[0] = open_version_1(&memory_control, policy->all_memory_bytes, error);
    if (cgroup->procs[0] < 0)
        return false;
    cgroup->procs[1] = open_version_1(&process_control, policy->all_processes, error);
    return cgroup->procs[1] >= 0;
}

bool policy_cgroup_join(const struct policy_cgroup *cgroup, pid_t pid, struct error *error) {
    char number[24];
    int length = snprintf(number, sizeof number, "%d", pid);
    for (size_t i = 0; i < sizeof cgroup->procs / sizeof *cgroup->procs; i++)
        if (cgroup->procs[i] >= 0 && write(cgroup->procs[i], number, (size_t)length) != length)
            return error_set(error, errno, "joining a control group");
    return true;
}

/* rmdir fails while anything is in there, and where there is none. */
static void remove_group(const char *controller) {
    char parent[PATH_MAX], group[PATH_MAX];
    if (!find_directory(controller, parent, NULL))
        return;
    char *last = strrchr(parent, '/');
    if (last && strcmp(last, "/supervisor") == 0)
        *last = 0;
    if (join_path(group, parent, own_name, NULL))
        rmdir(group);
}

void policy_cgroup_remove(void) {
    if (!own_name[0])
        return;
    remove_group(memory_control.controller);
    remove_group(process_control.controller);
    remove_group(NULL);
}
